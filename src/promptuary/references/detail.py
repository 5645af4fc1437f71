"""A source in as much detail as a budget allows: whole, outline, excerpt, or its name. Pure.

Render, then measure: a block is never larger than the budget it was made for, because its cost is counted on exactly
the text that is sent. A shortened source fills the budget: an outline that leaves much room is followed by the
beginning of the text.
"""

from msgspec.structs import replace

from promptuary.base.blocks import Block, Detail, Source
from promptuary.base.budget import TokenCounter
from promptuary.base.excerpt import ends, head_and_tail, largest, whole_lines
from promptuary.base.references import format_reference
from promptuary.base.text import split_lines
from promptuary.references.render import render

_MIN_EXCERPT_LINES = 2
_MIN_EXCERPT_CHARACTERS = 40
_MIN_BEGINNING_CHARACTERS = 8
_READ_ON_LINES = 200
_WORTH_SHOWING = 16  # with fewer tokens beyond the name, there is nothing to say
_FILLED = 0.85  # of the budget: what costs less leaves room for more


def _tokens(block: Block) -> int:
    return block.tokens


def whole(source: Source, counter: TokenCounter) -> Block:
    return render(source, Detail.FULL, source.text, counter)


def name_only(source: Source, counter: TokenCounter, full_cost: int | None = None) -> Block:
    """Return the block that only names ``source``, what it would cost and how to read on.

    Its notes are left out: they may be long, and the person sees them anyway.
    """
    cost = f"{full_cost:,} tokens did not fit" if full_cost is not None else "did not fit"
    named = render(replace(source, notes=()), Detail.PATH, None, counter, _remark(cost, source.read_on))
    return replace(named, source=source, whole_tokens=full_cost or 0)


def best_within(source: Source, budget: int, counter: TokenCounter, full: Block) -> Block | None:
    """Return the richest block of ``source`` that costs at most ``budget``; ``None`` if not even its name fits."""
    if full.tokens <= budget:
        return full
    name = name_only(source, counter, full.tokens)
    if budget < name.tokens + _WORTH_SHOWING:
        return name if name.tokens <= budget else None
    cost = f"{full.tokens:,} tokens in full"
    shown = _outline(source, budget, counter, cost) or _excerpt(source, budget, counter, cost) or name
    return replace(shown, whole_tokens=full.tokens)


def _remark(cost: str, read_on: str) -> str:
    return f"{cost}; {read_on}" if read_on else cost


def _outline(source: Source, budget: int, counter: TokenCounter, cost: str) -> Block | None:
    """Return the richest of the shorter forms that fits, plus the beginning of the text if there is room."""
    forms = source.outlines()

    def show(text: str) -> Block:
        return render(source, Detail.OUTLINE, text, counter, _remark(cost, source.read_on))

    chosen = largest(lambda step: forms[len(forms) - step], lambda text: show(text).tokens, budget, most=len(forms))
    if chosen is None:
        return None
    outline = show(chosen)
    if outline.tokens >= _FILLED * budget:
        return outline
    before = f"{chosen.removesuffix(chr(10))}\n⋯ and how it begins ⋯\n"
    return (
        largest(
            lambda kept: show(before + whole_lines(source.text[:kept])),
            _tokens,
            budget,
            least=_MIN_BEGINNING_CHARACTERS,
            most=len(source.text) - 1,
        )
        or outline
    )


def _excerpt(source: Source, budget: int, counter: TokenCounter, cost: str) -> Block | None:
    """Return head and tail of ``source``: as many lines as fit, or characters where lines are too long to fill it."""
    lines = split_lines(source.text)

    def keep_lines(kept: int) -> Block:
        text, gap = _lines_around_gap(lines, kept, source.first_line)
        return render(source, Detail.EXCERPT, text, counter, _remark(cost, _read_on(source, gap)))

    def keep_characters(kept: int) -> Block:
        text = head_and_tail(source.text, kept)
        return render(source, Detail.EXCERPT, text, counter, _remark(cost, source.read_on))

    by_lines = largest(keep_lines, _tokens, budget, least=_MIN_EXCERPT_LINES, most=len(lines) - 1)
    if by_lines and by_lines.tokens >= _FILLED * budget:
        return by_lines
    by_characters = largest(keep_characters, _tokens, budget, least=_MIN_EXCERPT_CHARACTERS, most=len(source.text) - 1)
    return max((block for block in (by_lines, by_characters) if block), key=_tokens, default=None)


def _read_on(source: Source, gap: tuple[int, int]) -> str:
    """Return the reference to the first of the lines that are left out."""
    if not source.path or source.first_line is None:
        return source.read_on
    first, last = gap
    wanted = format_reference("file", source.path, f":{first}-{min(last, first + _READ_ON_LINES - 1)}")
    return f"read on with {wanted}"


def _lines_around_gap(lines: list[str], kept: int, first_line: int | None) -> tuple[str, tuple[int, int]]:
    """Return the kept lines around a marker, and which lines it stands for."""
    head, tail = ends(lines, kept)
    before = (first_line or 1) - 1
    gap = (before + len(head) + 1, before + len(lines) - len(tail))
    missing = f"{gap[1] - gap[0] + 1:,} lines" if first_line is None else f"lines {gap[0]}-{gap[1]}"
    return "".join([*head, f"⋯ {missing} left out ⋯\n", *tail]), gap
