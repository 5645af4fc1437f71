"""A database that lives as long as its process: for tests, and for workspaces in which nothing may be written.

It implements the same contract with dictionaries and is the model that the other stores are compared with. A change is
made on a copy, which takes the place of the original at the end, so a change that fails leaves nothing behind.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from promptuary.core.errors import PromptuaryError
from promptuary.core.messages import Item
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
from promptuary.storage import in_memory_tables as tables
from promptuary.storage.in_memory_forgetting import InMemoryForgetting
from promptuary.storage.in_memory_notes import InMemoryNoteJournal
from promptuary.storage.in_memory_tables import Tables
from promptuary.storage.in_memory_writeback import InMemoryProposals, InMemoryQueue
from promptuary.storage.values import (
    frozen,
    now,
    state_text,
)


class InMemoryState(StateDatabase):
    """A ``StateDatabase`` in dictionaries. ``clock`` gives the time at which threads are created and updated."""

    def __init__(self, *, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._pending: Tables | None = None
        self.tables = Tables({}, {}, {}, {}, {})
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

    def forgetting(self, principal: Principal) -> InMemoryForgetting:
        """Return what takes notes out of this database: of all owners, or with all else that ``principal`` has."""
        waiting = (self.writeback_queue(principal), self.proposals(principal))
        return InMemoryForgetting(lambda: self.tables, self.write, principal.owner, waiting)

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

    def write(self, work: Callable[[Tables, str], None]) -> None:
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

        def written(after: Tables, time: str) -> None:
            tables.change(after, key, change, user=self._principal.user, time=time)
            for state in change.states:
                after.states[self._state_key(state.key)] = (state.version, state_text(state))

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
