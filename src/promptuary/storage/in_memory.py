"""A database that lives as long as its process: for tests, and for workspaces in which nothing may be written.

It implements the same contract with dictionaries and is the reference for the other stores. A change is made on a copy,
which replaces the original at the end, so a change that fails has no effect.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from promptuary.core.errors import PromptuaryError
from promptuary.core.ledger import Pruned, SourceUse, ThreadSize
from promptuary.core.messages import Item
from promptuary.core.ports.experiences import OnChange
from promptuary.core.ports.threads import (
    PRIVATE_SCOPES,
    RECENT_TURNS,
    USES_AT_ONCE,
    LayerState,
    StateDatabase,
    StateKey,
    ThreadChange,
    ThreadInfo,
    ThreadStore,
    Totals,
    TurnRecord,
)
from promptuary.core.principals import Owner, Principal
from promptuary.storage import in_memory_tables as tables
from promptuary.storage.in_memory_experiences import ExperienceTable, InMemoryExperiences
from promptuary.storage.in_memory_forgetting import InMemoryForgetting
from promptuary.storage.in_memory_notes import InMemoryNoteJournal
from promptuary.storage.in_memory_tables import Tables
from promptuary.storage.in_memory_writeback import InMemoryProposals, InMemoryQueue
from promptuary.storage.values import (
    busy,
    frozen,
    now,
    state_text,
)

if TYPE_CHECKING:
    from promptuary.storage.in_memory_sessions import InMemorySessions


class InMemoryState(StateDatabase):
    """A ``StateDatabase`` in dictionaries. ``clock`` gives the time at which threads are created and updated."""

    def __init__(self, *, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._pending: Tables | None = None
        self._after_commit: list[Callable[[], object]] = []
        self.tables = Tables({}, {}, {}, {}, {}, {}, {})
        self._journals: dict[str, InMemoryNoteJournal] = {}
        self._queues: dict[Owner, InMemoryQueue] = {}
        self._proposals: dict[Owner, InMemoryProposals] = {}
        self._begun: dict[Owner, dict[str, bool]] = {}
        self._sessions: dict[Owner, InMemorySessions] = {}
        self._answering: set[tuple[Owner, str]] = set()

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

    def experiences(self, principal: Principal, on_change: OnChange = lambda _: None) -> InMemoryExperiences:
        """Return the experiences of ``principal``; ``on_change`` is called after they were changed by this store."""
        owner = principal.owner

        def write(work: Callable[[ExperienceTable], Collection[str]], told: OnChange) -> None:
            def written(after: Tables, _: str) -> None:
                if changed := tuple(work(after.experiences.setdefault(owner, {}))):
                    self._after_commit.append(lambda: told(changed))

            self.write(written)

        return InMemoryExperiences(lambda: self.tables.experiences.get(owner, {}), write, on_change)

    def forgetting(self, principal: Principal) -> InMemoryForgetting:
        """Return what removes notes and sources from this database on behalf of ``principal``."""
        waiting = (self.writeback_queue(principal), self.proposals(principal))
        begun = self._begun.setdefault(principal.owner, {})
        return InMemoryForgetting(lambda: self.tables, self.write, principal.owner, waiting, begun)

    def has_session(self, principal: Principal, thread: str) -> bool:
        """Return whether a thread of ``principal`` has a session."""
        known = self._sessions.get(principal.owner)
        return known is not None and known.of_thread(thread) is not None

    def sessions(self, principal: Principal) -> "InMemorySessions":
        """Return the sessions of ``principal``."""
        from promptuary.storage.in_memory_sessions import InMemorySessions  # noqa: PLC0415  (few commands need it)

        return self._sessions.setdefault(principal.owner, InMemorySessions())

    @contextmanager
    def answering(self, principal: Principal, thread: str) -> Iterator[None]:
        """Lock a thread while a model answers in it."""
        held = (principal.owner, thread)
        with self._lock:
            if held in self._answering:
                raise busy(thread)
            self._answering.add(held)
        try:
            yield
        finally:
            with self._lock:
                self._answering.discard(held)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction over all stores, for writes by the current thread."""
        with self._lock:
            if self._pending is not None:
                raise PromptuaryError("a transaction is open in this thread; end it before the next.")
            self._pending = self.tables.copy()
            try:
                yield
                self.tables = self._pending
            except BaseException:
                self._after_commit.clear()
                raise
            finally:
                self._pending = None
            self._tell()

    def write(self, work: Callable[[Tables, str], None]) -> None:
        """Run ``work`` on a copy of the tables, and replace them by the copy if it succeeds."""
        with self._lock:
            after = (self._pending or self.tables).copy()
            work(after, self._clock())
            if self._pending is None:
                self.tables = after
                self._tell()
            else:
                self._pending = after

    def _tell(self) -> None:
        """Call the callbacks that were deferred to the end of the write."""
        calls, self._after_commit = self._after_commit, []
        for call in calls:
            call()

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

    def said(self, thread: str) -> Sequence[Item]:
        """Return every item of a thread, compacted ones too, in the order in which they were added."""
        tables = self._state.tables
        return tuple(tables.items[one] for one, home in tables.homes.items() if home == (self._owner, thread))

    def turn(self, thread: str, number: int | None = None) -> TurnRecord | None:
        """Return the turn with this number, or the last turn if no number is given."""
        turns = [turn for turn in self.turns(thread) if number is None or turn.number == number]
        return turns[-1] if turns else None

    def last_number(self, thread: str) -> int:
        """Return the highest number that a turn has or had; 0 if there was none."""
        known = self._state.tables.threads.get((self._owner, thread))
        return max(known.removed if known else 0, *(turn.number for turn in self.turns(thread)), 0)

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        tables = self._state.tables
        found = tables.threads.get((self._owner, thread))
        return tuple(sorted((frozen(tables.turns[one]) for one in (found.turns if found else ())), key=_number))

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread of the owner, the most recently used first."""
        turns = self._state.tables.turns
        return tuple(
            ThreadInfo(
                name,
                thread.created,
                thread.updated,
                sum(turns[one].status != "continued" for one in thread.turns),
                len(thread.history),
            )
            for (owner, name), thread in reversed(self._state.tables.threads.items())
            if owner == self._owner
        )

    def uses(
        self, sources: Sequence[str], *, finished_only: bool = False, limit: int = USES_AT_ONCE
    ) -> Sequence[SourceUse]:
        """Return where sources were used, the newest turn first."""
        every = (use for turn in reversed(self._own_turns()) for use in self._sources(turn))
        wanted = [use for use in every if use.origin.source in sources]
        return tuple([use for use in wanted if use.status == "finished" or not finished_only][:limit])

    def sources(self, thread: str, number: int) -> Sequence[SourceUse]:
        """Return the sources of a turn."""
        turn = self.turn(thread, number)
        return () if turn is None else self._sources(turn)

    def addresses(self, limit: int = USES_AT_ONCE) -> Sequence[str]:
        """Return the sources that were ever used, the newest first."""
        every = dict.fromkeys(use.origin.source for turn in self._own_turns() for use in self._sources(turn))
        return tuple(reversed(every))[:limit]

    def _own_turns(self) -> list[TurnRecord]:
        """Return the turns of every thread of the owner in the order in which they were added."""
        tables = self._state.tables
        own = {name for (owner, _), one in tables.threads.items() if owner == self._owner for name in one.turns}
        return [turn for name, turn in tables.turns.items() if name in own]

    def _sources(self, turn: TurnRecord) -> tuple[SourceUse, ...]:
        origins = sorted(self._state.tables.origins[turn.id], key=lambda one: one.order)
        return tuple(SourceUse(turn.thread, turn.number, turn.created, turn.status, one) for one in origins)

    def sizes(self) -> Sequence[ThreadSize]:
        """Return the size of each thread, the largest first."""
        found = []
        for info in self.threads():
            turns, said = self.turns(info.id), self.said(info.id)
            texts = {item.content for item in said} | {turn.text for turn in turns}
            texts |= {message["content"] for turn in turns for message in turn.messages}
            taken = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
            found.append(ThreadSize(info.id, len(turns), len(said), taken))
        return tuple(sorted(found, key=lambda one: (-one.bytes, one.thread)))

    def prune(self, before: str, *, thread: str | None = None, dry_run: bool = False) -> Pruned:
        """Remove the turns that are older than ``before``."""
        done: list[Pruned] = []

        def pruned(after: Tables, _: str) -> None:
            done.append(tables.prune(after, self._owner, before, thread))
            if dry_run:
                raise _OnlyTriedError

        with suppress(_OnlyTriedError):
            self._state.write(pruned)
        return done[0]

    def rename(self, thread: str, name: str) -> None:
        """Rename a thread."""
        self._state.write(lambda after, _: tables.rename(after, self._owner, thread, name))

    def totals(self, thread: str) -> Totals:
        """Return the figures of a thread."""
        turns = self.turns(thread)
        costs = [turn.cost for turn in turns if turn.cost is not None]
        return Totals(
            turns=sum(turn.status != "continued" for turn in turns),
            finished=sum(turn.status == "finished" for turn in turns),
            messages=sum(item.kind == "message" and not item.stands_for for item in self.said(thread)),
            tokens=sum(turn.receipt.tokens for turn in turns),
            reply_tokens=sum(turn.reply_tokens for turn in turns),
            cost=sum(costs) if costs else None,
            recent=tuple(turn.receipt.tokens for turn in turns[-RECENT_TURNS:]),
        )

    def states(self, keys: Sequence[StateKey]) -> Sequence[LayerState | None]:
        """Return the state under each key, as they were at one moment."""
        stored = self._state.tables.states
        found = ((key, stored.get(self._state_key(key))) for key in keys)
        return tuple(LayerState(key, one[0], json.loads(one[1])) if one else None for key, one in found)

    def _state_key(self, key: StateKey) -> tuple[Owner | None, StateKey]:
        return self._owner if key.scope in PRIVATE_SCOPES else None, key


class _OnlyTriedError(Exception):
    """Raised to discard a dry run."""


def _number(turn: TurnRecord) -> int:
    return turn.number
