"""The chat: asks for messages until the person leaves. ``session`` handles them, and is loaded when it is needed.

So the prompt appears before the threads are opened; the last exchange appears above it a moment later.
"""

import asyncio
import gc
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from promptuary.base.errors import PromptuaryError
from promptuary.chat.options import ChatOptions
from promptuary.chat.prompt.any_prompt import AnyPrompt, PromptInterruptedError
from promptuary.chat.resume import last_exchange
from promptuary.chat.terminal import Terminal

if TYPE_CHECKING:
    from promptuary.chat.session import Talk
    from promptuary.engine import Promptuary


_TURN: Final = 0.001
"""The thread switch interval in seconds. Python's default of 5 ms, times the threads, is a delay that people notice."""


_GARBAGE: Final = (2_000, 10, 100)
"""When the garbage collector runs: often, because it takes 60 ms if the garbage of drawing accumulates."""


def prefer_input_latency() -> None:
    """Shorten the thread switch interval, and exempt what was loaded so far from garbage collection."""
    sys.setswitchinterval(_TURN)
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


class Chat:
    """A conversation at a terminal."""

    def __init__(self, p: "Promptuary", options: ChatOptions, *, prompt: AnyPrompt, terminal: Terminal) -> None:
        self._p, self._options, self._prompt, self._terminal = p, options, prompt, terminal
        prompt.thread, prompt.model = options.thread, p.settings.answer_model
        self._talk: Talk | None = None

    async def run(self) -> None:
        """Run the chat until the person leaves."""
        loop, main = asyncio.get_running_loop(), asyncio.current_task()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(ending, lambda: main.cancel() if main else None)
        self._greet()
        resuming = asyncio.ensure_future(self._resume())
        try:
            while (text := await self._typed()) is not None:
                await resuming
                if text.strip() and not await self._talking().handle(text):
                    break
        finally:
            resuming.cancel()
            with suppress(asyncio.CancelledError):
                await resuming
            self._prompt.close()

    async def _typed(self) -> str | None:
        draft = self._talk.take_draft() if self._talk else ""
        try:
            return await self._prompt.ask(draft)
        except PromptInterruptedError as stopped:
            if not str(stopped):  # if a line was cleared, the person sees that Ctrl-C worked
                self._terminal.line("Ctrl-D, or /quit, ends the chat", "dim")
            return ""

    def _greet(self) -> None:
        model = self._prompt.model or "no model yet"
        self._terminal.line(f"promptuary · thread {self._prompt.thread} · {model} · /help, Ctrl-D ends", "dim")

    async def _resume(self) -> None:
        """Load what the menus need; then show the last exchange and notes on the workspace above the prompt."""
        await self._prompt.drawn.wait()
        prefer_input_latency()
        with suppress(PromptuaryError):
            await self._p.warm_up()  # now, because nobody has typed yet
        try:
            said = await last_exchange(self._p, self._prompt.thread)
        except PromptuaryError as error:
            said = [str(error)]
        settings = self._p.settings
        # How tokens are counted is shown only in a new thread: a person who comes back knows it.
        counting = settings.counting_notes if not said and not self._options.quiet else ()
        notes = [f"note: {note}" for note in (*counting, *self._p.notes[len(settings.warnings) :])]
        if said or notes:
            await self._prompt.above(lambda: self._tell(said, notes))

    def _tell(self, said: list[str], notes: list[str]) -> None:
        for text in said:
            self._terminal.text(text, "dim")
        for note in notes:
            self._terminal.line(note, "yellow")

    def _talking(self) -> "Talk":
        if self._talk is None:
            from promptuary.chat.session import Talk  # noqa: PLC0415  (the prompt appears first)

            options = self._options
            self._talk = Talk(self._p, options, prompt=self._prompt, terminal=self._terminal)
        return self._talk

    def _interrupt(self) -> None:
        self._prompt.interrupt()
        if self._talk is not None:
            self._talk.interrupt()
