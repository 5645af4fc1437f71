"""What threads need of a store, and how several stores share one database.

A ``StateDatabase`` is one database; its stores are views of it, each for one noun and one principal. A ``ThreadStore``
belongs to its principal: whatever it returns belongs to that principal's owner, and whatever it writes is written as
theirs. No method takes an owner, so none can be asked for somebody else's.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from promptuary.core.layers import Json
from promptuary.core.messages import SPEAKERS, Item, Message, Replacement
from promptuary.core.ports.forgetting import Forgetting
from promptuary.core.ports.notes import NoteJournal
from promptuary.core.ports.writeback import NoteQueue, ProposalStore
from promptuary.core.principals import Principal
from promptuary.core.receipts import Receipt

TurnStatus = Literal["prepared", "finished", "failed", "abandoned"]
"""A prepared turn has been shown to somebody; only a finished one has a reply in the history."""


StateScope = Literal["thread", "user", "resource", "global"]
"""What the state of a layer is stored for."""

PRIVATE_SCOPES: Final = frozenset({"thread", "user"})
"""State of these scopes belongs to the owner; that of the others is shared by everybody who uses the workspace."""


class StateKey(NamedTuple):
    """What a layer's state is stored under. ``name`` is the thread or the resource, and empty for the other scopes."""

    layer: str
    scope: StateScope
    name: str = ""


@dataclass(frozen=True, slots=True)
class LayerState:
    """The state of a layer in one scope, with the version of its shape."""

    key: StateKey
    version: int
    value: Json


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn in the ledger: ``messages`` is exactly what was sent, ``number`` counts from 1 in its thread.

    ``user`` is who acted. The store sets it from its principal when the turn is added, whatever it is given.
    ``forgotten`` are the addresses of notes that were forgotten since: a mark stands in their place. The store sets it.
    """

    id: str
    thread: str
    number: int
    created: str
    status: TurnStatus
    text: str
    messages: Sequence[Message]
    receipt: Receipt
    user: str = ""
    forgotten: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread in a listing; ``items`` counts what is in its history now."""

    id: str
    created: str
    updated: str
    turns: int
    items: int


@dataclass(frozen=True, slots=True)
class ThreadChange:
    """Everything that one step of a turn changes. It is written as a whole or not at all.

    The parts are applied in this order. ``items`` are appended to the history. ``pinned`` sets and removes pins.
    ``replacements`` take items out of the history and put others in their place; the old ones stay in the ledger.
    ``states`` overwrite what was stored. ``turn`` is added, or, if a turn of its id exists, its status, text, messages
    and receipt are updated.
    """

    thread: str
    turn: TurnRecord | None = None
    items: Sequence[Item] = ()
    replacements: Sequence[Replacement] = ()
    pinned: Sequence[tuple[str, bool]] = ()
    states: Sequence[LayerState] = ()

    def __post_init__(self) -> None:
        if self.turn is not None and self.turn.thread != self.thread:
            raise ValueError(f"a change of thread {self.thread!r} cannot hold a turn of {self.turn.thread!r}")
        if self.turn is not None and self.turn.number < 1:
            raise ValueError(f"turns are numbered from 1, not {self.turn.number}")
        if not all(one.ids for one in self.replacements):
            raise ValueError("a replacement must name at least one item that it replaces")
        for item in (*self.items, *(one.item for one in self.replacements)):
            if item.role not in SPEAKERS:
                raise ValueError(f"an item of a history is of a user, an assistant or a tool, not of {item.role!r}")


class ThreadStore(Protocol):
    """The threads of one principal: histories, turns with their prompts, the states of layers.

    Every method may be called from any thread of the process; several processes may use one database at once. Text
    comes back as it was given, whatever characters it has; sequences come back as tuples.
    """

    def apply(self, change: ThreadChange) -> None:
        """Write ``change`` as a whole or not at all, and return when it is persistent. Creates the thread if needed.

        Raises ``ConflictError``, and changes nothing, if the number of a new turn is taken, if an item of that id
        exists, if an item to be pinned is not in the thread, or if an item to be replaced is pinned or is not in its
        history.
        """
        ...

    def history(self, thread: str) -> Sequence[Item]:
        """Return the history as it is now, in order, with summaries in the place of what they replaced."""
        ...

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too, in the order of ``ids``; unknown ids are skipped."""
        ...

    def turn(self, thread: str, number: int | None = None) -> TurnRecord | None:
        """Return the turn of this number, or the last turn if no number is given."""
        ...

    def last_number(self, thread: str) -> int:
        """Return the highest number of a turn; 0 if there is none."""
        ...

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        ...

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread of the owner, the most recently used first."""
        ...

    def states(self, keys: Sequence[StateKey]) -> Sequence[LayerState | None]:
        """Return the state under each key, in the order of ``keys``, all read at the same moment."""
        ...


class StateDatabase(Protocol):
    """One database that several stores share."""

    @property
    def persistent(self) -> bool:
        """Whether what is written outlives the process."""
        ...

    def threads(self, principal: Principal) -> ThreadStore:
        """Return the threads of ``principal``."""
        ...

    def notes(self, space: str) -> NoteJournal:
        """Return the journal of the notes in the folder ``space`` of one agent, such as ``agents/reviewer``."""
        ...

    def writeback_queue(self, principal: Principal) -> NoteQueue:
        """Return the turns of ``principal`` that wait for writeback."""
        ...

    def proposals(self, principal: Principal) -> ProposalStore:
        """Return the proposals that wait for ``principal``."""
        ...

    def forgetting(self, principal: Principal) -> Forgetting:
        """Return what takes notes out of this database: of all owners, or with all else that ``principal`` has."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Join what all stores of this database write in the block, by this thread of the process, into one write.

        It becomes persistent when the block ends; an exception discards all of it. Readers in other threads and
        processes see the state before it. Blocks do not nest.
        """
        ...

    def is_current(self) -> bool:
        """Tell whether the database can still be used: it was not removed or replaced since it was opened."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...
