"""A source in as much detail as a budget allows: whole, outline, excerpt, or its name. Pure.

Render, then measure: a block is never larger than the budget it was made for, because its cost is counted
on the very text that is sent.
"""

from collections.abc import Callable

from promptuary.core.blocks import Block, Detail, Source
from promptuary.core.wire import render
from promptuary.tokens import Counter

Maker = Callable[[int], Block]
"""Builds a block that keeps so many lines or characters."""

_MIN_EXCERPT_LINES = 2
_HEAD_SHARE = 0.6


def whole(source: Source, counter: Counter) -> Block:
    """Return all of ``source``."""
    return _block(source, Detail.FULL, source.text, counter)


def name_only(source: Source, counter: Counter, full_cost: int | None = None) -> Block:
    """Return the block that only says that ``source`` is there, what it would cost and how to read on."""
    cost = f"{full_cost:,} tokens did not fit" if full_cost is not None else "did not fit"
    remark = f"{cost}; {source.read_on}" if source.read_on else cost
    return _block(source, Detail.PATH, None, counter, remark)


def best_within(source: Source, budget: int, counter: Counter, full: Block) -> Block | None:
    """Return the richest block of ``source`` that costs at most ``budget``; nothing if not even its name fits."""
    if full.tokens <= budget:
        return full
    remark = (
        f"{full.tokens:,} tokens in full; {source.read_on}" if source.read_on else f"{full.tokens:,} tokens in full"
    )
    for outline in source.outlines():
        block = _block(source, Detail.OUTLINE, outline, counter, remark)
        if block.tokens <= min(budget, full.tokens):
            return block
    if excerpt := _excerpt(source, budget, counter, remark):
        return excerpt
    name = name_only(source, counter, full.tokens)
    return name if name.tokens <= budget else None


def _block(source: Source, detail: Detail, body: str | None, counter: Counter, remark: str = "") -> Block:
    text = render(source, detail, body, remark)
    return Block(source, detail, text, counter.count(text))


def _excerpt(source: Source, budget: int, counter: Counter, remark: str) -> Block | None:
    """Return head and tail of ``source``: as many lines as fit, or characters where lines are too long to fit."""
    lines = source.text.splitlines(keepends=True)
    best = _largest(
        len(lines) - 1,
        lambda kept: _block(source, Detail.EXCERPT, _head_and_tail(lines, kept, source.first_line), counter, remark),
        budget,
        least=_MIN_EXCERPT_LINES,
    )
    if best:
        return best
    return _largest(
        len(source.text) - 1,
        lambda kept: _block(source, Detail.EXCERPT, _characters(source.text, kept), counter, remark),
        budget,
        least=40,
    )


def _largest(most: int, make: Maker, budget: int, *, least: int) -> Block | None:
    """Return the largest block that ``make`` builds within ``budget``, by bisection over how much is kept."""
    best, low, high = None, least, min(most, budget * 16)
    while low <= high:
        middle = (low + high) // 2
        block = make(middle)
        if block.tokens <= budget:
            best, low = block, middle + 1
        else:
            high = middle - 1
    return best


def _head_and_tail(lines: list[str], kept: int, first_line: int | None) -> str:
    head = max(1, round(kept * _HEAD_SHARE))
    tail = kept - head
    gap = (head + 1, len(lines) - tail)
    if first_line is None:
        marker = f"⋯ {gap[1] - gap[0] + 1:,} lines left out ⋯\n"
    else:
        marker = f"⋯ lines {gap[0] + first_line - 1}-{gap[1] + first_line - 1} left out ⋯\n"
    return "".join([*lines[:head], marker, *(lines[-tail:] if tail else [])])


def _characters(text: str, kept: int) -> str:
    head = max(1, round(kept * _HEAD_SHARE))
    tail = kept - head
    return f"{text[:head]}\n⋯ {len(text) - kept:,} characters left out ⋯\n{text[-tail:] if tail else ''}"
