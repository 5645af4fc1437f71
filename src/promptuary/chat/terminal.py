"""Writes to the terminal: texts of models, files and notes never reach it with control characters."""

import os
import sys
from typing import Final, Literal, TextIO

from promptuary.core.text import one_line, visible

TextStyle = Literal["bold", "dim", "red", "yellow", "green", "cyan"]
_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "green": "32", "cyan": "36"}


class Terminal:
    """A terminal to which an answer is written piece by piece, and sentences in between."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._begun = False
        self._waiting = False
        self.coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def piece(self, text: str) -> None:
        """Write some more of a text from elsewhere, at once."""
        self.stop_waiting()
        self._write(visible(text)[0])

    def line(self, text: str, style: TextStyle | None = None) -> None:
        """Write one line, whatever ``text`` has in it."""
        self.text(one_line(text), style)

    def text(self, text: str, style: TextStyle | None = None) -> None:
        """Write lines of text."""
        self.break_line()
        self._write(f"{self._styled(visible(text)[0], style)}\n")

    def wait(self, sentence: str) -> None:
        """Show a sentence until the next thing is written."""
        self.break_line()
        if self.coloured:
            self._write(self._styled(one_line(sentence), "dim"))
            self._waiting = True

    def stop_waiting(self) -> None:
        """Take that sentence away."""
        if self._waiting:
            self._waiting = False
            self._write("\r\x1b[K")
            self._begun = False

    def break_line(self) -> None:
        """End the line that has begun."""
        self.stop_waiting()
        if self._begun:
            self._write("\n")

    def _styled(self, text: str, style: TextStyle | None) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and self.coloured else text

    def _write(self, text: str) -> None:
        if text:
            self._begun = not text.endswith("\n")
            self._stream.write(text)
            self._stream.flush()
