"""The width of a terminal, texts cut to it, and colour."""

import os
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TextIO

from promptuary.base.table import Column, display_width, table

WITHOUT_TERMINAL: Final = 120
"""Columns of output that does not go to a terminal."""

_MIN_COLUMNS: Final = 20


Style = Literal["bold", "red", "yellow"]
_CODES: Final[Mapping[Style, str]] = {"bold": "1", "red": "31", "yellow": "33"}


def in_style(text: str, style: Style, stream: TextIO) -> str:
    """Return ``text`` in a style if ``stream`` shows colour.

    ``NO_COLOR`` disables colour and ``FORCE_COLOR`` enables it; by default only terminals that are not dumb show it.
    """
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if has_colour(stream) else text


def bold_header(text: str, stream: TextIO) -> str:
    """Return a table with a bold header if ``stream`` shows colour."""
    head, end, rows = text.partition("\n")
    return f"{in_style(head, 'bold', stream)}{end}{rows}"


def headed_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], stream: TextIO) -> str:
    """Return a table for ``stream``, with a bold header if that shows colour."""
    return bold_header(table(columns, rows), stream)


def has_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def columns(stream: TextIO) -> int:
    """Return the width of ``stream`` in columns."""
    try:
        return max(_MIN_COLUMNS, os.get_terminal_size(stream.fileno()).columns or WITHOUT_TERMINAL)
    except (OSError, ValueError, AttributeError):  # not a terminal, closed, or not a file
        return WITHOUT_TERMINAL


def cut(text: str, width: int) -> str:
    """Return ``text``, shortened with an ellipsis to ``width`` columns."""
    if display_width(text) <= width:
        return text
    kept, room = 0, width - 1
    for char in text:
        room -= display_width(char)
        if room < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}…"


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
