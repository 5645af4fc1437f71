"""What the engine needs of the world and does not know how it is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from promptuary.core.layers import Json
from promptuary.core.messages import Item, Message
from promptuary.core.receipts import Receipt

TurnStatus = Literal["prepared", "finished", "failed", "abandoned"]
"""A prepared turn has been shown to somebody; only a finished one has a reply in the history."""


@dataclass(frozen=True, slots=True)
class KeptState:
    """The state of a layer in one scope, with the version of its shape."""

    layer: str
    scope_key: str
    version: int
    value: Json


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as the ledger keeps it: ``messages`` is exactly what was sent."""

    id: str
    thread: str
    number: int
    created: str
    status: TurnStatus
    text: str
    messages: Sequence[Message]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class ThreadLine:
    """A thread in one line."""

    id: str
    created: str
    updated: str
    turns: int
    items: int


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one step of a turn changes, to be written at once or not at all.

    ``items`` are appended to the history. ``replaced`` are ids of items that leave the history for good reason (they
    were compacted); they stay in the ledger, and ``summary`` takes the place of the first of them.
    """

    thread: str
    turn: Turn | None = None
    items: Sequence[Item] = ()
    replaced: Sequence[str] = ()
    summary: Item | None = None
    pinned: Sequence[tuple[str, bool]] = ()
    states: Sequence[KeptState] = ()


class StateStore(Protocol):
    """What lasts: threads, histories, turns with their prompts, layers' states.

    Every method may be called from any thread of the process. ``apply`` returns only when the change is on disk.
    """

    def apply(self, change: Change) -> None:
        """Write ``change`` at once or not at all. The thread is made if it is not there."""
        ...

    def history(self, thread: str) -> Sequence[Item]:
        """Return what stands in the history now, in order: summaries in the place of what they stand for."""
        ...

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too, in the order asked for; unknown ids are left out."""
        ...

    def turn(self, thread: str, number: int | None = None) -> Turn | None:
        """Return a turn by its number from 1 on; the last if no number is given."""
        ...

    def turns(self, thread: str) -> Sequence[Turn]:
        """Return the turns of a thread, the first first."""
        ...

    def threads(self) -> Sequence[ThreadLine]:
        """Return every thread, the last used first."""
        ...

    def state(self, layer: str, scope_key: str) -> KeptState | None:
        """Return what is kept for a layer in a scope."""
        ...

    def forget(self, layer: str, scope_key: str) -> None:
        """Remove what is kept for a layer in a scope."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


class ChatModel(Protocol):
    """A model that answers: used for scoring and summarising where one is configured, never needed."""

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the model's answer as text."""
        ...
