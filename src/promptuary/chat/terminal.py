"""Writes to the terminal. Control characters in texts of models, files and notes never reach it."""

import os
import sys
import unicodedata
from typing import Final, Literal, TextIO

from promptuary.base.text import VisibleStream, one_line, visible, with_unix_lines

TextStyle = Literal["bold", "dim", "red", "yellow", "green", "cyan"]
_USUAL: Final = 80
"""The columns to assume if the terminal does not report them."""
_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "green": "32", "cyan": "36"}


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


def is_dumb() -> bool:
    """Return whether the terminal can only print: it neither moves the cursor nor shows colours."""
    return os.environ.get("TERM", "").lower() in {"", "dumb", "unknown"}


class Terminal:
    """A terminal to which an answer is written piece by piece, and sentences in between."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._begun = False
        self._waiting = False
        self._wrap = WordWrap()
        self._visible = VisibleStream()
        self.only_prints = is_dumb()
        self._wraps = self._stream.isatty() and not self.only_prints
        self._coloured = not os.environ.get("NO_COLOR") and not self.only_prints

    def piece(self, text: str) -> None:
        """Write the next piece of an untrusted text, without buffering."""
        self.stop_waiting()
        self._write_piece(self._visible.piece(text))

    def _write_piece(self, shown: str) -> None:
        self._write(self._wrap.wrapped(shown, self._columns()) if self._wraps else shown)

    def line(self, text: str, style: TextStyle | None = None) -> None:
        """Write one line, whatever ``text`` contains."""
        self.break_line()
        self._write(f"{self._styled(self._wrapped(one_line(text)), style)}\n")

    def text(self, text: str, style: TextStyle | None = None) -> None:
        """Write lines of text."""
        self.break_line()
        self._write(f"{self._styled(self._wrapped(visible(with_unix_lines(text))[0]), style)}\n")

    def wait(self, sentence: str) -> None:
        """Show a sentence until something else is written; it is cut to one row of the terminal."""
        self.break_line()
        if not self.only_prints:
            self._write(self._styled(one_line(sentence)[: self._columns() - 1], "dim"))
            self._waiting = True

    def stop_waiting(self) -> None:
        """Remove that sentence."""
        if self._waiting:
            self._waiting = False
            self._write("\r\x1b[K")
            self._begun = False

    def break_line(self) -> None:
        """End the line that has begun."""
        self.stop_waiting()
        self._write_piece(self._visible.rest())
        self._wrap = WordWrap()
        if self._begun:
            self._write("\n")

    def _wrapped(self, text: str) -> str:
        return WordWrap().wrapped(text, self._columns()) if self._wraps else text

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _USUAL
        except OSError:  # the terminal is gone
            return _USUAL

    def _styled(self, text: str, style: TextStyle | None) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and self._coloured else text

    def _write(self, text: str) -> None:
        if text:
            self._begun = not text.endswith("\n")
            self._stream.write(text)
            self._stream.flush()
