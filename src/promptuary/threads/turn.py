"""The turn: everything in the window, assembled for one message, and stored when the reply arrives.

``prepare`` recalls the layers, attaches what the message refers to, makes room and records exactly what is sent;
``finish`` shows the reply to the layers and stores it. Each writes its changes in one transaction, all or none.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.blocks import Block, Omitted, content_hash
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.ids import new_id
from promptuary.base.messages import (
    MESSAGE_OVERHEAD,
    Answer,
    Item,
    Message,
    Replacement,
    as_recorded,
    cost,
    message_cost,
)
from promptuary.base.references import Pasted, pasted_spans
from promptuary.base.text import one_line
from promptuary.base.values import Json
from promptuary.context import receipt_entries
from promptuary.context.assemble import (
    Contribution,
    assemble,
    ceiling,
    recall_cost,
    shares,
    speakers,
    without_room,
)
from promptuary.context.compact.due import is_due, needs_compaction, stats
from promptuary.context.compact.run import compact
from promptuary.context.history import HistoryStats, PricedHistory, spoken
from promptuary.context.loop import checked
from promptuary.context.receipt import Receipt
from promptuary.context.receipt_entries import PromptPart
from promptuary.context.replies import asked_item, reply_items
from promptuary.layers.layer import (
    Ending,
    Failure,
    Incoming,
    LayerState,
    RecallRequest,
    Reply,
    StateKey,
    check,
)
from promptuary.layers.runner import HookLog, LayerRun, Runner
from promptuary.memory.writeback.learning import Learning, NotLearntError
from promptuary.memory.writeback.snapshot import FinishedTurn
from promptuary.models.chat_model import ToolSpec
from promptuary.references.expansion import Expansion
from promptuary.references.render import masked_warnings
from promptuary.threads import before_turn, pending
from promptuary.threads.attachments import documents_key, documents_of, queue_key
from promptuary.threads.extension import Extension
from promptuary.threads.options import ExpandRequest, ThreadOptions
from promptuary.threads.pending import pending_state
from promptuary.threads.prepared import Turn, wrote_a_note
from promptuary.threads.records import ThreadChange, TurnRecord, TurnStatus
from promptuary.threads.store.store import ThreadHead
from promptuary.threads.values import CompactedThread
from promptuary.workspace.access import Access


class Thread:
    """One conversation: its layers and their states. One turn is prepared or finished at a time."""

    def __init__(self, name: str, common: ThreadOptions) -> None:
        check(common.layers)
        self.name = name
        self._common = common
        self._runner = Runner(
            common.layers, name, common.resource, common.counter, common.room.window, principal=common.principal
        )
        self._runner.look_back(self._earlier)
        self._lock = asyncio.Lock()
        self._access, self._head = Access(), _Head()

    async def prepare(
        self,
        text: str,
        pasted: Pasted = (),
        tools: Sequence[ToolSpec] = (),
        prompt: str = "",
        left_out: Sequence[Omitted] = (),
    ) -> Turn:
        """Assemble the turn of ``text``, record it, and return it; nothing in the ``pasted`` parts is a reference.

        ``tools`` are described to the model with each request, in the same window; ``left_out`` are not. ``prompt`` is
        the one that ``text`` is from, for the receipt.
        """
        # In a thread if there are many: each is looked for in the whole text.
        spans = await concurrency.run(lambda: pasted_spans(text, pasted)) if pasted else ()
        said = Incoming(text, text, spans)
        described = receipt_entries.of_tools(tools, self._common.counter, left_out)
        async with self._lock:
            return await self._prepare(text, said, described, prompt)

    async def _prepare(self, text: str, said: Incoming, tools: PromptPart, origin: str) -> Turn:
        common, log = self._common, HookLog()
        await self._runner.init(self._states, log)
        self._access.check_open()
        marks, typed = self._runner.marks(), said.typed
        said = await self._runner.on_message(said, log)
        stored, queued = self._head, self._head.queued
        whole = await concurrency.run(lambda: self._history(stored.history))
        expansion = await self._expanded(said, stored, tools.tokens)
        message: Message = {**expansion.messages[-1], "role": "user"}
        spent = message_cost(message, common.counter) + tools.tokens
        available = common.room.usable - spent
        attached = receipt_entries.of_references(expansion)
        words = receipt_entries.of_message(expansion.text, common.counter.count(expansion.text), origin)
        request = RecallRequest(text, 0, whole.items, [*words.blocks, *attached.blocks], typed)
        shared = await self._shared(request, whole, available, log)
        history, compacted, warnings = await self._compacted(whole, shared.for_history)
        if compacted:  # layers get more room, and may recall what has left the window
            request = replace(request, history=history.items)
            shared = await self._shared(request, history, available, log)
        contributions, left_out = await self._contributions(shared, log)
        standing = sum(contribution.tokens for contribution in contributions)
        past = history.newest(available - standing)
        before = cost(past, common.counter)
        prompt = assemble(contributions, past, message)
        of_past = receipt_entries.of_history(past, history, before)
        warnings += receipt_entries.unsent_warnings(len(past), history)
        for one in contributions:
            warnings += tuple(masked_warnings(_blocks(one)))
        stable, live = receipt_entries.of_layers(contributions)
        parts = [tools, *stable, of_past, *live, attached, words, *left_out]
        spent += standing + before
        if available <= MESSAGE_OVERHEAD and self._runner.active:
            warnings = (*warnings, "the message leaves no room for anything else")
        slips = {one.raw for one in expansion.slips}  # which say what was meant: a layer need not say it, too
        notes = (one for one in log.notes if one.partition(": ")[0] not in slips)
        general = dict.fromkeys((*expansion.general_warnings, *notes, *warnings))
        expansion = replace(expansion, general_warnings=tuple(general))
        receipt = self._receipt(parts, expansion, spent, log)
        turn = Turn(
            id=receipt.turn,
            thread=self.name,
            number=stored.last_number + 1,
            text=text,
            prompt=prompt,
            receipt=receipt,
            expansion=expansion,
            parts=tuple(parts),
            layers=speakers(contributions),
            noted=wrote_a_note(expansion),
        )
        states = [*self._runner.take_changes(), *([replace(queued, value=[])] if queued and queued.value else [])]
        states += [replace(stored.documents, value=[])] if stored.documents and stored.documents.value else []
        states += before_turn.added(stored.before, self.name, self._found(turn.root, stored, marks))
        states.append(pending_state(turn, self._head.pending))
        change = ThreadChange(self.name, turn=recorded_turn(turn, "prepared"), states=states, replacements=compacted)
        await self._begin(turn, change)
        return turn

    async def _begin(self, turn: Turn, change: ThreadChange) -> None:
        """Record a turn; if the caller was cancelled meanwhile, abandon it."""
        try:
            await self._apply(change)
        except asyncio.CancelledError:
            with suppress(PromptuaryError):  # it was not recorded
                await concurrency.shielded(self._abandon(turn, "abandoned", unsaid=True))
            raise

    async def _apply(self, change: ThreadChange) -> None:
        """Write a change. A cancelled caller still waits for it: the next turn must find what this one wrote."""
        await concurrency.shielded(concurrency.run(lambda: self._common.store.apply(change)))

    def _found(self, turn: str, stored: "_Head", marks: Mapping[str, Json]) -> before_turn.BeforeTurn:
        """Return what a turn took, and what layers added to their states with its message."""
        changed = {
            name: (marks.get(name), mark) for name, mark in self._runner.marks().items() if marks.get(name) != mark
        }
        queued, documents = (one.value if one and one.value else () for one in (stored.queued, stored.documents))
        return before_turn.BeforeTurn(turn, queued, documents, changed)

    async def extend(self, turn: Turn, answer: Answer) -> Turn:
        """Return the next request of a turn, after the model's calls and their results; record it."""
        said = checked(reply_items(answer, turn.root))
        async with self._lock:
            log = await self._resume(turn, numbered=True)
            self._access.check_open()
            past = await concurrency.run(lambda: self._history(self._head.history))
            extension = Extension(self._common, self._runner, turn, said, self._ask)
            further = await extension.run(past, self._head.last_number + 1, log)
            states = [*self._runner.take_changes(), pending_state(further, self._head.pending)]
            change = ThreadChange(self.name, turn=recorded_turn(further, "prepared"), states=states, continued=turn.id)
            await self._apply(change)
            return further

    def pending(self, number: int | None = None) -> Turn | None:
        """Return the turn that was prepared last, or that with this number, if it still waits for its reply."""
        return pending.found(self._common.store, self.name, number)

    async def finish(self, turn: Turn, reply: Answer, cost: float | None = None) -> Receipt:
        """Show the reply to the layers, add it to the history, and return the receipt with what the hooks did.

        ``cost`` is what the person was charged for the turn.
        """
        said, charged = Reply(reply_items(reply, turn.id)), charge_of(cost)
        async with self._lock:
            return await self._finish(turn, said, charged)

    async def _finish(self, turn: Turn, said: Reply, charged: float | None) -> Receipt:
        log = await self._resume(turn)
        said = Reply([*(replace(item, turn=turn.id) for item in turn.said), *said.items])
        await self._runner.after_model(said, log)
        await self._runner.store(said, log)
        await self._runner.complete("finished", log)
        asked = asked_item(turn)
        receipt = replace(
            turn.receipt,
            hooks=[*turn.receipt.hooks, *log.hooks],
            failures=[*turn.receipt.failures, *log.failures],
        )
        recorded = recorded_turn(replace(turn, receipt=receipt), "finished")
        replied = tokens_of(said.items, self._common.counter)
        recorded = replace(recorded, reply_tokens=replied, cost=charged)
        change = ThreadChange(
            self.name,
            turn=recorded,
            items=[asked, *said.items],
            states=[*self._runner.take_changes(), *self._no_longer_pending(turn)],
        )
        receipt = await concurrency.run(lambda: self._store_finished(turn, change, recorded))
        if self._common.learning is not None:
            await self._common.learning.settle()
        return replace(receipt, earlier=turn.receipt.earlier)

    def _store_finished(self, turn: Turn, change: ThreadChange, recorded: TurnRecord) -> Receipt:
        """Store a turn with what it teaches, and return its receipt.

        A learner that fails does not lose the turn: everything is stored again without it.
        """
        common, learning, receipt = self._common, self._learning(), recorded.receipt
        if learning is None:
            common.store.apply(change)
            return receipt
        history = [*self._head.history, *change.items]
        failures: dict[str, Failure] = {}
        while True:
            finished = FinishedTurn(turn.id, self.name, history, receipt, noted=turn.noted)
            try:
                with common.transaction():
                    common.store.apply(change)
                    learning.record(finished, without=failures)
            except NotLearntError as error:
                failures[error.learner] = error.failure
                receipt = replace(recorded.receipt, failures=[*recorded.receipt.failures, *failures.values()])
                change = replace(change, turn=replace(recorded, receipt=receipt))
            else:
                return receipt

    def _learning(self) -> Learning | None:
        """Return what learns from a turn: nothing in a session without memory."""
        return self._common.learning if self._access.has_memory else None

    async def abandon(self, turn: Turn, ending: Ending = "abandoned", *, unsaid: bool = False) -> None:
        """End a turn that got no reply: the layers are notified, and nothing enters the history.

        ``unsaid``: no model has answered its message, so what only that named is no longer in view. Otherwise somebody
        may have used the prompt, and have recorded no reply.
        """
        async with self._lock:
            await self._abandon(turn, ending, unsaid=unsaid)

    async def _abandon(self, turn: Turn, ending: Ending, *, unsaid: bool) -> None:
        log = await self._resume(turn)
        await self._runner.complete(ending, log)
        if unsaid:
            self._runner.take_back(before_turn.found(self._head.before, turn.root).marks)
        status: TurnStatus = "failed" if ending == "failed" else "abandoned"
        states = [*self._runner.take_changes(), *self._no_longer_pending(turn)]
        await self._apply(ThreadChange(self.name, turn=recorded_turn(turn, status), states=states))

    async def compact(self) -> CompactedThread:
        """Compact the history now, even if that is not due: down to the policy's share of its cost."""
        common, counter = self._common, self._common.counter
        async with self._lock:
            history = await concurrency.run(lambda: self._history(common.store.history(self.name)))
            size = min(history.tokens, common.room.usable)
            done = await compact(history.items, size, counter, policy=common.policy, model=common.model)
            if done.changed:
                change = ThreadChange(self.name, replacements=done.replacements)
                await self._apply(change)
            return CompactedThread(
                self.name, done.tokens_before, done.tokens_after, len(done.replaced), one_line(done.reason)
            )

    def stats(self) -> HistoryStats:
        """Return how much of the window the history takes."""
        common = self._common
        history = spoken(self._with_images(common.store.history(self.name)))
        due = needs_compaction(history, common.room.usable, common.counter, common.policy)
        return replace(stats(history, common.room.window, common.counter, common.policy), needs_compaction=due)

    async def _resume(self, turn: Turn, *, numbered: bool = False) -> HookLog:
        """Check that a turn is still pending, and reload the states: others may have changed them since.

        ``numbered`` also reads the number of the last turn.
        """
        store, log = self._common.store, HookLog()
        known = await concurrency.run(lambda: store.turn_status(self.name, turn.number))
        if known != (turn.id, "prepared"):
            became = f"is {known[1]} already" if known and known[0] == turn.id else "is not in the ledger"
            raise ConflictError(f"turn {turn.number} of thread {self.name!r} {became}; prepare a new one")
        await self._runner.init(partial(self._states, numbered=numbered), log)
        return log

    def _no_longer_pending(self, turn: Turn) -> Sequence[LayerState]:
        return pending.no_pending(self.name, self._head.pending, turn.id)

    async def _states(self, keys: Sequence[StateKey], *, numbered: bool = True) -> Sequence[LayerState | None]:
        """Return the states, and read everything else that a turn needs: in one step, since every turn waits for it."""
        own = [key(self.name) for key in (queue_key, documents_key, before_turn.key, pending.pending_key)]

        def read() -> tuple[Access, ThreadHead]:
            return self._common.access(self.name), self._read_head([*keys, *own], numbered=numbered)

        self._access, head = await concurrency.run(read)
        self._head = _Head(head.history, head.last_number, *head.states[len(keys) :])
        self._runner.look_through(self._access)
        return head.states[: len(keys)]

    def _read_head(self, keys: Sequence[StateKey], *, numbered: bool) -> ThreadHead:
        """Return what the store has of the thread. Blocks."""
        return self._common.store.head(self.name, keys, numbered=numbered)

    async def _earlier(self, revision: str) -> str:
        """Return the message of the last request that has this SHA-256, as the ledger has it now."""
        last = await concurrency.run(lambda: self._common.store.turn(self.name))
        messages = last.messages if last else ()
        return next((one["content"] for one in messages if content_hash(one["content"]) == revision), "")

    def _history(self, items: Sequence[Item]) -> PricedHistory:
        """Return the history with its images and its cost. Blocks."""
        return PricedHistory.of(self._with_images(items), self._common.counter)

    def _with_images(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return the history with the images that its messages show again."""
        if not any(one.start == one.end for item in items for one in item.attachments):
            return items
        shown = self._common.images(items, self._access)
        return [replace(item, images=shown[item.id]) if item.id in shown else item for item in items]

    async def _compacted(
        self, history: PricedHistory, room: int
    ) -> tuple[PricedHistory, Sequence[Replacement], tuple[str, ...]]:
        """Return the history, compacted if that is due or it does not fit ``room``, the replacements, and warnings.

        A history that would not fit even then is compacted only if that is due.
        """
        common = self._common
        usable, counter, policy = common.room.usable, common.counter, common.policy
        due = is_due(history.items, history.tokens, usable, counter, policy)
        for window in (*([room] if 0 < room < history.sent else []), *([usable] if due else [])):
            rules = policy.within(window, usable)
            done = await compact(history.items, window, counter, policy=rules, model=common.model)
            after = PricedHistory.of(done.items, counter)
            if done.changed and (due or after.sent <= room):
                return after, done.replacements, (f"the history was compacted: {done.reason}",)
        return history, (), ()

    async def _expanded(self, said: Incoming, stored: "_Head", tools: int) -> Expansion:
        """Attach what the message refers to, within its limit and the room that the message and the tools leave."""
        words = self._common.counter.count(said.text) + MESSAGE_OVERHEAD + tools
        queued = stored.queued.value if stored.queued else []
        request = ExpandRequest(
            message=said.parsed,
            said=said.original,
            also=" ".join(queued),
            limit=max(min(self._common.limit, self._common.room.usable - words), 0),
            thread=self.name,
            access=self._access,
            rehearsed=self._common.rehearsed,
            brought=documents_of(stored.documents),
        )
        return await concurrency.run(lambda: self._common.expand(request))

    async def _shared(self, request: RecallRequest, history: PricedHistory, available: int, log: HookLog) -> "_Shared":
        """Recall every layer as if it had the window to itself, and share ``available`` tokens among them."""
        asked: list[tuple[LayerRun, Contribution]] = []
        for run in self._runner.active:
            contribution = await self._ask(run, request, ceiling(run.layer.budget, available), log)
            if contribution.tokens or contribution.recall.omitted:
                asked.append((run, contribution))
                request = replace(request, in_view=[*request.in_view, *_blocks(contribution)])
            else:
                log.notes |= dict.fromkeys(contribution.recall.notes)
        given, rest = shares([first for _, first in asked], history, available, self._common.room.history_share)
        return _Shared(asked, given, request, rest)

    async def _contributions(self, shared: "_Shared", log: HookLog) -> tuple[list[Contribution], list[PromptPart]]:
        """Return what each layer contributes; those that want more tokens than they get are asked again."""
        contributions, left_out = [], []
        for run, first in shared.asked:
            share, name = shared.given[first.layer], first.layer
            again = await self._again(run, first, shared, log)
            log.notes |= dict.fromkeys(again.recall.notes)
            if again.tokens > share:
                reason = f"returned {again.tokens:,} tokens, {share:,} were allowed"
                log.failures.append(Failure(name, "recall", "OVER_BUDGET", reason))
                left_out.append(PromptPart(name, omitted=[Omitted(name, reason, tokens=again.tokens)]))
            elif again.tokens:
                contributions.append(again)
            elif again.recall.omitted:
                left_out.append(PromptPart(name, omitted=again.recall.omitted))
            else:
                reason = f"{first.tokens:,} tokens, and {share:,} are left for it"
                left_out.append(PromptPart(name, omitted=[Omitted(name, reason, tokens=first.tokens)]))
        return contributions, left_out

    async def _ask(self, run: LayerRun, request: RecallRequest, share: int, log: HookLog) -> Contribution:
        """Return what a layer contributes within ``share`` tokens; if there is no room, everything is omitted."""
        layer = run.layer
        # Never 0, which some layers take as no limit.
        recall = await self._runner.recall(run, replace(request, budget=max(share - MESSAGE_OVERHEAD, 1)), log)
        said = Contribution(layer.id, layer.band, layer.budget, recall, recall_cost(recall, self._common.counter))
        return said if share > MESSAGE_OVERHEAD else without_room(said, share)

    async def _again(self, run: LayerRun, first: Contribution, shared: "_Shared", log: HookLog) -> Contribution:
        """Return what a layer contributes within its share; ``first`` if that fits."""
        share = shared.given[first.layer]
        if first.tokens <= share:
            return first
        if share <= MESSAGE_OVERHEAD:
            return without_room(first, share)
        return await self._ask(run, _without(shared.request, first), share, log)

    def _receipt(self, parts: Sequence[PromptPart], expansion: Expansion, spent: int, log: HookLog) -> Receipt:
        room = self._common.room
        return Receipt(
            turn=new_id("turn"),
            thread=self.name,
            window=room.window,
            reserve=room.reserve,
            tokens=spent,
            entries=receipt_entries.entries(parts, room.window),
            hooks=log.hooks,
            failures=log.failures,
            warnings=expansion.warnings,
            blocked=expansion.blocked or spent > room.usable,
        )


class _Head(Struct, frozen=True):
    """What the store has of a thread before a step of a turn."""

    history: Sequence[Item] = ()
    last_number: int = 0
    queued: LayerState | None = None
    documents: LayerState | None = None
    before: LayerState | None = None
    pending: LayerState | None = None


class _Shared(Struct, frozen=True):
    """What the layers want to contribute, the share of each, the request, and the tokens left for the history."""

    asked: Sequence[tuple[LayerRun, Contribution]]
    given: Mapping[str, int]
    request: RecallRequest
    for_history: int


def _blocks(contribution: Contribution) -> list[Block]:
    return [*contribution.recall.blocks, *contribution.recall.updates]


def _without(request: RecallRequest, contribution: Contribution) -> RecallRequest:
    """Return ``request`` without the layer's own blocks in view: it is asked for less of the same."""
    own = set(map(id, _blocks(contribution)))
    return replace(request, in_view=[block for block in request.in_view if id(block) not in own])


def recorded_turn(turn: Turn, status: TurnStatus) -> TurnRecord:
    """Return a turn as the ledger has it."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    receipt = replace(turn.receipt, earlier=())  # each earlier request is a turn with its own receipt
    sent = list(map(as_recorded, turn.messages))
    return TurnRecord(
        id=turn.id,
        thread=turn.thread,
        number=turn.number,
        created=now,
        status=status,
        text=turn.text,
        messages=sent,
        receipt=receipt,
    )


def charge_of(cost: float | None) -> float | None:
    """Return what a turn cost. Raises ``PromptuaryError`` if it is not a valid number."""
    given: object = cost
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        raise PromptuaryError(f"cost must be a number, 0 or more, in any currency, not {given!r}")
    return float(given)


def tokens_of(items: Sequence[Item], counter: TokenCounter) -> int:
    """Return how many tokens the model wrote: its words and its calls, not what tools answered."""
    own = [item for item in items if item.role == "assistant"]
    calls = [text for item in own for call in item.tool_calls for text in (call.name, call.arguments)]
    return sum(map(counter.count, (*(item.content for item in own), *calls)))
