"""``Promptuary`` without ``async``: the same methods, which return when they are done.

What is synchronous inside runs in the caller's thread. Turns need an event loop, since layers are asynchronous: it runs
in a thread of its own, so a loop in the caller's thread (a notebook, an application) is neither needed nor in the way.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError
from promptuary.core.principals import LOCAL, Principal
from promptuary.wiring.core import Core

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from concurrent.futures import Future
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

__all__ = ["BlockingMemory", "BlockingModels", "BlockingSearch", "BlockingThreads", "Promptuary"]

Result = TypeVar("Result")

_CLOSED: Final = "This Promptuary is closed; open the workspace again."
_INTERRUPTED: Final = "This Promptuary was closed while it was at work."
_CLOSING_TIMEOUT: Final = 5.0
"""Seconds that ``close`` waits for calls in other threads to end."""


class Promptuary:
    """See ``promptuary.Promptuary``. May be used from several threads, also where an event loop is running."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._calls = calls = _Calls()
        self.threads = BlockingThreads(core, calls)
        """Conversations: their turns, what is attached to them, and the ledger of what models saw."""
        self.search = BlockingSearch(core, calls)
        """The file index: folders of notes and code, searched by words and by meaning."""
        self.memory = BlockingMemory(core, calls)
        """Durable memory: notes that people and agents write, as Markdown files."""
        self.models = BlockingModels(core, calls)
        """Models for search by meaning that have a name: those that there are, and those that were fetched."""
        weakref.finalize(self, calls.stop_loop).atexit = False

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
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``; ``options`` are settings by name."""
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

    def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at; ``pasted`` are spans that are not scanned for references."""
        return self._calls.run(lambda: self._core.expand(text, pasted=pasted))

    def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``."""
        return self._calls.run(lambda: self._core.complete(text, limit=limit, timeout=timeout, ignored=ignored))

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return self._calls.run(lambda: self._core.find_files(words, limit=limit))

    @property
    def notes(self) -> Sequence[str]:
        """Sentences for the person: what of the configuration was ignored, and what was found in the workspace."""
        return tuple(self._core.notes)

    def adopt(self) -> None:
        """Take the ``state.db`` of the workspace for the person's own, although it came from elsewhere."""
        self._calls.run(self._core.adopt)

    def examine(self, *, fix: bool = False) -> Examination:
        """Return what is not as promised in the database and the notes; with ``fix``, repair what can be repaired."""
        return self._calls.run(lambda: self._core.examine(fix=fix))

    def close(self) -> None:
        """Close the workspace; calls that are running in other threads end with an error. Closing twice is harmless."""
        self._calls.close(self._core)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BlockingThreads:
    """The threads of the principal: ``Promptuary.threads``."""

    def __init__(self, core: Core, calls: _Calls) -> None:
        self._core, self._calls = core, calls

    def prepare(self, text: str, *, thread: str = "main") -> Turn:
        """Assemble a turn of a thread: everything in its window, and what ``text`` points at."""
        return self._await(lambda threads: threads.prepare(text, thread=thread))

    def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Record the reply to a turn: the assistant's text, or its messages with those of tools."""
        return self._await(lambda threads: threads.finish(turn, reply))

    def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply; nothing of it enters the history."""
        self._await(lambda threads: threads.abandon(turn))

    def attach(self, word: str, *, thread: str = "main") -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        self._await(lambda threads: threads.attach(word, thread=thread))

    def detach(self, word: str, *, thread: str = "main") -> None:
        """Untrack a path, or remove a queued reference."""
        self._run(lambda threads: threads.detach(word, thread=thread), create=True)

    def detach_all(self, *, thread: str = "main") -> None:
        """Untrack everything in a thread, and empty its queue."""
        self._run(lambda threads: threads.detach_all(thread=thread), create=True)

    def pin(self, path: str, *, thread: str = "main", on: bool = True) -> None:
        """Put a tracked file before all others, or undo that."""
        self._run(lambda threads: threads.pin(path, thread=thread, on=on), create=True)

    def attachments(self, *, thread: str = "main") -> AttachmentList:
        """Return what is tracked in a thread and queued for its next message."""
        return self._run(lambda threads: threads.attachments(thread=thread))

    def list(self) -> Sequence[ThreadInfo]:
        """Return every thread of the principal, the most recently used first."""
        return self._run(lambda threads: threads.list())

    def turns(self, *, thread: str = "main") -> Sequence[TurnRecord]:
        """Return the turns of a thread as the ledger has them."""
        return self._run(lambda threads: threads.turns(thread=thread))

    def history(self, *, thread: str = "main", everything: bool = False) -> Sequence[Item]:
        """Return the history of a thread; ``everything`` shows compacted items in the place of their summary."""
        return self._run(lambda threads: threads.history(thread=thread, everything=everything))

    def replay(self, *, thread: str = "main", number: int | None = None) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since."""
        return self._run(lambda threads: threads.replay(thread=thread, number=number))

    def stats(self, *, thread: str = "main") -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return self._run(lambda threads: threads.stats(thread=thread))

    def needs_compaction(self, *, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will compact its history first."""
        return self.stats(thread=thread).needs_compaction

    def _run(self, work: Callable[[Threads], Result], *, create: bool = False) -> Result:
        return self._calls.run(lambda: work(self._core.threads(create=create)))

    def _await(self, work: Callable[[Threads], Coroutine[Any, Any, Result]]) -> Result:
        return self._calls.wait_for(lambda: work(self._core.threads()))


class BlockingSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, core: Core, calls: _Calls) -> None:
        self._core, self._calls = core, calls

    def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring the index up to date; it can be searched by words at once."""
        return self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return self._run(lambda search: search.remove(path))

    def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute the vectors that are missing, and return how many."""
        return self._run(lambda search: search.embed(progress))

    def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best answers from the indexed files, as the files are now."""
        return self._run(lambda search: search.find(query, limit=limit))

    def status(self) -> IndexStatus:
        """Return what is indexed."""
        return self._run(lambda search: search.status())

    def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop``; ``on_update`` is called with every update."""
        self._run(lambda search: search.watch(on_update))

    def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        self._run(lambda search: search.stop())

    def _run(self, work: Callable[[SearchService], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.search()))


class BlockingMemory:
    """The durable memory of the principal: ``Promptuary.memory``."""

    def __init__(self, core: Core, calls: _Calls) -> None:
        self._core = core
        self._calls = calls

    def write(
        self, content: str | None = None, *, if_rev: str | None = None, reason: str = "", **fields: Unpack[NoteFields]
    ) -> Note:
        """Remember something as a note, or change the note that ``id`` names; what is not given stays as it is.

        Raises ``NoteConflictError`` if ``if_rev`` is given and the note has another revision by now.
        """
        return self._run(lambda memory: memory.write(content, if_rev=if_rev, reason=reason, **fields))

    def remember(self, text: str, *, reason: str = "", **fields: Unpack[NoteFields]) -> Note:
        """Remember something in one go: its kind is guessed where the text says plainly what it is about."""
        return self._run(lambda memory: memory.remember(text, reason=reason, **fields))

    def get(self, key: str) -> Note | None:
        """Return a note by its id, the beginning of its id, or its path; ``None`` if there is none."""
        return self._run(lambda memory: memory.get(key))

    def list(
        self, *, limit: int | None = None, as_of: str | None = None, **selection: Unpack[NoteSelection]
    ) -> NoteList:
        """Return notes, pinned ones first, then the ones updated last; ``as_of`` a time, what was known then."""
        return self._run(lambda memory: memory.list(limit=limit, as_of=as_of, **selection))

    def find(
        self,
        query: str,
        *,
        limit: int = 10,
        as_of: str | None = None,
        lexical_only: bool = False,
        **selection: Unpack[NoteSelection],
    ) -> MemoryResult:
        """Return the notes that answer a question best; ``as_of`` searches what was known at a time."""
        return self._run(
            lambda memory: memory.find(query, limit=limit, as_of=as_of, lexical_only=lexical_only, **selection)
        )

    def history(self, key: str) -> Sequence[NoteChange]:
        """Return what happened to a note, the oldest change first."""
        return self._run(lambda memory: memory.history(key))

    def diff(self, key: str, *, number: int | None = None) -> str:
        """Return what a change did to a note, as a patch: the change ``number``, else the last one."""
        return self._run(lambda memory: memory.diff(key, number=number))

    def undo(self, key: str, *, number: int | None = None, reason: str = "") -> Note:
        """Undo the last change of a note, or make it what it was after the change ``number``."""
        return self._run(lambda memory: memory.undo(key, number=number, reason=reason))

    def archive(self, key: str, *, reason: str = "") -> Note:
        """Archive a note: it is kept, and not recalled any more."""
        return self._run(lambda memory: memory.archive(key, reason=reason))

    def restore(self, key: str, *, reason: str = "") -> Note:
        """Bring back a note that was archived."""
        return self._run(lambda memory: memory.restore(key, reason=reason))

    def forget(self, key: str, *, everywhere: bool = False, dry_run: bool = False) -> ForgetReport:
        """Forget a note for good: file, history, index, vectors, and its copies in stored prompts.

        Where the same words stand as somebody said them, the report names the places; ``everywhere`` takes them out
        there, too. With ``dry_run`` nothing is done.
        """
        return self._calls.run(lambda: self._core.forget(key, everywhere=everywhere, dry_run=dry_run))

    def edit(self, key: str, *, reason: str = "") -> Note:
        """Open a copy of a note in the person's editor, and write what they saved.

        Raises ``NoteConflictError`` if the note was changed meanwhile; the copy is kept then.
        """
        return self._calls.run(lambda: self._core.edit_note(key, reason=reason))

    def import_notes(
        self, path: str | Path, *, form: ForeignForm | None = None, owner: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Take over the notes of another memory: a folder, or a file, of Markdown.

        ``form`` says which program wrote it, where that is not clear; ``owner`` whose private notes are wanted, if
        there are those of several. What is here already is not written again. ``dry_run`` writes nothing.
        """
        return self._calls.run(lambda: self._core.import_notes(path, form=form, owner=owner, dry_run=dry_run))

    def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder, and return which these are."""
        return self._calls.run(lambda: self._core.export_notes(path))

    def tools(self, form: ToolForm = "openai") -> Sequence[Mapping[str, object]]:
        """Return the tools with which an agent reads and writes notes, as a provider wants them described."""
        return self._calls.run(lambda: self._core.memory_tools(form))

    def call_tool(
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
        return self._calls.run(lambda: self._core.call_tool(name, arguments, turn, messages))

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that came by hand, by a clone or from a lost state, and wait for ``adopt``."""
        return self._run(lambda memory: memory.unadopted())

    def adopt(self, keys: Sequence[str] = ()) -> Sequence[NoteHeader]:
        """Take over unadopted notes as one's own, by id or path, or all of them; return them."""
        return self._run(lambda memory: memory.adopt(keys))

    def proposals(self) -> Sequence[Proposal]:
        """Return what was learnt and waits for the person, the oldest first."""
        return self._proposed(lambda proposals: proposals.all())

    def accept(self, proposal: str) -> Note:
        """Do what a proposal says, as the person's own act, and return the note."""
        return self._proposed(lambda proposals: proposals.accept(proposal))

    def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        self._proposed(lambda proposals: proposals.reject(proposal))

    def edit_proposal(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write; it still waits to be accepted."""
        return self._proposed(lambda proposals: proposals.edit(proposal, **fields))

    def _run(self, work: Callable[[Memory], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.memory()))

    def _proposed(self, work: Callable[[Proposals], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.proposals()))


class BlockingModels:
    """Models that have a name: ``Promptuary.models``. They belong to the person, and not to a workspace."""

    def __init__(self, core: Core, calls: _Calls) -> None:
        self._core, self._calls = core, calls

    def list(self) -> Sequence[ModelInfo]:
        """Return every model of the catalogue, and those that were fetched besides."""
        return self._calls.run(lambda: self._core.models().list())

    def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with the hash that it had when it was fetched."""
        return self._calls.run(lambda: self._core.models().show(name))

    def add(self, name: str, progress: FetchProgress | None = None) -> ModelInfo:
        """Fetch a model by its name, or from the repository ``OWNER/NAME``, unless it is there already."""
        return self._calls.run(lambda: self._core.models().add(name, progress))

    def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any."""
        return self._calls.run(lambda: self._core.models().remove(name))


class _Calls:
    """The calls that are running, in whichever thread, and the event loop that some of them need."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False
        self._loop: _Loop | None = None

    def run(self, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns, called in this thread."""
        with self._changed:
            if self._closed:
                raise PromptuaryError(_CLOSED)
            self._running += 1
        try:
            result = work()
        except Exception as error:
            if self._closed:  # whatever it stumbled over, this is why
                raise PromptuaryError(_INTERRUPTED) from error
            raise
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
        return result

    def wait_for(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of the coroutine that ``work`` returns, run by the loop."""

        def submitted() -> Result:
            with self._changed:
                loop = self._loop = self._loop or _Loop()
            coroutine = work()
            # Submitted under the lock: whatever is submitted before a close is cancelled by it.
            with self._changed:
                if self._closed:
                    coroutine.close()
                    raise PromptuaryError(_CLOSED)
                future = loop.submit(coroutine)
            return _result(future)

        return self.run(submitted)

    def close(self, core: Core) -> None:
        """Let no call begin any more, end those that are running, and close ``core``."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            core.stopping.set()
        try:
            if core.uses_layers:
                loop = self._loop or _Loop()
                self._loop = loop
                _result(loop.submit(core.dispose()))
        finally:
            self.stop_loop()
            with self._changed:
                self._changed.wait_for(lambda: self._running == 0, _CLOSING_TIMEOUT)
            core.close()

    def stop_loop(self) -> None:
        """Cancel what runs in the loop, and end its thread."""
        loop = self._loop
        if loop is not None:
            loop.stop()
            if loop.thread is not threading.current_thread():
                loop.thread.join()


class _Loop:
    """An event loop in a daemon thread: nothing that hangs in it keeps the program from ending."""

    _loop: AbstractEventLoop
    _stop: Event

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415  (most calls need none)

        self._asyncio = asyncio
        running = threading.Event()
        self._error: BaseException | None = None

        def serve() -> None:
            try:
                asyncio.run(self._serve(running))
            except BaseException as error:  # noqa: BLE001  (raised below, where somebody waits for it)
                self._error = error
                running.set()

        self.thread = concurrency.start_daemon(serve, name="promptuary-blocking")
        running.wait()
        if self._error is not None:
            raise PromptuaryError(f"the event loop could not be started: {self._error}") from self._error

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Begin ``work``."""
        return self._asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what is running, and let the thread end."""
        with suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self, running: threading.Event) -> None:
        self._loop = self._asyncio.get_running_loop()
        self._stop = self._asyncio.Event()
        running.set()
        await self._stop.wait()


def _result(future: Future[Result]) -> Result:
    """Wait for ``future``; whatever interrupts the waiting, such as Ctrl-C, cancels it."""
    from concurrent.futures import CancelledError  # noqa: PLC0415  (loaded with the loop)

    try:
        return future.result()
    except CancelledError as error:
        raise PromptuaryError(_INTERRUPTED) from error
    finally:
        future.cancel()
