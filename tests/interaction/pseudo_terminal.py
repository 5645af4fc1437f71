"""A program in a pseudo-terminal, and what a person sees of it: the screen, read by a terminal emulator."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pexpect
import pyte

PATIENCE: Final = 20.0
"""Seconds after which nothing more is expected. Nothing waits that long unless it is broken."""


class _Screen(pyte.HistoryScreen):
    """A screen that answers when the program asks where the cursor is, as terminals do."""

    answer: Callable[[str], object]

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class PseudoTerminal:
    """A program at a terminal of its own."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        rows: int = 40,
        columns: int = 100,
    ) -> None:
        self.screen = _Screen(columns, rows, history=2_000)
        self._stream = pyte.Stream(self.screen)
        self.bytes: list[str] = []
        self.child: Any = pexpect.spawn(
            sys.executable,
            ["-m", "promptuary", *arguments],
            cwd=str(folder),
            env={**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "", **environment},
            dimensions=(rows, columns),
            encoding="utf-8",
            codec_errors="replace",
        )
        self.screen.answer = self.child.send

    def read(self, timeout: float = 0.05) -> bool:
        """Take what the program has written; return whether there was something."""
        try:
            data = self.child.read_nonblocking(65536, timeout=timeout)
        except pexpect.TIMEOUT:
            return False
        self.bytes.append(data)
        self._stream.feed(data)
        return True

    @property
    def shown(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    @property
    def everything(self) -> str:
        """What was ever on the screen, without what has scrolled out long ago."""
        above = ["".join(row[place].data for place in range(self.screen.columns)) for row in self.screen.history.top]
        return "\n".join([*(line.rstrip() for line in above), self.shown])

    def expect(self, text: str, *, count: int = 1) -> str:
        """Wait until ``text`` is on the screen, or was, as often as ``count``, and return the screen."""
        return self.until(lambda: self.everything.count(text) >= count, text)

    def expect_gone(self, text: str) -> str:
        """Wait until ``text`` is not on the screen any more."""
        return self.until(lambda: text not in self.shown, f"no {text}")

    def until(self, holds: Callable[[], bool], what: str) -> str:
        """Wait until something holds, and return the screen."""
        end = time.monotonic() + PATIENCE
        while not holds():
            try:
                self.read()
            except pexpect.EOF:
                if holds():
                    break
                raise AssertionError(f"the program ended before {what!r}:\n{self.everything}") from None
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for {what!r}:\n{self.everything}")
        return self.shown

    def press(self, keys: str) -> None:
        """Press keys; Enter is a carriage return."""
        self.child.send(keys)

    def paste(self, text: str) -> None:
        """Paste a text, as a terminal does it."""
        self.child.send(f"\x1b[200~{text}\x1b[201~")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.child.send("\x03")

    def ended(self) -> int:
        """Wait until the program ends, and return its exit code."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                self.read()
            except pexpect.EOF:
                self.child.wait()
                return int(
                    self.child.exitstatus if self.child.exitstatus is not None else -(self.child.signalstatus or 0)
                )
        raise AssertionError(f"the program does not end:\n{self.everything}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.child.close(force=True)
