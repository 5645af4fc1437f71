"""The threads of one principal in one workspace. Synchronous methods block."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Omitted
from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.messages import Answer, Message
from promptuary.base.references import Pasted
from promptuary.context.history import HistoryStats
from promptuary.context.receipt import Receipt
from promptuary.layers.runner import HookLog, dispose
from promptuary.models.from_settings import chat_model
from promptuary.threads import exchange
from promptuary.threads.attachments import Attachments, queued_again, waiting
from promptuary.threads.audit import Auditor
from promptuary.threads.built_in_layers import build_layers, files_layer
from promptuary.threads.chain import id_range, links, without_instructions
from promptuary.threads.given import GivenThread, RecordedTurn, RecordOptions
from promptuary.threads.ledger import Ledger
from promptuary.threads.ledger_values import Audit, AuditRow
from promptuary.threads.options import ThreadOptions, Waiting, rehearsed, sized, thread_options
from promptuary.threads.prepared import Keep, Turn
from promptuary.threads.replays import Replays
from promptuary.threads.rerun import previewed, rerun
from promptuary.threads.run import Run, RunOptions, run_model
from promptuary.threads.run_values import UNRECORDED, AnyModel, Confirm, OnEvent, RunResult, Tool
from promptuary.threads.server_tools import fitting
from promptuary.threads.sources_now import SourcesNow
from promptuary.threads.turn import Thread
from promptuary.threads.undo import plan_restore, plan_undo
from promptuary.threads.values import (
    AttachmentList,
    CompactedThread,
    ExportForm,
    ImportedThread,
    Replay,
    Rerun,
    UndoneTurn,
)
from promptuary.workspace.disk.export_files import read_export, write_export

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase

_SMALLEST_WINDOW = 100
_EVERY = 1_000_000
_MAX_RECORDED = 500
"""How many threads that clients keep are in memory."""
_MAX_UNSTORED = 5_000
"""How many requests of which nothing is stored are known at a time."""


class Threads:
    """The operations on the threads of one principal in ``state``. The app closes it."""

    def __init__(self, app: "App", state: "StateDatabase") -> None:
        self._app, self._database = app, state
        self._files = files_layer(app)
        self._options = thread_options(app, state, build_layers(app, state, self._files))
        now = SourcesNow(app, state)
        self._ledger = Ledger(app, state)
        self._replays = Replays(self._options.store, now)
        self._auditor = Auditor(self._options.store, app.workspace.standpoint, now)
        self._threads: dict[str, Thread] = {}
        self._recorded: dict[tuple[str, bool], GivenThread] = {}
        self._count_unstored = 0
        self._unstored_requests = 0

    async def prepare(self, text: str, *, thread: str, pasted: Pasted = (), prompt: str = "") -> Turn:
        """Assemble a turn: what is in the window of the thread, and what ``text`` refers to."""
        return await (await self._known(thread)).prepare(text, pasted, prompt=prompt)

    async def finish(self, turn: Turn, reply: Answer, *, cost: float | None) -> Receipt:
        """Record the reply to a turn."""
        if turn.given is not None:
            return await (await self._given(turn.thread, stored=turn.given.stored)).finish(turn, reply, cost)
        return await (await self._known(turn.thread)).finish(turn, reply, cost)

    async def record(self, messages: Sequence[Message], *, thread: str, **given_options: Any) -> RecordedTurn | None:
        """Record a request of a conversation that somebody else keeps; see ``RecordOptions``."""
        options = RecordOptions(**given_options)
        if options.keep == "off":
            self._forget_unstored()
        given = await self._given(thread, stored=options.keep != "off")
        try:
            return await given.record(messages, options)
        except ConflictError:  # another process has recorded a request meanwhile, or something of it is stored already
            return await given.record(messages, options, anew=True)

    async def recorded_as(self, messages: Sequence[Message], *, keep: Keep) -> str | None:
        """Return the thread that ends with the longest beginning of a conversation."""
        said = without_instructions(messages)
        answered = next((n for n, message in enumerate(said) if message["role"] == "assistant"), len(said))

        def find() -> str | None:
            # Many conversations begin with the same words; only an answer tells them apart.
            ranges = [id_range(link) for link in reversed(links(said)[answered:])]
            return self._options_of(stored=keep != "off").store.ending_with(ranges)

        return await concurrency.run(find)

    async def _given(self, name: str, *, stored: bool) -> GivenThread:
        """Return a thread whose conversation somebody else keeps; those that were used last are in memory."""
        found = self._recorded.pop((name, stored), None)
        if found is None:
            if not stored:
                self._make_room()
            found = await concurrency.run(
                lambda: GivenThread(self._ledger.named(name), self._options_of(stored=stored))
            )
        self._recorded[name, stored] = found
        if len(self._recorded) > _MAX_RECORDED:
            del self._recorded[next(iter(self._recorded))]
        return found

    def _make_room(self) -> None:
        """Forget all threads of which nothing is stored when they are too many: they share one store in memory."""
        self._count_unstored += 1
        if self._count_unstored > _MAX_RECORDED:
            self._count_unstored = 1
            self.__dict__.pop("_unstored", None)
            self._recorded = {key: thread for key, thread in self._recorded.items() if key[1]}

    def _options_of(self, *, stored: bool) -> ThreadOptions:
        """Return the options of threads that are stored, or of others. Blocks."""
        return self._options if stored else self._unstored

    def _forget_unstored(self) -> None:
        """Count a request of which nothing is stored; after very many, begin anew: they are in memory."""
        self._unstored_requests += 1
        if self._unstored_requests > _MAX_UNSTORED:
            self._unstored_requests = 0
            self.__dict__.pop("_unstored", None)
            self._recorded = {key: thread for key, thread in self._recorded.items() if key[1]}

    @cached_property
    def _unstored(self) -> ThreadOptions:
        """The options of threads of which nothing is stored: they are forgotten with the process."""
        return replace(rehearsed(self._options), rehearsed=False)

    async def extend(self, turn: Turn, answer: Answer) -> Turn:
        """Return the next request of a turn."""
        return await (await self._known(turn.thread)).extend(turn, answer)

    async def run(
        self,
        text: str,
        model: AnyModel | None,
        tools: Sequence[Tool],
        *,
        thread: str | None,
        pasted: Pasted,
        prompt: str,
        on_event: OnEvent | None,
        confirm: Confirm | None,
        max_requests: int,
    ) -> RunResult:
        """Let a model answer a message, with any number of tool calls, and record everything as one turn.

        Without a ``thread`` nothing is recorded.
        """
        if max_requests < 1:
            raise PromptuaryError(f"max_requests must be a number, 1 or more, not {max_requests!r}")
        answering = await concurrency.run(lambda: run_model(self._app.settings, model))
        window = answering.window or self._options.room.window
        described, left_out = await self._fitting(tools, window, uses_tools=answering.uses_tools)
        options = RunOptions(described, left_out, on_event, confirm, max_requests)
        if thread is None:
            unrecorded = await concurrency.run(lambda: self._unrecorded(window))
            return await Run(unrecorded, answering, options, lambda: None).answer(text, pasted, prompt)
        one = await self._known(thread)
        if window != self._options.room.window:
            one = Thread(thread, sized(self._app, self._options, window))
        async with self._held(thread):
            requeue = await concurrency.run(lambda: queued_again(self._options.store, thread))
            return await Run(one, answering, options, requeue).answer(text, pasted, prompt)

    async def preview(
        self, text: str, tools: Sequence[Tool], *, thread: str | None, pasted: Pasted, prompt: str
    ) -> Turn:
        """Return the turn that ``prepare`` would assemble; nothing is recorded."""
        window = self._options.room.window
        described, left_out = await self._fitting(tools, window, uses_tools=True)
        specs = [tool.spec for tool in described]
        if thread is None:
            unrecorded = await concurrency.run(lambda: self._unrecorded(window))
            return await unrecorded.prepare(text, pasted, specs, prompt, left_out)
        await self._known(thread)
        scratch = await concurrency.run(lambda: self._rehearsal(window))
        return await previewed(
            text, thread, self._options.store, scratch, pasted=pasted, tools=specs, left_out=left_out, prompt=prompt
        )

    async def _fitting(
        self, tools: Sequence[Tool], window: int, *, uses_tools: bool
    ) -> tuple[Sequence[Tool], Sequence[Omitted]]:
        """Return the tools that are described to a model, and those that are not."""
        if not any(tool.consent for tool in tools):
            return tools, ()
        counter = self._options.counter
        return await concurrency.run(lambda: fitting(tools, window, counter, uses_tools=uses_tools))

    def _unrecorded(self, window: int) -> Thread:
        """Return a thread that is not stored and that belongs to no session. Blocks."""
        return Thread(UNRECORDED, replace(self._rehearsal(window), access=lambda _: self._app.workspace.access))

    def pending(self, *, thread: str, number: int | None = None) -> Turn | None:
        """Return the last turn of a thread, or that with this number, if it waits for its reply."""
        return self._thread(thread).pending(number)

    async def abandon(self, turn: Turn) -> None:
        """End a turn without a reply, unless a model is answering it now."""
        async with self._held(turn.thread):
            await (await self._known(turn.thread)).abandon(turn)

    def _held(self, thread: str) -> AbstractAsyncContextManager[None]:
        return concurrency.held(lambda: self._database.answering(self._options.principal, thread))

    async def compact(self, *, thread: str) -> CompactedThread:
        """Compact the history of a thread now."""
        return await (await self._known(thread)).compact()

    async def undo(self, *, thread: str) -> UndoneTurn:
        """Undo the last turn of a thread."""
        pending = await concurrency.run(lambda: self.pending(thread=thread))
        if pending is not None:
            await self.abandon(pending)
            requests = (*pending.earlier, pending.number)
            undone = UndoneTurn(thread, pending.number, pending.text, "", answered=False, messages=0, requests=requests)
            return await concurrency.run(lambda: self._give_back(undone, pending.root))
        return await concurrency.run(lambda: self._undo(self._ledger.named(thread)))

    def _undo(self, thread: str) -> UndoneTurn:
        store = self._options.store
        undoing = plan_undo(store, thread)
        with self._database.transaction():
            store.apply(undoing.change)
            self._database.writeback_queue(self._options.principal).remove(undoing.turn)
            return self._give_back(undoing.undone, undoing.root)

    def _give_back(self, undone: UndoneTurn, root: str) -> UndoneTurn:
        """Give the thread back what a turn took from it apart from the history, and return that."""
        change, undone = plan_restore(self._options, undone, root)
        if change.states:
            self._options.store.apply(change)
        return undone

    async def attach(self, word: str, *, thread: str) -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        access = await concurrency.run(lambda: self._options.access(thread))
        access.check_open()
        attachments = await concurrency.run(lambda: self._attachments(thread))
        await attachments.add(word, access)

    def attach_document(self, name: str, data: bytes, *, thread: str) -> str:
        """Queue a document for the next message of a thread."""
        return self._attachments(thread).add_document(name, data)

    def detach(self, word: str, *, thread: str) -> None:
        """Untrack a path, or remove a queued reference."""
        self._attachments(thread).drop(word)

    def pin(self, path: str, *, thread: str, on: bool) -> None:
        """Put a tracked file before all others, or undo that."""
        self._attachments(thread).pin(path, on=on)

    def detach_all(self, *, thread: str) -> None:
        """Untrack everything, and empty the queue."""
        self._attachments(thread).clear()

    def attachments(self, *, thread: str) -> AttachmentList:
        """Return what is tracked in a thread and queued for its next message."""
        return self._attachments(thread).list(self._options.access(thread))

    def waiting(self, *, thread: str) -> Waiting:
        """Return what is queued for the next message of a thread."""
        return waiting(self._options.store, self._ledger.named(thread))

    def replay(self, *, thread: str, number: int | None, fetch: bool) -> Replay:
        """Return a past turn as it was sent."""
        return self._replays.replay(self._ledger.turn(thread=thread, number=number), fetch=fetch)

    async def rerun(self, *, thread: str, number: int | None, window: int | None, model: str | None) -> Rerun:
        """Run a past turn again, for another window or by another model; nothing is recorded."""
        if window is None and model is None:
            raise PromptuaryError("say what to run the turn with: a window, a model, or both")
        if window is not None and window < _SMALLEST_WINDOW:
            raise PromptuaryError(f"a window has at least {_SMALLEST_WINDOW} tokens, not {window!r}")
        asked = None if model is None else chat_model(self._app.settings, model)
        options = None if window is None else await concurrency.run(lambda: self._rehearsal(window))
        replay = await concurrency.run(lambda: self.replay(thread=thread, number=number, fetch=False))
        return await rerun(replay, self._options.store, rehearsal=options, model=asked)

    def audit(self, source: str, *, finished_only: bool, limit: int) -> Audit:
        """Return which turns a source influenced."""
        if limit < 1:
            raise PromptuaryError(f"limit must be a number, 1 or more, not {limit!r}")
        return self._auditor.audit(source, finished_only=finished_only, limit=limit)

    def sources(self, *, thread: str, number: int | None) -> Sequence[AuditRow]:
        """Return what a turn was based on."""
        return self._auditor.sources(self._ledger.turn(thread=thread, number=number))

    def export(self, *, thread: str, form: ExportForm, file: Path | None, force: bool) -> str:
        """Return a thread as text, and write it to ``file``."""
        store, name = self._options.store, self._ledger.named(thread)
        if name not in {one.id for one in store.threads()}:
            raise PromptuaryError(f"there is no thread {name!r}")
        if form not in get_args(ExportForm):
            raise PromptuaryError(f"a thread is exported as json or md, not as {form!r}")
        history = store.history(name)
        tracks = self._files in self._options.layers
        attached = self.attachments(thread=name) if tracks else AttachmentList((), ())
        one = exchange.Exported(
            name,
            exchange.laid_out(history, store.said(name)),
            frozenset(item.id for item in history),
            store.turns(name),
            [each.path for each in attached.tracked],
            attached.queued,
        )
        text = exchange.to_markdown(one) if form == "md" else exchange.to_text(one) + "\n"
        if file is not None:
            write_export(file, text, force=force)
        return text

    def import_(self, source: str | Path, *, thread: str | None) -> ImportedThread:
        """Create a thread from a JSON export: ``source`` is the text, or the path of its file."""
        text = read_export(source, exchange.LARGEST) if isinstance(source, Path) else source
        if len(text) > exchange.LARGEST:
            raise PromptuaryError(f"the export is longer than {exchange.LARGEST:,} characters")
        read, store = exchange.from_text(text), self._options.store
        name = self._ledger.named(read.thread if thread is None else thread)
        with self._database.transaction():
            if name in {one.id for one in store.threads()}:
                raise ConflictError(f"There is a thread {name!r} already; import it under another name.")
            for change in exchange.changes(name, read.items):
                store.apply(change)
        self.drop(name)
        count = sum(not item.stands_for for item in read.items)
        return ImportedThread(name, count, tuple(read.tracked), read.turns)

    def forget(self, source: str, *, dry_run: bool) -> Audit:
        """Remove a file or a page from every stored prompt."""
        found = self._auditor.find(source, finished_only=False, limit=_EVERY)
        files = [one for one in found.sources if one.startswith(("file:", "index:", "url:", "mcp:"))]
        if not files:
            raise PromptuaryError(
                f"{source!r} is not a file or page; memory forget and experience forget are for notes and experiences"
            )
        if not dry_run:
            forgetting = self._database.forgetting(self._options.principal)
            for address in files:
                forgetting.redact_source(address)
            forgetting.purge()
        return found

    def stats(self, *, thread: str) -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return self._thread(thread).stats()

    async def dispose(self) -> None:
        """Dispose the layers."""
        await dispose(self._options.layers, HookLog())

    def _rehearsal(self, window: int) -> ThreadOptions:
        """Return the options of threads with another window, with a new store in memory. Blocks."""
        return rehearsed(sized(self._app, self._options, window))

    def drop(self, name: str) -> None:
        """Drop what is known of a thread that was removed, renamed or created in the ledger."""
        self._threads.pop(name, None)
        self._recorded.pop((name, True), None)

    async def _known(self, name: str) -> Thread:
        """Return a thread; off the event loop, because its name may be looked up in the store."""
        known = self._threads.get(name)
        return known if known is not None else await concurrency.run(lambda: self._thread(name))

    def _thread(self, name: str) -> Thread:
        known = self._threads.get(name)
        if known is None:
            known = self._threads.setdefault(name, Thread(self._ledger.named(name), self._options))
        return known

    def _attachments(self, name: str) -> Attachments:
        if self._files not in self._options.layers:
            raise PromptuaryError(
                f"the layer {self._files.id!r} was replaced by one that is not TrackedFiles, so no files are tracked"
            )
        app, options = self._app, self._options
        named = self._ledger.named(name)
        kinds = app.reference_kinds
        return Attachments(named, options.store, self._files, options.counter, app.workspace, kinds=kinds)
