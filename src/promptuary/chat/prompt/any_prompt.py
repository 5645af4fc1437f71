"""What a chat needs of a prompt on any terminal: ``menu_prompt`` has menus, ``line_prompt`` reads lines."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from promptuary.chat.prompt.pastes import Pastes

if TYPE_CHECKING:
    from promptuary.engine import Promptuary


class PromptInterruptedError(Exception):
    """The person pressed Ctrl-C in a prompt; its text is the line that is gone with it."""


class AnyPrompt(ABC):
    """Asks for messages, again and again. It knows nothing of models: it returns what the person typed."""

    keys: Sequence[tuple[str, str]] = ()
    """What the help says about keys."""

    def __init__(self, p: "Promptuary") -> None:
        self._p = p
        self.pastes = Pastes()
        self.thread, self.model = "main", ""
        self.drawn = asyncio.Event()
        """Whether the prompt was ever on the screen."""

    @abstractmethod
    async def ask(self, text: str = "") -> str | None:
        """Return what the person typed, beginning with ``text`` if it can be changed there; ``None`` at the end.

        Raises ``PromptInterruptedError`` for Ctrl-C.
        """

    @abstractmethod
    async def agrees(self, question: str) -> bool:
        """Ask a question that is answered with y or n; whatever was typed before it was asked is no answer.

        Raises ``PromptInterruptedError`` for Ctrl-C.
        """

    def talk_to(self, p: "Promptuary", model: str) -> None:
        """Count for another model from now on: ``p`` is the workspace for it."""
        self._p, self.model = p, model

    @abstractmethod
    def hold_typed_ahead(self) -> None:
        """Let what was typed meanwhile wait in the next prompt: it is not sent before the person has seen it there."""

    @abstractmethod
    async def above(self, show: Callable[[], object]) -> None:
        """Let something be written above the prompt."""

    @abstractmethod
    def interrupt(self) -> None:
        """Do what Ctrl-C does, where it is a signal and not a key."""

    @abstractmethod
    def close(self) -> None:
        """Stop what is going on in the background."""
