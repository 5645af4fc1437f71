"""A prompt, in the order in which it is sent: what is stable first, what is new last."""

from collections.abc import Sequence
from dataclasses import dataclass

from promptuary.core.messages import Message


@dataclass(frozen=True, slots=True)
class Prompt:
    """Standing content, the conversation so far, what is live, and the person's message with what it points at."""

    stable: Sequence[Message]
    history: Sequence[Message]
    live: Sequence[Message]
    message: Message

    @property
    def messages(self) -> list[Message]:
        """Every message, in order."""
        return [*self.stable, *self.history, *self.live, self.message]
