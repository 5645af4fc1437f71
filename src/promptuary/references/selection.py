"""Which part of a file a reference means: line ranges, a symbol, or all of it. Pure.

``a.py:10-50`` may mean lines of ``a.py`` or a file with exactly that name: ``interpretations`` returns both, in the
order in which they are tried.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from promptuary.base.errors import Code, SourceError
from promptuary.base.references import LineRange, Reference
from promptuary.base.text import counted, split_lines
from promptuary.base.values import fields_without

_SPOT = r"[0-9]{1,9}(?::[0-9]{1,9})?"  # an editor's line:column; the column is ignored
_RANGE = rf"(?:{_SPOT}(?:-(?:{_SPOT})?)?|-{_SPOT})"
_LINES = rf"{_RANGE}(?:,{_RANGE}){{0,99}}"
_ANCHOR_SPOT = r"[0-9]{1,9}(?:C[0-9]{1,9})?"
_ANCHOR_RANGE = rf"{_ANCHOR_SPOT}(?:-(?:L?{_ANCHOR_SPOT})?)?"
_ANCHOR = rf"L{_ANCHOR_RANGE}(?:,L?{_ANCHOR_RANGE}){{0,99}}"
_SYMBOL = r"[^\W\d]\w*(?:(?:\.|::)~?\w+){0,99}"
_QUOTED_HEADING = r'"[^"\n\0]{1,200}"'
_SLUG = r"\w[\w%.\-]{0,199}(?<![.\-])"  # a heading as links have it: #search-operators, #Search%20operators

QUOTED_HEADING = rf"(?:(?<=\w#){_QUOTED_HEADING})?"
"""What may follow an unquoted value that ends in ``#``: a heading with blanks."""

SUFFIX = rf"(?::{_LINES}|#{_ANCHOR}(?![\w%\-])|#{_QUOTED_HEADING}|#{_SYMBOL}(?![\w%\-])|#{_SLUG}|:contents\b)"
"""What may follow the closing quote of a value."""

_SUFFIXED = re.compile(
    rf"(?s)(?P<path>.*?)(?::(?P<lines>{_LINES})|#(?P<anchor>{_ANCHOR})"
    rf"|#(?P<symbol>{_SYMBOL})|#(?P<heading>{_QUOTED_HEADING}|{_SLUG}))\Z"
)


class Selection(Struct, frozen=True):
    """The part that is wanted: line ranges, a symbol, or (neither) all of the file."""

    ranges: tuple[LineRange, ...] = ()
    symbol: str = ""


class FilePart(Struct, frozen=True):
    """A file and the part of it that is wanted; ``suffix`` is how that is written behind the path."""

    path: str
    selection: Selection = Selection()
    suffix: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FilePart):
            return NotImplemented
        return fields_without(self, "suffix") == fields_without(other, "suffix")

    def __hash__(self) -> int:
        return hash(fields_without(self, "suffix"))


def interpretations(reference: Reference) -> Iterator[FilePart]:
    """Yield what ``reference`` can mean, the literal path first."""
    value, written = reference.value, reference.suffix
    if reference.raw.startswith("[["):
        heading = written.removeprefix("#")
        # A mark with ^ names a paragraph, which cannot be looked up: the whole note is shown.
        yield FilePart(value, Selection(symbol="" if heading.startswith("^") else heading), written)
        return
    suffix = _SUFFIXED.match(written)
    yield FilePart(value, _selection(suffix) if suffix else Selection(), written)
    if written or (reference.quoted and reference.rooted):
        return  # a path that was located is not read in another way
    suffix = _SUFFIXED.match(value)
    path, _, heading = value.rpartition("#")
    if suffix and suffix["path"]:
        yield FilePart(suffix["path"], _selection(suffix), value[len(suffix["path"]) :])
    elif reference.quoted and path and heading.strip() and '"' not in heading:
        yield FilePart(path, Selection(symbol=heading.strip()), f'#"{heading.strip()}"')


def _selection(suffix: re.Match[str]) -> Selection:
    if symbol := suffix["symbol"] or (suffix["heading"] or "").strip('"'):
        return Selection(symbol=symbol)
    lines = suffix["lines"] or re.sub(r"L|C[0-9]+", "", suffix["anchor"])
    return Selection(ranges=tuple(_range(part) for part in lines.split(",")))


def _range(text: str) -> LineRange:
    first, dash, last = text.partition("-")
    start = _line(first)
    return LineRange(start, _line(last) if dash else start)


def _line(text: str) -> int | None:
    return int(text.partition(":")[0]) if text else None


class Cut(Struct, frozen=True):
    """Lines cut out of a text. ``first`` and ``last`` are line numbers, ``total`` is the length of the whole text.

    ``gaps``: lines between them are left out. ``clamped``: a range went past the end.
    """

    text: str
    first: int
    last: int
    total: int
    gaps: bool
    clamped: bool


def cut(text: str, ranges: Sequence[LineRange], label: str) -> Cut:
    """Return the lines of ``text`` in ``ranges``, in order, overlaps merged, gaps marked.

    An end past the last line is clamped. Raises ``SourceError`` for a start past it, for line 0 and a reversed range.
    """
    lines = split_lines(text)
    spans = _merged([_bounds(one, len(lines), label) for one in ranges])
    clamped = any(one.last is not None and one.last > len(lines) for one in ranges)
    parts = []
    for index, (first, last) in enumerate(spans):
        if index:
            gap = (spans[index - 1][1] + 1, first - 1)
            parts.append(f"⋯ lines {gap[0]}-{gap[1]} left out ⋯\n")
        part = "".join(lines[first - 1 : last])
        parts.append(part if part.endswith("\n") or index == len(spans) - 1 else part + "\n")
    return Cut("".join(parts), spans[0][0], spans[-1][1], len(lines), gaps=len(spans) > 1, clamped=clamped)


def count_lines(text: str) -> int:
    """Return how many lines ``text`` has; the last one counts without a line feed, too."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _bounds(one: LineRange, total: int, label: str) -> tuple[int, int]:
    first = 1 if one.first is None else one.first
    if first < 1 or (one.last is not None and one.last < first):
        raise SourceError(
            Code.BAD_RANGE,
            f"lines {one} of {label} are not a valid range: lines count from 1, the smaller number first",
        )
    if first > total:
        length = f"has {counted(total, 'line')}" if total else "is empty"
        raise SourceError(Code.BAD_RANGE, f"{label} {length}, so there is no line {first}")
    return first, total if one.last is None else min(one.last, total)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
