"""Masks secrets with an unmistakable format wherever they occur: private keys, tokens of known services.

Every text that is read is masked, so no other code sees a secret: not the prompt, not the index, not the embedding
service. Only unambiguous formats are masked, and only the value: lines keep their numbers.

Linear, and hardly slower than copying the text: only long words are examined, and the text is searched for a form only
if one of these words contains its literal. No pattern can match the same text in two ways.
"""

import re
from base64 import b64decode
from functools import cache
from string import ascii_letters, ascii_uppercase, digits
from typing import Final

from promptuary.base.text import masked_as
from promptuary.workspace.disk.secret_forms import NAMED_FORMS, SERVICE_SECRET, Form, all_forms

_KEY_NAME: Final = r"(?:(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)"
_KEY: Final = (
    rf"-{{4,5}} ?BEGIN {_KEY_NAME} ?-{{4,5}}"
    r"(?P<body>[^-]*+(?:-(?!---)[^-]*+)*+)(?P<end>-{4,6} ?END)?"
)
_KEY_END: Final = rf"-{{4,5}} ?END {_KEY_NAME} ?-{{4,5}}"
_KEY_TEXT: Final = r"(?:(?<=\\n)|(?<=\\r)|(?<!\\))[A-Za-z0-9+/=]{4,}"
_KEY_LINE: Final = r"[ +\-\t>#*\"'|]*[A-Za-z0-9+/=]{16,}[\\nr\"'+,; \t\r]*"
_PUTTY: Final = r"(?<=Private-Lines: )\d{1,4}\r?\n(?:[A-Za-z0-9+/=]{1,64}\r?\n){1,999}"
_LONG: Final = r"[A-Za-z0-9+/]{40}|[a-f0-9]{32}"
_SOME: Final = r"[A-Za-z0-9+/]{16}"


_IN_WORD: Final = bytes(chr(byte) in f"{ascii_letters}{digits}+/_=.:~%-" for byte in range(256))
_TELLING: Final = f"{ascii_uppercase}{digits}".encode()
_LONG_WORD: Final = b"\1" * 20
"""Every secret has a word of this length or longer."""

_RANDOM: Final = rb"[A-Za-z0-9+/_-]{20,40}|[A-Fa-f0-9]{8}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-|://[^/:]{0,100}:.{12}"
_KEY_WORD: Final = 40
_DIGITS: Final = digits.encode()
_DIGEST: Final = rb"sha[0-9]{1,3}[:=-][A-Za-z0-9+/_-]{32,128}={0,2}"
_IN_DIGEST: Final = r"sha[0-9]{1,3}[:=-][A-Za-z0-9+/_-]{0,88}\Z"
_MAX_DIGEST: Final = 100
_NAME_NEAR: Final = 120
_MANY: Final = 100
_SECRET_NAME: Final = rb"(?:key|token|secret|passw|auth)[a-z0-9_]{0,12}\\?[\"']?[ \t]{0,9}(?:[:=]|%3d|\\u003d)"
_MARKS: Final = "_-.:~"
_STEM: Final = 4
_MIN_DIGITS: Final = 2
_MIN_CHARACTERS: Final = 3
"""A secret has at least so many different characters; an example, such as ``xxxx…``, has fewer."""

_BEFORE: Final = 8
_EDGE: Final = r"(?:[^A-Za-z0-9]|\\[abefnrtv0]|\\x[A-Fa-f0-9]{2}|\\u[A-Fa-f0-9]{4}|[%=][A-Fa-f0-9]{2}|\[[0-9;]{0,5}m)\Z"
"""What ends before a token begins: an escape, as in ``\\nghp_…``, ``%3Dghp_…`` or after a colour, is no part of it."""
_GOES_ON: Final = r"[A-Za-z0-9]|[_-][A-Za-z0-9]"
_ENCODED_KEY: Final = r"LS0tL[A-Za-z0-9+/]{40,}={0,2}"


