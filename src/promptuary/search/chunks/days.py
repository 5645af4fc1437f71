"""The days that a file says its lines are of. Pure, and linear in the text.

The heading above a line says it, the innermost with a date; or a line before it that is only a date, or its own
beginning, as in a log; in a chat the turn. For other lines the front matter and the name of the file do. A heading may
leave out the year if one above it or the name has it.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from promptuary.search.chunks.file_kinds import date_of_name, stated_dates
from promptuary.search.chunks.lines import Lines, Part
from promptuary.search.chunks.transcript import Transcript
from promptuary.search.dates.written import MONTHS, dates_in, day_of_month, first_date, lone_date, seconds
from promptuary.search.values import Chunk

MOST_DAYS: Final = 62
"""The most days of a chunk: a table of more is about none of them."""
_DAY: Final = 86_400
_YEAR: Final = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_MARKS: Final = re.compile(r"[ \t]{0,8}(?:[-*+>|][ \t]+)?(?:\[[ xX]\][ \t]+)?[*_(\[]{0,3}")
"""What may be before the date that a line begins with: an indent, the mark of a list or a table, emphasis."""
_ISO: Final = re.compile(r"((?:19|20)[0-9]{2})([-/.])([0-9]{2})\2([0-9]{2})(?![0-9])")
_WORD: Final = re.compile(r"[0-9]+|[^\W\d_]+")
_REACH: Final = 42
"""Characters of a line among which the date is that it begins with."""
_WORDS: Final = 9
"""More words than a line has that is only a date, with a day of the week and a time."""


class _Dated(NamedTuple):
    """The lines ``first`` to ``end`` (excluded) are of ``day``."""

    first: int
    end: int
    day: int


class LineDays:
    """The days of the lines of the file ``path``, counted from 1970.

    ``sections`` are the parts below its headings, ``chat`` its turns, if it has any. Only ``prose`` has dates in its
    lines.
    """

    def __init__(
        self, lines: Lines, path: str, *, sections: Part | None = None, chat: Transcript | None = None, prose: bool
    ) -> None:
        self._blank = lines.blank
        self._stated = {moment // _DAY for moment in stated_dates(path, lines.text)}
        dated: list[_Dated] = []
        if chat is not None:
            dated = [_Dated(turn.above, turn.end, turn.date // _DAY) for turn in chat.turns if turn.date is not None]
            title = chat.headings[0].title if chat.headings else ""
            if not self._stated and not dated and (day := _day_of(title, None)) is not None:
                self._stated = {day}
        elif prose:
            dated = [*_of_headings(sections, self._year(path)), *_of_lines(lines, sections)]
        self._of_line: list[int | None] = [None] * (len(lines) if dated else 0)
        for first, end, day in dated:
            self._of_line[first:end] = [day] * (end - first)

    def __bool__(self) -> bool:
        return bool(self._stated or self._of_line)

    def of(self, chunk: Chunk) -> tuple[int, ...]:
        """Return the days of a chunk, in order."""
        if not self._of_line:
            return tuple(sorted(self._stated))
        found: set[int] = set()
        for line in range(chunk.start_line - 1, chunk.end_line):
            day = self._of_line[line]
            if day is not None:
                found.add(day)
            elif not self._blank[line]:
                found |= self._stated
        return tuple(sorted(found)) if len(found) <= MOST_DAYS else ()

    def _year(self, path: str) -> int | None:
        """Return the year of the file, if it says it."""
        if named := _YEAR.findall(path):
            return int(named[-1])
        return datetime.fromtimestamp(max(self._stated) * _DAY, UTC).year if self._stated else None


def says_the_same(path: str, other: str) -> bool:
    """Return whether two names of a file say the same about its days."""
    return date_of_name(path) == date_of_name(other) and _YEAR.findall(path)[-1:] == _YEAR.findall(other)[-1:]


def _of_headings(whole: Part | None, year: int | None) -> Iterator[_Dated]:
    """Yield the lines below headings with a date, outer ones before those within."""
    todo = [] if whole is None else [(whole, year)]
    while todo:
        part, year = todo.pop()
        if named := _YEAR.search(part.title):
            year = int(named[0])
        if (day := _day_of(part.title, year)) is not None:
            yield _Dated(part.first, part.end, day)
        todo += [(inner, year) for inner in reversed(part.parts)]


def _day_of(title: str, year: int | None) -> int | None:
    """Return the day that a heading names."""
    if not any(map(str.isdigit, title)):
        return None
    date = first_date(title) if _YEAR.search(title) else None
    if date is None and year is not None and (found := day_of_month(title)):
        date = seconds(year, *found)
    return None if date is None else date // _DAY


def _of_lines(lines: Lines, sections: Part | None) -> Iterator[_Dated]:
    """Yield the lines below one that is only a date, up to the next heading; then those of entries that begin with one.

    An entry ends before a blank line, or the next entry.
    """
    if not _YEAR.search(lines.text):
        return
    heads = frozenset(_firsts(sections)) if sections is not None else frozenset[int]()
    entries: list[tuple[int, int]] = []
    starts = set(heads)
    below: tuple[int, int] | None = None
    for line, text in enumerate(lines.lines):
        if line in heads:
            if below is not None:
                yield _Dated(below[0], line, below[1])
            below = None
        elif _YEAR.search(text, 0, _REACH):
            alone = lone_date(text) if len(text) <= 2 * _REACH and len(text.split(maxsplit=_WORDS)) < _WORDS else None
            if alone is not None:
                if below is not None:
                    yield _Dated(below[0], line, below[1])
                below = line, alone // _DAY
                starts.add(line)
            elif (day := _opening_day(text)) is not None:
                entries.append((line, day))
                starts.add(line)
    if below is not None:
        yield _Dated(below[0], len(lines), below[1])
    for line, day in entries:
        end = line + 1
        while end < len(lines) and not lines.blank[end] and end not in starts:
            end += 1
        yield _Dated(line, end, day)


def _firsts(part: Part) -> Iterator[int]:
    """Yield the lines on which a section begins."""
    todo = [part]
    while todo:
        own = todo.pop()
        if own.title:
            yield own.first
        todo += own.parts


def _opening_day(text: str) -> int | None:
    """Return the day of the date that a line begins with."""
    marks = _MARKS.match(text)
    start = marks.end() if marks else 0
    if iso := _ISO.match(text, start):  # most logs: much faster than the other forms
        date = seconds(int(iso[1]), int(iso[3]), int(iso[4]))
    elif (word := _WORD.match(text, start)) and (word[0].isdecimal() or word[0].lower() in MONTHS):
        date = next((found.seconds for found in dates_in(text[: start + _REACH]) if found.start <= start), None)
    else:
        date = None
    return None if date is None else date // _DAY
