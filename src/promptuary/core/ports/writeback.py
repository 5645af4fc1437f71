"""What writeback needs from a database: finished turns that wait for it, and proposals that wait for the person.

Both belong to one owner, who is bound when they are opened: no method takes an owner, so none can return another
owner's. Everything is persistent when a method returns.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, TypedDict

from msgspec import Struct

from promptuary.core.notes import Audience, NoteDraft, NoteKind
from promptuary.core.values import fields_without


class QueuedTurn(Struct, frozen=True):
    """A finished turn that waits for writeback. ``id`` is the turn's; ``text`` is what was said, in writeback's format.

    ``due`` is when it is tried next, in seconds since 1970; ``None`` if it failed too often to be retried
    automatically. ``tries`` counts the attempts that failed, and ``error`` is the reason of the last failure. ``lease``
    tells the lease of whoever took it from all others.
    """

    id: str
    thread: str
    at: str
    text: str
    due: float | None = 0.0
    tries: int = 0
    error: str = ""
    lease: float = 0.0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QueuedTurn):
            return NotImplemented
        return fields_without(self, "lease") == fields_without(other, "lease")

    def __hash__(self) -> int:
        return hash(fields_without(self, "lease"))


class NoteQueue(Protocol):
    """The turns of one owner that wait for writeback. Each stays until it is done, whatever other threads add."""

    def add(self, turn: QueuedTurn) -> bool:
        """Add a turn; return False, and change nothing, if it is there already."""
        ...

    def take(self, now: float, *, lease: float) -> QueuedTurn | None:
        """Return the due turn that has waited longest, and lease it for ``lease`` seconds.

        The caller ends the lease with ``done``, ``failed`` or ``release``, and gives its ``lease``: if that has ended
        meanwhile and somebody else took the turn, nothing is changed, and they return False. If the process is killed,
        the turn is due again after the lease.
        """
        ...

    def done(self, turn: str, *, lease: float | None = None) -> bool:
        """Remove a turn; without a ``lease``, whoever has it."""
        ...

    def failed(self, turn: str, *, error: str, due: float | None, lease: float | None = None) -> bool:
        """Record a failed attempt, and when the turn is due again; ``None`` disables automatic retries."""
        ...

    def release(self, turn: str, *, lease: float | None = None) -> bool:
        """Release a leased turn: others may take it at once, and no attempt is counted."""
        ...

    def waiting(self) -> Sequence[QueuedTurn]:
        """Return every turn that is not done, the oldest first."""
        ...

    def rename_thread(self, thread: str, name: str) -> None:
        """Record that the thread of turns was renamed. Their texts are not changed."""
        ...


ProposalAction = Literal["write", "archive"]
"""What a proposal would do: write a note, or archive one."""

ProposalOrigin = Literal["writeback", "extract", "tool"]
"""Who proposes: a model after a turn, the local extractor, or an agent by its tool."""


class Proposal(Struct, frozen=True):
    """A change of the notes that waits for the person.

    ``draft.id`` names the note that it would change or archive, ``rev`` is the revision for which it was made.
    ``reason`` and ``evidence`` are the proposer's words, not the person's. Two proposals with the same ``fingerprint``
    would do the same.
    """

    id: str
    action: ProposalAction
    at: str
    origin: ProposalOrigin
    draft: NoteDraft
    fingerprint: str
    rev: str = ""
    reason: str = ""
    evidence: str = ""


class ProposalFields(TypedDict, total=False):
    """The editable fields of a proposal."""

    content: str
    title: str
    kind: NoteKind
    audience: Audience
    tags: Sequence[str]


class ProposalStore(Protocol):
    """The proposals of one owner. They never expire."""

    def add(self, proposal: Proposal) -> bool:
        """Add a proposal; return False, and change nothing, if one with its fingerprint waits or was rejected."""
        ...

    def all(self) -> Sequence[Proposal]:
        """Return every proposal that waits, the oldest first."""
        ...

    def get(self, proposal: str) -> Proposal | None:
        """Return the proposal with this id."""
        ...

    def replace(self, proposal: Proposal) -> bool:
        """Replace the proposal of the same id; return False if it is not there."""
        ...

    def remove(self, proposal: str, *, rejected: bool) -> bool:
        """Remove a proposal; return False if it is not there. A ``rejected`` one is not added again.

        Of a rejected one only the fingerprint is stored, and no text.
        """
        ...
