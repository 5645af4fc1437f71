"""Decides what happens to each decision of a model about notes. Pure.

Whatever a model answers, even if manipulated, it can at most write a new private note, or change one that a model wrote
before, and only labelled as the agent's words. Everything else waits for the person, or is dropped.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import SecretError
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.values import Note, NoteChange, NoteDraft, NoteHeader, NoteTrust, is_note_id
from promptuary.memory.writeback.snapshot import TurnSnapshot
from promptuary.memory.writeback.values import Proposal, ProposalAction
from promptuary.memory.writeback.wording import fingerprint, quotes, says_no_more

_MAX_TITLE: Final = 200
_MAX_CONTENT: Final = 8_000


class Decision(Struct, frozen=True):
    """One decision of a model, its texts trimmed; ``id`` and ``supersedes`` are empty for none."""

    action: Literal["noop", "upsert", "archive"]
    draft: NoteDraft
    id: str = ""
    supersedes: str = ""
    reason: str = ""
    evidence: str = ""


class Write(Struct, frozen=True):
    """Write a draft; with an id, if the note still has revision ``rev``. ``ends`` is a note that it supersedes."""

    draft: NoteDraft
    rev: str = ""
    ends: NoteHeader | None = None
    reason: str = ""


class Archive(Struct, frozen=True):
    note: NoteHeader
    reason: str = ""


class Propose(Struct, frozen=True):
    """Ask the person."""

    proposal: Proposal


class Drop(Struct, frozen=True):
    """Do nothing, and why; ``note`` is the id of the note that says it already."""

    why: str
    note: str = ""


Outcome = Write | Archive | Propose | Drop
"""The outcome of a decision."""


class Known(Struct, frozen=True):
    """The notes that a decision is about: those that it names, if they are visible, and one that says the same.

    ``by_hand`` are the ids of those that a person edited, whoever their files name as the author.
    """

    target: Note | None = None
    superseded: Note | None = None
    similar: Note | None = None
    by_hand: frozenset[str] = frozenset()

    def is_persons(self, note: NoteHeader) -> bool:
        """Return whether a model must not touch a note."""
        return note.id in self.by_hand or is_persons(note)


def find_known(
    decision: Decision,
    get: Callable[[str], Note | None],
    similar: Callable[[str, int], Sequence[str]],
    history: Callable[[str], Sequence[NoteChange]],
) -> Known:
    """Return the notes that a decision is about; ``similar`` finds the ids of notes that are about the same."""
    text = f"{decision.draft.title or ''}\n{decision.draft.content or ''}".strip()
    alike = similar(text, 1) if decision.action == "upsert" and text and not decision.id else ()
    target, ended, near = (
        get(key) if key else None for key in (decision.id, decision.supersedes, alike[0] if alike else "")
    )
    ids = {note.header.id for note in (target, ended, near) if note is not None}
    by_hand = (key for key in ids if any(change.kind in {"edit", "adopt"} for change in history(key)))
    return Known(target, ended, near, frozenset(by_hand))


def dispose(decision: Decision, snapshot: TurnSnapshot, known: Known, *, new_id: str) -> Outcome:
    """Return the outcome of a decision. ``new_id`` returns an id for the proposal, if it becomes one."""
    if decision.action == "noop":
        return Drop("nothing to do")
    if problem := _problem(decision, known):
        return Drop(problem)
    if has_secret(f"{decision.reason}\n{decision.evidence}"):
        decision = replace(decision, reason="", evidence="")
    decision = replace(decision, draft=replace(decision.draft, source_ref=f"thread:{snapshot.thread}"))
    if decision.action == "archive":
        return _archive(decision, snapshot, known, new_id)
    return _upsert(decision, snapshot, known, new_id)


def _problem(decision: Decision, known: Known) -> str:
    """Return why a decision is rejected; empty if it is not."""
    draft = decision.draft
    for key, note in ((decision.id, known.target), (decision.supersedes, known.superseded)):
        if key and (not is_note_id(key) or note is None or note.header.status != "active"):
            return f"there is no note {key[:80]!r} that may be changed; use the id of an existing note, or none"
    if decision.action == "archive":
        return "" if decision.id else "it archives nothing"
    if not draft.content or not draft.title:
        return "title and content must not be empty"
    if len(draft.title) > _MAX_TITLE or len(draft.content) > _MAX_CONTENT:
        return f"a title has at most {_MAX_TITLE} characters and the content {_MAX_CONTENT:,}; say less"
    if has_secret("\n".join([draft.title, draft.content, *(draft.tags or ())])):
        return str(SecretError())
    return ""


def _upsert(decision: Decision, snapshot: TurnSnapshot, known: Known, new_id: str) -> Outcome:
    draft, similar, target = decision.draft, known.similar, known.target
    text = f"{draft.title}\n{draft.content}"
    if similar is not None and not decision.supersedes and target is None:
        if says_no_more(draft.content or "", _text_of(similar)):
            return Drop("a note says it already", similar.header.id)
        if says_no_more(similar.body, text) and draft.audience in (None, similar.header.audience):
            target = similar  # the new text says more: it takes the place of the old one
    if target is not None and says_no_more(draft.content or "", _text_of(target)):
        return Drop("the note says it already", target.header.id)
    changed = [note.header for note in (target, known.superseded) if note is not None]
    ends = known.superseded.header if known.superseded else None
    draft = replace(draft, id=target.header.id if target else None, supersedes=ends.id if ends else None)
    if snapshot.external and quotes(draft.content or "", snapshot.persons_words):
        draft = replace(
            draft, title=None if target is None else target.header.title, tags=None
        )  # not a word but theirs
    rev = target.header.rev if target else ""
    if why := _needs_consent(draft, snapshot, changed, known):
        trust: NoteTrust = "external" if snapshot.external and not _is_spoken(draft, snapshot) else "agent"
        return _propose(decision, replace(draft, trust=trust), new_id, at=snapshot.at, rev=rev, why=why)
    return Write(draft, rev, ends, _model_reason(decision))


def _text_of(note: Note) -> str:
    return f"{note.header.title}\n{note.body}"


def _needs_consent(draft: NoteDraft, snapshot: TurnSnapshot, changed: Sequence[NoteHeader], known: Known) -> str:
    """Return why the person must be asked before a draft is written; empty if they need not be."""
    if any(map(known.is_persons, changed)):
        return "It would change a note that a person wrote or keeps."
    if draft.audience == "shared":
        return "Everybody here would see it."
    spoken = _is_spoken(draft, snapshot)
    if snapshot.external and not spoken:
        return "The conversation held text from elsewhere, and it may stem from that."
    if (draft.kind == "user" or any(note.scope == "user" for note in changed)) and not spoken:
        return "It is about the person, and not in their words."
    return ""


def _is_spoken(draft: NoteDraft, snapshot: TurnSnapshot) -> bool:
    return quotes(draft.content or "", snapshot.persons_words)


def is_persons(note: NoteHeader) -> bool:
    """Return whether a model must not touch a note: a person wrote, imported, shared, pinned or adopted it."""
    written_by_model = note.trust != "person" and note.source in {"writeback", "tool"}
    return not written_by_model or note.audience == "shared" or note.pinned or note.external


def _archive(decision: Decision, snapshot: TurnSnapshot, known: Known, new_id: str) -> Outcome:
    if known.target is None:
        return Drop("it names a note that is not there")
    header = known.target.header
    persons = known.is_persons(header)
    if persons or snapshot.external:
        why = "A person wrote or keeps the note." if persons else "The conversation held text from elsewhere."
        draft = NoteDraft(id=header.id, title=header.title, source="writeback", source_ref=decision.draft.source_ref)
        return _propose(decision, draft, new_id, at=snapshot.at, rev=header.rev, why=why)
    return Archive(header, _model_reason(decision))


def _propose(decision: Decision, draft: NoteDraft, proposal_id: str, *, at: str, rev: str, why: str) -> Outcome:
    action: ProposalAction = "archive" if decision.action == "archive" else "write"
    return Propose(
        Proposal(
            proposal_id,
            action,
            at,
            "tool" if draft.source == "tool" else "writeback",
            draft,
            proposal_fingerprint(action, draft),
            rev=rev,
            reason=f"{why} {_model_reason(decision)}".strip(),
            evidence=decision.evidence,
        )
    )


def proposal_fingerprint(action: ProposalAction, draft: NoteDraft) -> str:
    """Return a fingerprint that is equal for proposals that would do the same."""
    content = "" if action == "archive" else draft.content or ""
    return fingerprint(action, draft.id or "", content, draft.supersedes or "", draft.audience or "")


def _model_reason(decision: Decision) -> str:
    return f"The model says: {' '.join(decision.reason.split())}" if decision.reason else ""
