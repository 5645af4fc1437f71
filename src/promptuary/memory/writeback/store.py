"""What writeback needs from the database: finished turns that wait for it, and proposals that wait for the person.

Both belong to one owner, who is bound when they are opened: no method takes an owner, so none can return another
owner's. Everything is persistent when a method returns.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from promptuary.base.principals import Owner
from promptuary.database.columns import from_body, from_column, row_checksum, to_body, to_column
from promptuary.database.errors import sound
from promptuary.database.owners import Key, OwnedRows
from promptuary.database.port import Connection, Database, Row
from promptuary.database.queries import queries
from promptuary.memory.writeback.values import SEPARATOR, Proposal, QueuedTurn

_QUERIES: Final = queries(__package__, "writeback.sql")


class NoteQueue(OwnedRows):
    """The turns of one owner that wait for writeback. Each stays until it is done, whatever other threads add."""

    _queries = _QUERIES

    def add(self, turn: QueuedTurn) -> bool:
        """Add a turn; return False, and change nothing, if it is there already."""
        values = {
            "turn": to_column(turn.id),
            "thread": to_column(turn.thread),
            "at": to_column(turn.at),
            "body": to_column(turn.text),
            "due": turn.due,
            "tries": turn.tries,
            "error": to_column(turn.error),
        }
        return self._changed("add_turn", values)

    def take(self, now: float, *, lease: float) -> QueuedTurn | None:
        """Return the due turn that has waited longest, and lease it for ``lease`` seconds.

        The caller ends the lease with ``done``, ``failed`` or ``release``, and gives its ``lease``: if that has ended
        meanwhile and somebody else took the turn, nothing is changed, and they return False. If the process is killed,
        the turn is due again after the lease.
        """
        if not self._rows("due_turn", {"now": now}):
            return None  # without a write, which would wait for the disk

        def take(connection: Connection, owner: Key) -> QueuedTurn | None:
            row = connection.execute(_QUERIES["due_turn"], owner | {"now": now}).fetchone()
            if row is None:
                return None
            leased = {"turn": row[0], "leased": now + lease, "lease": None}
            connection.execute(_QUERIES["lease_turn"], owner | leased)
            return replace(self._turn(row), lease=now + lease)

        return self._write(take)

    def done(self, turn: str, *, lease: float | None = None) -> bool:
        """Remove a turn; without a ``lease``, whoever has it."""
        return self._changed("done_turn", {"turn": to_column(turn), "lease": lease})

    def remove(self, turn: str) -> None:
        """Remove a turn for every learner that it waits for, whoever has it."""
        for queued in self.waiting():
            if queued.id.partition(SEPARATOR)[0] == turn:
                self.done(queued.id)

    def failed(self, turn: str, *, error: str, due: float | None, lease: float | None = None) -> bool:
        """Record a failed attempt, and when the turn is due again; ``None`` disables automatic retries."""
        values = {"turn": to_column(turn), "error": to_column(error), "due": due, "lease": lease}
        return self._changed("failed_turn", values)

    def release(self, turn: str, *, lease: float | None = None) -> bool:
        """Release a leased turn: others may take it at once, and no attempt is counted."""
        return self._changed("lease_turn", {"turn": to_column(turn), "leased": 0.0, "lease": lease})

    def waiting(self) -> Sequence[QueuedTurn]:
        """Return every turn that is not done, the oldest first."""
        return [self._turn(row) for row in self._rows("waiting_turns")]

    def rename_thread(self, thread: str, name: str) -> None:
        """Record that the thread of turns was renamed. Their texts are not changed."""
        self._changed("rename_turns", {"thread": to_column(thread), "name": to_column(name)})

    def _turn(self, row: Row) -> QueuedTurn:
        *texts, due, tries, error = row
        with sound(self._database.name):
            turn, thread, at, body = map(from_column, texts)
            when = None if due is None else float(due)
            return QueuedTurn(turn, thread, at, body, when, int(tries), from_column(error))


class ProposalStore(OwnedRows):
    """The proposals of one owner; ``user`` is who acts. They never expire."""

    _queries = _QUERIES

    def __init__(self, database: Database, owner: Owner, user: str) -> None:
        super().__init__(database, owner)
        self._user = user

    def add(self, proposal: Proposal) -> bool:
        """Add a proposal; return False, and change nothing, if one with its fingerprint waits or was rejected."""
        values = _to_row(proposal)

        def add(connection: Connection, owner: Key) -> bool:
            if connection.execute(_QUERIES["is_proposed"], owner | values).fetchone()[0]:
                return False
            connection.execute(_QUERIES["add_proposal"], owner | values)
            self._notify(connection, owner, proposal.id, "proposed")
            return True

        return self._write(add)

    def all(self) -> Sequence[Proposal]:
        """Return every proposal that waits, the oldest first."""
        return [self._proposal(row) for row in self._rows("proposals")]

    def get(self, proposal: str) -> Proposal | None:
        """Return the proposal with this id."""
        rows = self._rows("proposal", {"proposal": to_column(proposal)})
        return self._proposal(rows[0]) if rows else None

    def replace(self, proposal: Proposal) -> bool:
        """Replace the proposal of the same id; return False if it is not there."""
        return self._change("replace_proposal", "edited", proposal.id, _to_row(proposal))

    def remove(self, proposal: str, *, rejected: bool) -> bool:
        """Remove a proposal; return False if it is not there. A ``rejected`` one is not added again.

        Of a rejected one only the fingerprint is stored, and no text.
        """
        query, event = ("reject_proposal", "rejected") if rejected else ("remove_proposal", "accepted")
        return self._change(query, event, proposal, {})

    def _change(self, query: str, event: str, proposal: str, values: dict[str, Any]) -> bool:
        def change(connection: Connection, owner: Key) -> bool:
            named = owner | {"proposal": to_column(proposal)} | values
            is_changed = connection.execute(_QUERIES[query], named).rowcount > 0
            if is_changed:
                self._notify(connection, owner, proposal, event)
            return is_changed

        return self._write(change)

    def _notify(self, connection: Connection, owner: Key, proposal: str, event: str) -> None:
        self._database.notify(connection, owner["owner"], "proposal", proposal, event=event, actor=self._user)

    def _proposal(self, row: Row) -> Proposal:
        body, checksum = row
        with sound(self._database.name):
            if row_checksum(body) != checksum:
                raise ValueError("a proposal is not what was written")
            proposal = from_body(body, Proposal)
        if proposal.draft.tags is None:
            return proposal
        return replace(proposal, draft=replace(proposal.draft, tags=tuple(proposal.draft.tags)))


def _to_row(proposal: Proposal) -> dict[str, Any]:
    body = to_body(proposal)
    return {
        "proposal": to_column(proposal.id),
        "fingerprint": to_column(proposal.fingerprint),
        "body": body,
        "checksum": row_checksum(body),
    }
