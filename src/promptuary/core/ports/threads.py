"""What the engine needs of the world and does not know how it is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from promptuary.core.errors import PromptuaryError
from promptuary.core.layers import Json
from promptuary.core.messages import Item, Message, Replacement
from promptuary.core.receipts import Receipt

TurnStatus = Literal["prepared", "finished", "failed", "abandoned"]
"""A prepared turn has been shown to somebody; only a finished one has a reply in the history."""


class ConflictError(PromptuaryError):
    """A change does not fit what is kept by now: somebody else went on with the thread. Read it again and repeat."""


StateKey = tuple[str, str]
"""What a state is kept under: the id of its layer, and the scope."""


@dataclass(frozen=True, slots=True)
class KeptState:
    """The state of a layer in one scope, with the version of its shape."""

    layer: str
    scope_key: str
    version: int
    value: Json


@dataclass(frozen=True, slots=True)
class Recorded:
    """A turn as the ledger keeps it: ``messages`` is exactly what was sent, ``number`` counts from 1 in its thread."""

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
    """A thread in one line; ``items`` counts what stands in its history now."""

    id: str
    created: str
    updated: str
    turns: int
    items: int


@dataclass(frozen=True, slots=True)
class Change:
    """Everything one step of a turn changes, to be written at once or not at all.

    It is done in this order. ``items`` are appended to the history. ``pinned`` sets and takes away pins. With
    ``replacements`` items leave the history for others that stand for them; they stay in the ledger. ``states``
    replace what was kept. ``turn`` is added, or, if one of its id is there, gets a new status, text, messages and
    receipt.
    """

    thread: str
    turn: Recorded | None = None
    items: Sequence[Item] = ()
    replacements: Sequence[Replacement] = ()
    pinned: Sequence[tuple[str, bool]] = ()
    states: Sequence[KeptState] = ()

    def __post_init__(self) -> None:
        if self.turn is not None and self.turn.thread != self.thread:
            raise ValueError(f"a change of thread {self.thread!r} cannot hold a turn of {self.turn.thread!r}")
        if self.turn is not None and self.turn.number < 1:
            raise ValueError(f"turns are numbered from 1 on, not {self.turn.number}")
        if not all(one.ids for one in self.replacements):
            raise ValueError("a replacement takes the place of something; name at least one item")


class StateStore(Protocol):
    """What lasts: threads, histories, turns with their prompts, layers' states.

    Every method may be called from any thread of the process; several processes may use one store at once. Text comes
    back as it was given, whatever characters it has; sequences come back as tuples.
    """

    def apply(self, change: Change) -> None:
        """Write ``change`` at once or not at all, and return only when it lasts. The thread is made if it is not there.

        Raises ``ConflictError``, and changes nothing, if the number of a new turn is taken, if an item of that id is
        there already, if what is to be pinned is not in the thread, or if what is to be replaced is pinned or does not
        stand in its history.
        """
        ...

    def history(self, thread: str) -> Sequence[Item]:
        """Return what stands in the history now, in order: summaries in the place of what they stand for."""
        ...

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too, in the order asked for; unknown ids are left out."""
        ...

    def turn(self, thread: str, number: int | None = None) -> Recorded | None:
        """Return a turn by its number from 1 on; the last if no number is given."""
        ...

    def last_number(self, thread: str) -> int:
        """Return the highest number of a turn; 0 if there is none."""
        ...

    def turns(self, thread: str) -> Sequence[Recorded]:
        """Return the turns of a thread, the first first."""
        ...

    def threads(self) -> Sequence[ThreadLine]:
        """Return every thread, the last used first."""
        ...

    def state(self, layer: str, scope_key: str) -> KeptState | None:
        """Return what is kept for a layer in a scope."""
        ...

    def states(self, keys: Sequence[StateKey]) -> Sequence[KeptState | None]:
        """Return what ``state`` does for each key, in the order asked for, all of it as it was at one moment."""
        ...

    def forget(self, layer: str, scope_key: str) -> None:
        """Remove what is kept for a layer in a scope."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...
