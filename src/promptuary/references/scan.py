r"""Finds references in a text. Pure: uses only the text. Takes linear time.

Code spans, fenced code, Markdown links, URLs, escaped sigils and the spans that a caller marks as pasted are skipped.
What looks like a path but may be prose (``@alice``, ``#123``) is returned as a *bare* reference, which counts only if
the path exists: ``resolve.classify`` decides that.

One regular expression matches both what is skipped and the references; only these have a named group.
No alternative can match the same text in two ways, so the time is linear (tests check that). Only single characters are
repeated possessively: CPython up to 3.11.4 matches possessive groups wrongly.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import attrgetter

from msgspec import Struct

from promptuary.base.references import ENDS_VALUE, KEYWORDS, KINDS, PUNCTUATION, Reference, Sigil, Span, glued
from promptuary.references.selection import QUOTED_HEADING, SUFFIX

MAX_VALUE = 4096
"""Characters of a value. A longer run is not a path but text."""

MAX_REFERENCES = 1_000
"""The most references with a kind that are taken from one text; ``expand`` warns when they are reached."""

MAX_BARE = 5_000
"""The most bare references of one text. A text with more is pasted prose; references with a kind are still found."""

# After one of these a sigil belongs to a word or is escaped: me@example.com, a/@b, C#net, &#8217;, $@, \@.
# Only scripts that separate words are listed: in others a reference may follow a letter directly.
_LETTERS = r"0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u052f"
_BEFORE = _LETTERS + r"/\\@#.+%&$\-"

_DOUBLE = rf'"(?!")[^"\\\n\0]*+(?:\\[^\n\0][^"\\\n\0]*+){{0,{MAX_VALUE}}}"'
_QUOTED = rf"(?:{_DOUBLE}|'[^'\n\0]++'|`[^`\n\0]++`(?!`))"
# NUL stands for pasted text: a value that runs into it was not typed that way.
_RUN = (
    rf"[^{ENDS_VALUE}{PUNCTUATION}]*+"
    rf"(?:[{PUNCTUATION}]++(?![@#])[^{ENDS_VALUE}{PUNCTUATION}]*+){{0,{MAX_VALUE}}}{QUOTED_HEADING}(?!\0)"
)
# A path without a kind begins with a quote, with a dot that a path continues, or with a letter or digit.
_QUOTED_PATH = rf"{_DOUBLE}{SUFFIX}?"
_DOTTED_PATH = rf"\.(?=\w|\.?[/\\]){_RUN}"
# Quotes that people type for plain ones, and the plain one where none closes it.
_OPENED = r"\"\u00ab\u2018\u201c-\u201e\u300c"
_NO_VALUE = rf"['{ENDS_VALUE}]|\Z|[,;:!?~()\[\]{{}}]++(?:[{ENDS_VALUE}@#]|\Z)"

# From the opening marks to the next line with as many, or to the end of the text; may be quoted or indented.
_FENCE = (
    r"(?=[ \t>`~])[ \t>]*+(?:(`{3,}+)[^`\n]*+|(~{3,}+)[^\n]*+)(?![^\n])"
    r"(?s:.*?)(?:\n[ \t>]*+(?:\2`*+|\3~*+)[ \t\r]*+(?![^\n])|\Z)"
)
# One to four backticks up to as many, within a paragraph; a run of another length is part of the code. A single one is
# by far the commonest: it has its own form, without a group, and several spans are skipped at once, with the text
# between them if nothing else can begin in it. The pieces are counted because each costs memory during the match; the
# first is separate, so that a span that ends before it, or cannot continue, needs no counter.
_NEXT_LINE = r"\n(?![ \t\r]*+\n)"
_PIECE = rf"(?:{_NEXT_LINE}|``++)[^`\n]*+"
_ONE_TICK = rf"(?!`)[^`\n]*+(?:`(?!`)|{_PIECE}(?:{_PIECE}){{0,9999}}`(?!`))"
_LONGER_PIECE = rf"(?:{_NEXT_LINE}|(?!`\1(?!`))`++)[^`\n]*+"
_CODE_SPAN = (
    rf"`(?<![`\\]`)(?:{_ONE_TICK}(?:[^`@#\[:\n\\]*+\n?`{_ONE_TICK}){{0,50}}"
    rf"|(`{{1,3}}+)(?!`)[^`\n]*+(?:`\1(?!`)|{_LONGER_PIECE}(?:{_LONGER_PIECE}){{0,9999}}`\1(?!`)))"
)
_LINK = r"\[[^\[\]\n]{1,300}+\]\([^()\n]{0,300}+\)"
# A note by its name: [[note]], [[note#Heading]], [[note|as it is shown]]. After a blank it is a test of a shell.
_NOTE_PART = r"[^\[\]|#\s\0](?:[^\[\]|#\n\0]{0,200}+)"
_NOTE = rf"\[\[(?P<note>{_NOTE_PART}(?:#[^\[\]|\n\0]{{1,200}}+)?(?:\|[^\[\]\n\0]{{1,200}}+)?)\]\]"
_URL = rf"://[^{ENDS_VALUE}]*+"
# The numbered groups count in this order: the code span has the first, the fence the next two.
_SKIPPED = (_CODE_SPAN, _LINK, _URL)
_FENCE_AT_START = re.compile(f"(){_FENCE}")
_LINE = re.compile(r"[^\n]+")
_QUOTED_VALUE = re.compile(_QUOTED)
_TRAILING = ".,;:!?~'\\"
_BRACKETS = {")": "(", "]": "[", "}": "{"}


class Scanned(Struct, frozen=True):
    """The result of scanning a text.

    ``text`` has NUL for what was skipped on purpose. ``valueless`` are kinds, and marks before a quote, without a
    value: they are not references, but may have been meant as such.
    """

    text: str
    references: tuple[Reference, ...] = ()
    valueless: tuple[Reference, ...] = ()


def scan(text: str, *, kinds: frozenset[str] = KINDS, skip: Sequence[Span] = ()) -> tuple[Reference, ...]:
    """Return the references of ``text`` in order. ``skip`` lists spans, such as pasted text, that are not scanned."""
    return scan_closely(text, kinds=kinds, skip=skip).references


def scan_closely(text: str, *, kinds: frozenset[str] = KINDS, skip: Sequence[Span] = ()) -> Scanned:
    """Return the references of ``text``, and those that lack a value."""
    if "@" not in text and "#" not in text and "[[" not in text:
        return Scanned(text)
    masked = _masked(text, skip)
    found = tuple(_scan(masked, kinds))
    valueless = tuple(one for one in found if one.bare and not one.value)
    return Scanned(masked, tuple(one for one in found if one.value or not one.bare) if valueless else found, valueless)


def _masked(text: str, skip: Sequence[Span]) -> str:
    """Return ``text`` with the skipped spans replaced by characters that no reference contains."""
    parts, position = [], 0
    for start, end in sorted(skip):
        parts += [text[position:start], _LINE.sub(_blank, text[max(position, start) : end])]
        position = max(position, end)
    return "".join([*parts, text[position:]]) if skip else text


def _blank(line: re.Match[str]) -> str:
    return "\0" * len(line.group())


def _scan(text: str, kinds: frozenset[str]) -> Iterator[Reference]:
    bare = named = 0
    fenced = "```" in text or "~~~" in text
    pattern = _pattern(kinds, bare=True, fenced=fenced)
    fence = _FENCE_AT_START.match(text)
    position = fence.end() if fence else 0
    while match := next(filter(attrgetter("lastgroup"), pattern.finditer(text, position)), None):
        position = match.end()
        reference = _reference(match)
        if reference is None:
            continue
        yield reference
        position = reference.end
        bare += reference.bare
        named += not reference.bare
        if named == MAX_REFERENCES:
            return
        if bare == MAX_BARE:
            pattern = _pattern(kinds, bare=False, fenced=fenced)


def _reference(match: re.Match[str]) -> Reference | None:
    """Return the reference that matched, or ``None`` if its value is empty or too long."""
    raw, start, form = match.group(), match.start(), match.lastgroup
    sigil: Sigil = "#" if raw[0] == "#" else "@"
    if form == "keyword":
        return Reference(raw, sigil, raw[1:].lower(), "", start, match.end())
    if form in {"valueless", "opened"}:
        return Reference(raw, sigil, raw[1:-1].lower() or "path", "", start, match.end(), bare=True)
    if form == "note":
        name, mark, heading = raw[2:-2].partition("|")[0].partition("#")
        suffix = mark + heading.rpartition("#")[2].strip()
        return Reference(raw, sigil, "path", name.rstrip(), start, match.end(), suffix, quoted=True, bare=True)
    bare = form != "named"
    kind, written = ("path", raw[1:]) if bare else _split_kind(raw)
    quoted = written.startswith(('"', "'", "`"))
    value, suffix = _unquoted(written) if quoted else (_trimmed(written, kind, match.string[start - 1 : start]), "")
    if not value or len(value) > MAX_VALUE:
        return None
    if not quoted:
        raw = raw[: len(raw) - len(written) + len(value)]
    return Reference(raw, sigil, kind, value, start, start + len(raw), suffix, quoted=quoted, bare=bare)


def _split_kind(raw: str) -> tuple[str, str]:
    kind, _, written = raw[1:].partition(":")
    return kind.lower(), written


def _unquoted(written: str) -> tuple[str, str]:
    """Return the value between the quotes and the suffix after them."""
    mark = written[0]
    closed = _QUOTED_VALUE.match(written)
    end = closed.end() - 1 if closed else written.rindex(mark)  # a heading in the suffix may be in quotes, too
    value = written[1:end]
    return re.sub(r'\\(["\\])', r"\1", value) if mark == '"' else value, written[end + 1 :]


def _trimmed(run: str, kind: str, before: str) -> str:
    """Return ``run`` without punctuation of the sentence around it, or of emphasis that was opened ``before`` it."""
    if len(run) > 2 * MAX_VALUE:
        return ""
    if stuck := glued().search(run):
        run = run[: stuck.end()]
    if run[-1:].isalnum() and not run.endswith("'s"):  # nearly always: nothing to trim
        return run
    trailing = _TRAILING + ("*" if kind != "glob" or before == "*" else "") + ("_" if before == "_" else "")
    unopened = {mark: run.count(mark) - run.count(opening) for mark, opening in _BRACKETS.items()}
    end = len(run.rstrip(trailing))
    possessive = False
    while end:
        last = run[end - 1]
        if run.endswith("'s", 0, end) and not possessive:
            possessive = True
            end -= 2
        elif last in trailing:
            end -= 1
        elif unopened.get(last, 0) > 0:
            unopened[last] -= 1
            end -= 1
        else:
            break
    # "." and ".." are folders; three dots are an ellipsis.
    dots = len(run) - len(run.lstrip("."))
    return run[:end] or run[: dots if dots < 3 else 0]


def _in_any_case(word: str) -> str:
    """Return a pattern of ``word`` that begins with a character set, so that the engine skips an alternative fast."""
    return rf"[{re.escape(word[0].lower() + word[0].upper())}](?ai:{re.escape(word[1:])})"


@lru_cache(maxsize=16)
def _pattern(kinds: frozenset[str], *, bare: bool, fenced: bool) -> re.Pattern[str]:
    # Every alternative begins with a plain character: this lets the search skip ordinary text quickly.
    kind = f"(?:{'|'.join(map(_in_any_case, sorted(kinds)))}):"
    keyword = "|".join(map(_in_any_case, sorted(KEYWORDS)))
    named = rf"{kind}(?:{_QUOTED}{SUFFIX}?|(?!{_NO_VALUE}){_RUN})"
    alone = rf"(?:{keyword})(?![{_LETTERS}_/(\-\0]|[.:][\w/\"'`]|[ \t]*+(?:[|&+\-*]|\|\||&&)?=)"
    at = rf"(?P<named>{named})|(?P<keyword>{alone})"
    alternatives = [*_SKIPPED]
    if fenced:  # a text without fences need not stop at line ends
        alternatives.insert(1, rf"\n{_FENCE}")
    # One character decides whether a reference can begin, before anything else is tried.
    first = r"[\w.\"]"
    first_at = first
    if bare:
        first_at = rf"[\w.{_OPENED}]"
        words = rf"(?=\w)(?:{at}|(?P<valueless>{kind})|(?P<path>{_RUN}))"
        at = rf"(?P<quoted>{_QUOTED_PATH})|(?P<dotted>{_DOTTED_PATH})|{words}|(?P<opened>(?=[{_OPENED}]))"
        tracked = rf"{_QUOTED_PATH}|{_DOTTED_PATH}|(?=\w){_RUN}"
        alternatives.append(_NOTE)
        alternatives.append(rf"#(?={first})(?<![{_BEFORE}]#)(?<!\]\(#)(?P<tracked>{tracked})")
    else:
        letters = {name[0] for name in kinds | KEYWORDS}
        first_at = f"[{''.join(sorted(letters | {letter.upper() for letter in letters}))}]"
    alternatives.append(rf"@(?={first_at})(?<![{_BEFORE}]@)(?<!\]\(@)(?:{at})")
    return re.compile("|".join(alternatives))
