"""Handles the input of a chat: sends messages, shows the answers, and runs slash commands.

The facade and the commands do the work; this module decides when, and what the person sees of it.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, RunFailedError, SourceError
from promptuary.base.messages import ToolCall
from promptuary.base.references import pasted_spans
from promptuary.base.text import one_line
from promptuary.chat.answer import ContextLines, StreamedAnswer, waiting_line
from promptuary.chat.options import ChatOptions
from promptuary.chat.prompt.any_prompt import AnyPrompt, PromptInterruptedError
from promptuary.chat.prompt.pastes import ExpandedPaste
from promptuary.chat.resume import last_exchange
from promptuary.chat.terminal import Terminal
from promptuary.commands.parsing import Invocation, is_command, parse, split_name, unescaped
from promptuary.commands.prompts import PromptResult, PromptToRead, fill_prompt
from promptuary.commands.registry import EVERYTHING
from promptuary.commands.results import (
    CommandRefused,
    CommandResult,
    Ended,
    Explained,
    HelpShown,
    ModelChosen,
    ThreadChosen,
)
from promptuary.commands.run import run_command
from promptuary.config.named_models import how_to_configure
from promptuary.config.settings import user_file
from promptuary.present.plain_text import plain_text
from promptuary.present.prompts import READ_IT, prompt_lines
from promptuary.present.runs import (
    ASKED_FOR_GOOD,
    FOR_GOOD,
    NOT_SENT,
    NOTHING_ARRIVED,
    asked_lines,
    too_long_to_ask,
    tool_text,
)
from promptuary.present.why import show_receipt, show_why
from promptuary.present.window_bar import bar_text
from promptuary.prompts.values import FilledPrompt, NamedPrompt
from promptuary.threads.values import UndoneTurn

if TYPE_CHECKING:
    from promptuary.engine import Promptuary
    from promptuary.threads.consent import ToolConsent
    from promptuary.threads.prepared import Turn
    from promptuary.threads.run_values import Tool


Result = TypeVar("Result")
_SECOND: Final = 1.0
"""Seconds between two updates of the waiting line."""


class Talk:
    """Handles the input of a chat: messages and commands."""

    def __init__(self, p: "Promptuary", options: ChatOptions, *, prompt: AnyPrompt, terminal: Terminal) -> None:
        self._p, self._options, self._prompt, self._terminal = p, options, prompt, terminal
        self._by_model = {prompt.model: p}
        self._running: asyncio.Task[Any] | None = None
        """What Ctrl-C stops: an answer, or a command."""
        self._asking = False
        """Whether a question to the person is open: then nothing else is shown."""
        self._context = ContextLines(terminal)
        self._draft = ""
        """What the next prompt begins with."""
        self._preview: Turn | None = None
        """The last turn that was shown instead of sent, because there is no model."""
        self._as_it_is = ""
        """The message with words that look like a placeholder, after the person was warned about them."""

    def take_draft(self) -> str:
        """Return what the next prompt begins with."""
        draft, self._draft = self._draft, ""
        return draft

    def interrupt(self) -> None:
        """Stop the answer, or the command."""
        if self._running is not None:
            self._running.cancel()

    async def handle(self, text: str) -> bool:
        """Send a message or run a command; return whether the chat continues."""
        whole = self._prompt.pastes.unfolded(unescaped(text))
        if split_name(text) is not None and await self._sent_prompt(whole, text):
            return True
        if is_command(text):
            return await self._do(whole.text)
        if whole.literal and text != self._as_it_is:
            self._terminal.line(
                f"{whole.literal[0]} is not a pasted text, only these words: paste it again, or press Enter once more"
                " to send the words",
                "yellow",
            )
            self._draft = self._as_it_is = text
            return True
        self._as_it_is = ""
        try:
            await self._send(whole, text)
        except PromptuaryError as error:
            self._terminal.line(_in_words(error), "red")
            self._wait_with(text)
        return True

    def _wait_with(self, text: str = "") -> None:
        """Put a message into the next prompt, and below it what was typed meanwhile: neither is sent unseen."""
        self._draft = text
        self._prompt.hold_typed_ahead()

    async def _sent_prompt(self, whole: ExpandedPaste, typed: str) -> bool:
        """Send the prompt that a line names; return False if it names none."""
        try:
            found = await fill_prompt(self._p, whole.text, worded=_in_words)
            if isinstance(found, PromptToRead):
                found = await self._read(found.prompt, whole.text)
        except PromptuaryError as error:
            found = CommandRefused(_in_words(error))
        match found:
            case FilledPrompt():
                await self._send_filled(found, whole, typed)
            case CommandRefused(reason):
                self._terminal.text(reason, "red")
            case PromptToRead(prompt):  # its file has changed while it was read
                self._terminal.text(f"{prompt.source} has changed; read it again", "red")
            case None:
                return False
        return True

    async def _send_filled(self, found: FilledPrompt, whole: ExpandedPaste, typed: str) -> None:
        """Send the message of a prompt, to its model if it names one."""
        for note in found.prompt.notes:
            self._terminal.line(f"note: {found.prompt.name}: {one_line(note)}", "dim")
        before, model = self._prompt.model, found.prompt.model
        pasted = [whole.text[start:end] for start, end in whole.pasted]
        spans = pasted_spans(found.text, [one for one in pasted if one and one in found.text])
        try:
            if model and model != before:
                self._p.settings.chat(model)  # raises an error that says how to configure it
                await self._talk_to(model)
            await self._send(ExpandedPaste(found.text, spans), typed, found.origin)
        except PromptuaryError as error:
            self._terminal.line(_in_words(error), "red")
            self._wait_with(typed)
        finally:
            if self._prompt.model != before:
                await self._talk_to(before)

    async def _read(self, prompt: NamedPrompt, line: str) -> PromptResult | None:
        """Show a prompt that came with the workspace in full, and ask whether it may be used."""
        self._terminal.text("\n".join(prompt_lines(prompt)))
        self._asking = True
        try:
            agreed = await self._prompt.agrees(READ_IT)
        except PromptInterruptedError:
            agreed = False
        finally:
            self._asking = False
        if not agreed:
            return CommandRefused(f"{prompt.source} is not used")
        await self._p.prompts.accept(prompt)
        return await fill_prompt(self._p, line, worded=_in_words)

    async def _send(self, whole: ExpandedPaste, typed: str, origin: str = "") -> None:
        thread, p = self._prompt.thread, self._p
        if not self._prompt.model:
            await self._show_unsent(whole, typed, thread, origin)
            return
        tools = await self._offered(thread)
        await self._give_up_earlier(thread)
        self._preview = None
        consents = {tool.name: tool.consent for tool in tools}
        shown = StreamedAnswer(self._terminal, self._prompt.model, self._context)
        began = time.monotonic()
        task = asyncio.ensure_future(
            p.threads.run(
                whole.text,
                self._prompt.model,
                tools,
                thread=thread,
                pasted=whole.pasted,
                prompt=origin,
                on_event=shown.show,
                confirm=lambda call: self._agrees(call, consents.get(call.name)),
                max_requests=self._options.max_requests,
            )
        )
        await self._ended(task, shown.still_waiting)
        seconds = time.monotonic() - began
        self._show_end(task, shown, typed)
        shown.end(seconds)

    async def _awaited(self, name: str, work: Coroutine[Any, Any, Result]) -> "asyncio.Task[Result]":
        """Return the task of ``work`` when it is done or was interrupted; ``name`` is shown meanwhile."""
        task, began = asyncio.ensure_future(work), time.monotonic()
        await self._ended(task, lambda: self._terminal.wait(waiting_line(name, time.monotonic() - began)))
        return task

    async def _ended(self, task: "asyncio.Task[Any]", still_waiting: Callable[[], None]) -> None:
        """Wait for a task, which Ctrl-C stops; show every second that it is not done yet."""
        self._running = task
        try:
            while not (await asyncio.wait([task], timeout=_SECOND))[0]:
                if not self._asking:
                    still_waiting()
        except asyncio.CancelledError:
            task.cancel()
            with suppress(asyncio.CancelledError, PromptuaryError):
                await task
            raise
        finally:
            self._running = None

    async def _show_unsent(self, whole: ExpandedPaste, typed: str, thread: str, origin: str) -> None:
        """Show exactly what would be sent, and how to configure a model that answers it."""
        tools = await self._offered(thread)
        preview = self._p.threads.preview(whole.text, tools, thread=thread, pasted=whole.pasted, prompt=origin)
        task = await self._awaited("preparing", preview)
        if task.cancelled():
            self._terminal.line(NOTHING_ARRIVED, "yellow")
            self._wait_with(typed)
            return
        turn = self._preview = task.result()
        self._terminal.text(turn.render("text"))
        for tool in tools:
            self._terminal.text(tool_text(tool))
        self._context.show(turn.expansion, turn.receipt)
        self._terminal.line(NOT_SENT, "yellow")
        for line in how_to_configure(user_file()):
            self._terminal.line(f"  {line}")

    def _show_end(self, task: "asyncio.Task[object]", shown: StreamedAnswer, typed: str) -> None:
        """Show how a run ended, if not with an answer; if nothing was kept of the turn, it can be sent again."""
        if task.cancelled():
            if shown.result is None:
                self._terminal.line(NOTHING_ARRIVED, "yellow")
            self._wait_with(typed if shown.result is None else "")
            return
        error = task.exception()
        if error is None:
            return
        if not isinstance(error, PromptuaryError):
            raise error
        self._terminal.line(str(error), "red")
        is_kept = isinstance(error, RunFailedError) and error.result is not None
        self._wait_with("" if is_kept else typed)

    async def _offered(self, thread: str) -> "Sequence[Tool]":
        """Return the tools for a turn, and tell which servers are not ready."""
        if not self._options.tools:
            return ()
        known = set(self._p.notes)
        tools = await self._p.threads.tools(thread=thread)
        for note in self._p.notes:
            if note not in known:
                self._terminal.line(f"note: {note}", "yellow")
        return tools

    async def _agrees(self, call: ToolCall, consent: "ToolConsent | None") -> bool:
        """Ask whether a tool may write, or may be called at all. Ctrl-C means no, and stops the answer."""
        if self._options.may_write and consent is None:
            return True
        self._terminal.break_line()
        if too_long := too_long_to_ask(call):
            self._terminal.line(too_long, "yellow")
            return False
        for line in asked_lines(call):
            self._terminal.line(line, "yellow")
        self._asking = True
        try:
            if consent is None:
                return await self._prompt.agrees("Let it?")
            return await self._agrees_to(consent)
        except PromptInterruptedError:
            self.interrupt()
            await asyncio.sleep(0)  # the cancellation arrives here: the model does not see a refusal by the person
            return False
        finally:
            self._asking = False

    async def _agrees_to(self, consent: "ToolConsent") -> bool:
        """Ask whether a tool of another server may be called, and keep an answer that is meant for good."""
        self._terminal.line(await concurrency.run(consent.question), "yellow")
        answer = (await self._prompt.answer(f"{ASKED_FOR_GOOD} ")).strip().lower()
        if answer in FOR_GOOD:
            await concurrency.run(consent.keep)
        return answer in {"y", "yes", *FOR_GOOD}

    async def _give_up_earlier(self, thread: str) -> None:
        earlier = await self._p.threads.pending(thread=thread)
        if earlier is not None:
            await self._p.threads.abandon(earlier)
            self._terminal.line(f"note: turn {earlier.number} got no reply and is abandoned now", "dim")

    async def _do(self, line: str) -> bool:
        """Run a command; return whether the chat continues."""
        if self._preview is not None and parse(line, EVERYTHING) == Invocation("why", "", ""):
            self._explain_preview(self._preview)
            return True
        result = await self._result(line)
        self._show(result)
        match result:
            case Ended():
                return False
            case ModelChosen(name):
                await self._talk_to(name)
            case ThreadChosen(name):
                self._prompt.thread, self._preview = name, None
                for text in await last_exchange(self._p, name):
                    self._terminal.text(text, "dim")
            case UndoneTurn(text=text):
                self._draft = text
            case _:
                pass
        return True

    async def _result(self, line: str) -> CommandResult:
        """Return the result of a command. Ctrl-C ends the wait for a long one, but its writes still complete."""
        prompt, name = self._prompt, line.split(maxsplit=1)[0]
        work = run_command(self._p, line, thread=prompt.thread, model=prompt.model, worded=_in_words)
        task = await self._awaited(name, work)
        if task.cancelled():
            return CommandRefused(f"interrupted: what {name} had begun to write may still be completed")
        return task.result()

    async def _talk_to(self, model: str) -> None:
        """Switch to another model: from now on, tokens are counted for it."""
        if model not in self._by_model:  # all are closed with the workspace
            self._by_model[model] = await self._p.acting_as(self._p.principal, model=model)
        before, self._p = self._p, self._by_model[model]
        self._prompt.talk_to(self._p, model)
        for note in self._p.notes:
            if note not in before.notes:
                self._terminal.line(f"note: {note}", "yellow")

    def _explain_preview(self, turn: "Turn") -> None:
        """Show what a message is made of that was not sent, because there is no model."""
        title = f"not sent, because there is no model: {one_line(turn.text)[:200]}"
        if not self._terminal.only_prints:
            self._terminal.break_line()
            show_receipt(title, turn.receipt)
        else:
            self._terminal.text("\n".join([title, turn.receipt.explain(), bar_text(turn.receipt)]))

    def _show(self, result: CommandResult) -> None:
        match result:
            case Explained(replay) if not self._terminal.only_prints:
                self._terminal.break_line()
                show_why(replay)
            case CommandRefused():
                self._terminal.text(plain_text(result), "red")
            case HelpShown(commands) if len(commands) > 1:
                self._terminal.text(plain_text(result))
                keys = self._prompt.keys
                width = max(len(key) for key, _ in keys)
                self._terminal.text("\n" + "\n".join(f"{key.ljust(width)}  {meaning}" for key, meaning in keys))
            case _:
                self._terminal.text(plain_text(result))


def _in_words(error: PromptuaryError) -> str:
    """Return an error as a person reads it: its sentence, without the code, which is for programs."""
    return error.reason if isinstance(error, SourceError) else str(error)
