"""Turns that wait for writeback, and proposals, in ``state.db``: those of one owner.

``storage/in_memory_writeback`` implements the same contracts with dictionaries.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from msgspec import to_builtins
from msgspec.structs import replace

from promptuary.core.notes import NoteDraft
from promptuary.core.ports.writeback import NoteQueue, Proposal, ProposalStore, QueuedTurn
from promptuary.database.columns import from_column, row_checksum, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.storage.owners import OwnedRows
from promptuary.storage.values import to_text

_QUERIES: Final = queries("promptuary.storage.notes", "notes.sql")
_Values = dict[str, Any]


class SqliteQueue(OwnedRows, NoteQueue):
    """A ``NoteQueue`` over ``database``, for one owner."""

    _queries = _QUERIES

    def add(self, turn: QueuedTurn) -> bool:
        """Add a turn; return False, and change nothing, if it is there already."""
        texts = [to_column(one) for one in (turn.id, turn.thread, turn.at, turn.text)]
        rest = (turn.due, turn.tries, to_column(turn.error))
        return self._write(
            lambda connection, owner: connection.execute(_QUERIES["add_turn"], (owner, *texts, *rest)).rowcount > 0
        )

    def take(self, now: float, *, lease: float) -> QueuedTurn | None:
        """Return a due turn, and lease it for ``lease`` seconds."""
        if not self._rows("due_turn", {"now": now}):
            return None  # without a write, which would wait for the disk

        def taken(connection: Connection, owner: int) -> QueuedTurn | None:
            row = connection.execute(_QUERIES["due_turn"], {"owner": owner, "now": now}).fetchone()
            if row is None:
                return None
            leased = {"owner": owner, "turn": row[0], "leased": now + lease, "lease": None}
            connection.execute(_QUERIES["lease_turn"], leased)
            return replace(self._turn(row), lease=now + lease)

        return self._write(taken)

    def done(self, turn: str, *, lease: float | None = None) -> bool:
        """Remove a turn."""
        return self._changed("done_turn", {"turn": to_column(turn), "lease": lease})

    def failed(self, turn: str, *, error: str, due: float | None, lease: float | None = None) -> bool:
        """Record a failed attempt, and when the turn is due again."""
        values = {"turn": to_column(turn), "error": to_column(error), "due": due, "lease": lease}
        return self._changed("failed_turn", values)

    def release(self, turn: str, *, lease: float | None = None) -> bool:
        """Release a leased turn."""
        return self._changed("lease_turn", {"turn": to_column(turn), "leased": 0, "lease": lease})

    def waiting(self) -> Sequence[QueuedTurn]:
        """Return every turn that is not done, the oldest first."""
        return [self._turn(row) for row in self._rows("waiting_turns")]

    def rename_thread(self, thread: str, name: str) -> None:
        """Record that the thread of turns was renamed."""
        self._changed("rename_turns", {"thread": to_column(thread), "name": to_column(name)})

    def _turn(self, row: Sequence[Any]) -> QueuedTurn:
        *texts, due, tries, error = row
        with sound(self._database.name):
            turn, thread, at, body = map(from_column, texts)
            when = None if due is None else float(due)
            return QueuedTurn(turn, thread, at, body, when, int(tries), from_column(error))


class SqliteProposals(OwnedRows, ProposalStore):
    """A ``ProposalStore`` over ``database``, for one owner."""

    _queries = _QUERIES

    def add(self, proposal: Proposal) -> bool:
        """Add a proposal; return False, and change nothing, if the same one waits or was rejected."""
        values = _to_row(proposal)

        def added(connection: Connection, owner: int) -> bool:
            same = {"owner": owner, "fingerprint": values["fingerprint"]}
            if connection.execute(_QUERIES["is_proposed"], same).fetchone()[0]:
                return False
            connection.execute(_QUERIES["add_proposal"], {"owner": owner, **values})
            return True

        return self._write(added)

    def all(self) -> Sequence[Proposal]:
        """Return every proposal that waits, the oldest first."""
        return [self._proposal(row) for row in self._rows("proposals")]

    def get(self, proposal: str) -> Proposal | None:
        """Return the proposal with this id."""
        rows = self._rows("proposal", {"proposal": to_column(proposal)})
        return self._proposal(rows[0]) if rows else None

    def replace(self, proposal: Proposal) -> bool:
        """Replace the proposal of the same id; return False if it is not there."""
        return self._changed("replace_proposal", _to_row(proposal))

    def remove(self, proposal: str, *, rejected: bool) -> bool:
        """Remove a proposal; return False if it is not there. A rejected one is not added again."""
        return self._changed("reject_proposal" if rejected else "remove_proposal", {"proposal": to_column(proposal)})

    def _proposal(self, row: Sequence[Any]) -> Proposal:
        body, checksum = row
        with sound(self._database.name):
            if row_checksum(body) != checksum:
                raise ValueError("a proposal is not what was written")
            stored = json.loads(from_column(body))
            draft = stored.pop("draft")
            tags = None if draft["tags"] is None else tuple(draft["tags"])
            return Proposal(**stored, draft=NoteDraft(**{**draft, "tags": tags}))


def _to_row(proposal: Proposal) -> _Values:
    body = to_column(to_text(to_builtins(proposal)))
    return {
        "proposal": to_column(proposal.id),
        "fingerprint": to_column(proposal.fingerprint),
        "body": body,
        "checksum": row_checksum(body),
    }
