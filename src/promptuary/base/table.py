"""Text tables with aligned columns."""

from collections.abc import Sequence
from unicodedata import east_asian_width

from msgspec import Struct


class Column(Struct, frozen=True):
    """The title of a column, and whether its cells are aligned to the right."""

    title: str
    right: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return the titles and the rows, without trailing spaces."""
    lines = [[column.title for column in columns], *rows]
    widths = [max(display_width(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(_line(line, columns, widths) for line in lines)


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    padded = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        blanks = " " * (width - display_width(cell))
        padded.append(blanks + cell if column.right else cell + blanks)
    return "  ".join(padded).rstrip()


def display_width(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
