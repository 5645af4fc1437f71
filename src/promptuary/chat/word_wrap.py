"""Breaks the lines of a text between words while it arrives piece by piece. Pure.

A piece is shown at once. If a word turns out to cross the edge, its beginning is erased and written on the next line.
Lines of code stay as they are, so that they are copied whole.
"""

import unicodedata
from typing import Final

_TAB: Final = 8
_FENCES: Final = ("```", "~~~")


class WordWrap:
    """The position of a text on its line."""

    def __init__(self) -> None:
        self._column = 0
        self._word = ""
        self._word_width = 0
        self._head = ""
        """The beginning of the line, as far as it decides whether the line is a fence."""
        self._in_code = False

    def wrapped(self, text: str, columns: int) -> str:
        """Return what to write for the next piece of the text on a terminal with ``columns`` columns."""
        return "".join(self._next(char, max(columns - 1, 1)) for char in text)  # the last column behaves strangely

    def _next(self, char: str, edge: int) -> str:
        if char == "\n":
            self._in_code ^= self._head in _FENCES
            self._column, self._word, self._word_width, self._head = 0, "", 0, ""
            return char
        if len(self._head) < len(_FENCES[0]) and (self._head or char != " "):
            self._head += char
        width = _TAB - self._column % _TAB if char == "\t" else _width(char)
        before = ""
        if self._column + width > edge and not self._in_code:
            before = self._broken(width, edge)
            if char == " ":
                self._column, self._word, self._word_width = 0, "", 0
                return "\n"
        self._column += width
        if char in " \t" or width > 1:
            self._word, self._word_width = "", 0
        else:
            self._word, self._word_width = self._word + char, self._word_width + width
        return before + char

    def _broken(self, width: int, edge: int) -> str:
        """Begin a line with the unfinished word, if it fits there whole."""
        if self._word and self._word_width < self._column and self._word_width + width <= edge:
            back = "\b" * self._word_width + "\x1b[K"
            self._column = self._word_width
            return f"{back}\n{self._word}"
        self._column, self._word, self._word_width = 0, "", 0
        return "\n"


def _width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
