"""A file of the workspace, as ``@file:`` would attach it: with line numbers, and the lines that are meant marked."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from promptuary.base.text import visible
from promptuary.server.page.view import Asked, Page, View

_AT_ONCE: Final = 400
"""How many lines a page has."""
_MAX_LINE: Final = 2_000
_MAX_TEXT: Final = 200_000
"""The most characters of a page: long lines are cut, and a page with many of them ends early."""


class Line(Struct, frozen=True):
    """A line as it is shown: hidden characters are spelled out; ``cut`` is how many characters are left out."""

    number: int
    text: str
    cut: int = 0


async def file(asked: Asked) -> View:
    """Show a part of a file: the one with the line that is named."""
    first, last = _span(asked.query.get("lines", ""))
    start = asked.number("from", asked.query.get("from", "")) if asked.query.get("from") else _start(first)
    found = await asked.workspace.read_lines(asked.query.get("path", ""), first_line=max(1, start), limit=_AT_ONCE)
    lines = shown_lines(found.lines, found.first_line)
    following = found.first_line + len(lines)
    more = {
        "lines": lines,
        "first": first,
        "last": last,
        "previous": max(1, found.first_line - _AT_ONCE) if found.first_line > 1 else None,
        "following": following if following <= found.total else None,
    }
    return View("search/file.html", found, more)


def shown_lines(lines: Sequence[str], first: int) -> Sequence[Line]:
    """Return lines for a page, as many as it may have."""
    return list(_shown(lines, first))


def _shown(lines: Sequence[str], first: int) -> Iterable[Line]:
    room = _MAX_TEXT
    for number, line in enumerate(lines, first):
        text = "\t".join(visible(part)[0] for part in line[:_MAX_LINE].split("\t"))
        room -= len(text)
        if room < 0 and number > first:
            return
        yield Line(number, text, max(0, len(line) - _MAX_LINE))


def _span(lines: str) -> tuple[int, int]:
    """Return the first and the last line that are meant; 0 if there are none."""
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", lines, re.ASCII)
    if not found:
        return 0, 0
    first = int(found[1])
    return first, int(found[2] or first)


def _start(first: int) -> int:
    """Return the first line of the page that a line is on, with some lines before it."""
    return max(1, first - _AT_ONCE // 10)


PAGES: Final = (Page("GET", "/file", file),)
