"""A database that lives as long as its process: for tests, and for workspaces in which nothing may be written.

It implements the same contract with dictionaries and is the model that the other stores are compared with. A change is
made on a copy, which takes the place of the original at the end, so a change that fails leaves nothing behind.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from promptuary.core.errors import PromptuaryError
from promptuary.core.messages import Item, Replacement
from promptuary.core.ports.threads import (
    PRIVATE_SCOPES,
    LayerState,
    StateDatabase,
    StateKey,
    ThreadChange,
    ThreadInfo,
    ThreadStore,
    TurnRecord,
)
from promptuary.core.principals import Owner, Principal
from promptuary.storage.in_memory_notes import InMemoryNoteJournal
from promptuary.storage.in_memory_writeback import InMemoryProposals, InMemoryQueue
from promptuary.storage.values import (
    cannot_compact_error,
    duplicate_item_error,
    frozen,
    missing_item_error,
    now,
    state_text,
    turn_id_conflict,
    turn_number_conflict,
)

ThreadKey = tuple[Owner, str]
"""A thread: whose it is, and its name."""


@dataclass(frozen=True, slots=True)
class _Thread:
    created: str
    updated: str
    history: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Tables:
    """Everything there is. ``homes`` says which thread an item is in; the last thread in ``threads`` was used last."""

    threads: dict[ThreadKey, _Thread]
    items: dict[str, Item]
    homes: dict[str, ThreadKey]
    turns: dict[str, TurnRecord]
    states: dict[tuple[Owner | None, StateKey], tuple[int, str]]

    def copy(self) -> Self:
        """Return a copy that can be changed without changing this one; the values themselves are immutable."""
        return type(self)(
            self.threads.copy(), self.items.copy(), self.homes.copy(), self.turns.copy(), self.states.copy()
        )


class InMemoryState(StateDatabase):
    """A ``StateDatabase`` in dictionaries. ``clock`` gives the time at which threads are created and updated."""

    def __init__(self, *, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._pending: _Tables | None = None
        self.tables = _Tables({}, {}, {}, {}, {})
        self._journals: dict[str, InMemoryNoteJournal] = {}
        self._queues: dict[Owner, InMemoryQueue] = {}
        self._proposals: dict[Owner, InMemoryProposals] = {}

    @property
    def persistent(self) -> bool:
        """Whether what is written outlives the process: it does not."""
        return False

    def threads(self, principal: Principal) -> "InMemoryThreads":
        """Return the threads of ``principal``."""
        return InMemoryThreads(self, principal)

    def notes(self, space: str) -> InMemoryNoteJournal:
        """Return the journal of the notes in the folder ``space``."""
        return self._journals.setdefault(space, InMemoryNoteJournal())

    def writeback_queue(self, principal: Principal) -> InMemoryQueue:
        """Return the turns of ``principal`` that wait for writeback."""
        return self._queues.setdefault(principal.owner, InMemoryQueue())

    def proposals(self, principal: Principal) -> InMemoryProposals:
        """Return the proposals that wait for ``principal``."""
        return self._proposals.setdefault(principal.owner, InMemoryProposals())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Join what all stores write in the block, by this thread, into one write."""
        with self._lock:
            if self._pending is not None:
                raise PromptuaryError("a transaction is open in this thread; end it before the next.")
            self._pending = self.tables.copy()
            try:
                yield
                self.tables = self._pending
            finally:
                self._pending = None

    def write(self, work: Callable[[_Tables, str], None]) -> None:
        """Do ``work`` on a copy of the tables, and put the copy in their place if it succeeds."""
        with self._lock:
            after = (self._pending or self.tables).copy()
            work(after, self._clock())
            if self._pending is None:
                self.tables = after
            else:
                self._pending = after

    def is_current(self) -> bool:
        """Return true: nobody else can reach it."""
        return True

    def close(self) -> None:
        """Do nothing: there are no files."""


