"""How much room a terminal has, and text cut to fit it. Knows nothing of what is shown."""

import os
from typing import Final, TextIO

from promptuary.core.table import display_width

WITHOUT_TERMINAL: Final = 120
"""Columns to fill where no terminal says how many it has."""

_LEAST: Final = 20


def columns(stream: TextIO) -> int:
    """Return how many columns ``stream`` has room for."""
    try:
        return max(_LEAST, os.get_terminal_size(stream.fileno()).columns or WITHOUT_TERMINAL)
    except (OSError, ValueError, AttributeError):  # no terminal, closed, or no file at all
        return WITHOUT_TERMINAL


def cut(text: str, width: int) -> str:
    """Return ``text``, or as much of its beginning as ``width`` columns hold, with a mark that there was more."""
    if display_width(text) <= width:
        return text
    kept, room = 0, width - 1
    for char in text:
        room -= display_width(char)
        if room < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}…"
