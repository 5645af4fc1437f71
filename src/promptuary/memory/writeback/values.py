"""The values of writeback: finished turns that wait for it, and proposals that wait for the person. Values only."""

from collections.abc import Sequence
from typing import Final, Literal, TypedDict

from msgspec import Struct

from promptuary.base.values import fields_without
from promptuary.memory.values import Audience, NoteDraft, NoteKind

SEPARATOR: Final = "#"
"""Between the id of a turn and the name of the learner that it waits for, if that learns something else than notes."""


class QueuedTurn(Struct, frozen=True):
    """A finished turn that waits for a learner. ``text`` is what was said, in the format of the queue.

    ``id`` is the turn's; if it waits for another learner than that of notes, the name of that follows.
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