def mask_secrets(text: str) -> str:
    """Return ``text`` with every unmistakable secret masked; the rest, and the number of lines, is unchanged."""
    data = text.encode("utf-8", "surrogatepass")
    found = _telling_words(data, data.translate(_IN_WORD))
    if not found:
        return text
    words = b" ".join([data[start:end] for start, end in found]).decode("ascii")
    for form in _forms_in(words):
        text = _mask(form, text)
    random = [(start, end) for start, end in found if _has_random(data[start:end])]
    return _mask_named(text, data, random) if random else text


def _forms_in(words: str) -> list[Form]:
    """Return the forms of which ``words`` has what looks like a secret, in the order of the table."""
    forms, plain, marked = _lookup()
    wanted = {number for literal, number in plain if literal in words}
    for mark, numbers in marked.items():
        # What precedes each mark, such as the ghp of ghp_: there are many forms, and a text has few of them.
        longest = {piece[-_STEM:] for piece in words.split(mark)[:-1]}
        stems = longest.union(*({stem[-size:] for stem in longest} for size in range(1, _STEM)))
        wanted.update(*(numbers[stem] for stem in numbers.keys() & stems))
    return [forms[number] for number in sorted(wanted) if _compile(forms[number].pattern).search(words)]


def _mask(form: Form, text: str, flags: int = 0) -> str:
    parts, position = [], 0
    for match in _compile(form.pattern, flags).finditer(text):
        start, end = match.span("value") if "value" in match.re.groupindex else match.span()
        start -= form.before
        if start >= position and _is_secret(form, match, start, end):
            parts += [text[position:start], masked_as(form.what)]
            position = end
    return "".join([*parts, text[position:]])


def _has_random(word: bytes) -> bool:
    """Return whether a word has anything like a random value; names have few digits."""
    return any(
        len(run) >= _KEY_WORD or run.startswith(b":") or len(run.translate(None, _DIGITS)) <= len(run) - _MIN_DIGITS
        for run in _random_runs().findall(word)
    )


def _telling_words(data: bytes, kinds: bytes) -> list[tuple[int, int]]:
    """Return where the long words with capitals or digits are, as every secret has; few texts have many of them."""
    words, start = [], kinds.find(_LONG_WORD)
    while start >= 0:
        end = kinds.find(b"\0", start)
        stop = end if end >= 0 else len(data)
        word = data[start:stop]
        is_digest = word.startswith(b"sha") and _digest().fullmatch(word)
        if not is_digest and len(word.translate(None, _TELLING)) < len(word):
            words.append((start, stop))
        start = kinds.find(_LONG_WORD, end) if end >= 0 else -1
    return words


def _mask_named(text: str, data: bytes, random: list[tuple[int, int]]) -> str:
    # The name is near its value; where there are many values, it takes less time to search everything.
    places = ((max(start - _NAME_NEAR, 0), end + _NAME_NEAR) for start, end in random[:_MANY])
    near = data if len(random) >= _MANY else b"\n".join([data[start:end] for start, end in places])
    names = near.decode("utf-8", "replace")
    for form in NAMED_FORMS:
        if any(literal in names for literal in form.literals):
            text = _mask(form, text)
    if _secret_name().search(near.lower()) and _compile(SERVICE_SECRET.pattern, re.IGNORECASE).search(names):
        text = _mask(SERVICE_SECRET, text, re.IGNORECASE)
    if "LS0tL" in names:
        text = _compile(_ENCODED_KEY).sub(_mask_encoded, text)
    if "Private-Lines: " in names:
        text = _compile(_PUTTY).sub(lambda match: _mask_lines(match.group()), text)
    return _mask_keys(text) if "PRIVATE KEY" in names or "Static key" in names else text


def _is_secret(form: Form, match: re.Match[str], start: int, end: int) -> bool:
    """Return whether a match is a secret, or only resembles one."""
    value = match["body"] if "body" in match.re.groupindex else match.string[start:end]
    if _compile(_IN_DIGEST).search(match.string[max(start - _MAX_DIGEST, 0) : start]):
        return False
    if form is SERVICE_SECRET and sum(map(str.isdigit, value)) <= _MIN_DIGITS:
        return False
    return _is_random(value) and (not form.apart or _is_apart(match.string, start, end, value))


