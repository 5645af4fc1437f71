"""``Promptuary``: what a surface (command line, chat, server) may ask for, grouped by noun.

Whatever blocks runs in a thread, so nothing of the disk or the database runs on the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from promptuary import concurrency
from promptuary.core.principals import LOCAL, Principal
from promptuary.wiring.core import Core

# Types only: each part is imported when it is used.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from promptuary.config.settings import Settings, SettingsOptions
    from promptuary.core.expansion import Expansion
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Item, Message
    from promptuary.core.notes import (
        Examination,
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
    )
    from promptuary.core.ports.models import ChatModel, FetchProgress, ModelInfo
    from promptuary.core.ports.threads import ThreadInfo, TurnRecord
    from promptuary.core.ports.writeback import Proposal, ProposalFields
    from promptuary.core.receipts import Receipt
    from promptuary.core.references import Completion
    from promptuary.core.search import (
        EmbedProgress,
        IndexStatus,
        IndexUpdate,
        SearchQuery,
        SearchResult,
        SyncProgress,
        SyncReport,
    )
    from promptuary.core.threads import AttachmentList, HistoryStats, Replay
    from promptuary.memory.doors.tools import ToolForm
    from promptuary.memory.memory import Memory
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.search.service import SearchService
    from promptuary.threads.threads import Threads
    from promptuary.threads.turn import Turn

__all__ = ["AsyncMemory", "AsyncModels", "AsyncSearch", "AsyncThreads", "Promptuary"]

Result = TypeVar("Result")


class Promptuary:
    """A workspace with everything that can be done in it, for one principal.

    ```python
    async with Promptuary.open(".", window=128_000) as p:
        expansion = await p.expand("Review @file:src/app.py:10-50 against @diff")
        expansion.messages  # ready for any chat API

        turn = await p.threads.prepare("And #docs/style.md?", thread="review")
        await p.threads.finish(turn, reply)

        result = await p.search.find("how do we deploy")
    ```
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.threads = AsyncThreads(core)
        """Conversations: their turns, what is attached to them, and the ledger of what models saw."""
        self.search = AsyncSearch(core)
        """The file index: folders of notes and code, searched by words and by meaning."""
        self.memory = AsyncMemory(core)
        """Durable memory: notes that people and agents write, as Markdown files."""
        self.models = AsyncModels(core)
        """Models for search by meaning that have a name: those that there are, and those that were fetched."""

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        principal: Principal = LOCAL,
        exact: bool = False,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
        **options: Unpack[SettingsOptions],
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``.

        ``principal`` is who acts: threads and private state belong to them. ``layers`` are added to ours in every
        thread; one with the id of one of ours replaces it. ``chat_model`` scores files and summarises histories; it is
        optional. ``options`` are settings by name.
        """
        return cls(
            Core.open(path, principal=principal, exact=exact, layers=layers, chat_model=chat_model, options=options)
        )

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._core.path

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self._core.settings

    @property
    def principal(self) -> Principal:
        """Who acts."""
        return self._core.principal

    async def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at; ``pasted`` are spans that are not scanned for references."""
        return await concurrency.run(lambda: self._core.expand(text, pasted=pasted))

    async def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``.

        The listing of the workspace is built in the background; ``timeout`` is how many seconds the first call may
        wait for it. ``ignored`` also offers files that ignore files hide.
        """
        return await concurrency.run(lambda: self._core.complete(text, limit=limit, timeout=timeout, ignored=ignored))

    async def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return await concurrency.run(lambda: self._core.find_files(words, limit=limit))

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the person: what of the configuration was ignored, and what was found in the workspace."""
        return tuple(self._core.notes)

    async def adopt(self) -> None:
        """Take the ``state.db`` of the workspace for the person's own, although it came from elsewhere."""
        await concurrency.run(self._core.adopt)

    async def examine(self, *, fix: bool = False) -> Examination:
        """Return what is not as promised in the database and the notes; with ``fix``, repair what can be repaired."""
        return await concurrency.run(lambda: self._core.examine(fix=fix))

    async def close(self) -> None:
        """Close the workspace and everything opened for it."""
        await self._core.dispose()
        await concurrency.run(self._core.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncThreads:
    """The threads of the principal: ``Promptuary.threads``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def prepare(self, text: str, *, thread: str = "main") -> Turn:
        """Assemble a turn of a thread: everything in its window, and what ``text`` points at."""
        return await (await self._opened()).prepare(text, thread=thread)

    async def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Record the reply to a turn: the assistant's text, or its messages with those of tools."""
        return await (await self._opened()).finish(turn, reply)

    async def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply; nothing of it enters the history."""
        await (await self._opened()).abandon(turn)

    async def attach(self, word: str, *, thread: str = "main") -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        await (await self._opened()).attach(word, thread=thread)

    async def detach(self, word: str, *, thread: str = "main") -> None:
        """Untrack a path, or remove a queued reference."""
        await self._run(lambda threads: threads.detach(word, thread=thread), create=True)

    async def detach_all(self, *, thread: str = "main") -> None:
        """Untrack everything in a thread, and empty its queue."""
        await self._run(lambda threads: threads.detach_all(thread=thread), create=True)

    async def pin(self, path: str, *, thread: str = "main", on: bool = True) -> None:
        """Put a tracked file before all others, or undo that."""
        await self._run(lambda threads: threads.pin(path, thread=thread, on=on), create=True)

    async def attachments(self, *, thread: str = "main") -> AttachmentList:
        """Return what is tracked in a thread and queued for its next message."""
        return await self._run(lambda threads: threads.attachments(thread=thread))

    async def list(self) -> Sequence[ThreadInfo]:
        """Return every thread of the principal, the most recently used first."""
        return await self._run(lambda threads: threads.list())

    async def turns(self, *, thread: str = "main") -> Sequence[TurnRecord]:
        """Return the turns of a thread as the ledger has them."""
        return await self._run(lambda threads: threads.turns(thread=thread))

    async def history(self, *, thread: str = "main", everything: bool = False) -> Sequence[Item]:
        """Return the history of a thread; ``everything`` shows compacted items in the place of their summary."""
        return await self._run(lambda threads: threads.history(thread=thread, everything=everything))

    async def replay(self, *, thread: str = "main", number: int | None = None) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since."""
        return await self._run(lambda threads: threads.replay(thread=thread, number=number))

    async def stats(self, *, thread: str = "main") -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return await self._run(lambda threads: threads.stats(thread=thread))

    async def needs_compaction(self, *, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will compact its history first."""
        return (await self.stats(thread=thread)).needs_compaction

    async def _opened(self) -> Threads:
        return await concurrency.run(self._core.threads)

    async def _run(self, work: Callable[[Threads], Result], *, create: bool = False) -> Result:
        return await concurrency.run(lambda: work(self._core.threads(create=create)))


class AsyncSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring the index up to date; it can be searched by words at once.

        ``rebuild`` discards the old index; ``prune`` drops files that are gone even if a whole folder is.
        """
        return await self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    async def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return await self._run(lambda search: search.remove(path))

    async def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute the vectors that are missing, and return how many.

        ``progress`` is called with the number computed so far and returns whether to go on.
        """
        return await self._run(lambda search: search.embed(progress))

    async def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best answers from the indexed files, as the files are now."""
        return await self._run(lambda search: search.find(query, limit=limit))

    async def status(self) -> IndexStatus:
        """Return what is indexed."""
        return await self._run(lambda search: search.status())

    async def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop``; ``on_update`` is called with every update."""
        await self._run(lambda search: search.watch(on_update))

    async def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        await self._run(lambda search: search.stop())

    async def _run(self, work: Callable[[SearchService], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.search()))


class AsyncMemory:
    """The durable memory of the principal: ``Promptuary.memory``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def write(
        self, content: str | None = None, *, if_rev: str | None = None, reason: str = "", **fields: Unpack[NoteFields]
    ) -> Note:
        """Remember something as a note, or change the note that ``id`` names; what is not given stays as it is.

        Raises ``NoteConflictError`` if ``if_rev`` is given and the note has another revision by now.
        """
        return await self._run(lambda memory: memory.write(content, if_rev=if_rev, reason=reason, **fields))

    async def remember(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Note:
        """Remember something in one go: its kind is guessed where the text says plainly what it is about."""
        return await self._run(lambda memory: memory.remember(text, reason=reason, **fields))

    async def get(self, key: str) -> Note | None:
        """Return a note by its id, the beginning of its id, or its path; ``None`` if there is none."""
        return await self._run(lambda memory: memory.get(key))

    async def list(
        self, *, limit: int | None = None, as_of: str | None = None, **selection: Unpack[NoteSelection]
    ) -> NoteList:
        """Return notes, pinned ones first, then the ones updated last; ``as_of`` a time, what was known then."""
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
        """Return the notes that answer a question best; ``as_of`` searches what was known at a time."""
        return await self._run(
            lambda memory: memory.find(query, limit=limit, as_of=as_of, lexical_only=lexical_only, **selection)
        )

    async def history(self, key: str) -> Sequence[NoteChange]:
        """Return what happened to a note, the oldest change first."""
        return await self._run(lambda memory: memory.history(key))

    async def diff(self, key: str, *, number: int | None = None) -> str:
        """Return what a change did to a note, as a patch: the change ``number``, else the last one."""
        return await self._run(lambda memory: memory.diff(key, number=number))

    async def undo(self, key: str, *, number: int | None = None, reason: str = "") -> Note:
        """Undo the last change of a note, or make it what it was after the change ``number``."""
        return await self._run(lambda memory: memory.undo(key, number=number, reason=reason))

    async def archive(self, key: str, *, reason: str = "") -> Note:
        """Archive a note: it is kept, and not recalled any more."""
        return await self._run(lambda memory: memory.archive(key, reason=reason))

    async def restore(self, key: str, *, reason: str = "") -> Note:
        """Bring back a note that was archived."""
        return await self._run(lambda memory: memory.restore(key, reason=reason))

    async def forget(self, key: str, *, everywhere: bool = False, dry_run: bool = False) -> ForgetReport:
        """Forget a note for good: file, history, index, vectors, and its copies in stored prompts.

        Where the same words stand as somebody said them, the report names the places; ``everywhere`` takes them out
        there, too. With ``dry_run`` nothing is done.
        """
        return await concurrency.run(lambda: self._core.forget(key, everywhere=everywhere, dry_run=dry_run))

    async def edit(self, key: str, *, reason: str = "") -> Note:
        """Open a copy of a note in the person's editor, and write what they saved.

        Raises ``NoteConflictError`` if the note was changed meanwhile; the copy is kept then.
        """
        return await concurrency.run(lambda: self._core.edit_note(key, reason=reason))

    async def import_notes(
        self, path: str | Path, *, form: ForeignForm | None = None, owner: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take over the notes of another memory: a folder, or a file, of Markdown.

        ``form`` says which program wrote it, where that is not clear; ``owner`` whose private notes are wanted, if
        there are those of several. What is here already is not written again. ``dry_run`` writes nothing.
        """
        return await concurrency.run(lambda: self._core.import_notes(path, form=form, owner=owner, dry_run=dry_run))

    async def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder, and return which these are."""
        return await concurrency.run(lambda: self._core.export_notes(path))

    async def tools(self, form: ToolForm = "openai") -> Sequence[Mapping[str, object]]:
        """Return the tools with which an agent reads and writes notes, as a provider wants them described."""
        return await concurrency.run(lambda: self._core.memory_tools(form))

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        *,
        turn: Turn | None = None,
        messages: Sequence[Message] | None = None,
    ) -> Mapping[str, object]:
        """Return what a tool answers, as JSON can represent it; a mistake of the model is an answer, too.

        ``turn`` and the ``messages`` since it was prepared say what the model has read. Without them, or where text of
        others is among it, what the model writes is labelled as words from elsewhere.
        """
        return await concurrency.run(lambda: self._core.call_tool(name, arguments, turn, messages))

    async def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that came by hand, by a clone or from a lost state, and wait for ``adopt``."""
        return await self._run(lambda memory: memory.unadopted())

    async def adopt(self, keys: Sequence[str] = ()) -> Sequence[NoteHeader]:
        """Take over unadopted notes as one's own, by id or path, or all of them; return them."""
        return await self._run(lambda memory: memory.adopt(keys))

    async def proposals(self) -> Sequence[Proposal]:
        """Return what was learnt and waits for the person, the oldest first."""
        return await self._proposed(lambda proposals: proposals.all())

    async def accept(self, proposal: str) -> Note:
        """Do what a proposal says, as the person's own act, and return the note."""
        return await self._proposed(lambda proposals: proposals.accept(proposal))

    async def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        await self._proposed(lambda proposals: proposals.reject(proposal))

    async def edit_proposal(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write; it still waits to be accepted."""
        return await self._proposed(lambda proposals: proposals.edit(proposal, **fields))

    async def _run(self, work: Callable[[Memory], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.memory()))

    async def _proposed(self, work: Callable[[Proposals], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.proposals()))


class AsyncModels:
    """Models that have a name: ``Promptuary.models``. They belong to the person, and not to a workspace."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def list(self) -> Sequence[ModelInfo]:
        """Return every model of the catalogue, and those that were fetched besides."""
        return await concurrency.run(lambda: self._core.models().list())

    async def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with the hash that it had when it was fetched."""
        return await concurrency.run(lambda: self._core.models().show(name))

    async def add(self, name: str, progress: FetchProgress | None = None) -> ModelInfo:
        """Fetch a model by its name, or from the repository ``OWNER/NAME``, unless it is there already."""
        return await concurrency.run(lambda: self._core.models().add(name, progress))

    async def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any."""
        return await concurrency.run(lambda: self._core.models().remove(name))
