"""The beginning and the end of a text that is too long, and as much of it as fits into a budget. Pure."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from promptuary.base.budget import TokenCounter

Made = TypeVar("Made")
Parts = TypeVar("Parts", str, list[str])

_HEAD_SHARE = 0.6
_MOST_CHARACTERS_A_TOKEN = 16
_SPARED = 6
"""Which part of an excerpt may be dropped for it to end with a whole line: one sixth."""


class Unfolding(Struct, frozen=True):
    """Forms of a text that show more with each step: ``draw(1)`` shows least, ``draw(steps)`` most."""

    draw: Callable[[int], str]
    steps: int

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int, /) -> str:
        if not 0 <= index < self.steps:
            raise IndexError(index)
        return self.draw(self.steps - index)


def excerpt(text: str, budget: int, counter: TokenCounter, where: str = "") -> str | None:
    """Return the beginning and the end of ``text`` within ``budget`` tokens, and in between how much is missing.

    ``where`` says where all of it is. ``None`` if not even the gap fits.
    """
    return largest(lambda kept: head_and_tail(text, kept, where), counter.count, budget, most=len(text) - 1)


def head_and_tail(text: str, kept: int, where: str = "") -> str:
    """Return about ``kept`` characters of ``text`` around a line that says how many are missing."""
    head, tail = ends(text, kept)
    # Whole lines read better, as long as that costs little of what is kept.
    head = whole_lines(head)
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail[: len(tail) // _SPARED] else tail
    missing = f"{len(text) - len(head) - len(tail):,} characters left out"
    gap = f"⋯ {missing}; {where} ⋯" if where else f"⋯ {missing} ⋯"
    return f"{head}{'' if head.endswith(chr(10)) else chr(10)}{gap}\n{tail}"


def whole_lines(head: str) -> str:
    """Return the beginning of a text without the part of a line at its end, unless that is much of it."""
    return head[: head.rfind("\n") + 1] if "\n" in head[len(head) - len(head) // _SPARED :] else head


def ends(parts: Parts, kept: int) -> tuple[Parts, Parts]:
    """Return the first and the last of ``parts``, characters or lines, ``kept`` of them together."""
    head = max(1, round(kept * _HEAD_SHARE))
    return parts[:head], parts[len(parts) - (kept - head) :]


def largest(
    make: Callable[[int], Made],
    cost: Callable[[Made], int],
    budget: int,
    *,
    least: int = 1,
    most: int,
    near: int | None = None,
) -> Made | None:
    """Return what ``make`` makes of the largest number from ``least`` to ``most`` whose cost is within ``budget``.

    The number is how many lines or characters are kept; it is found by bisection, which begins beside the number
    ``near`` if that is given. ``None`` if even ``least`` is too much.
    """
    best, low, high = None, least, min(most, budget * _MOST_CHARACTERS_A_TOKEN)
    step, is_between = 1, near is None
    middle = (low + high) // 2 if near is None else min(max(near, low), high)
    while low <= high:
        made = make(middle)
        if cost(made) <= budget:
            best, low, beside = made, middle + 1, middle + step
        else:
            high, beside = middle - 1, middle - step
        # Away from ``near`` in steps that double, until the number is between two that were tried.
        is_between = is_between or not low <= beside <= high
        middle, step = (low + high) // 2 if is_between else beside, 2 * step
    return best
