"""The next request of a turn, after tools were called: the last request, and what was added since.

Everything before the loop stays byte for byte as it was sent, so that a cache can reuse it, except for layers that
check again what tools may have changed: their new content goes to the end. If there is no room, stable layers that are
shortened or fill most of the window give way first, once in a turn. Then older results of the loop are shortened, then
the oldest messages of the history are removed, and then the newest results are shortened; the oldest calls go last.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from promptuary.base.blocks import Detail
from promptuary.base.messages import Item, Message, Prompt, as_message, cost, item_cost, message_cost
from promptuary.context import loop as loops
from promptuary.context import receipt_entries
from promptuary.context.assemble import Contribution, promise
from promptuary.context.history import PricedHistory
from promptuary.context.loop import Loop
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.context.receipt_entries import PromptPart, unsent_warnings
from promptuary.context.replies import asked_item
from promptuary.layers.layer import Band, Failure, Recall, RecallRequest
from promptuary.layers.runner import HookLog, LayerRun, Runner
from promptuary.references.render import masked_warnings
from promptuary.threads.options import ThreadOptions
from promptuary.threads.prepared import Turn

Ask = Callable[[LayerRun, RecallRequest, int, HookLog], Awaitable[Contribution]]
"""Returns what a layer contributes within this many tokens."""

_SLACK = 5
"""When messages of the history are removed, a fifth of the room is freed, for the next results."""

_LEAST_LAYER = 1_000
"""What a layer that gives way may still cost, in a large window; in a small one it is an eighth of it."""

_OWN = frozenset({"history", loops.LAYER, receipt_entries.TOOLS})
_SPOKEN = ("references", "message")


class _Past(Struct, frozen=True):
    """The history as it is sent: its messages, what they cost, and its part of the receipt if that has changed."""

    messages: Sequence[Message]
    tokens: int
    part: PromptPart | None = None


class Extension(Struct, frozen=True):
    """A further request of ``turn``, to which ``new`` is added."""

    common: ThreadOptions
    runner: Runner
    turn: Turn
    new: Sequence[Item]
    ask: Ask

    async def run(self, history: PricedHistory, number: int, log: HookLog) -> Turn:
        """Return the turn with its next request, which has the number ``number`` in the thread."""
        counter, room, turn = self.common.counter, self.common.room, self.turn
        last = {run.layer.id: run.last for run in self.runner.active}
        refreshed = {run.layer.id: run for run in await self.runner.refresh(log)}
        said = (*turn.said, *self.new)
        loop = Loop((*turn.loop, *self.new), len(self.new), said)
        wanted = loop.cost(counter) + sum(message_cost(one, counter) for one in turn.prompt.history)
        items, giving = [*history.items, asked_item(turn), *said], self._giving()
        layers, spent = await self._refreshed(refreshed, None if giving else {}, items, log)
        gave_way = bool(giving) and spent + wanted > room.usable
        if gave_way:
            refreshed |= {run.layer.id: run for run in self.runner.active if run.layer.id in giving}
            layers, spent = await self._refreshed(refreshed, giving, items, log)
        past, loop = await self._fitted(loop, history, room.usable - spent)
        prompt, names = self._prompt(refreshed, layers, past, loop)
        spent += past.tokens + loop.cost(counter)
        account = _account(turn, prompt, names, layers, refreshed)
        self._add_rest(account, layers, past, loop, in_view={one["content"] for one in prompt.live})
        stale = {*_shortened(Loop(turn.loop, 0, turn.said)), *unsent_warnings(len(turn.prompt.history), history)}
        stale = stale.union(*(_notes(recall) for layer in refreshed if (recall := last.get(layer))))
        warnings = [one for one in turn.receipt.warnings if one not in stale]
        warnings += [*log.notes, *unsent_warnings(len(past.messages), history), *_shortened(loop)]
        for one in layers.values():
            warnings += _notes(one.recall)
        if gave_way:
            warnings.append(f"{', '.join(giving)}: shortened, because the results of tools need the room")
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

    def _costs(self) -> dict[str, int]:
        """Return what the messages of each layer cost."""
        costs: dict[str, int] = {}
        for layer, message in self._standing():
            costs[layer] = costs.get(layer, 0) + message_cost(message, self.common.counter)
        return costs

    @property
    def _shortened_layers(self) -> set[str]:
        return {one.layer for one in self.turn.receipt.entries if one.detail in {Detail.OUTLINE, Detail.EXCERPT}}

    def _giving(self) -> dict[str, int]:
        """Return the stable layers that give way if there is no room, and what each may then cost.

        Each falls at once to what it may cost to the end of the turn, so the prefix changes once at most.
        """
        usable, costs, short = self.common.room.usable, self._costs(), self._shortened_layers
        giving = {}
        for run in self.runner.active:
            name, tokens = run.layer.id, costs.get(run.layer.id, 0)
            least = max(min(_LEAST_LAYER, usable // 8), promise(run.layer.budget, tokens))
            if run.layer.band == "stable" and tokens > least and (name in short or tokens > usable // 2):
                giving[name] = least
        return giving

    async def _refreshed(
        self, runs: Mapping[str, LayerRun], less: Mapping[str, int] | None, history: Sequence[Item], log: HookLog
    ) -> tuple[dict[str, Contribution], int]:
        """Return what the layers that are asked again contribute, and what all but the history and the loop costs.

        They get half of the room, or what they had. One that is shortened gets no more than it had, and ``less`` says
        which get less. Without it, nothing is left for the new results: layers can still give way.
        """
        counter, costs, short = self.common.counter, self._costs(), self._shortened_layers
        fixed = sum(tokens for layer, tokens in costs.items() if layer not in runs) + self._tools
        spent = fixed + message_cost(self.turn.prompt.message, counter)
        available = self.common.room.usable - spent
        before = sum(costs.get(layer, 0) for layer in runs) + sum(message_cost(one, counter) for one in self._tail())
        share = max(before, available // 2)
        if less is not None:
            share = min(share, available - sum(item_cost(_beginning(one), counter) for one in self.new))
        found: dict[str, Contribution] = {}
        for name, run in runs.items():
            most = (less or {}).get(name, costs.get(name, 0) if name in short else share)
            allowed = max(min(share, most), 0)
            said = await self.ask(run, RecallRequest(self.turn.text, 0, history), allowed, log)
            if said.tokens > allowed:
                reason = f"returned {said.tokens:,} tokens, {allowed:,} were allowed"
                log.failures.append(Failure(name, "recall", "OVER_BUDGET", reason))
            elif said.tokens or said.recall.omitted:
                found[name] = said
                share -= said.tokens
                spent += said.tokens
        return found, spent

    async def _fitted(self, loop: Loop, history: PricedHistory, rest: int) -> tuple[_Past, Loop]:
        counter, prompt = self.common.counter, self.turn.prompt
        past = _Past(prompt.history, sum(message_cost(one, counter) for one in prompt.history))
        loop = await loop.shortened(rest - past.tokens, counter, self.common.policy)
        if past.messages and past.tokens + loop.cost(counter) > rest:
            kept = history.newest(max(rest - loop.cost(counter) - rest // _SLACK, 0))
            tokens = cost(kept, counter)
            part = receipt_entries.of_history(kept, history, tokens)
            past = _Past([as_message(item) for item in kept], tokens, part)
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


class _Account(Struct):
    """The parts of a further request and its entries: unchanged from the last request, or new."""

    turn: Turn
    window: int
    parts: list[PromptPart] = field(default_factory=list)
    entries: list[ReceiptEntry] = field(default_factory=list)

    def add(self, part: PromptPart) -> None:
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


def _notes(recall: Recall) -> list[str]:
    return [*recall.notes, *masked_warnings((*recall.blocks, *recall.updates))]


def _shortened(loop: Loop) -> list[str]:
    """Return warnings for the person about what is not sent whole."""
    short = sum(item.role == "tool" and bool(item.stands_for) for item in loop.items)
    gone = len(loop.said) - sum(item.kind != "summary" for item in loop.items)
    told = [f"{short} result{'s' * (short > 1)} of tools {'are' if short > 1 else 'is'} shortened"] if short else []
    return [*told, f"{gone} earlier messages of this turn are not sent: no room is left"] if gone else told


def _beginning(item: Item) -> Item:
    """Return ``item`` with some thousand tokens of its content at most."""
    return replace(item, content=item.content[: 4 * loops.LEAST_RESULT])


def _message(text: str) -> Message:
    return {"role": "developer", "content": text}
