"""A source in as much detail as a budget allows: whole, outline, excerpt, or its name. Pure.

Render, then measure: a block is never larger than the budget it was made for, because its cost is counted
on the very text that is sent.
"""

from collections.abc import Callable

from promptuary.core.blocks import Block, Detail, Source
from promptuary.core.counting import TokenCounter
from promptuary.core.references import format_reference
from promptuary.core.render import render

Maker = Callable[[int], Block]
"""Builds a block that keeps so many lines or characters."""

_MIN_EXCERPT_LINES = 2
_HEAD_SHARE = 0.6
_READ_ON_LINES = 200
_WORTH_SHOWING = 16  # with fewer tokens beyond the name, there is nothing to say


def whole(source: Source, counter: TokenCounter) -> Block:
    """Return all of ``source``."""
    return render(source, Detail.FULL, source.text, counter)


def name_only(source: Source, counter: TokenCounter, full_cost: int | None = None) -> Block:
    """Return the block that only says that ``source`` is there, what it would cost and how to read on."""
    cost = f"{full_cost:,} tokens did not fit" if full_cost is not None else "did not fit"
    remark = f"{cost}; {source.read_on}" if source.read_on else cost
    return render(source, Detail.PATH, None, counter, remark)


def best_within(source: Source, budget: int, counter: TokenCounter, full: Block) -> Block | None:
    """Return the richest block of ``source`` that costs at most ``budget``; nothing if not even its name fits."""
    if full.tokens <= budget:
        return full
    name = name_only(source, counter, full.tokens)
    if budget < name.tokens + _WORTH_SHOWING:
        return name if name.tokens <= budget else None
    remark = "; ".join(filter(None, [f"{full.tokens:,} tokens in full", source.read_on]))
    for outline in source.outlines():
        block = render(source, Detail.OUTLINE, outline, counter, remark)
        if block.tokens <= min(budget, full.tokens):
            return block
    return _excerpt(source, budget, counter, remark) or name


def _excerpt(source: Source, budget: int, counter: TokenCounter, remark: str) -> Block | None:
    """Return head and tail of ``source``: as many lines as fit, or characters where lines are too long to fit."""
    lines = source.text.splitlines(keepends=True)

    def keep_lines(kept: int) -> Block:
        text, gap = _head_and_tail(lines, kept, source.first_line)
        return render(source, Detail.EXCERPT, text, counter, _read_on(source, gap, remark))

    best = _largest(len(lines) - 1, keep_lines, budget, least=_MIN_EXCERPT_LINES)
    if best:
        return best
    return _largest(
        len(source.text) - 1,
        lambda kept: render(source, Detail.EXCERPT, _characters(source.text, kept), counter, remark),
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


def _read_on(source: Source, gap: tuple[int, int], remark: str) -> str:
    """Return the remark with the reference that brings the first of the lines that are left out."""
    if not source.path or source.first_line is None:
        return remark
    first, last = gap
    wanted = format_reference("file", source.path, f":{first}-{min(last, first + _READ_ON_LINES - 1)}")
    return f"{remark.partition(';')[0]}; read on with {wanted}"


def _head_and_tail(lines: list[str], kept: int, first_line: int | None) -> tuple[str, tuple[int, int]]:
    """Return the kept lines around a marker, and which lines it stands for."""
    head = max(1, round(kept * _HEAD_SHARE))
    tail = kept - head
    before = (first_line or 1) - 1
    gap = (before + head + 1, before + len(lines) - tail)
    missing = f"{gap[1] - gap[0] + 1:,} lines" if first_line is None else f"lines {gap[0]}-{gap[1]}"
    return "".join([*lines[:head], f"⋯ {missing} left out ⋯\n", *(lines[-tail:] if tail else [])]), gap


def _characters(text: str, kept: int) -> str:
    head = max(1, round(kept * _HEAD_SHARE))
    tail = kept - head
    return f"{text[:head]}\n⋯ {len(text) - kept:,} characters left out ⋯\n{text[-tail:] if tail else ''}"
