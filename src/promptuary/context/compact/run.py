"""Compacts a history: shortens first, then summarises, and drops items only if it still does not fit.

Runs the strategies in this order and combines their results. When to compact is decided in ``history``; the thread
writes the result to the store.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.messages import MESSAGE_OVERHEAD, Item, Replacement, cost, whole_cost
from promptuary.context.compact.due import kept
from promptuary.context.compact.envelope import how_many, marker_for, marker_line
from promptuary.context.compact.shorten import Shorten
from promptuary.context.compact.summary import Summary
from promptuary.context.compact.types import Compacted, Strategy, in_one_step, put_in_place
from promptuary.context.history import DEFAULT_POLICY, CompactionPolicy, older
from promptuary.models.protocols import ChatModel


class Trim(Struct, frozen=True):
    """Drops as many of the oldest groups as necessary."""

    keep_last: int

    async def compact(self, items: Sequence[Item], goal_tokens: int, counter: TokenCounter) -> Compacted:
        """Replace the oldest groups by a line that says how many messages they were."""
        left, count = cost(items, counter), 0
        gone: list[Item] = []
        for group in older(items, self.keep_last):
            if left + _price(count, counter) <= goal_tokens:
                break
            gone += group.items
            left -= cost(group.items, counter)
            count += how_many(group.items)
        if not gone or _price(count, counter) >= cost(gone, counter):
            return Compacted("trim", tuple(items))
        replacement = Replacement(tuple(item.id for item in gone), marker_for(gone))
        return Compacted("trim", put_in_place(items, [replacement]), (replacement,))


def _price(count: int, counter: TokenCounter) -> int:
    return MESSAGE_OVERHEAD + counter.count(marker_line(count)) if count else 0


class Compaction(Struct, frozen=True):
    """The result of compacting a history: the new items, the replacements, and the costs before and after.

    ``strategies`` are those that changed something, in order; ``reason`` is a sentence for people.
    """

    items: tuple[Item, ...]
    replacements: tuple[Replacement, ...]
    tokens_before: int
    tokens_after: int
    strategies: tuple[str, ...]
    reason: str

    @property
    def changed(self) -> bool:
        """Whether anything was replaced."""
        return bool(self.replacements)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The ids of all items that left the history."""
        return tuple(one for replacement in self.replacements for one in replacement.ids)


async def compact(
    items: Sequence[Item],
    window: int,
    counter: TokenCounter,
    *,
    policy: CompactionPolicy = DEFAULT_POLICY,
    model: ChatModel | None = None,
) -> Compaction:
    """Bring ``items`` down to the policy's goal, and at least into ``window`` if the fixed items leave room.

    A history within the goal is not changed; ``needs_compaction`` says when to call this.
    """
    goal = int(policy.goal * window)
    newest = kept(items, window, counter, policy)
    steps: list[tuple[Strategy, int]] = [
        (Shorten(newest, over=policy.shorten_over, to=policy.shorten_to), goal),
        (Summary.of(newest, window, policy, model), goal),
        (Trim(newest), window),
    ]
    before = cost(items, counter)
    now, tokens = tuple(items), before
    replacements: tuple[Replacement, ...] = ()
    names, remarks = [], [f"{before:,} tokens; the goal is {goal:,}"]
    for strategy, enough in steps:
        if tokens <= enough:
            continue
        step = await strategy.compact(now, goal, counter)
        if step.replacements:
            replacements = in_one_step(replacements, step.replacements)
            now, tokens = _combined(step.items, replacements), cost(step.items, counter)
            names.append(step.name)
            remarks += [step.remark] if step.remark else []
    replacements = _priced(replacements, items, counter)
    now = _combined(now, replacements)
    remarks.append(f"{tokens:,} tokens after {', '.join(names)}" if names else "nothing to do")
    return Compaction(now, replacements, before, tokens, tuple(names), "; ".join(remarks))


def _priced(
    replacements: Sequence[Replacement], items: Sequence[Item], counter: TokenCounter
) -> tuple[Replacement, ...]:
    """Return the replacements of ``items`` with what those cost that they stand for."""
    behind = {item.id: item for item in items} if replacements else {}
    found = []
    for one in replacements:
        costs = [whole_cost(behind[item], counter) for item in one.ids]
        found.append(replace(one, item=replace(one.item, whole_tokens=sum(costs) if all(costs) else 0)))
    return tuple(found)


def _combined(items: tuple[Item, ...], replacements: Sequence[Replacement]) -> tuple[Item, ...]:
    """Return ``items`` with those that several steps replaced taken from the combined ``replacements``."""
    final = {replacement.item.id: replacement.item for replacement in replacements}
    return tuple(final.get(item.id, item) for item in items)
