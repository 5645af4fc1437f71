"""What chat gateways need from a store: the received messages, and what was sent in answer to each.

With it a gateway can be killed at any moment: a message is stored before it is acknowledged to the platform, and every
part of an answer is recorded before and after it is sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from promptuary.core.layers import Json

EditOutcome = Literal["replaced", "late", "same", "unknown"]
"""The result of an edit by the sender: the message still waited, its answer had begun, it is the same, or is new."""

MOST_CHATS: Final = 1000
"""The most chats that are read for missed messages at a start."""


@dataclass(frozen=True, slots=True)
class SentPart:
    """One of the messages of an answer.

    ``message`` is its id; it is empty while the message is being sent, and if the process ended then, it is unknown
    whether it arrived. ``since`` is when it was first sent. ``repeated``: it was sent again without knowing that.
    """

    message: str = ""
    since: str = ""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    """A message that is not answered yet.

    ``body`` is the message as the gateway stored it; ``begun`` says that an earlier process began to answer.
    ``answer`` is the whole answer, if there is one already. ``sent`` are the parts that were sent so far, by number.
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

    ``gateway`` is the name of a gateway: each has its own messages.
    """

    def receive(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> int | None:
        """Store a message, and return its number; ``None`` if it was received before."""
        ...

    def edit(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> EditOutcome:
        """Replace a message that its sender edited, unless the answer has begun."""
        ...

    def unanswered(self, gateway: str) -> Sequence[Received]:
        """Return the messages that wait for an answer, or for the rest of it, the oldest first."""
        ...

    def begin(self, number: int) -> Received | None:
        """Record that the answer begins, and return the message as it is now; ``None`` if it is already answered."""
        ...

    def ready(self, number: int, answer: str) -> None:
        """Store the whole answer, before its last part is sent."""
        ...

    def sending(self, number: int, part: int, *, again: bool = False) -> None:
        """Record that a part of the answer, counted from 0, is being sent.

        ``again``: it was sent before, and may have arrived. This stays recorded for the part.
        """
        ...

    def sent(self, number: int, part: int, message: str) -> None:
        """Record that a part was sent, and the id of its message."""
        ...

    def answered(self, number: int) -> None:
        """Record that the whole answer was sent. Deletes the text of the message, not the record of its receipt."""
        ...

    def last_messages(self, gateway: str, *, most: int = MOST_CHATS) -> Mapping[str, str]:
        """Return the id of the last received message of each chat, the newest first, of at most ``most`` chats."""
        ...

    def note(self, gateway: str, chat: str, name: str, value: Json) -> None:
        """Store a value for a chat under a name; ``None`` deletes it."""
        ...

    def noted(self, gateway: str, chat: str, name: str) -> Json:
        """Return the value that was stored under a name; ``None`` if there is none."""
        ...

    def prune(self, before: str) -> int:
        """Delete the records of answered messages that were received before a time, and return how many."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...
