"""Fits the tool loop of a turn into its budget: older results are shortened first, then the newest. Pure.

A shortened result stays shortened: no cache can reuse a message that changes from request to request. So more is cut
than is necessary at the moment.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Source, content_hash
from promptuary.base.budget import TokenCounter, water_fill
from promptuary.base.errors import PromptuaryError
from promptuary.base.excerpt import excerpt
from promptuary.base.ids import new_id
from promptuary.base.messages import Item, cost, item_cost
from promptuary.base.text import one_line
from promptuary.context.compact.run import Trim
from promptuary.context.compact.shorten import Shorten
from promptuary.context.compact.types import everything_behind
from promptuary.context.history import CompactionPolicy, groups
from promptuary.context.receipt_entries import PromptPart

LAYER = "loop"
"""The name of the loop in receipts."""

LEAST_RESULT = 1_000
"""Tokens that each of the newest results may count on, in half of the room, before the oldest calls are dropped."""

_SLACK = 5
"""When something is cut, a fifth of the room is freed for the next results."""


class Loop(Struct, frozen=True):
    """The items since the message, as they are sent; the last ``new`` items are the newest.

    ``said`` are the same items as they were received.
    """

    items: tuple[Item, ...]
    new: int
    said: Sequence[Item]

    def cost(self, counter: TokenCounter) -> int:
        return cost(self.items, counter)

    async def shortened(self, room: int, counter: TokenCounter, policy: CompactionPolicy) -> "Loop":
        """Return the loop with shorter results in all but the newest, if it costs more than ``room``."""
        if self.cost(counter) <= room:
            return self
        over, whole = policy.shorten_to + policy.shorten_to // 2, {item.id: item for item in self.said}
        # A result that was cut when it was new is cut again from its full text, now that it is old.
        items = [
            whole.get(item.stands_for[0], item) if item.stands_for and counter.count(item.content) > over else item
            for item in self.items
        ]
        done = await Shorten(self.new, over, policy.shorten_to).compact(items, room - room // _SLACK, counter)
        short = [one if cost([one], counter) < cost([was], counter) else was for one, was in _pairs(done.items, self)]
        return replace(self, items=tuple(short))

    async def fitted(self, room: int, counter: TokenCounter) -> "Loop":
        """Return the loop within ``room``: the oldest calls are dropped, and the newest results are shortened."""
        if self.cost(counter) <= room:
            return self
        first = len(self.items) - self.new
        older, newest = self.items[:first], self.items[first:]
        least, results = _least(newest, counter), sum(item.role == "tool" for item in newest)
        wanted = min(cost(newest, counter), max(room // 2, least), least + results * LEAST_RESULT)
        if cost(older, counter) > room - wanted:
            goal = max(room - wanted - room // _SLACK, 0) + cost(newest, counter)
            older = (await Trim(self.new).compact(self.items, goal, counter)).items[: -self.new]
        return replace(self, items=(*older, *_cut(newest, room - cost(older, counter), counter)))


def _pairs(items: Sequence[Item], loop: Loop) -> Iterable[tuple[Item, Item]]:
    return zip(items, loop.items, strict=True)


def checked(items: Sequence[Item]) -> Sequence[Item]:
    """Return the items that extend a turn; raise ``PromptuaryError`` unless every call in them has its result."""
    for group in groups(items):
        answers = {item.tool_call_id for item in group.items[1:]}
        open_calls = [call for call in group.items[0].tool_calls if call.id not in answers]
        if open_calls:
            names = ", ".join(f"{one_line(call.name)} ({one_line(call.id)})" for call in open_calls)
            raise PromptuaryError(f"a turn is extended by calls with their results; there is no result of {names}")
        if group.has_strays:
            strays = [item for item in group.items if item not in group.sendable]
            names = ", ".join(one_line(item.tool_call_id) or "no call" for item in strays)
            raise PromptuaryError(f"a turn is extended by calls with their results; these answer {names}")
    if not items or items[-1].role != "tool":
        raise PromptuaryError("a turn is extended by the results of tools; end it with finish, or with abandon")
    return items


def part(loop: Loop, counter: TokenCounter) -> PromptPart:
    """Return the loop as a part of the prompt: one block per message."""
    names = {call.id: call.name for item in loop.said for call in item.tool_calls}
    said = {item.id: item for item in loop.said}
    behind = {item.id: [said[one] for one in item.stands_for if one in said] for item in loop.items}
    return PromptPart(LAYER, [_block(item, names, counter, behind[item.id]) for item in loop.items])


def _block(item: Item, names: dict[str, str], counter: TokenCounter, behind: Sequence[Item]) -> Block:
    called = ", ".join(call.name for call in item.tool_calls)
    if item.role == "tool":
        label = f"result of {names.get(item.tool_call_id, 'a tool')}"
    else:
        label = f"call of {called}" if called else "said by the model" if item.role == "assistant" else "left out"
    source = Source(LAYER, one_line(label), "loop", "", content_hash(item.content))
    detail, reason = (Detail.EXCERPT, "shortened to fit") if item.stands_for else (Detail.FULL, "this turn's tools")
    whole = cost(behind, counter)
    return Block(source, detail, "", item_cost(item, counter), reason=reason, whole_tokens=whole)


def _least(items: Sequence[Item], counter: TokenCounter) -> int:
    """Return the cost of the items without the results of tools."""
    return sum(item_cost(replace(item, content="") if item.role == "tool" else item, counter) for item in items)


def _cut(items: Sequence[Item], room: int, counter: TokenCounter) -> list[Item]:
    """Return the items with results that fit into ``room`` together: small ones whole, large ones in part."""
    wants = [counter.count(item.content) if item.role == "tool" else 0 for item in items]
    given = water_fill(wants, max(room - _least(items, counter), 0), [1] * len(items))
    return [
        item if wanted <= share else _shorter(item, share, counter)
        for item, wanted, share in zip(items, wants, given, strict=True)
    ]


def _shorter(item: Item, tokens: int, counter: TokenCounter) -> Item:
    where = f"item {one_line(item.id)} of the ledger has all of it"
    for place in (where, "shortened", ""):
        if (content := excerpt(item.content, tokens, counter, place)) is not None:
            break
    else:
        content = "⋯" if counter.count("⋯") <= tokens else ""
    return replace(item, id=new_id("item"), content=content, stands_for=everything_behind([item]))
