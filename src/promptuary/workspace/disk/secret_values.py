"""Masks secrets with an unmistakable format wherever they occur: private keys, tokens of known services.

Every text that is read is masked, so no other code sees a secret: not the prompt, not the index, not the embedding
service. Only unambiguous formats are masked, and only the value: lines keep their numbers.

Linear, and hardly slower than copying the text: only long words are examined, and the text is searched for a pattern
only if one of these words contains its literal. No pattern can match the same text in two ways.
"""

import re
from functools import cache, partial
from string import ascii_letters, ascii_uppercase, digits
from typing import Final

from promptuary.core.text import masked_as

_TOKENS: Final = (
    # what it is, the literals of which a text must contain one, and the pattern
    ("AWS access key", ("AKIA", "ASIA"), r"(?<![A-Z0-9])A[KS]IA[A-Z2-7]{16}(?![A-Z0-9])(?<!EXAMPLE)"),
    ("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"(?<!\w)gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("GitHub token", ("github_pat_",), r"(?<!\w)github_pat_[A-Za-z0-9_]{60,255}"),
    ("GitLab token", ("glpat-",), r"(?<!\w)glpat-[\w-]{20,255}"),
    ("Slack token", ("xox",), r"(?<!\w)xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9]{1,13}-[A-Za-z0-9-]{20,255}"),
    ("Slack token", ("xapp-",), r"(?<!\w)xapp-\d-[A-Z0-9]{8,20}-\d{8,20}-[a-f0-9]{40,255}"),
    ("Slack webhook", ("hooks.slack.com/",), r"(?<=hooks\.slack\.com/)services/T\w{6,14}/B\w{6,14}/[A-Za-z0-9]{20,40}"),
    ("Stripe key", ("k_live_", "k_test_"), r"(?<!\w)[rs]k_(?:live|test)_[A-Za-z0-9]{24,255}"),
    ("Stripe key", ("whsec_",), r"(?<!\w)whsec_[A-Za-z0-9+/]{32,255}"),
    ("Google key", ("AIza",), r"(?<!\w)AIza[\w-]{35}(?![\w-])"),
    ("Google token", ("GOCSPX-", "ya29."), r"(?<!\w)(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{40,2048})"),
    ("Anthropic key", ("sk-",), r"(?<!\w)sk-ant-[a-z0-9]{2,12}-[\w-]{40,255}"),
    ("OpenAI key", ("sk-",), r"(?<!\w)sk-(?:proj|svcacct|admin)-[\w-]{40,255}"),
    ("OpenAI key", ("sk-",), r"(?<!\w)sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    ("OpenRouter key", ("sk-",), r"(?<!\w)sk-or-v1-[a-f0-9]{64}"),
    ("Hugging Face token", ("hf_",), r"(?<!\w)hf_[A-Za-z0-9]{34,40}(?!\w)"),
    ("npm token", ("npm_",), r"(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)"),
    ("PyPI token", ("pypi-AgE",), r"(?<!\w)pypi-AgE[\w-]{50,1024}"),
    ("SendGrid key", ("SG.",), r"(?<!\w)SG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
    ("Shopify token", ("shpat_", "shpss_", "shpca_", "shppa_"), r"(?<!\w)shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}"),
    ("DigitalOcean token", ("_v1_",), r"(?<!\w)do[opr]_v1_[a-f0-9]{64}"),
    ("Vault token", ("hvs.",), r"(?<!\w)hvs\.[\w-]{24,255}"),
    ("Docker token", ("dckr_pat_",), r"(?<!\w)dckr_pat_[\w-]{27,64}"),
    ("Telegram token", (":AA",), r"(?<!\w)\d{8,10}:AA[\w-]{33}(?![\w-])"),
    ("age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("Azure key", ("AccountKey=",), r"(?<=AccountKey=)[A-Za-z0-9+/]{86}=="),
    ("JSON web token", (".eyJ",), r"(?<![\w-])eyJ[\w-]{10,4096}\.eyJ[\w-]{10,8192}\.[\w-]{27,4096}"),
)

_BY_LITERAL: Final = [(literal, (what, pattern)) for what, literals, pattern in _TOKENS for literal in literals]

_AWS_NAMES: Final = ("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey")
_AWS_VALUE: Final = (
    r"(?:ecret_access_key|ECRET_ACCESS_KEY|ecretAccessKey)[\"']?[ \t]{0,9}[:=][ \t]{0,9}[\"']?"
    r"(?P<value>[A-Za-z0-9/+]{40})(?![\w/+])"
)
_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>[^-]*+(?:-(?!----)[^-]*+)*+)(?P<end>-{5,6}END)?"
)
_KEY_END: Final = r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_TEXT: Final = r"(?:(?<=\\n)|(?<=\\r)|(?<!\\))[A-Za-z0-9+/=]{4,}"
_KEY_LINE: Final = r"[ +\-\t>#*\"'|]*[A-Za-z0-9+/=]{16,}[\\nr\"'+,; \t\r]*"
_LONG: Final = r"[A-Za-z0-9+/]{40}"
_SOME: Final = r"[A-Za-z0-9+/]{16}"


_IN_WORD: Final = bytes(chr(byte) in f"{ascii_letters}{digits}+/_=.:-" for byte in range(256))
_TELLING: Final = f"{ascii_uppercase}{digits}".encode()
_NOT_BASE64: Final = bytes.maketrans(b"_.:-=", b"     ")
_LONG_WORD: Final = b"\1" * 20
"""Every secret has a word of this length or longer."""
_KEY_WORD: Final = 40
"""The length of a word in a secret that is recognised by the words before it."""


def mask_secrets(text: str) -> str:
    """Return ``text`` with every unmistakable secret masked; the rest, and the number of lines, is unchanged."""
    data = text.encode("utf-8", "surrogatepass")
    found = _telling_words(data, data.translate(_IN_WORD))
    if not found:
        return text
    words = b" ".join(found).decode("ascii")
    for what, pattern in dict.fromkeys([token for literal, token in _BY_LITERAL if literal in words]):
        text = _compiled(pattern).sub(partial(_masked_token, masked_as(what)), text)
    return _mask_named(text) if any(map(_has_key_text, found)) else text


def _has_key_text(word: bytes) -> bool:
    """Return whether a long word has as much contiguous base64 as a key; names with dots are often longer."""
    return len(word) >= _KEY_WORD and any(len(part) >= _KEY_WORD for part in word.translate(_NOT_BASE64).split())


def _telling_words(data: bytes, kinds: bytes) -> list[bytes]:
    """Return the long words that have capitals or digits, as every secret has; few texts have many of them."""
    words, start = [], kinds.find(_LONG_WORD)
    while start >= 0:
        end = kinds.find(b"\0", start)
        word = data[start : end if end >= 0 else len(data)]
        if len(word.translate(None, _TELLING)) < len(word):
            words.append(word)
        start = kinds.find(_LONG_WORD, end) if end >= 0 else -1
    return words


def _mask_named(text: str) -> str:
    if any(name in text for name in _AWS_NAMES):
        text = _compiled(_AWS_VALUE).sub(partial(_masked_token, masked_as("AWS secret key")), text)
    return _mask_keys(text) if "PRIVATE KEY" in text else text


def _masked_token(mask: str, match: re.Match[str]) -> str:
    """Return the match with its named group masked, else masked as a whole."""
    start = match.start(match.lastgroup) - match.start() if match.lastgroup else 0
    return match.group()[:start] + mask


def _mask_keys(text: str) -> str:
    text = _compiled(_KEY).sub(_masked_key, text)
    parts, position = [], 0
    for end in _compiled(_KEY_END).finditer(text):  # a hunk may show the end of a key alone
        last = first = max(text.rfind("\n", position, end.start()) + 1, position)
        while first > position:
            above = max(text.rfind("\n", position, first - 1) + 1, position)
            if not _compiled(_KEY_LINE).fullmatch(text, above, first - 1):
                break
            first = above
        parts += [text[position:first], _masked_lines(text[first:last])]
        position = last
    return "".join([*parts, text[position:]])


def _masked_key(match: re.Match[str]) -> str:
    """Return a private key with its lines masked; one without an end only as far as its lines look like a key."""
    body = match["body"]
    if not _compiled(_LONG).search(body):
        return match.group()  # a text about keys
    size = len(body)
    if not match["end"]:
        size = 0
        for number, line in enumerate(body.splitlines(keepends=True)):
            if number and not _compiled(_SOME).search(line) and not _is_header(line):
                break
            size += len(line)
    whole, cut = match.group(), match.start("body") - match.start()
    return whole[:cut] + _masked_lines(body[:size]) + whole[cut + size :]


def _masked_lines(body: str) -> str:
    """Return the lines of a key masked; the first says what it was, the headers stay."""
    marks = iter((masked_as("private key"),))
    return "".join(
        line if _is_header(line) else _compiled(_KEY_TEXT).sub(lambda _: next(marks, "⟨masked⟩"), line)
        for line in body.splitlines(keepends=True)
    )


def _is_header(line: str) -> bool:
    return ": " in line and not _compiled(_LONG).search(line)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
