"""Writes to the terminal. Control characters in texts of models, files and notes never reach it."""

import os
import sys
from typing import Final, Literal, TextIO

from promptuary.base.text import VisibleStream, one_line, visible, with_unix_lines
from promptuary.chat.word_wrap import WordWrap

TextStyle = Literal["bold", "dim", "red", "yellow", "green", "cyan"]
_USUAL: Final = 80
"""The columns to assume if the terminal does not report them."""
_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "green": "32", "cyan": "36"}


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
