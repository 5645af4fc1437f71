"""The width of a terminal, and texts cut to it."""

import os
from typing import Final, TextIO

from promptuary.core.table import display_width

WITHOUT_TERMINAL: Final = 120
"""Columns of output that does not go to a terminal."""

_LEAST: Final = 20


def columns(stream: TextIO) -> int:
    """Return how many columns ``stream`` has."""
    try:
        return max(_LEAST, os.get_terminal_size(stream.fileno()).columns or WITHOUT_TERMINAL)
    except (OSError, ValueError, AttributeError):  # no terminal, closed, or no file at all
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
