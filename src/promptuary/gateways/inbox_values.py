"""What chat gateways store: the received messages, and what was sent in answer to each.

With it a gateway can be killed at any moment: a message is stored before it is acknowledged to the platform, and every
part of an answer is recorded before and after it is sent.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct, field

from promptuary.base.values import Json

EditOutcome = Literal["replaced", "late", "same", "unknown"]
"""The result of an edit by the sender: the message still waited, its answer had begun, it is the same, or is new."""

MOST_CHATS: Final = 1000
"""The most chats that are read for missed messages at a start."""


class SentPart(Struct, frozen=True):
    """One of the messages of an answer.

    ``message`` is its id; it is empty while the message is being sent, and if the process ended then, it is unknown
    whether it arrived. ``since`` is when it was first sent. ``repeated``: it was sent again without knowing that.
    """

    message: str = ""
    since: str = ""
    repeated: bool = False


class Received(Struct, frozen=True):
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
