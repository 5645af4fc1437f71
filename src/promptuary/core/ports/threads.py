"""What threads need from a store, and how several stores share one database.

A ``StateDatabase`` is one database; its stores are views of it, each for one kind of data and one principal. A
``ThreadStore`` belongs to its principal: whatever it returns belongs to that principal's owner, and whatever it writes
is written as theirs. No method takes an owner, so none can return another owner's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from promptuary.core.messages import SPEAKERS, Item, Message, Replacement

# Types only: many commands open the database for other purposes than threads.
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from promptuary.core.layers import Json
    from promptuary.core.ledger import Pruned, SourceUse, ThreadSize
    from promptuary.core.ports.experiences import ExperienceStore, OnChange
    from promptuary.core.ports.forgetting import Forgetting
    from promptuary.core.ports.notes import NoteJournal
    from promptuary.core.ports.sessions import SessionStore
    from promptuary.core.ports.writeback import NoteQueue, ProposalStore
    from promptuary.core.principals import Principal
    from promptuary.core.receipts import Receipt

TurnStatus = Literal["prepared", "continued", "finished", "failed", "abandoned", "undone"]
"""A prepared turn has been shown to somebody; only a finished one has a reply in the history.

An undone turn was finished and then taken back by the person: its messages left the history.

A continued turn was answered with tool calls: the turn with the next number has their results.
"""


StateScope = Literal["thread", "user", "resource", "global"]
"""The scope of a layer's state."""

PRIVATE_SCOPES: Final = frozenset({"thread", "user"})
"""State of these scopes belongs to the owner; that of the others is shared by everybody who uses the workspace."""


class StateKey(NamedTuple):
    """The key of a layer's state. ``name`` is the thread or the resource, and empty for the other scopes."""

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

    ``user`` is who acted. The store sets it from its principal when the turn is added and ignores a given value.
    ``forgotten`` are the addresses of notes that were forgotten since, each replaced by a mark. The store sets it.
    ``reply_tokens`` is what the model answered; ``cost`` is what the person was charged, in their own currency.
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
    reply_tokens: int = 0
    cost: float | None = None

    @property
    def root(self) -> str:
        """The id of the first turn of its message: the ids of turns that continue it begin with it and a full stop."""
        return self.id.partition(".")[0]

    @property
    def is_continuation(self) -> bool:
        """Whether it continues another turn of the same message."""
        return self.id != self.root


@dataclass(frozen=True, slots=True)
class Totals:
    """A thread in figures: what was sent to models in all its turns, what they answered, and what that cost.

    ``turns`` does not count those that were continued by another. ``messages`` counts what was said, compacted messages
    too. ``cost`` is ``None`` if no turn has one. ``recent`` is what each of the last turns sent, the oldest first.
    Replies of earlier versions were not counted.
    """

    turns: int = 0
    finished: int = 0
    messages: int = 0
    tokens: int = 0
    reply_tokens: int = 0
    cost: float | None = None
    recent: tuple[int, ...] = ()


USES_AT_ONCE: Final = 100
"""How many uses of a source are returned at once."""

