"""The turn: everything that stands in the window, put together for one message, and stored when the reply arrives.

``prepare`` recalls the layers, attaches what the message points at, makes room and records exactly what is sent;
``finish`` shows the reply to the layers and keeps it. Whatever either changes is written at once or not at all.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from promptuary import concurrency
from promptuary.context import receipt_entries, render
from promptuary.context.assemble import Contribution, Room, assemble, ceiling, recall_cost, shares, without_room
from promptuary.context.compact.run import compact
from promptuary.context.history import (
    MESSAGE_OVERHEAD,
    CompactionPolicy,
    PricedHistory,
    cost,
    is_due,
    needs_compaction,
    spoken,
    stats,
)
from promptuary.context.receipt_entries import PromptPart
from promptuary.core.blocks import Block
from promptuary.core.budget import TokenCounter
from promptuary.core.errors import ConflictError, PromptuaryError
from promptuary.core.expansion import Expansion
from promptuary.core.ids import new_id
from promptuary.core.layers import Ending, Incoming, Layer, Omitted, RecallRequest, Reply, check
from promptuary.core.messages import Item, Message, Prompt, Replacement, ToolCall
from promptuary.core.ports.models import ChatModel
from promptuary.core.ports.threads import LayerState, StateKey, ThreadChange, ThreadStore, TurnRecord, TurnStatus
from promptuary.core.principals import Principal
from promptuary.core.receipts import Failure, Receipt
from promptuary.core.render import masked_warnings
from promptuary.core.threads import HistoryStats
from promptuary.layers.runner import HookLog, LayerRun, Runner
from promptuary.threads.attachments import queue_key


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn, ready to be sent."""

    id: str
    thread: str
    number: int
    text: str
    prompt: Prompt
    receipt: Receipt
    expansion: Expansion = field(repr=False)
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    """Everything in the prompt, in order; the history is one block."""

    @property
    def messages(self) -> list[Message]:
        """The messages for any chat API."""
        return self.prompt.messages

    def render(self, provider: render.Provider) -> Any:
        """Return the prompt in the words of a provider."""
        return render.FORMS[provider](self.prompt)


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """A message to expand within ``limit`` tokens, and the references queued for it.

    ``said`` is the message as the person typed it; layers may have made another ``text`` of it.
    """

    text: str
    said: str
    also: str
    limit: int
    thread: str


def _wrote_a_note(turn: Turn) -> bool:
    """Return whether the message had a note written on purpose: then nothing is left to learn from it."""
    return any(one.reference.kind == "remember" and one.code is None for one in turn.expansion.outcomes)


def asked_item(turn: Turn) -> Item:
    """Return the message of a turn as the history has it.

    Its id is derived from the turn's, so of two that finish it at the same time the store refuses the second.
    """
    return Item(
        f"item-of-{turn.id}",
        "user",
        turn.prompt.message["content"],
        turn=turn.id,
        attachments=turn.expansion.attachments,
        words_start=turn.expansion.words_start,
    )


Expand = Callable[[ExpandRequest], Expansion]
"""Expands a message, and writes what it asks to be remembered. Blocks."""


