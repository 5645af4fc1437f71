"""The prompt for a terminal that can only print: it reads lines, which a person edits with the terminal's own keys.

It has no menus and no meter, and needs no extra. A line that ends with a backslash continues in the next one.
"""

import asyncio
import os
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from promptuary.chat.prompt.any_prompt import AnyPrompt, PromptInterruptedError

if TYPE_CHECKING:
    from promptuary.engine import Promptuary

_LONGEST: Final = 65_536


class LinePrompt(AnyPrompt):
    """Asks for messages line by line."""

    keys = (
        ("Enter", "send the message; a line that ends with \\ continues in the next"),
        ("Ctrl-C", "stop the answer; at the prompt: discard the line"),
        ("Ctrl-D", "end the chat, if the line is empty"),
    )

    def __init__(self, p: "Promptuary") -> None:
        super().__init__(p)
        self._reading: asyncio.Future[bytes] | None = None
        self._keyboard = sys.stdin.fileno()

    async def ask(self, text: str = "") -> str | None:
        """Return the next message. ``text`` cannot be edited here: the person sees it further up."""
        del text
        lines: list[str] = []
        while True:
            line = await self._line("· " if lines else "> ")
            if line is None:
                return "\n".join(lines) if lines else None
            lines.append(line)
            if not line.endswith("\\"):
                break
            lines[-1] = line[:-1]
        typed = "\n".join(lines)
        await self._p.keep_typed(typed)
        return typed

    async def answer(self, question: str) -> str:
        """Ask a question, after discarding everything that was typed before."""
        termios.tcflush(self._keyboard, termios.TCIFLUSH)
        return await self._line(question) or ""

    def hold_typed_ahead(self) -> None:
        """Do nothing: such a terminal shows what is typed at once, so the person has seen it."""

    async def above(self, show: Callable[[], object]) -> None:
        """Write below the current line, and show the prompt again."""
        self._write("\n")
        show()
        self._write("> ")

    def interrupt(self) -> None:
        """End the wait for a line with Ctrl-C."""
        if self._reading is not None and not self._reading.done():
            self._reading.set_exception(PromptInterruptedError())

    def close(self) -> None:
        """Do nothing: there is no work in the background."""

    async def _line(self, prompt: str) -> str | None:
        """Return the next line without its line break; ``None`` at the end of the input."""
        loop = asyncio.get_running_loop()
        self._reading = reading = loop.create_future()
        loop.add_reader(self._keyboard, self._read, reading)
        self._write(prompt)
        self.drawn.set()
        try:
            data = await reading
        except PromptInterruptedError:
            self._write("\n")
            raise
        finally:
            loop.remove_reader(self._keyboard)
            self._reading = None
        return data.decode("utf-8", "replace").rstrip("\r\n") if data else None

    def _read(self, reading: "asyncio.Future[bytes]") -> None:
        data = b""
        with suppress(OSError):  # the terminal is gone
            data = os.read(self._keyboard, _LONGEST)
        if not reading.done():
            reading.set_result(data)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