RECENT_TURNS: Final = 60
"""How many turns ``Totals.recent`` has at most."""


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread in a listing; ``items`` counts its current history, ``turns`` leaves out continued turns."""

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
    ``removed`` are ids of items that leave the history with nothing in their place; they stay in the ledger, too.
    ``states`` overwrite what was stored. ``turn`` is added, or, if a turn with its id exists, its status, text,
    messages, receipt, tokens of the reply and cost are updated. ``continued`` is the id of the prepared turn that it
    continues: only the status of that one changes.
    """

    thread: str
    turn: TurnRecord | None = None
    items: Sequence[Item] = ()
    replacements: Sequence[Replacement] = ()
    pinned: Sequence[tuple[str, bool]] = ()
    states: Sequence[LayerState] = ()
    continued: str = ""
    removed: Sequence[str] = ()

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

        Raises ``ConflictError``, and changes nothing, if the number of a new turn is taken, if the turn to be continued
        is not a prepared one of the thread, if an item with that id exists, if an item to be pinned is not in the
        thread, or if an item to be replaced or removed is pinned or is not in its history.
        """
        ...

    def history(self, thread: str) -> Sequence[Item]:
        """Return the history as it is now, in order, with summaries in the place of what they replaced."""
        ...

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too, in the order of ``ids``; unknown ids are skipped."""
        ...

    def said(self, thread: str) -> Sequence[Item]:
        """Return every item of a thread, compacted ones too, in the order in which they were added."""
        ...

    def turn(self, thread: str, number: int | None = None) -> TurnRecord | None:
        """Return the turn with this number, or the last turn if no number is given."""
        ...

    def last_number(self, thread: str) -> int:
        """Return the highest number that a turn has or had; 0 if there was none."""
        ...

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        ...

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread of the owner, the most recently used first."""
        ...

    def uses(
        self, sources: Sequence[str], *, finished_only: bool = False, limit: int = USES_AT_ONCE
    ) -> Sequence[SourceUse]:
        """Return the turns of all threads whose prompts had one of these sources, the newest first.

        ``sources`` are addresses as receipts have them. A turn is returned once for each way in which it had a source.
        Its history counts as it was when the turn was added.
        """
        ...

    def sources(self, thread: str, number: int) -> Sequence[SourceUse]:
        """Return every source in the prompt of a turn, and how it got there; empty if there is no turn."""
        ...

    def addresses(self, limit: int = USES_AT_ONCE) -> Sequence[str]:
        """Return the addresses of sources that were in any prompt, ordered by their first use, the latest first."""
        ...

    def sizes(self) -> Sequence[ThreadSize]:
        """Return the size of each thread, the largest first."""
        ...

    def prune(self, before: str, *, thread: str | None = None, dry_run: bool = False) -> Pruned:
        """Remove the turns older than ``before``, of one thread or of all; return what was removed, or would be.

        ``before`` is a time in UTC without a zone (``2026-01-31T15:00:00``). A thread that was used since keeps its
        history and the numbers of its turns; messages that had left the history are removed with the turns. Any other
        thread is removed as a whole. When this returns, the removed data is erased from the files, free pages included.
        """
        ...

    def rename(self, thread: str, name: str) -> None:
        """Rename a thread with everything that belongs to it: history, turns, the states of layers.

        Raises ``ConflictError``, and changes nothing, if there is no such thread, or if the new name is taken.
        """
        ...

    def totals(self, thread: str) -> Totals:
        """Return the figures of a thread; zeros if it does not exist."""
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

    def experiences(self, principal: Principal, on_change: OnChange = ...) -> ExperienceStore:
        """Return the experiences of ``principal``; ``on_change`` is called after they were changed by this store."""
        ...

    def forgetting(self, principal: Principal) -> Forgetting:
        """Return what removes notes and sources from this database on behalf of ``principal``."""
        ...

    def has_session(self, principal: Principal, thread: str) -> bool:
        """Return whether a thread of ``principal`` has a session. Every turn asks, so it is one lookup."""
        ...

    def sessions(self, principal: Principal) -> SessionStore:
        """Return the sessions of ``principal``."""
        ...

    def answering(self, principal: Principal, thread: str) -> AbstractContextManager[None]:
        """Lock a thread of ``principal`` while a model answers in it: one holder at a time, over all processes.

        Raises ``ThreadBusyError`` at once if somebody else holds it. The lock is released when the process ends.
        """
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Run a transaction over all stores of this database, for writes by the current thread of the process.

        It becomes persistent when the block ends; an exception discards all of it. Readers in other threads and
        processes see the state before it. Blocks do not nest.
        """
        ...

    def is_current(self) -> bool:
        """Return whether the database can still be used: it was not removed or replaced since it was opened."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...
