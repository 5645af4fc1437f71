"""Compacts a history: shortens first, then summarises, and drops items only if it still does not fit.

Runs the strategies in this order and combines their results. When to compact is decided in ``history``; the thread
writes the result to the store.
"""

from collections.abc import Sequence

from msgspec import Struct

from promptuary.base.budget import TokenCounter
from promptuary.base.messages import Item, Replacement, cost
from promptuary.context.compact.shorten import Shorten
from promptuary.context.compact.summary import Summary
from promptuary.context.compact.trim import Trim
from promptuary.context.compact.types import Strategy, in_one_step
from promptuary.context.history import DEFAULT_POLICY, CompactionPolicy, kept
from promptuary.models.protocols import ChatModel


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
    remarks.append(f"{tokens:,} tokens after {', '.join(names)}" if names else "nothing to do")
    return Compaction(now, replacements, before, tokens, tuple(names), "; ".join(remarks))


def _combined(items: tuple[Item, ...], replacements: Sequence[Replacement]) -> tuple[Item, ...]:
    """Return ``items`` with those that several steps replaced taken from the combined ``replacements``."""
    final = {replacement.item.id: replacement.item for replacement in replacements}
    return tuple(final.get(item.id, item) for item in items)
