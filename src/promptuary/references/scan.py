"""Finds references in a text: pure, linear, and blind to everything but the text.

Code spans, fenced code, Markdown links, URLs, escaped sigils and the spans a caller marks as pasted are passed over.
What looks like a path but may be prose (``@alice``, ``#123``) comes back as a *bare* reference, which counts
only if the path exists: the resolver decides, not this module.

One regular expression does the walking. Every repetition in it is possessive, and code spans are spelled out per
length of their marks because CPython 3.11 mishandles groups inside possessive loops: no input makes it go back,
and the time is linear in the text (a test holds it to that).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from promptuary.core.references import KEYWORDS, KINDS, Reference, Sigil

Span = tuple[int, int]
"""Offsets of the first character and of the one after the last."""

MAX_VALUE = 4096
"""Longer values are no paths: a longer run of characters is text."""

MAX_REFERENCES = 1_000
"""How many references with a kind are taken from one text; whoever reaches it is told so."""

MAX_BARE = 5_000
"""How many bare candidates are looked at; a longer list is pasted prose, and named kinds are still found in it."""

# Letters, digits and signs after which a sigil belongs to a word: me@example.com, a/@b, C#net, &#8217;.
# Scripts that are written without spaces (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese) are no obstacle.
_WORD = (
    r"0-9A-Za-z_\u00aa\u00b5\u00ba\u00c0-\u0dff\u0f00-\u0fff\u10a0-\u177f\u1800-\u1fff"
    r"\ua640-\uabff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a/\\@#.+%&$~\-"
)
# A value ends at white space, at control characters, and at the punctuation of scripts that set no space after it.
_END = (
    r"\s\x00-\x1f\x7f“”‘’„«»…\u3000-\u3003\u3008-\u3011\u3014-\u301f\u30fb"
    r"\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b\uff5d\uff5f-\uff65"
)
_RANGE = r"(?::[0-9,:\-]*[0-9\-]|\#L[0-9][0-9LC,\-]*|\#[A-Za-z_][\w.]*)?"
_QUOTED = r'(?:"(?P<double_{0}>(?:[^"\\\n]|\\[^\n])++)"|\'(?P<single_{0}>[^\'\n]++)\'|`(?P<back_{0}>[^`\n]++)`)'

_TRAILING = ".,;:!?*|~'\"`"
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_CLOSING = _TRAILING + "".join(_BRACKETS)


def scan(text: str, *, kinds: frozenset[str] = KINDS, skip: Sequence[Span] = ()) -> tuple[Reference, ...]:
    """Return the references of ``text`` in order; ``skip`` marks spans (pasted text) that are not looked into."""
    return tuple(_scan(text, kinds, sorted(skip)))


def _scan(text: str, kinds: frozenset[str], skip: Sequence[Span]) -> Iterator[Reference]:
    bare = named = position = 0
    pattern = _pattern(kinds, bare=True)
    while match := pattern.match(text, position):
        inside = next((span for span in skip if span[0] < match.end() and match.start("reference") < span[1]), None)
        if inside:
            position = max(inside[1], match.start("reference") + 1)
            continue
        position = match.end()
        reference = _reference(match)
        if reference is None:
            continue
        position = max(reference.end, match.start("reference") + 1)
        yield reference
        bare += reference.bare
        named += not reference.bare
        if named == MAX_REFERENCES:
            return
        if bare == MAX_BARE:
            pattern = _pattern(kinds, bare=False)


def _reference(match: re.Match[str]) -> Reference | None:
    """Make a reference of what matched, or nothing if trimming leaves no value."""
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    start = match.start("reference")
    sigil: Sigil = "#" if match.group("reference")[0] == "#" else "@"
    if keyword := groups.get("keyword"):
        return Reference(match.string[start : match.end()], sigil, keyword.lower(), "", start, match.end())
    kind = groups.get("kind", groups.get("quoted_kind", "path")).lower()
    bare = "kind" not in groups and "quoted_kind" not in groups
    if run := groups.get("run") or groups.get("path") or groups.get("tracked"):
        value = _trim(run, kind)
        if not value or len(value) > MAX_VALUE:
            return None
        end = match.end() - len(run) + len(value)
        return Reference(match.string[start:end], sigil, kind, value, start, end, bare=bare)
    value = _unquoted(groups)
    suffix = groups.get("suffix", "")
    if len(value) > MAX_VALUE:
        return None
    return Reference(
        match.group("reference"),
        sigil,
        kind,
        value,
        start,
        match.end(),
        suffix=suffix,
        quoted=True,
        bare=bare,
    )


def _unquoted(groups: dict[str, str]) -> str:
    for name, value in groups.items():
        if name.startswith("double"):
            return re.sub(r'\\(["\\])', r"\1", value)
        if name.startswith(("single", "back")):
            return value
    return ""


def _trim(run: str, kind: str) -> str:
    """Return ``run`` without the punctuation that belongs to the sentence around it."""
    trailing = _TRAILING.replace("*", "") if kind == "glob" else _TRAILING
    value = run
    while value and value not in {".", ".."}:
        last = value[-1]
        if last in trailing or (last in _BRACKETS and value.count(last) > value.count(_BRACKETS[last])):
            value = value[:-1]
        elif value.endswith("'s"):
            value = value[:-2]
        else:
            break
        if len(run) > MAX_VALUE:  # no path: the bracket counting above must not see a megabyte of brackets
            return ""
    return value


def _fence(mark: str, length: int) -> str:
    """Fenced code opened by ``length`` marks (six stands for more), up to its closing line or the end."""
    opening = f"{mark}{{{length}{',' if length == 6 else ''}}}+(?!{mark})"
    info = r"[^`\n]*+(?![^\n])" if mark == "`" else r"[^\n]*+"
    closing = rf"[ \t>]*+{mark}{{{length},}}+[ \t]*+(?![^\n])"
    return rf"[ \t>]*+{opening}{info}(?:\n(?!{closing})[^\n]*+)*+(?:\n[^\n]*+)?"


def _code_span(length: int) -> str:
    """Inline code between two runs of exactly ``length`` backticks in one paragraph."""
    mark = f"`{{{length}}}(?!`)"
    return rf"{mark}(?:[^`\n]++|\n(?![ \t]*+(?:\n|\Z))|(?!{mark})`++)*+{mark}"


@lru_cache(maxsize=16)
def _pattern(kinds: frozenset[str], *, bare: bool) -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, kinds), key=len, reverse=True))
    keywords = "|".join(sorted(KEYWORDS, key=len, reverse=True))
    run = rf"(?:[^{_END},;]|[,;](?![@#]))++"
    tracked = rf"(?:[^{_END},;#]|[,;](?![@#])|\#(?=L[0-9]))++"
    forms = [
        rf"@(?P<quoted_kind>(?i:{names})):{_QUOTED.format('kind')}(?P<suffix>{_RANGE})",
        rf"@(?P<kind>(?i:{names})):(?![\"'`])(?P<run>{run})",
        rf"@(?P<keyword>(?i:{keywords}))(?![\w/\-]|[.:][\w/\"'`])",
    ]
    if bare:
        forms += [
            r'@"(?P<double_path>(?:[^"\\\n]|\\[^\n])++)"',
            r'\#"(?P<double_tracked>(?:[^"\\\n]|\\[^\n])++)"',
            rf"@(?=[\w.])(?P<path>{run})",
            rf"\#(?=[\w.])(?<!\]\(\#)(?P<tracked>{tracked})",
        ]
    reference = rf"(?<![{_WORD}])(?:{'|'.join(forms)})"
    probe = re.sub(r"\?P<\w+>", "?:", reference)
    fence = "(?:" + "|".join(_fence(mark, length) for mark in "`~" for length in (6, 5, 4, 3)) + ")"
    passed_over = "|".join(
        [
            r"[^@#`\\\[\nHh]++",  # ordinary characters, in one go
            r"[Hh](?![Tt][Tt][Pp][Ss]?://)",
            r"\n(?![ \t>]*+(?:```|~~~))",
            r"[@#](?:[@#]++|(?![\w.\"]))",  # a sigil that can begin nothing
            rf"(?!{probe})[@#]",
            *(_code_span(length) for length in (1, 2, 3, 4)),
            r"`++",
            r"\n" + fence,
            r"\\[^\n]?",
            r"\[[@#][^\[\]\n]{1,300}+\]\([^()\n]{0,300}+\)",  # a Markdown link: already resolved
            r"[\n\[]",
            r"[Hh][Tt][Tt][Pp][Ss]?://[^\s<>\"]*+",
        ]
    )
    return re.compile(rf"(?:\A{fence})?+(?:{passed_over})*+(?P<reference>{reference})")