class InMemoryThreads(ThreadStore):
    """The ``ThreadStore`` of one principal."""

    def __init__(self, state: InMemoryState, principal: Principal) -> None:
        self._state, self._principal = state, principal
        self._owner = principal.owner

    def apply(self, change: ThreadChange) -> None:
        """Write ``change`` as a whole or not at all."""
        key = (self._owner, change.thread)

        def written(after: _Tables, time: str) -> None:
            _touch(after, key, time)
            _append(after, key, change.items)
            _pin(after, key, change.pinned)
            for replacement in change.replacements:
                _compact(after, key, replacement)
            for state in change.states:
                after.states[self._state_key(state.key)] = (state.version, state_text(state))
            if change.turn is not None:
                _record(after, key, change.turn, self._principal.user)

        self._state.write(written)

    def history(self, thread: str) -> Sequence[Item]:
        """Return the history as it is now, in order."""
        tables = self._state.tables
        found = tables.threads.get((self._owner, thread))
        return tuple(tables.items[one] for one in found.history) if found else ()

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too."""
        tables = self._state.tables
        own = (one for one in ids if one in tables.items and tables.homes[one][0] == self._owner)
        return tuple(tables.items[one] for one in own)

    def turn(self, thread: str, number: int | None = None) -> TurnRecord | None:
        """Return the turn of this number, or the last turn if no number is given."""
        turns = [turn for turn in self.turns(thread) if number is None or turn.number == number]
        return turns[-1] if turns else None

    def last_number(self, thread: str) -> int:
        """Return the highest number of a turn; 0 if there is none."""
        return max((turn.number for turn in self.turns(thread)), default=0)

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        tables = self._state.tables
        found = tables.threads.get((self._owner, thread))
        return tuple(sorted((frozen(tables.turns[one]) for one in (found.turns if found else ())), key=_number))

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread of the owner, the most recently used first."""
        return tuple(
            ThreadInfo(name, thread.created, thread.updated, len(thread.turns), len(thread.history))
            for (owner, name), thread in reversed(self._state.tables.threads.items())
            if owner == self._owner
        )

    def states(self, keys: Sequence[StateKey]) -> Sequence[LayerState | None]:
        """Return the state under each key, as they were at one moment."""
        stored = self._state.tables.states
        found = ((key, stored.get(self._state_key(key))) for key in keys)
        return tuple(LayerState(key, one[0], json.loads(one[1])) if one else None for key, one in found)

    def _state_key(self, key: StateKey) -> tuple[Owner | None, StateKey]:
        return self._owner if key.scope in PRIVATE_SCOPES else None, key


def _number(turn: TurnRecord) -> int:
    return turn.number


def _touch(tables: _Tables, thread: ThreadKey, time: str) -> None:
    before = tables.threads.pop(thread, None)
    tables.threads[thread] = _Thread(time, time) if before is None else replace(before, updated=time)


def _append(tables: _Tables, thread: ThreadKey, items: Sequence[Item]) -> None:
    for item in items:
        _add(tables, thread, item)
    there = tables.threads[thread]
    tables.threads[thread] = replace(there, history=(*there.history, *(item.id for item in items)))


def _add(tables: _Tables, thread: ThreadKey, item: Item) -> None:
    if item.id in tables.items:
        raise duplicate_item_error(item.id)
    tables.items[item.id] = item
    tables.homes[item.id] = thread


def _pin(tables: _Tables, thread: ThreadKey, pins: Sequence[tuple[str, bool]]) -> None:
    for one, pinned in pins:
        if tables.homes.get(one) != thread:
            raise missing_item_error(thread[1], one)
        tables.items[one] = replace(tables.items[one], pinned=pinned)


def _compact(tables: _Tables, key: ThreadKey, replacement: Replacement) -> None:
    thread = tables.threads[key]
    history, gone = list(thread.history), set(replacement.ids)
    for one in replacement.ids:
        if one not in history or tables.items[one].pinned:
            raise cannot_compact_error(key[1], one)
    _add(tables, key, replacement.item)
    first = next(place for place, one in enumerate(history) if one in gone)
    history.insert(first, replacement.item.id)
    tables.threads[key] = replace(thread, history=tuple(one for one in history if one not in gone))


def _record(tables: _Tables, key: ThreadKey, turn: TurnRecord, user: str) -> None:
    before = tables.turns.get(turn.id)
    thread = tables.threads[key]
    if before is not None and (turn.id not in thread.turns or before.number != turn.number):
        raise turn_id_conflict(turn)
    if before is None:
        if any(tables.turns[one].number == turn.number for one in thread.turns):
            raise turn_number_conflict(turn)
        tables.threads[key] = replace(thread, turns=(*thread.turns, turn.id))
    created, acting = (before.created, before.user) if before else (turn.created, user)
    tables.turns[turn.id] = frozen(replace(turn, created=created, user=acting))