class Learner(Protocol):
    """What learns from finished turns."""

    def record(self, turn: str, thread: str, history: Sequence[Item], receipt: Receipt) -> None:
        """Store what is to be learnt from; called in the transaction that stores the turn. Blocks."""
        ...

    async def settle(self) -> None:
        """Begin to learn, after the turn is stored; may wait for it shortly."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadOptions:
    """What all threads of a principal in one workspace have in common."""

    principal: Principal
    store: ThreadStore
    layers: Sequence[Layer]
    counter: TokenCounter
    room: Room
    limit: int
    policy: CompactionPolicy
    model: ChatModel | None
    expand: Expand
    resource: str
    transaction: Callable[[], AbstractContextManager[None]] = nullcontext
    learner: Learner | None = None


class Thread:
    """One conversation: its layers with their states. One turn is prepared or finished at a time."""

    def __init__(self, name: str, common: ThreadOptions) -> None:
        check(common.layers)
        self.name = name
        self._common = common
        self._runner = Runner(
            common.layers, name, common.resource, common.counter, common.room.window, principal=common.principal
        )
        self._lock = asyncio.Lock()

    async def prepare(self, text: str) -> Turn:
        """Assemble the turn of ``text``, record it, and return it."""
        async with self._lock:
            return await self._prepare(text)

    async def _prepare(self, text: str) -> Turn:
        common, log = self._common, HookLog()
        await self._runner.init(self._states, log)
        rewritten = await self._runner.on_message(Incoming(text, text), log)
        stored = await concurrency.run(self._stored)
        queued = stored.queued
        expansion = await self._expanded(rewritten, text, queued.value if queued else [])
        message: Message = {"role": "user", "content": expansion.messages[-1]["content"]}
        spent = common.counter.count(message["content"]) + MESSAGE_OVERHEAD
        available = common.room.usable - spent
        attached = receipt_entries.of_references(expansion)
        words = receipt_entries.of_message(expansion.text, common.counter.count(expansion.text))
        request = RecallRequest(text, 0, stored.history.items, [*words.blocks, *attached.blocks])
        shared = await self._shared(request, stored.history, available, log)
        history, compacted, warnings = await self._compacted(stored.history, shared.for_history)
        if compacted:  # which gives the layers more room, and takes things out of the window that they might recall
            request = replace(request, history=history.items)
            shared = await self._shared(request, history, available, log)
        contributions, left_out = await self._contributions(shared, log)
        standing = sum(contribution.tokens for contribution in contributions)
        past = history.newest(available - standing)
        before = cost(past, common.counter)
        prompt = assemble(contributions, past, message)
        of_past = receipt_entries.of_history(past, history, before)
        warnings += receipt_entries.unsent_warnings(past, history)
        warnings += tuple(masked_warnings(block for one in contributions for block in one.recall.blocks))
        stable = [receipt_entries.of_layer(one) for one in contributions if one.band == "stable"]
        live = [receipt_entries.of_layer(one) for one in contributions if one.band == "live"]
        parts = [*stable, of_past, *live, attached, words, *left_out]
        spent += standing + before
        if available <= MESSAGE_OVERHEAD and self._runner.active:
            warnings = (*warnings, "the message leaves no room for anything else")
        general = dict.fromkeys((*expansion.general_warnings, *log.notes, *warnings))
        expansion = replace(expansion, general_warnings=tuple(general))
        receipt = self._receipt(parts, expansion, spent, log)
        blocks = tuple(block for part in parts for block in part.blocks)
        turn = Turn(receipt.turn, self.name, stored.last_number + 1, text, prompt, receipt, expansion, blocks)
        states = [*self._runner.changed(), *([replace(queued, value=[])] if queued and queued.value else [])]
        change = ThreadChange(self.name, turn=_recorded(turn, "prepared"), states=states, replacements=compacted)
        await concurrency.run(lambda: common.store.apply(change))
        return turn

    async def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Show the reply to the layers, add it to the history, and return the receipt with what the hooks did."""
        said = Reply([_item(message, turn.id) for message in _messages(reply)])
        async with self._lock:
            return await self._finish(turn, said)

    async def _finish(self, turn: Turn, said: Reply) -> Receipt:
        log = await self._resume(turn)
        await self._runner.after_model(said, log)
        await self._runner.store(said, log)
        await self._runner.complete("finished", log)
        asked = asked_item(turn)
        receipt = replace(
            turn.receipt,
            hooks=[*turn.receipt.hooks, *log.hooks],
            failures=[*turn.receipt.failures, *log.failures],
        )
        change = ThreadChange(
            self.name,
            turn=_recorded(replace(turn, receipt=receipt), "finished"),
            items=[asked, *said.items],
            states=self._runner.changed(),
        )
        await concurrency.run(lambda: self._store_finished(turn, change, receipt))
        if self._common.learner is not None:
            await self._common.learner.settle()
        return receipt

    def _store_finished(self, turn: Turn, change: ThreadChange, receipt: Receipt) -> None:
        common = self._common
        if common.learner is None or _wrote_a_note(turn):
            common.store.apply(change)
            return
        history = [*common.store.history(self.name), *change.items]
        with common.transaction():
            common.store.apply(change)
            common.learner.record(turn.id, self.name, history, receipt)

    async def abandon(self, turn: Turn, ending: Ending = "abandoned") -> None:
        """End a turn that got no reply: the layers are told, and nothing enters the history."""
        async with self._lock:
            log = await self._resume(turn)
            await self._runner.complete(ending, log)
            status: TurnStatus = "failed" if ending == "failed" else "abandoned"
            change = ThreadChange(self.name, turn=_recorded(turn, status), states=self._runner.changed())
            await concurrency.run(lambda: self._common.store.apply(change))

    def stats(self) -> HistoryStats:
        """Return how much of the window the history takes."""
        common = self._common
        history = spoken(common.store.history(self.name))
        due = needs_compaction(history, common.room.usable, common.counter, common.policy)
        return replace(stats(history, common.room.window, common.counter, common.policy), needs_compaction=due)

    async def _resume(self, turn: Turn) -> HookLog:
        """Check that a turn is still pending, and load the states again: others may have changed them since."""
        store, log = self._common.store, HookLog()
        known = await concurrency.run(lambda: store.turn(self.name, turn.number))
        if known is None or known.id != turn.id or known.status != "prepared":
            became = f"is {known.status} already" if known and known.id == turn.id else "is not in the ledger"
            raise ConflictError(f"turn {turn.number} of thread {self.name!r} {became}; prepare a new one")
        await self._runner.init(self._states, log)
        return log

    async def _states(self, keys: Sequence[StateKey]) -> Sequence[LayerState | None]:
        return await concurrency.run(lambda: self._common.store.states(keys))

    def _stored(self) -> "_Stored":
        """Read what a turn needs of the store, at one go."""
        store = self._common.store
        (queued,) = store.states([queue_key(self.name)])
        history = PricedHistory.of(store.history(self.name), self._common.counter)
        return _Stored(history, queued, store.last_number(self.name))

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

    async def _expanded(self, text: str, said: str, queued: Sequence[str]) -> Expansion:
        """Attach what the message points at, within its limit and what the message itself leaves."""
        words = self._common.counter.count(text) + MESSAGE_OVERHEAD
        limit = max(min(self._common.limit, self._common.room.usable - words), 0)
        request = ExpandRequest(text, said, " ".join(queued), limit, self.name)
        return await concurrency.run(lambda: self._common.expand(request))

    async def _shared(self, request: RecallRequest, history: PricedHistory, available: int, log: HookLog) -> "_Shared":
        """Recall every layer as if it had the window to itself, and share ``available`` tokens among them."""
        asked: list[tuple[LayerRun, Contribution]] = []
        for run in self._runner.active:
            contribution = await self._ask(run, request, ceiling(run.layer.budget, available), log)
            if contribution.tokens or contribution.recall.omitted:
                asked.append((run, contribution))
                request = replace(request, in_view=[*request.in_view, *contribution.recall.blocks])
            else:
                log.notes |= dict.fromkeys(contribution.recall.notes)
        given = shares([first for _, first in asked], history, available, self._common.room.history_share)
        return _Shared(asked, given, request, available - sum(given.values()))

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
        """Return what a layer says within ``share`` tokens; if that is no room at all, everything is omitted."""
        layer = run.layer
        # Never 0, which means no limit to some layers.
        recall = await self._runner.recall(run, replace(request, budget=max(share - MESSAGE_OVERHEAD, 1)), log)
        said = Contribution(layer.id, layer.band, layer.budget, recall, recall_cost(recall, self._common.counter))
        return said if share > MESSAGE_OVERHEAD else without_room(said, share)

    async def _again(self, run: LayerRun, first: Contribution, shared: "_Shared", log: HookLog) -> Contribution:
        """Return what a layer says within the share it was given, ``first`` if that fits."""
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


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the store has of a thread before a turn."""

    history: PricedHistory
    queued: LayerState | None
    last_number: int


@dataclass(frozen=True, slots=True)
class _Shared:
    """What the layers want to say, what each is given, what they were asked, and the tokens left for the history."""

    asked: Sequence[tuple[LayerRun, Contribution]]
    given: Mapping[str, int]
    request: RecallRequest
    for_history: int


def _without(request: RecallRequest, contribution: Contribution) -> RecallRequest:
    """Return ``request`` without the layer's own blocks in view: it is asked for less of the same."""
    own = set(map(id, contribution.recall.blocks))
    return replace(request, in_view=[block for block in request.in_view if id(block) not in own])


