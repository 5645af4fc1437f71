"""Fits sources into a budget: everything whole if it fits, else in less detail. Pure.

Sources that were named explicitly come before those that a pattern or a folder matched. Within each of these two ranks
the budget is divided by water-filling, so that a large file cannot starve the small ones; what a shortened source does
not use is offered to the others.
"""

from collections.abc import Sequence

from msgspec import Struct

from promptuary.base.blocks import Block, Detail, Source
from promptuary.base.budget import TokenCounter, water_fill
from promptuary.references.detail import best_within, name_only, whole


class RankedSource(Struct, frozen=True):
    """A source and its rank: 0 if it was named explicitly, 1 if it was matched."""

    source: Source
    rank: int = 0


def fit(candidates: Sequence[RankedSource], limit: int, counter: TokenCounter) -> list[Block | None]:
    """Return a block for each candidate, together at most ``limit`` tokens; ``None`` where not even the name fits."""
    full = [whole(one.source, counter) for one in candidates]
    if sum(block.tokens for block in full) <= limit:
        return list(full)
    names = [min(name_only(b.source, counter, b.tokens), b, key=lambda block: block.tokens) for b in full]
    chosen: list[Block | None] = [None] * len(full)
    left = limit
    for rank in sorted({one.rank for one in candidates}):
        members = [index for index, one in enumerate(candidates) if one.rank == rank]
        later = sum(names[index].tokens for index, one in enumerate(candidates) if one.rank > rank)
        reserved = min(later, left // 2)  # a pattern that matches thousands must not push out what was named
        for index, block in zip(members, _share([full[i] for i in members], left - reserved, counter), strict=True):
            chosen[index] = block
        left -= sum(block.tokens for index in members if (block := chosen[index]))
    return chosen


def _share(full: Sequence[Block], budget: int, counter: TokenCounter) -> list[Block | None]:
    shares = water_fill([block.tokens for block in full], budget)
    chosen = [best_within(b.source, share, counter, b) for b, share in zip(full, shares, strict=True)]
    left = budget - sum(block.tokens for block in chosen if block)
    for index, block in enumerate(chosen):  # naming everything comes before showing anything in full
        if block is None and (name := name_only(full[index].source, counter, full[index].tokens)).tokens <= left:
            chosen[index] = name
            left -= name.tokens
    for index, block in enumerate(chosen):
        if block is not None and block.detail is Detail.FULL:
            continue
        spent = block.tokens if block else 0
        if better := best_within(full[index].source, spent + left, counter, full[index]):
            chosen[index] = better
            left -= better.tokens - spent
    return chosen