def _is_random(value: str) -> bool:
    """Return whether a value may be random: words in lower case, numbers and one letter again and again are not."""
    letters = [char for char in value if char.isalpha()]
    return (
        len(set(value)) >= _MIN_CHARACTERS
        and bool(letters)
        and (any(map(str.isdigit, value)) or not all(map(str.islower, letters)))
    )


def _is_apart(text: str, start: int, end: int, value: str) -> bool:
    """Return whether no word goes on before or after a secret, and whether it is no name like ``some-long-name-2``."""
    before = text[max(start - _BEFORE, 0) : start]
    if before and not _compile(_EDGE).search(before):
        return False
    if text[end - 1] != "=" and _compile(_GOES_ON).match(text, end):
        return False
    words = value.lower() == value and any(char in "-_" for char in value)
    return not words or _compile(r"[a-f0-9-]+(?:us\d+)?").fullmatch(value) is not None


def _mask_encoded(match: re.Match[str]) -> str:
    """Return a private key in base64, as Kubernetes keeps it, masked; certificates begin in the same way."""
    opening = b64decode(match.group()[:64] + "==", validate=False)
    return masked_as("private key") if b"PRIVATE KEY" in opening else match.group()


def _mask_keys(text: str) -> str:
    text = _compile(_KEY).sub(_mask_key, text)
    parts, position = [], 0
    for end in _compile(_KEY_END).finditer(text):  # a hunk may show the end of a key alone
        last = first = max(text.rfind("\n", position, end.start()) + 1, position)
        while first > position:
            above = max(text.rfind("\n", position, first - 1) + 1, position)
            if not _compile(_KEY_LINE).fullmatch(text, above, first - 1):
                break
            first = above
        parts += [text[position:first], _mask_lines(text[first:last])]
        position = last
    return "".join([*parts, text[position:]])


def _mask_key(match: re.Match[str]) -> str:
    """Return a private key with its lines masked; one without an end only as far as its lines look like a key."""
    body = match["body"]
    if not _compile(_LONG).search(body):
        return match.group()  # a text about keys
    size = len(body)
    if not match["end"]:
        size = 0
        for number, line in enumerate(body.splitlines(keepends=True)):
            if number and not _compile(_SOME).search(line) and not _is_header(line):
                break
            size += len(line)
    whole, cut = match.group(), match.start("body") - match.start()
    return whole[:cut] + _mask_lines(body[:size]) + whole[cut + size :]


def _mask_lines(body: str) -> str:
    """Return the lines of a key masked; the first says what it was, the headers stay."""
    marks = iter((masked_as("private key"),))
    return "".join(
        line if _is_header(line) else _compile(_KEY_TEXT).sub(lambda _: next(marks, "⟨masked⟩"), line)
        for line in body.splitlines(keepends=True)
    )


def _is_header(line: str) -> bool:
    return ": " in line and not _compile(_LONG).search(line)


@cache
def _lookup() -> tuple[list[Form], list[tuple[str, int]], dict[str, dict[str, list[int]]]]:
    """Return the forms, and their numbers by their literals: those with a mark by it and by what precedes it."""
    forms = list(all_forms())
    plain: list[tuple[str, int]] = []
    marked: dict[str, dict[str, list[int]]] = {mark: {} for mark in _MARKS}
    for number, form in enumerate(forms):
        for literal in form.literals or ("",):
            at = next((at for at, char in enumerate(literal) if at and char in _MARKS), 0)
            if at:
                marked[literal[at]].setdefault(literal[max(at - _STEM, 0) : at], []).append(number)
            else:
                plain.append((literal, number))
    return forms, plain, marked


@cache
def _random_runs() -> re.Pattern[bytes]:
    return re.compile(_RANDOM)


@cache
def _digest() -> re.Pattern[bytes]:
    return re.compile(_DIGEST)


@cache
def _secret_name() -> re.Pattern[bytes]:
    return re.compile(_SECRET_NAME)


@cache
def _compile(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | flags)
