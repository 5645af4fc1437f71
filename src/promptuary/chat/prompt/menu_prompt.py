"""The prompt for full terminals: editing, keys, menus, the toolbar, and search in earlier messages."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none, run_in_terminal
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_completions, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_width
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style

from promptuary.base.text import one_line
from promptuary.chat.prompt.any_prompt import AnyPrompt, PromptInterruptedError
from promptuary.chat.prompt.completer import ChatCompleter, Hints
from promptuary.chat.prompt.meter import LiveMeter, meter_text
from promptuary.chat.prompt.pastes import Pastes
from promptuary.chat.prompt.typed_ahead import take_typed_ahead
from promptuary.commands.registry import EVERYTHING

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from promptuary.engine import Promptuary
    from promptuary.prompts.values import NamedPrompt
    from promptuary.references.expansion import Measured

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
        "paste": "ansicyan",
    }
)
_REORDERS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_AGAIN: Final = 0.2
"""Seconds until the menu is requested again while the workspace is being listed."""

_ESCAPE: Final = 0.1
"""Seconds after which an Esc counts as a key, and not as the beginning of a key sequence."""

_KEYS: Final = (
    ("Enter", "send the message, or accept the selected row of the menu"),
    ("Alt-Enter, Ctrl-J", "a new line"),
    ("Tab, arrows", "move in the menu; Esc closes it"),
    ("Ctrl-R", "search in what you typed before; arrow up recalls it"),
    ("Ctrl-C", "stop the answer; at the prompt: clear the line"),
    ("Ctrl-D", "end the chat, if the line is empty"),
)


class MenuPrompt(AnyPrompt):
    """Asks for messages, again and again. Tests pass their own ``keyboard`` and ``output``."""

    keys = _KEYS

    def __init__(self, p: "Promptuary", *, keyboard: "Input | None" = None, output: "Output | None" = None) -> None:
        super().__init__(p)
        self._held = ""
        """What was typed ahead, for the next prompt."""
        self._found: Sequence[NamedPrompt] | None = None
        """The prompts by name, read when the first / of a message is typed."""
        self._hints = Hints(p.hint, self._redraw)
        self._meter = LiveMeter(self._measure, self._redraw)
        completer = ChatCompleter(p, EVERYTHING, self._hints, self._ask_again, self._names, prompts=self._prompts)
        self.session: PromptSession[str] = PromptSession(
            message=[("class:prompt", "❯ ")],
            multiline=True,
            prompt_continuation=[("class:prompt", "· ")],
            completer=completer,
            complete_while_typing=True,
            complete_style=CompleteStyle.COLUMN,
            history=_Typed(p, self.pastes),
            key_bindings=_keys(self.pastes),
            input_processors=[_Placeholders(self.pastes)],
            bottom_toolbar=self._toolbar,
            style=_STYLE,
            interrupt_exception=PromptInterruptedError,
            reserve_space_for_menu=6,
            enable_suspend=True,
            input=keyboard,
            output=output,
        )
        self.session.default_buffer.on_text_changed += self._on_text
        self.session.app.ttimeoutlen = _ESCAPE
        self.session.app.after_render += lambda _: self.drawn.set()

    async def ask(self, text: str = "") -> str | None:
        """Return what the person typed, after ``text`` and what was typed ahead; ``None`` at the end."""
        text = "\n".join(filter(None, [text, self._held]))
        self._held, self._found = "", None
        self._hints.forget()
        self._meter.typed(text)
        try:
            return await self.session.prompt_async(default=text, handle_sigint=False)
        except PromptInterruptedError:
            raise PromptInterruptedError(self.session.default_buffer.text) from None
        except EOFError:
            return None

    async def answer(self, question: str) -> str:
        """Ask a question."""
        self.hold_typed_ahead()
        asked: PromptSession[str] = PromptSession(
            input=self.session.input, output=self.session.output, interrupt_exception=PromptInterruptedError
        )
        try:
            return await asked.prompt_async([("", question)], handle_sigint=False)
        except EOFError:
            return ""

    def hold_typed_ahead(self) -> None:
        """Put what was typed meanwhile into the next prompt."""
        typed = take_typed_ahead(self.session.input, self.pastes.folded)
        self._held = "\n".join(filter(None, [self._held, typed]))

    async def above(self, show: Callable[[], object]) -> None:
        """Call ``show``, whose output appears above the prompt; then draw the prompt again."""
        await run_in_terminal(show)

    def interrupt(self) -> None:
        """Do nothing: in this prompt, Ctrl-C is a key."""

    def close(self) -> None:
        """Stop the work in the background."""
        self._hints.close()
        self._meter.close()

    async def _measure(self, text: str) -> "Measured":
        whole = self.pastes.unfolded(text)
        return await self._p.measure(whole.text, pasted=whole.pasted, thread=self.thread)

    async def _names(self, command: str) -> Sequence[str]:
        if command == "model":
            return [one.name for one in self._p.settings.models]
        return [one.id for one in await self._p.threads.list()]

    async def _prompts(self) -> "Sequence[NamedPrompt]":
        if self._found is None:
            self._found = (await self._p.prompts.list()).prompts
        return self._found

    def _on_text(self, buffer: "Buffer") -> None:
        self._meter.typed(buffer.text)

    def _toolbar(self) -> StyleAndTextTuples:
        model = one_line(self.model) or "no model"
        parts: StyleAndTextTuples = [("class:name", f" {one_line(self.thread)} "), ("", f"· {model} · ")]
        columns = self.session.output.get_size().columns
        if self._meter.measured is not None:
            used = fragment_list_width(parts)
            parts += meter_text(
                self._meter.measured, busy=self._meter.busy, unknown=self._meter.unknown, room=columns - used
            )
        more = " · /help"
        return [*parts, ("", more)] if fragment_list_width(parts) + len(more) <= columns else parts

    def _redraw(self) -> None:
        app = get_app_or_none()
        if app is not None:
            app.invalidate()

    def _ask_again(self) -> None:
        """Request the menu again in a moment, unless the person has typed on by then."""
        buffer = self.session.default_buffer
        text = buffer.text

        def again() -> None:
            chosen = buffer.complete_state is not None and buffer.complete_state.complete_index is not None
            if buffer.text == text and not chosen and get_app_or_none() is not None:
                buffer.complete_state = None  # while a menu is open, no other is requested
                buffer.start_completion(select_first=False)

        asyncio.get_running_loop().call_later(_AGAIN, again)


class _Typed(History):
    """What was typed before, as the facade stores it. It is read on first use."""

    def __init__(self, p: "Promptuary", pastes: Pastes) -> None:
        super().__init__()
        self._p, self._pastes = p, pastes
        self._writing: set[asyncio.Task[None]] = set()

    async def load(self) -> AsyncGenerator[str, None]:
        """Yield what was typed, newest first."""
        if not self._loaded:
            self._loaded_strings = list(reversed(await self._p.typed()))
            self._loaded = True
        for line in self._loaded_strings:
            yield line

    def load_history_strings(self) -> Iterable[str]:
        """Return nothing: ``load`` reads everything."""
        return ()

    def store_string(self, string: str) -> None:
        """Store what was typed, in the background. The texts of long pastes are not stored."""
        task = asyncio.ensure_future(self._p.keep_typed(self._pastes.shown(string)))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)


class _Placeholders(Processor):
    """Shows the placeholder of a pasted text for the character that stands for it.

    Characters that would reorder the line, as the name of a file may contain them, are spelled out.
    """

    def __init__(self, pastes: Pastes) -> None:
        self._pastes = pastes

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Return the line as it is shown, and the mappings between its positions and those of the text."""
        chars = explode_text_fragments(transformation_input.fragments)
        shown = [self._pastes.placeholder(char) if char not in _REORDERS else one_line(char) for _, char, *_ in chars]
        if all(len(text) == 1 for text in shown):
            return Transformation(transformation_input.fragments)
        starts = [0, *accumulate(map(len, shown))]
        fragments: StyleAndTextTuples = [
            ("class:paste" if len(text) > 1 else one[0], text) for one, text in zip(chars, shown, strict=True)
        ]

        def to_display(place: int) -> int:
            return starts[place] if place < len(starts) else starts[-1] + place - len(starts) + 1

        def to_source(place: int) -> int:
            return bisect_right(starts, place) - 1 if place <= starts[-1] else len(starts) - 1 + place - starts[-1]

        return Transformation(fragments, to_display, to_source)


def _keys(pastes: Pastes) -> KeyBindings:
    keys = KeyBindings()
    add: Callable[..., Callable[[Callable[[KeyPressEvent], None]], Callable[[KeyPressEvent], None]]] = keys.add

    typing = has_focus(DEFAULT_BUFFER)  # and not searching in earlier messages

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

    @Condition
    def is_alone() -> bool:
        """Whether nothing came with the key: Alt-Enter, as Alt with any key, arrives as Esc and that key at once."""
        app = get_app_or_none()
        return app is not None and not app.key_processor.input_queue

    # Consumed at once: an Enter that follows it is not an Alt-Enter.
    @add(Keys.Escape, filter=typing & has_completions & is_alone, eager=True)
    def _close(event: KeyPressEvent) -> None:
        event.current_buffer.cancel_completion()

    @add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.folded(event.data))

    return keys
