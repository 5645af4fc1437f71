"""What is said and done in a chat: sends messages and shows the answers, and does what slash commands say.

Everything is done by the facade and by the commands; what is here is when, and what the person sees of it.
"""

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from promptuary.chat.answer import StreamedAnswer, show_context, spelled
from promptuary.chat.options import ChatOptions
from promptuary.chat.pastes import Unfolded
from promptuary.chat.prompt import KEYS, ChatPrompt, PromptInterruptedError
from promptuary.chat.resume import last_exchange
from promptuary.chat.terminal import Terminal
from promptuary.commands.parsing import is_command, unescaped
from promptuary.commands.plain_text import plain_text
from promptuary.commands.results import (
    CommandRefused,
    CommandResult,
    Ended,
    Explained,
    HelpShown,
    ModelChosen,
    ThreadChosen,
    TurnUndone,
)
from promptuary.commands.run import run_command
from promptuary.config.named_models import how_to_configure
from promptuary.config.settings import user_file
from promptuary.core.errors import PromptuaryError, RunFailedError
from promptuary.core.messages import ToolCall

if TYPE_CHECKING:
    from promptuary.engine import Promptuary

_LONGEST_CALL: Final = 2_000


class Talk:
    """What is said and done in a chat: messages that are sent, and commands."""

    def __init__(self, p: "Promptuary", options: ChatOptions, *, prompt: ChatPrompt, terminal: Terminal) -> None:
        self._p, self._options, self._prompt, self._terminal = p, options, prompt, terminal
        self._answering: asyncio.Task[object] | None = None
        self._draft = ""
        """What the next prompt begins with."""

    def take_draft(self) -> str:
        """Return what the next prompt begins with."""
        draft, self._draft = self._draft, ""
        return draft

    def interrupt(self) -> None:
        """Stop the answer, if one arrives."""
        if self._answering is not None:
            self._answering.cancel()

    async def did(self, text: str) -> bool:
        """Send a message or do what a command says; return whether the chat goes on."""
        if is_command(text):
            return await self._do(text)
        whole = self._prompt.pastes.unfolded(unescaped(text))
        if whole.unknown:
            self._terminal.line(f"{whole.unknown[0]} is of an earlier chat, and not kept; paste it again", "red")
            self._draft = text
            return True
        try:
            await self._send(whole, text)
        except PromptuaryError as error:
            self._terminal.line(str(error), "red")
            self._draft = text
        return True

    async def _send(self, whole: Unfolded, typed: str) -> None:
        thread, p = self._prompt.thread, self._p
        if not self._prompt.model:
            await self._show_unsent(whole, thread)
            return
        tools = await p.threads.tools(thread=thread) if self._options.tools else ()
        await self._give_up_earlier(thread)
        shown = StreamedAnswer(self._terminal, self._prompt.model)
        began = time.monotonic()
        task = asyncio.ensure_future(
            p.threads.run(
                whole.text,
                self._prompt.model,
                tools,
                thread=thread,
                pasted=whole.pasted,
                on_event=shown.show,
                confirm=self._agrees,
                max_requests=self._options.max_requests,
            )
        )
        self._answering = task
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            with suppress(asyncio.CancelledError, PromptuaryError):
                await task
            raise
        finally:
            self._answering = None
        shown.end(time.monotonic() - began)
        self._show_end(task, shown, typed)

    async def _show_unsent(self, whole: Unfolded, thread: str) -> None:
        """Show exactly what would be sent, and how to configure a model that answers it."""
        tools = await self._p.threads.tools(thread=thread) if self._options.tools else ()
        turn = await self._p.threads.preview(whole.text, tools, thread=thread, pasted=whole.pasted)
        self._terminal.text(turn.render("text"))
        show_context(turn.expansion, turn.receipt, self._terminal)
        self._terminal.line("No model is configured: this is what would be sent. To get an answer:", "yellow")
        for line in how_to_configure(user_file()):
            self._terminal.line(f"  {line}")

    def _show_end(self, task: "asyncio.Task[object]", shown: StreamedAnswer, typed: str) -> None:
        """Show how a run ended, if not with an answer; a message of which nothing was kept can be sent again."""
        if task.cancelled():
            if shown.result is None:
                self._terminal.line("interrupted: nothing had arrived", "yellow")
                self._draft = typed
            return
        error = task.exception()
        if error is None:
            return
        if not isinstance(error, PromptuaryError):
            raise error
        self._terminal.line(str(error), "red")
        if not (isinstance(error, RunFailedError) and error.result is not None):
            self._draft = typed

    async def _agrees(self, call: ToolCall) -> bool:
        """Ask whether a tool may write. Ctrl-C means no, and stops the answer."""
        if self._options.may_write:
            return True
        self._terminal.break_line()
        self._terminal.line(f"The model wants to call {spelled(call, _LONGEST_CALL)}", "yellow")
        try:
            return await self._prompt.agrees("Let it?")
        except PromptInterruptedError:
            self.interrupt()
            return False

    async def _give_up_earlier(self, thread: str) -> None:
        earlier = await self._p.threads.pending(thread=thread)
        if earlier is not None:
            await self._p.threads.abandon(earlier)
            self._terminal.line(f"note: turn {earlier.number} got no reply and is abandoned now", "dim")

    async def _do(self, line: str) -> bool:
        """Do what a command says; return whether the chat goes on."""
        result = await run_command(self._p, line, thread=self._prompt.thread, model=self._prompt.model)
        self._show(result)
        match result:
            case Ended():
                return False
            case ModelChosen(name):
                self._prompt.model = name
            case ThreadChosen(name):
                self._prompt.thread = name
                for text in await last_exchange(self._p, name):
                    self._terminal.text(text, "dim")
            case TurnUndone(undone):
                self._draft = undone.text
            case _:
                pass
        return True

    def _show(self, result: CommandResult) -> None:
        match result:
            case Explained(replay) if self._terminal.coloured:
                from promptuary.chat.why import show_why  # noqa: PLC0415  (rich is loaded when it is needed)

                self._terminal.break_line()
                show_why(replay)
            case CommandRefused():
                self._terminal.text(plain_text(result), "red")
            case HelpShown(commands) if len(commands) > 1:
                self._terminal.text(plain_text(result))
                width = max(len(key) for key, _ in KEYS)
                self._terminal.text("\n" + "\n".join(f"{key.ljust(width)}  {meaning}" for key, meaning in KEYS))
            case _:
                self._terminal.text(plain_text(result))
