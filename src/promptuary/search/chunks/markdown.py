"""The parts of prose with headings: Markdown, reStructuredText, Org and AsciiDoc.

Lines that belong together (fenced code, tables) are marked as glued. Only headings are parsed: one inside a quotation,
a list or an HTML block does not count.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from promptuary.base.front_matter import matter_end
from promptuary.search.chunks.file_kinds import extension_of
from promptuary.search.chunks.lines import Lines, Part


class Heading(NamedTuple):
    """A heading: its first line, its level (the highest is one), its words, and how many lines it has."""

    line: int
    level: int
    title: str
    lines: int = 1


_MARKS = frozenset("#`~=-|")
_HASHES = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?[ \t\r]*\Z")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})([^\n]*)\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t\r]*\Z")
_NOT_A_TITLE = re.compile(r"\s*(?:[>|#]|[-*+][ \t]|[0-9]{1,9}[.)][ \t]|`{3}|~{3}|[=-]+\s*\Z)|\s{4}")
_PUNCTUATION = frozenset("=-~^\"'`#*+_:.<>")
_STARS = re.compile(r"(\*{1,8})[ \t]+(.*)")
_EQUALS = re.compile(r"(={1,6}|#{1,6})[ \t]+(.*)")
_ORG_STATE = re.compile(r"(?:TODO|DONE|NEXT|WAITING)[ \t]+")
_ORG_TAGS = re.compile(r"(?<![ \t])[ \t]++:[\w@:]+:\Z")


def heading_parts(lines: Lines, path: str) -> Part:
    """Return the sections of the file ``path``, and mark lines that belong together as glued."""
    reader = _READERS.get(extension_of(path), markdown_headings)
    body = front_matter_end(lines)
    whole = _nested(lines, reader(lines, body))
    if whole.parts and lines.trimmed(body, whole.parts[0].first) == (whole.parts[0].first,) * 2:
        whole.parts[0].first = 0
    return whole


def _nested(lines: Lines, headings: Iterator[Heading]) -> Part:
    end = len(lines)
    whole = Part(0, end)
    open_parts = [(0, whole)]
    for heading in headings:
        while open_parts[-1][0] >= heading.level:
            open_parts.pop()[1].end = heading.line
        around = open_parts[-1][1]
        alone = heading.level == 1 and bool(whole.parts)
        part = Part(heading.line, end, heading.title, [], alone, heading.lines)
        around.parts.append(part)
        _glue_to_text(lines, heading)
        open_parts.append((heading.level, part))
    return whole


def _glue_to_text(lines: Lines, heading: Heading) -> None:
    """Glue a heading to the first line below it."""
    below = heading.line + heading.lines
    while below < len(lines) and lines.blank[below]:
        below += 1
    if below < len(lines):
        lines.glue(heading.line, below + 1)


def front_matter_end(lines: Lines) -> int:
    """Return the first line after the front matter, which is marked as glued; zero if there is none."""
    end = matter_end(lines.lines)
    if end:
        lines.glue(0, end)
    return end


def is_markdown(path: str) -> bool:
    """Return whether the headings of the file ``path``, if it has any, are those of Markdown."""
    return extension_of(path) not in _READERS


def markdown_headings(lines: Lines, body: int, *, unclosed: bool = True) -> Iterator[Heading]:
    """Yield the headings from the line ``body`` on, and mark fenced code and tables as glued.

    Fenced code that is never closed extends to the end of the text; it is marked only with ``unclosed``.
    """
    texts = lines.lines
    marked = [line for line, text in enumerate(texts) if text.lstrip()[:1] in _MARKS]
    fence, opened, table, heading = "", 0, -1, -1
    for line in marked:
        if line < body:
            continue
        text = texts[line]
        mark = text.lstrip()[0]
        if fence:
            if mark == fence[0] and text.strip(f"{mark} \t\r") == "" and len(text.strip()) >= len(fence):
                lines.glue(opened, line + 1)
                fence = ""
        elif mark in "`~":
            found = _FENCE.match(text)
            if found and not (mark == "`" and "`" in found[2]):
                fence, opened = found[1], line
        elif mark == "|":
            lines.glued[line] = table == line - 1
            table = line
        elif mark == "#":
            if found := _HASHES.match(text):
                heading = line
                yield Heading(line, len(found[1]), plain_title(found[2] or ""))
        elif (found := _UNDERLINE.match(text)) and _is_title(lines, line - 1, body, heading):
            heading = line
            yield Heading(line - 1, 1 if mark == "=" else 2, plain_title(texts[line - 1]), 2)
    if fence and unclosed:
        lines.glue(opened, len(lines))


def _is_title(lines: Lines, line: int, body: int, heading: int) -> bool:
    """Return whether an underlined line is a paragraph by itself."""
    if line < body or line == heading or lines.blank[line] or _NOT_A_TITLE.match(lines.lines[line]):
        return False
    return line == body or line - 1 == heading or lines.blank[line - 1]


def _restructured(lines: Lines, body: int) -> Iterator[Heading]:
    """Yield the headings; their levels follow the order in which their marks are first used."""
    texts = lines.lines
    levels: dict[str, int] = {}
    last = -1
    for line in range(body + 1, len(texts)):
        mark = texts[line][:1]
        if mark not in _PUNCTUATION or not _is_rule(texts[line]) or line - 1 <= last:
            continue
        title = texts[line - 1]
        if lines.blank[line - 1] or _is_rule(title) or len(texts[line].rstrip()) < min(len(title.rstrip()), 3):
            continue
        over = line - 2 > last and line - 2 >= body and texts[line - 2].rstrip() == texts[line].rstrip()
        if not over and (title[:1].isspace() or (line - 2 >= body and not lines.blank[line - 2] and line - 2 != last)):
            continue
        last = line
        level = levels.setdefault(mark * 2 if over else mark, len(levels) + 1)
        yield Heading(line - 2 if over else line - 1, min(level, 8), plain_title(title), 3 if over else 2)


def _is_rule(text: str) -> bool:
    plain = text.rstrip()
    return bool(plain) and plain[0] in _PUNCTUATION and not plain.strip(plain[0])


def _starred(lines: Lines, body: int) -> Iterator[Heading]:
    for line in range(body, len(lines)):
        if lines.lines[line].startswith("*") and (found := _STARS.match(lines.lines[line])):
            title = _ORG_TAGS.sub("", _ORG_STATE.sub("", found[2].rstrip(), count=1))
            yield Heading(line, len(found[1]), plain_title(title))


def _asciidoc(lines: Lines, body: int) -> Iterator[Heading]:
    for line in range(body, len(lines)):
        if lines.lines[line][:1] in {"=", "#"} and (found := _EQUALS.match(lines.lines[line])):
            yield Heading(line, len(found[1]), plain_title(found[2]))


_READERS: dict[str, Callable[[Lines, int], Iterator[Heading]]] = {
    "adoc": _asciidoc,
    "asciidoc": _asciidoc,
    "org": _starred,
    "rst": _restructured,
}


_LONGEST: Final = 200
_PLAIN = re.compile(r"[A-Za-z0-9.,:'()]+(?: [A-Za-z0-9.,:'()]+){0,20}")
_CLOSING = re.compile(r"[ \t]+[#=]+\Z")
_ATTRIBUTES = re.compile(r"[ \t]*\{[^{}]*\}\Z")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
# A mark between two letters is part of a name; one between two spaces is arithmetic.
_EMPHASIS = re.compile(r"(?<![\\\w*])\*+(?=\S)|(?<=[^\s\\])\*+(?![\w*])|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|~~")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def plain_title(heading: str) -> str:
    """Return the words of ``heading`` without markup; its leading marks are removed already."""
    if _PLAIN.fullmatch(heading):
        return heading
    text = heading[:_LONGEST].strip()
    if text.endswith(("#", "=")):
        text = _CLOSING.sub("", text)
    if text.endswith("}"):
        text = _ATTRIBUTES.sub("", text)
    spans = text.split("`")
    # Backticks without a partner are ordinary characters.
    if len(spans) % 2 == 0:
        spans = [text]
    words = [span if index % 2 else _without_marks(span) for index, span in enumerate(spans)]
    return " ".join("".join(words).split())


def _without_marks(text: str) -> str:
    # Most headings have none of these, and a search for one character is faster than any expression.
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _TAG.sub("", text)
    if "*" in text or "_" in text or "~" in text:
        text = _EMPHASIS.sub("", text)
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
