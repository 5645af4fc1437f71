"""``Promptuary.memory`` with ``async``; ``without_async.memory`` is the same without."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack

from promptuary import concurrency

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from promptuary.core.messages import Message
    from promptuary.core.notes import (
        ForeignForm,
        ForgetReport,
        ImportReport,
        MemoryResult,
        Note,
        NoteChange,
        NoteFields,
        NoteHeader,
        NoteList,
        NoteSelection,
        NoteTrust,
    )
    from promptuary.core.ports.writeback import Proposal, ProposalFields, QueuedTurn
    from promptuary.memory.doors.tools import ToolForm
    from promptuary.memory.memory import Memory
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.threads.prepared import Turn
    from promptuary.wiring.core import Core

Result = TypeVar("Result")


class AsyncMemory:
    """The durable memory of the principal: ``Promptuary.memory``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def write(
        self,
        content: str | None = None,
        *,
        if_rev: str | None = None,
        reason: str = "",
        trust: NoteTrust = "person",
        **fields: Unpack[NoteFields],
    ) -> Note:
        """Write a note, or change the note that ``id`` names; fields that are not given stay unchanged.

        ``trust`` says whose words these are: the person's, an agent's, or anybody's (external).
        Raises ``NoteConflictError`` if ``if_rev`` is given and the note has another revision by now.
        """
        return await self._run(
            lambda memory: memory.write(content, if_rev=if_rev, reason=reason, trust=trust, **fields)
        )

    async def remember(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Note:
        """Write a note; its kind is inferred from the text where that is clear."""
        return await self._run(lambda memory: memory.remember(text, reason=reason, **fields))

    async def get(self, key: str) -> Note | None:
        """Return a note by its id, the beginning of its id, or its path; ``None`` if there is none."""
        return await self._run(lambda memory: memory.get(key))

    async def list(
        self, *, limit: int | None = None, as_of: str | None = None, **selection: Unpack[NoteSelection]
    ) -> NoteList:
        """Return notes, pinned ones first, then the last updated; ``as_of`` returns what was known at a time."""
        return await self._run(lambda memory: memory.list(limit=limit, as_of=as_of, **selection))

    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        as_of: str | None = None,
        lexical_only: bool = False,
        **selection: Unpack[NoteSelection],
    ) -> MemoryResult:
        """Return the notes that match a question best; ``as_of`` searches what was known at a time."""
        return await self._run(
            lambda memory: memory.find(query, limit=limit, as_of=as_of, lexical_only=lexical_only, **selection)
        )

    async def history(self, key: str) -> Sequence[NoteChange]:
        """Return the changes of a note, the oldest first."""
        return await self._run(lambda memory: memory.history(key))

    async def diff(self, key: str, *, number: int | None = None) -> str:
        """Return a change of a note as a patch: the change ``number``, else the last one."""
        return await self._run(lambda memory: memory.diff(key, number=number))

    async def undo(self, key: str, *, number: int | None = None, reason: str = "") -> Note:
        """Undo the last change of a note, then the one before it; or restore it as of change ``number``."""
        return await self._run(lambda memory: memory.undo(key, number=number, reason=reason))

    async def archive(self, key: str, *, reason: str = "") -> Note:
        """Archive a note: it stays stored, but is no longer recalled."""
        return await self._run(lambda memory: memory.archive(key, reason=reason))

    async def restore(self, key: str, *, reason: str = "") -> Note:
        """Restore an archived note."""
        return await self._run(lambda memory: memory.restore(key, reason=reason))

    async def forget(self, key: str, *, everywhere: bool = False, dry_run: bool = False) -> ForgetReport:
        """Forget a note for good: file, history, index, vectors, and its copies in stored prompts.

        If the same words occur in what somebody said, the report names the places; ``everywhere`` removes them there,
        too. With ``dry_run`` nothing is changed.
        """
        return await concurrency.run(lambda: self._core.memories.forget(key, everywhere=everywhere, dry_run=dry_run))

    async def edit(self, key: str, *, reason: str = "") -> Note:
        """Open a copy of a note in the person's editor, and write what they saved.

        Raises ``NoteConflictError`` if the note was changed meanwhile; the copy is kept then.
        """
        from promptuary.wiring.memory.editing import edit_note  # noqa: PLC0415  (seldom needed)

        return await concurrency.run(lambda: edit_note(self._core.memories.of(), key, reason=reason))

    async def import_notes(
        self, path: str | Path, *, form: ForeignForm | None = None, owner: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Import the notes of another memory: a folder, or a file, of Markdown.

        ``form`` says which program wrote it, if that is not clear; ``owner`` whose private notes to import, if there
        are several owners. Existing notes are not written again. ``dry_run`` writes nothing.
        """
        return await concurrency.run(
            lambda: self._core.memories.import_notes(path, form=form, owner=owner, dry_run=dry_run)
        )

    async def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder, and return these notes."""
        from promptuary.wiring.memory.transfer import exported  # noqa: PLC0415  (seldom needed)

        return await concurrency.run(lambda: exported(self._core.memories.of(), path))

    async def tools(self, form: ToolForm = "openai") -> Sequence[Mapping[str, object]]:
        """Return the tools with which an agent reads and writes notes, in a provider's format."""
        return await concurrency.run(lambda: self._core.memories.tool_schemas(form))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        *,
        turn: Turn | None = None,
        messages: Sequence[Message] | None = None,
    ) -> Mapping[str, object]:
        """Return the result of a tool as a JSON value; a mistake of the model is a result, too, not an exception.

        ``turn`` and the ``messages`` since it was prepared say what the model has read. Without them, or if it has read
        text from outside, what the model writes is labelled as text from elsewhere.
        """
        return await concurrency.run(lambda: self._core.memories.call_tool(name, arguments, turn, messages))

    async def learn(
        self, messages: Sequence[Message], *, thread: str = "main", timeout: float = 1.5
    ) -> Sequence[Proposal]:
        """Learn from a turn of another program, which begins with what the person said; return what it proposes.

        ``messages`` after the first are the replies of models and tools, in any format that ``finish`` accepts.
        ``timeout`` is how many seconds to wait; what takes longer continues in the background.
        """
        memories = self._core.memories
        return await concurrency.run(lambda: memories.learn(messages, thread=thread, timeout=timeout))

    async def learn_later(self) -> None:
        """Ask no writeback model in this process, because it ends soon: ``catch_up`` learns, in another process."""
        await concurrency.run(self._core.memories.learn_later)

    async def catch_up(self, timeout: float = 0.0) -> Sequence[QueuedTurn]:
        """Learn from the finished turns that wait, for at most ``timeout`` seconds; return those that still wait."""
        return await concurrency.run(lambda: self._core.memories.catch_up(timeout))

    async def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that were added by hand, by a clone or from a lost database, and wait for ``adopt``."""
        return await self._run(lambda memory: memory.unadopted())

    async def adopt(self, keys: Sequence[str] = ()) -> Sequence[NoteHeader]:
        """Take over unadopted notes as one's own, by id or path, or all of them; return them."""
        return await self._run(lambda memory: memory.adopt(keys))

    async def proposals(self) -> Sequence[Proposal]:
        """Return the pending proposals, the oldest first."""
        return await self._proposed(lambda proposals: proposals.all())

    async def accept(self, proposal: str) -> Note:
        """Carry out a proposal as the person's own act, and return the note."""
        return await self._proposed(lambda proposals: proposals.accept(proposal))

    async def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        await self._proposed(lambda proposals: proposals.reject(proposal))

    async def edit_proposal(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write; it still waits to be accepted.

        Without fields, its text is opened in the person's editor.
        """
        from promptuary.wiring.memory.editing import edit_proposal  # noqa: PLC0415  (seldom needed)

        return await concurrency.run(lambda: edit_proposal(self._core.memories.proposals(), proposal, fields))

    async def _run(self, work: Callable[[Memory], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.memories.of()))

    async def _proposed(self, work: Callable[[Proposals], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.memories.proposals()))
