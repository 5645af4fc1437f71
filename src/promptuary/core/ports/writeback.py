"""What writeback needs of a database: finished turns that wait for it, and proposals that wait for the person.

Both belong to one owner, who is bound when they are opened: no method takes an owner, so none can be asked for
another's. Everything is persistent when a method returns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict

from promptuary.core.notes import Audience, NoteDraft, NoteKind


@dataclass(frozen=True, slots=True)
class QueuedTurn:
    """A finished turn that waits for writeback. ``id`` is the turn's; ``text`` is what was said, as writeback wants it.

    ``due`` is when it is tried next, in seconds since 1970; ``None`` if it failed too often to be tried by itself.
    ``tries`` counts the attempts that failed, and ``error`` says how the last one did.
    """

    id: str
    thread: str
    at: str
    text: str
    due: float | None = 0.0
    tries: int = 0
    error: str = ""


class NoteQueue(Protocol):
    """The turns of one owner that wait for writeback. Each is kept until it is done, whatever other threads add."""

    def add(self, turn: QueuedTurn) -> bool:
        """Add a turn; return False, and change nothing, if it is there already."""
        ...

    def take(self, now: float, *, lease: float) -> QueuedTurn | None:
        """Return a turn that is due, the one that has waited longest, and keep it from others for ``lease`` seconds.

        Whoever takes a turn ends with ``done`` or ``failed``. If the process is killed, it is due again after that.
        """
        ...

    def done(self, turn: str) -> None:
        """Remove a turn."""
        ...

    def failed(self, turn: str, *, error: str, due: float | None) -> None:
        """Note that an attempt failed, and when the turn is due again; ``None`` for never by itself."""
        ...

    def release(self, turn: str) -> None:
        """Give a turn back that was taken: others may take it at once, and no attempt is counted."""
        ...

    def waiting(self) -> Sequence[QueuedTurn]:
        """Return every turn that is not done, the oldest first."""
        ...

    def rename_thread(self, thread: str, name: str) -> None:
        """Note that the thread of turns has another name. Their texts stay as they are."""
        ...


ProposalAction = Literal["write", "archive"]
"""What a proposal would do: write a note, or archive one."""

ProposalOrigin = Literal["writeback", "extract", "tool"]
"""Who proposes: a model after a turn, the local extractor, or an agent by its tool."""


@dataclass(frozen=True, slots=True)
class Proposal:
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
    """What of a proposal can be edited."""

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
        """Return the proposal of this id."""
        ...

    def replace(self, proposal: Proposal) -> bool:
        """Replace the proposal of the same id; return False if it is not there."""
        ...

    def remove(self, proposal: str, *, rejected: bool) -> bool:
        """Remove a proposal; return False if it is not there. What was ``rejected`` is not added again.

        Of a rejected one only the fingerprint is kept, and no text.
        """
        ...
