"""Decides when a history is compacted, and what of it stays as it is."""

from collections.abc import Sequence

from promptuary.base.budget import TokenCounter
from promptuary.base.messages import Item, cost
from promptuary.context.history import DEFAULT_POLICY, CompactionPolicy, HistoryStats, groups, is_summary, older


def stats(
    items: Sequence[Item], window: int, counter: TokenCounter, policy: CompactionPolicy = DEFAULT_POLICY
) -> HistoryStats:
    """Return the figures of ``items``, and whether they need compaction in a window of this size."""
    tokens = cost(items, counter)
    due = is_due(items, tokens, window, counter, policy)
    return HistoryStats(
        messages=len(items),
        tokens=tokens,
        window=window,
        share=tokens / window if window > 0 else 1.0,
        needs_compaction=due,
        summaries=sum(item.kind == "summary" for item in items),
    )


def needs_compaction(
    items: Sequence[Item], window: int, counter: TokenCounter, policy: CompactionPolicy = DEFAULT_POLICY
) -> bool:
    """Return whether ``items`` should be compacted in a window of this size."""
    return is_due(items, cost(items, counter), window, counter, policy)


def is_due(items: Sequence[Item], tokens: int, window: int, counter: TokenCounter, policy: CompactionPolicy) -> bool:
    """Return whether ``items``, which cost ``tokens``, are over the policy's threshold and some can be compacted."""
    return tokens > policy.threshold * window and any(
        not is_summary(group) for group in older(items, kept(items, window, counter, policy))
    )


def kept(items: Sequence[Item], window: int, counter: TokenCounter, policy: CompactionPolicy) -> int:
    """Return how many of the newest items a compaction leaves as they are: whole groups, and ``keep_last`` at most.

    They cost at most the goal; the last message of the user with its answers may cost up to the threshold. Both are
    shares of what the fixed groups leave of the window.
    """
    every = groups(items)
    free = max(window - sum(cost(group.items, counter) for group in every if group.is_fixed), 0)
    number = tokens = 0
    share = policy.threshold
    for group in reversed(every):
        tokens += 0 if group.is_fixed else cost(group.items, counter)
        if number + len(group.items) > policy.keep_last or tokens > share * free:
            break
        number += len(group.items)
        share = policy.goal if group.items[0].role == "user" else share
    return number
