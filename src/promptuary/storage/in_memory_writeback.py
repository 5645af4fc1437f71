"""Turns that wait for writeback and proposals in dictionaries: for tests, and to compare other stores with."""

import threading
from collections.abc import Sequence

from msgspec.structs import replace

from promptuary.core.ports.writeback import NoteQueue, Proposal, ProposalStore, QueuedTurn


class InMemoryQueue(NoteQueue):
    """A ``NoteQueue`` in memory."""

    def __init__(self) -> None:
        self._turns: dict[str, QueuedTurn] = {}
        self._leases: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, turn: QueuedTurn) -> bool:
        """Add a turn; return False, and change nothing, if it is there already."""
        with self._lock:
            return self._turns.setdefault(turn.id, turn) is turn

    def take(self, now: float, *, lease: float) -> QueuedTurn | None:
        """Return a due turn, and lease it for ``lease`` seconds."""
        with self._lock:
            due = [
                (one.due, place, one)
                for place, one in enumerate(self._turns.values())
                if one.due is not None and one.due <= now and self._leases.get(one.id, 0.0) <= now
            ]
            if not due:
                return None
            turn = min(due)[2]
            self._leases[turn.id] = now + lease
            return replace(turn, lease=now + lease)

    def done(self, turn: str, *, lease: float | None = None) -> bool:
        """Remove a turn."""
        with self._lock:
            return self._ended(turn, lease) and self._turns.pop(turn, None) is not None

    def failed(self, turn: str, *, error: str, due: float | None, lease: float | None = None) -> bool:
        """Record a failed attempt, and when the turn is due again."""
        with self._lock:
            if (found := self._turns.get(turn)) is None or not self._ended(turn, lease):
                return False
            self._turns[turn] = replace(found, tries=found.tries + 1, error=error, due=due)
            return True

    def release(self, turn: str, *, lease: float | None = None) -> bool:
        """Release a leased turn."""
        with self._lock:
            return self._ended(turn, lease)

    def _ended(self, turn: str, lease: float | None) -> bool:
        """End the lease of a turn; return False if somebody else has it."""
        if turn not in self._turns or (lease is not None and self._leases.get(turn, 0.0) != lease):
            return False
        self._leases.pop(turn, None)
        return True

    def waiting(self) -> Sequence[QueuedTurn]:
        """Return every turn that is not done, the oldest first."""
        with self._lock:
            return list(self._turns.values())

    def rename_thread(self, thread: str, name: str) -> None:
        """Record that the thread of turns was renamed."""
        with self._lock:
            for one in [turn for turn in self._turns.values() if turn.thread == thread]:
                self._turns[one.id] = replace(one, thread=name)


class InMemoryProposals(ProposalStore):
    """A ``ProposalStore`` in memory."""

    def __init__(self) -> None:
        self._proposals: dict[str, Proposal] = {}
        self._rejected: set[str] = set()
        self._lock = threading.Lock()

    def add(self, proposal: Proposal) -> bool:
        """Add a proposal; return False, and change nothing, if the same one waits or was rejected."""
        with self._lock:
            known = {one.fingerprint for one in self._proposals.values()} | self._rejected
            if proposal.fingerprint in known:
                return False
            self._proposals[proposal.id] = proposal
            return True

    def all(self) -> Sequence[Proposal]:
        """Return every proposal that waits, the oldest first."""
        with self._lock:
            return list(self._proposals.values())

    def get(self, proposal: str) -> Proposal | None:
        """Return the proposal with this id."""
        return self._proposals.get(proposal)

    def replace(self, proposal: Proposal) -> bool:
        """Replace the proposal of the same id; return False if it is not there."""
        with self._lock:
            if proposal.id not in self._proposals:
                return False
            self._proposals[proposal.id] = proposal
            return True

    def remove(self, proposal: str, *, rejected: bool) -> bool:
        """Remove a proposal; return False if it is not there. A rejected one is not added again."""
        with self._lock:
            found = self._proposals.pop(proposal, None)
            if found is not None and rejected:
                self._rejected.add(found.fingerprint)
            return found is not None
