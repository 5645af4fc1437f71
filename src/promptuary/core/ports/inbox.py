"""What chat gateways need of a store: which messages were received, and what was sent in answer to each.

It is what lets a gateway be killed at any moment: a message is stored before the platform is told that it arrived, and
what is sent is stored before and after it is sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from promptuary.core.layers import Json

EditOutcome = Literal["replaced", "late", "same", "unknown"]
"""What became of a message that its sender edited: it waited still, or was answered, or had not changed, or is new."""

MOST_CHATS: Final = 1000
"""In how many chats, at most, a start looks for what was missed."""


@dataclass(frozen=True, slots=True)
class SentPart:
    """One of the messages that an answer is sent in.

    ``message`` is its id; it is empty while the message is being sent, and if the process ended then, nobody knows
    whether it arrived. ``since`` is when it was first sent. ``repeated`` says that it was sent again without knowing.
    """

    message: str = ""
    since: str = ""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """A message that is not answered yet.

    ``body`` is the message as the gateway wrote it down; ``begun`` says that an earlier process began to answer.
    ``answer`` is the whole answer, if there is one already. ``sent`` are the parts that it was sent in so far, by their
    numbers.
    """

    number: int
    chat: str
    message: str
    body: Mapping[str, Json]
    received: str
    begun: bool = False
    answer: str | None = None
    sent: Mapping[int, SentPart] = field(default_factory=dict)


class InboxStore(Protocol):
    """The messages that gateways received. Methods may be called from any thread; a write is on disk when it returns.

    ``gateway`` is the name of a gateway: each has messages of its own.
    """

    def receive(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> int | None:
        """Store a message, and return its number; ``None`` if it was received before."""
        ...

    def edit(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> EditOutcome:
        """Replace a message that its sender edited, unless an answer was begun."""
        ...

    def unanswered(self, gateway: str) -> Sequence[Received]:
        """Return the messages that wait for an answer, or for the rest of it, the oldest first."""
        ...

    def begin(self, number: int) -> Received | None:
        """Note that an answer is begun, and return the message as it is now; ``None`` if it is answered already."""
        ...

    def ready(self, number: int, answer: str) -> None:
        """Store the whole answer, before the last of it is sent."""
        ...

    def sending(self, number: int, part: int, *, again: bool = False) -> None:
        """Note that a part of the answer, counted from 0, is being sent.

        ``again``: it was sent before, and may have arrived. That is known of the part from then on.
        """
        ...

    def sent(self, number: int, part: int, message: str) -> None:
        """Note that a part was sent, and the id of the message that it is now."""
        ...

    def answered(self, number: int) -> None:
        """Note that the whole answer was sent. The words of the message are dropped; that it was received is not."""
        ...

    def last_messages(self, gateway: str, *, most: int = MOST_CHATS) -> Mapping[str, str]:
        """Return the id of the message that was received last in each chat, the newest first, of so many chats."""
        ...

    def note(self, gateway: str, chat: str, name: str, value: Json) -> None:
        """Remember something of a chat under a name; ``None`` forgets it."""
        ...

    def noted(self, gateway: str, chat: str, name: str) -> Json:
        """Return what was remembered under a name; ``None`` if nothing was."""
        ...

    def prune(self, before: str) -> int:
        """Drop what is left of messages that were answered and received before a time, and return how many."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...