def _recorded(turn: Turn, status: TurnStatus) -> TurnRecord:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return TurnRecord(turn.id, turn.thread, turn.number, now, status, turn.text, turn.messages, turn.receipt)


def _messages(reply: str | Sequence[Message]) -> Sequence[Message]:
    return [{"role": "assistant", "content": reply}] if isinstance(reply, str) else reply


def _item(message: Message, turn: str) -> Item:
    """Return what a model or a tool said as an entry of the history; what is no such message is refused."""
    given: object = message
    if not isinstance(given, Mapping):
        raise PromptuaryError(f"a reply is text or a list of messages, not of {type(given).__name__}")
    if given.get("role") not in {"assistant", "tool"}:
        raise PromptuaryError(
            f"a reply is made of messages of the assistant and of tools, not of {given.get('role')!r}"
        )
    # Providers leave out, or set to null, the content of a message that only calls tools.
    content, answers = given.get("content") or "", given.get("tool_call_id") or ""
    if not isinstance(content, str) or not isinstance(answers, str):
        raise PromptuaryError("the content and the tool_call_id of a reply's message are text")
    calls = tuple(map(_call, given.get("tool_calls") or ()))
    return Item(new_id("item"), message["role"], content, tool_calls=calls, tool_call_id=answers, turn=turn)


def _call(call: object) -> ToolCall:
    match call:
        case {"id": str(name), "name": str(tool), "arguments": str(arguments)}:
            return ToolCall(name, tool, arguments)
        case _:
            raise PromptuaryError("a tool call has an id, a name and arguments, each of them text")
