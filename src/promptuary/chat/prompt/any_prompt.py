"""What a chat needs from a prompt on any terminal: ``menu_prompt`` has menus, ``line_prompt`` reads lines."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptuary.base.text import one_line
from promptuary.chat.prompt.pastes import Pastes

if TYPE_CHECKING:
    from promptuary.engine import Promptuary


class PromptInterruptedError(Exception):
    """The person pressed Ctrl-C in a prompt; its text is the line that this discarded."""


class AnyPrompt(ABC):
    """Asks for messages, again and again. It does not know models: it returns what the person typed."""

    keys: Sequence[tuple[str, str]] = ()
    """The keys that the help lists, with their meanings."""

    def __init__(self, p: "Promptuary") -> None:
        self._p = p
        self.pastes = Pastes()
        self.thread, self.model = "main", ""
        self.drawn = asyncio.Event()
        """Whether the prompt was ever on the screen."""

    @abstractmethod
    async def ask(self, text: str = "") -> str | None:
        """Return what the person typed; ``None`` at the end. ``text`` is put there first, if the prompt can edit it.

        Raises ``PromptInterruptedError`` for Ctrl-C.
        """

    async def agrees(self, question: str) -> bool:
        """Ask a yes/no question. Raises ``PromptInterruptedError`` for Ctrl-C."""
        return (await self.answer(f"{one_line(question)} [y/N] ")).strip().lower() in {"y", "yes"}

    @abstractmethod
    async def answer(self, question: str) -> str:
        """Return what the person answers, nothing at the end; keys typed before it was asked do not answer it.

        Raises ``PromptInterruptedError`` for Ctrl-C.
        """

    def talk_to(self, p: "Promptuary", model: str) -> None:
        """Count tokens for another model from now on: ``p`` is the workspace for it."""
        self._p, self.model = p, model

    @abstractmethod
    def hold_typed_ahead(self) -> None:
        """Put what was typed meanwhile into the next prompt: it is not sent before the person has seen it there."""

    @abstractmethod
    async def above(self, show: Callable[[], object]) -> None:
        """Call ``show``, whose output appears above the prompt."""

    @abstractmethod
    def interrupt(self) -> None:
        """Handle Ctrl-C where it is a signal and not a key."""

    @abstractmethod
    def close(self) -> None:
        """Stop the work in the background."""
