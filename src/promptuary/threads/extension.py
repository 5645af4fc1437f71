"""The next request of a turn, after tools were called: the last request, and what was added since.

Everything before the loop stays byte for byte as it was sent, so that a cache can reuse it, except for layers that
check again what tools may have changed: their new content goes to the end. If there is no room, older results of the
loop are shortened first; then the oldest messages of the history are removed, then the oldest calls, and the newest
results are shortened.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from promptuary.context import loop as loops
from promptuary.context import receipt_entries
from promptuary.context.assemble import Contribution
from promptuary.context.history import PricedHistory, cost, item_cost, message_cost
from promptuary.context.loop import Loop
from promptuary.context.receipt_entries import PromptPart
from promptuary.core.layers import Band, RecallRequest
from promptuary.core.messages import Item, Message, Prompt, as_message
from promptuary.core.receipts import Failure, Receipt, ReceiptEntry
from promptuary.core.render import masked_warnings
from promptuary.layers.runner import HookLog, LayerRun, Runner
from promptuary.threads.options import ThreadOptions
from promptuary.threads.prepared import Turn, asked_item

Ask = Callable[[LayerRun, RecallRequest, int, HookLog], Awaitable[Contribution]]
"""Returns what a layer contributes within this many tokens."""

_SLACK = 5
"""When messages of the history are removed, a fifth of the room is freed, for the next results."""

_OWN = frozenset({"history", loops.LAYER, receipt_entries.TOOLS})
_SPOKEN = ("references", "message")


@dataclass(frozen=True, slots=True)
class _Past:
    """The history as it is sent: its messages, what they cost, and its part of the receipt if that has changed."""

    messages: Sequence[Message]
    tokens: int
    part: PromptPart | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extension:
    """A further request of ``turn``, to which ``new`` is added."""

    common: ThreadOptions
    runner: Runner
    turn: Turn
    new: Sequence[Item]
    ask: Ask

    async def run(self, history: PricedHistory, number: int, log: HookLog) -> Turn:
        """Return the turn with its next request, which has the number ``number`` in the thread."""
        counter, room, turn = self.common.counter, self.common.room, self.turn
        refreshed = {run.layer.id: run for run in await self.runner.refresh(log)}
        fixed = [message for layer, message in self._standing() if layer not in refreshed]
        spent = sum(message_cost(one, counter) for one in (*fixed, turn.prompt.message)) + self._tools
        available = room.usable - spent
        said = (*turn.said, *self.new)
        layers = await self._refreshed(refreshed, available, [*history.items, asked_item(turn), *said], log)
        rest = available - sum(one.tokens for one in layers.values())
        loop = Loop((*turn.loop, *self.new), len(self.new), said)
        past, loop = await self._fitted(loop, history, rest)
        prompt, names = self._prompt(refreshed, layers, past, loop)
        spent += sum(one.tokens for one in layers.values()) + past.tokens + loop.cost(counter)
        account = _account(turn, prompt, names, layers, refreshed)
        self._add_rest(account, layers, past, loop, in_view={one["content"] for one in prompt.live})
        blocks = [block for one in layers.values() for block in (*one.recall.blocks, *one.recall.updates)]
        warnings = (*log.notes, *past.warnings, *masked_warnings(blocks), *self._shortened(loop))
        name = f"{turn.root}.{len(turn.earlier) + 2}"
        receipt = Receipt(
            turn=name,
            thread=turn.thread,
            window=room.window,
            reserve=room.reserve,
            tokens=spent,
            entries=account.entries,
            hooks=log.hooks,
            failures=log.failures,
            warnings=list(dict.fromkeys(warnings)),
            blocked=spent > room.usable,
            earlier=turn.receipt.requests,
        )
        return replace(
            turn,
            id=name,
            number=number,
            prompt=prompt,
            receipt=receipt,
            parts=tuple(account.parts),
            layers=names,
            said=said,
            loop=loop.items,
            earlier=(*turn.earlier, turn.number),
        )

    @property
    def _tools(self) -> int:
        """What the descriptions of tools cost."""
        return sum(one.tokens for one in self.turn.receipt.entries if one.layer == receipt_entries.TOOLS)

    def _standing(self) -> list[tuple[str, Message]]:
        """Return the messages of the layers, each with its layer."""
        prompt = self.turn.prompt
        return list(zip(self.turn.layers, (*prompt.stable, *prompt.live), strict=True))

    def _tail(self) -> Sequence[Message]:
        """Return what followed the loop in the last request."""
        return self.turn.prompt.loop[len(self.turn.loop) :]

    async def _refreshed(
        self, runs: Mapping[str, LayerRun], available: int, history: Sequence[Item], log: HookLog
    ) -> dict[str, Contribution]:
        """Return what the layers that checked again contribute: within half of the room, or what they had."""
        counter = self.common.counter
        before = sum(message_cost(one, counter) for layer, one in self._standing() if layer in runs)
        before += sum(message_cost(one, counter) for one in self._tail())
        least = sum(item_cost(replace(one, content=one.content[:200]), counter) for one in self.new)
        share = min(max(before, available // 2), available - least)
        found: dict[str, Contribution] = {}
        for name, run in runs.items():
            said = await self.ask(run, RecallRequest(self.turn.text, 0, history), max(share, 0), log)
            if said.tokens > max(share, 0):
                reason = f"returned {said.tokens:,} tokens, {max(share, 0):,} were allowed"
                log.failures.append(Failure(name, "recall", "OVER_BUDGET", reason))
            elif said.tokens or said.recall.omitted:
                found[name] = said
                share -= said.tokens
        return found

    async def _fitted(self, loop: Loop, history: PricedHistory, rest: int) -> tuple[_Past, Loop]:
        counter, prompt = self.common.counter, self.turn.prompt
        past = _Past(prompt.history, sum(message_cost(one, counter) for one in prompt.history))
        loop = await loop.shortened(rest - past.tokens, counter, self.common.policy)
        if past.messages and past.tokens + loop.cost(counter) > rest:
            kept = history.newest(max(rest - loop.cost(counter) - rest // _SLACK, 0))
            tokens = cost(kept, counter)
            part = receipt_entries.of_history(kept, history, tokens)
            warnings = receipt_entries.unsent_warnings(kept, history)
            past = _Past([as_message(item) for item in kept], tokens, part, warnings)
        return past, await loop.fitted(rest - past.tokens, counter)

    def _prompt(
        self, refreshed: Collection[str], layers: Mapping[str, Contribution], past: _Past, loop: Loop
    ) -> tuple[Prompt, tuple[str, ...]]:
        """Return the prompt, and the layer of each message before and after the history.

        A change stays where it was first reported, as long as there is nothing newer to report.
        """
        before, standing = self.turn.prompt, self._standing()
        told = {layer: _message(one.recall.updates_text) for layer, one in layers.items() if one.recall.updates}
        said = {layer: _message(one.recall.text) for layer, one in layers.items() if one.recall.text}
        bands: Mapping[Band, list[tuple[str, Message]]] = {"stable": [], "live": []}
        for place, (layer, message) in enumerate(standing):
            band: Band = "stable" if place < len(before.stable) else "live"
            if layer not in refreshed:
                bands[band].append((layer, message))
            elif band == "live" and told.get(layer) == message:
                bands[band].append((layer, told.pop(layer)))
            elif layer in said and layers[layer].band == band:
                bands[band].append((layer, said.pop(layer)))
        for layer, message in said.items():
            bands[layers[layer].band].append((layer, message))
        names = tuple(layer for band in bands.values() for layer, _ in band)
        stable, live = ([message for _, message in band] for band in bands.values())
        behind = [*(as_message(item) for item in loop.items), *told.values()]
        return Prompt(stable, past.messages, live, before.message, behind), names

    def _add_rest(
        self, account: "_Account", layers: Mapping[str, Contribution], past: _Past, loop: Loop, in_view: set[str]
    ) -> None:
        """Add to the account of the stable layers what follows them, in the order of the prompt."""
        before = self.turn.layers[: len(self.turn.prompt.stable)]
        if past.part is None:
            account.keep("history")
        else:
            account.add(past.part)
        others = dict.fromkeys(entry.layer for entry in self.turn.receipt.entries)
        for layer in [one for one in others if one not in {*before, *layers, *_OWN, *_SPOKEN}]:
            account.keep(layer)
        updates = {layer: PromptPart(layer, one.recall.updates) for layer, one in layers.items() if one.recall.updates}
        for layer, one in layers.items():
            if one.band == "live":
                account.add(PromptPart(layer, one.recall.blocks, one.recall.omitted))
            if one.recall.updates_text in in_view and layer in updates:
                account.add(updates.pop(layer))
        for layer in _SPOKEN:
            account.keep(layer)
        account.add(loops.part(loop, self.common.counter))
        for part in updates.values():
            account.add(part)

    def _shortened(self, loop: Loop) -> list[str]:
        """Return warnings for the person about what is not sent whole."""
        short = sum(item.role == "tool" and bool(item.stands_for) for item in loop.items)
        gone = len(loop.said) - sum(item.kind != "summary" for item in loop.items)
        told = [f"{short} result{'s' * (short > 1)} of tools {'are' if short > 1 else 'is'} shortened"] if short else []
        return [*told, f"{gone} earlier messages of this turn are not sent: no room is left"] if gone else told


@dataclass(slots=True)
class _Account:
    """The parts of a further request and its entries: unchanged from the last request, or new."""

    turn: Turn
    window: int
    parts: list[PromptPart] = field(default_factory=list)
    entries: list[ReceiptEntry] = field(default_factory=list)

    def add(self, part: PromptPart) -> None:
        """Add a new part."""
        self.parts.append(part)
        self.entries += receipt_entries.entries([part], self.window)

    def keep(self, layer: str) -> None:
        """Add the parts that a layer had in the last request."""
        self.parts += [part for part in self.turn.parts if part.layer == layer]
        self.entries += [entry for entry in self.turn.receipt.entries if entry.layer == layer]


def _account(
    turn: Turn, further: Prompt, names: Sequence[str], layers: Mapping[str, Contribution], refreshed: Collection[str]
) -> _Account:
    """Return the account of the layers before the history; the caller adds the rest in the order of the prompt."""
    account = _Account(turn, turn.receipt.window)
    account.keep(receipt_entries.TOOLS)
    for layer in dict.fromkeys(
        (*names[: len(further.stable)], *(one for one in layers if layers[one].band == "stable"))
    ):
        if layer in refreshed:
            recall = layers[layer].recall
            account.add(PromptPart(layer, [block for block in recall.blocks if block.text], recall.omitted))
        else:
            account.keep(layer)
    return account


def _message(text: str) -> Message:
    return {"role": "developer", "content": text}
