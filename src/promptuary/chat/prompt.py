"""The prompt: editing, keys, menus, the toolbar, and the search in what was typed before.

It knows nothing of models and threads: it returns what the person typed.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none, run_in_terminal
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_completions, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style

from promptuary.chat.completer import ChatCompleter, Hints
from promptuary.chat.meter import LiveMeter, meter_text
from promptuary.chat.pastes import Pastes
from promptuary.commands.registry import EVERYTHING
from promptuary.core.text import one_line

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from promptuary.core.expansion import Measured
    from promptuary.engine import Promptuary

_STYLE: Final = Style.from_dict(
    {
        "bottom-toolbar": "noreverse bg:#303030 #bcbcbc",
        "prompt": "bold ansicyan",
        "match": "bold underline",
        "meter.low": "ansigreen",
        "meter.high": "ansiyellow",
        "meter.full": "bold ansired",
        "meter.rest": "#707070",
        "name": "bold",
    }
)
_AGAIN: Final = 0.2
"""Seconds until a menu is asked for again while the workspace is being listed."""

KEYS: Final = (
    ("Enter", "send the message, or take the row of the menu that is chosen"),
    ("Alt-Enter, Ctrl-J", "a new line"),
    ("Tab, arrows", "go through the menu; Esc closes it"),
    ("Ctrl-R", "search in what you typed before; arrow up brings it back"),
    ("Ctrl-C", "stop the answer; at the prompt: clear the line"),
    ("Ctrl-D", "end the chat, if the line is empty"),
)
"""What the help says about keys."""


class PromptInterruptedError(Exception):
    """The person pressed Ctrl-C in a prompt."""


class ChatPrompt:
    """Asks for messages, again and again. ``keyboard`` and ``output`` are those of tests."""

    def __init__(self, p: "Promptuary", *, keyboard: "Input | None" = None, output: "Output | None" = None) -> None:
        self._p = p
        self.pastes = Pastes()
        self.thread, self.model = "main", ""
        self.drawn = asyncio.Event()
        """Whether the prompt was ever on the screen."""
        self._hints = Hints(p.hint, self._redraw)
        self._meter = LiveMeter(self._measure, self._redraw)
        completer = ChatCompleter(p, EVERYTHING, self._hints, self._ask_again)
        self.session: PromptSession[str] = PromptSession(
            message=[("class:prompt", "❯ ")],
            multiline=True,
            prompt_continuation=[("class:prompt", "· ")],
            completer=completer,
            complete_while_typing=True,
            complete_style=CompleteStyle.COLUMN,
            history=_Typed(p),
            key_bindings=_keys(self.pastes),
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            interrupt_exception=PromptInterruptedError,
            reserve_space_for_menu=6,
            input=keyboard,
            output=output,
        )
        self.session.default_buffer.on_text_changed += self._on_text
        self.session.app.after_render += lambda _: self.drawn.set()

    async def ask(self, text: str = "") -> str | None:
        """Return what the person typed, beginning with ``text``; ``None`` at the end.

        Raises ``PromptInterruptedError`` for Ctrl-C.
        """
        self._hints.forget()
        self._meter.typed(text)
        try:
            return await self.session.prompt_async(default=text, handle_sigint=False)
        except EOFError:
            return None

    async def agrees(self, question: str) -> bool:
        """Ask a question that is answered with y or n. Raises ``PromptInterruptedError`` for Ctrl-C."""
        asked: PromptSession[str] = PromptSession(
            input=self.session.input, output=self.session.output, interrupt_exception=PromptInterruptedError
        )
        try:
            answer = await asked.prompt_async([("", f"{one_line(question)} [y/N] ")], handle_sigint=False)
        except EOFError:
            return False
        return answer.strip().lower() in {"y", "yes"}

    async def above(self, show: Callable[[], object]) -> None:
        """Let something be written above the prompt, which is drawn again below it."""
        await run_in_terminal(show)

    def close(self) -> None:
        """Stop what is going on in the background."""
        self._hints.close()
        self._meter.close()

    async def _measure(self, text: str) -> "Measured":
        whole = self.pastes.unfolded(text)
        return await self._p.measure(whole.text, pasted=whole.pasted)

    def _on_text(self, buffer: "Buffer") -> None:
        self._meter.typed(buffer.text)

    def _toolbar(self) -> StyleAndTextTuples:
        model = one_line(self.model) or "no model"
        parts: StyleAndTextTuples = [("class:name", f" {one_line(self.thread)} "), ("", f"· {model} · ")]
        if self._meter.measured is not None:
            parts += meter_text(self._meter.measured, busy=self._meter.busy)
        return [*parts, ("", " · /help")]

    def _redraw(self) -> None:
        app = get_app_or_none()
        if app is not None:
            app.invalidate()

    def _ask_again(self) -> None:
        """Ask for the menu again in a moment, if the person has not gone on by then."""
        buffer = self.session.default_buffer
        text = buffer.text

        def again() -> None:
            chosen = buffer.complete_state is not None and buffer.complete_state.complete_index is not None
            if buffer.text == text and not chosen and get_app_or_none() is not None:
                buffer.complete_state = None  # while a menu is open, no other is asked for
                buffer.start_completion(select_first=False)

        asyncio.get_running_loop().call_later(_AGAIN, again)


class _Typed(History):
    """What was typed before, as the facade keeps it. It is read when it is first needed."""

    def __init__(self, p: "Promptuary") -> None:
        super().__init__()
        self._p = p
        self._writing: set[asyncio.Task[None]] = set()

    async def load(self) -> AsyncGenerator[str, None]:
        """Yield what was typed, the newest first."""
        if not self._loaded:
            self._loaded_strings = list(reversed(await self._p.typed()))
            self._loaded = True
        for line in self._loaded_strings:
            yield line

    def load_history_strings(self) -> Iterable[str]:
        """Return nothing: everything is read by ``load``."""
        return ()

    def store_string(self, string: str) -> None:
        """Keep what was typed, in the background."""
        task = asyncio.ensure_future(self._p.keep_typed(string))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)


def _keys(pastes: Pastes) -> KeyBindings:
    keys = KeyBindings()
    add: Callable[..., Callable[[Callable[[KeyPressEvent], None]], Callable[[KeyPressEvent], None]]] = keys.add

    typing = has_focus(DEFAULT_BUFFER)  # and not searching in what was typed before

    @Condition
    def is_chosen() -> bool:
        app = get_app_or_none()
        state = app.current_buffer.complete_state if app else None
        return state is not None and state.current_completion is not None

    @add(Keys.Enter, filter=typing & is_chosen)
    def _take(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.complete_state = None
        if buffer.document.text_before_cursor.endswith(("/", ":")):  # a folder, or a kind: there is more to choose
            buffer.start_completion(select_first=False)
        else:
            buffer.insert_text(" ")

    @add(Keys.Enter, filter=typing & ~is_chosen)
    def _send(event: KeyPressEvent) -> None:
        if event.current_buffer.text.strip():
            event.current_buffer.validate_and_handle()

    @add(Keys.Escape, Keys.Enter, filter=typing)
    @add(Keys.ControlJ, filter=typing)
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @add(Keys.Escape, filter=has_completions, eager=False)
    def _close(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.folded(event.data))

    return keys
