"""The proposals that wait for the person: listed, accepted, rejected and edited.

An accepted proposal goes through the same write path as everything else, as the person's own act. A proposal waits
indefinitely: it is never accepted or dropped automatically.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

from msgspec.structs import replace

from promptuary.base.errors import NoteConflictError, PromptuaryError, SecretError
from promptuary.memory.note_file import as_bytes, as_text
from promptuary.memory.notebook.drafting import check_choices
from promptuary.memory.secret_texts import has_secret
from promptuary.memory.values import Note
from promptuary.memory.writeback.decisions import proposal_fingerprint
from promptuary.memory.writeback.values import Proposal, ProposalFields
from promptuary.workspace.programs.editor import edit_copy

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.memory.memory import Memory
    from promptuary.state import StateDatabase

MAX_WAITING: Final = 200
"""The most pending proposals: nobody reads more, and an attacker could hide one among thousands."""

THREAD: Final = "thread:"


def thread_reference(thread: str) -> str:
    """Return the name of a thread as the source of a note."""
    return f"{THREAD}{thread}"


class Proposals:
    """The proposals of one principal. Every method blocks."""

    def __init__(self, app: "App", state: "StateDatabase") -> None:
        self._app, self._store = app, state.proposals(app.principal)

    def all(self) -> Sequence[Proposal]:
        """Return every proposal that waits, the oldest first."""
        return self._store.all()

    def add(self, proposal: Proposal) -> bool:
        """Add a proposal; return False if the same one waits or was rejected, or too many wait."""
        return len(self._store.all()) < MAX_WAITING and self._store.add(proposal)

    def accept(self, proposal: str) -> Note:
        """Carry out a proposal as the person's own act, and return the note.

        Raises ``NoteConflictError``, and leaves the proposal pending, if the note has changed since it was made.
        """
        found = self._get(proposal)
        if found.action == "archive":
            note = self._archive(found)
        else:
            draft = replace(found.draft, trust="person")
            note = self._memory_of(found).put(draft, if_rev=found.rev or None, reason=f"accepted {found.id}")
        self._store.remove(found.id, rejected=False)
        return note

    def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        self._store.remove(self._get(proposal).id, rejected=True)

    def edit(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write, and return the new proposal. It still waits to be accepted.

        Without fields, the person edits its text.
        """
        found = self._get(proposal)
        if not fields:
            return self._edit_text(found)
        if found.action == "archive":
            raise PromptuaryError(f"proposal {found.id} archives a note; there is nothing in it to edit")
        draft = replace(found.draft, **fields)
        check_choices(draft)
        if not (draft.content or "").strip():
            raise PromptuaryError("a note needs content")
        if has_secret("\n".join([draft.title or "", draft.content or "", *(draft.tags or ())])):
            raise SecretError
        edited = replace(found, draft=draft, fingerprint=proposal_fingerprint(found.action, draft))
        if not self._store.replace(edited):
            raise self._unknown(proposal)
        return edited

    def _edit_text(self, found: Proposal) -> Proposal:
        text = (found.draft.content or "").strip() + "\n"
        with edit_copy(as_bytes(text), f"{found.id}.md") as data:
            return found if data == as_bytes(text) else self.edit(found.id, content=as_text(data).strip())

    def _archive(self, found: Proposal) -> Note:
        memory = self._memory_of(found)
        current = memory.get(found.draft.id or "")
        if current is None or current.header.rev != found.rev:
            raise NoteConflictError(
                "the note has changed since this was proposed; look at it, then archive it", current
            )
        return memory.archive(current.header.id, reason=f"accepted {found.id}")

    def _memory_of(self, proposal: Proposal) -> "Memory":
        return self._app.memory.of((proposal.draft.source_ref or "").removeprefix(THREAD) or "main")

    def _get(self, proposal: str) -> Proposal:
        found = self._store.get(proposal)
        if found is None:
            raise self._unknown(proposal)
        return found

    def _unknown(self, proposal: Any) -> PromptuaryError:
        return PromptuaryError(f"there is no proposal {proposal!r}; `promptuary memory proposals` lists them")
