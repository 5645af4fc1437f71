"""Charts for a terminal: the window as a bar, and numbers as a sparkline. Plain text if there are no colours."""

import string
from collections.abc import Mapping, Sequence
from typing import Final

from promptuary.base.table import Column, table
from promptuary.base.text import one_line
from promptuary.context.receipt import Receipt

_STEPS: Final = "▁▂▃▄▅▆▇█"
_COLOURS: Final = (42, 44, 45, 46, 43, 41, 102, 104, 105, 106, 103, 101)
"""Colours of the background, as terminals number them: a bar of spaces needs no special characters."""
_LEAST_BAR: Final = 10
_FREE: Final = "."
_REPLY: Final = "_"


def sparkline(values: Sequence[int]) -> str:
    """Return numbers as columns; the largest has full height."""
    most = max(values, default=0)
    top = len(_STEPS) - 1
    return "".join(_STEPS[round(value / most * top)] if most else _STEPS[0] for value in values)


def window_picture(receipt: Receipt, *, width: int, colours: bool) -> list[str]:
    """Return the window of a turn as lines at most ``width`` wide: a bar of the window, one of the prompt, a legend.

    Each layer has a letter or a colour. Most prompts use little of the window, so the prompt has its own bar.
    """
    layers = receipt.by_layer()
    letters = _letters(layers)
    bar = max(width - len("window  []"), _LEAST_BAR)
    free = max(receipt.window - receipt.tokens - receipt.reserve, 0)
    whole = {"used": receipt.tokens, "free": free, "reply": receipt.reserve}
    lines = [
        f"window  [{_bar(whole, {'used': '#', 'free': _FREE, 'reply': _REPLY}, bar, colours=colours)}]",
        f"prompt  [{_bar(layers, letters, bar, colours=colours)}]",
    ]
    used = f"{receipt.tokens:,} of {receipt.window:,} tokens used ({'first colour' if colours else '#'})"
    legend = _legend(layers, receipt.tokens, letters, colours=colours)
    return [*lines, *legend, f"{used}, {receipt.reserve:,} for the reply ({_REPLY})"]


def _legend(layers: Mapping[str, int], used: int, letters: Mapping[str, str], *, colours: bool) -> list[str]:
    rows = [
        (letters[name], one_line(name), f"{tokens:,}", f"{tokens / max(used, 1):.1%}")
        for name, tokens in layers.items()
    ]
    heads = [Column(" "), Column("layer"), Column("tokens", right=True), Column("share", right=True)]
    first, *others = table(heads, rows).splitlines()
    # Coloured at the end, because a table would count the colour codes as columns.
    return [first, *(_painted(" ", place) + line[1:] if colours else line for place, line in enumerate(others))]


def _letters(names: Mapping[str, int]) -> dict[str, str]:
    """Return a unique letter for each name, its first one if possible."""
    taken: dict[str, str] = {}
    for name in names:
        own = [one for one in (*name, *name.upper(), *string.ascii_letters) if one.isascii() and one.isalpha()]
        taken[name] = next((one for one in own if one not in taken.values()), "?")
    return taken


def _bar(parts: Mapping[str, int], letters: Mapping[str, str], width: int, *, colours: bool) -> str:
    cells = _cells(list(parts.values()), width)
    drawn = []
    for place, (name, count) in enumerate(zip(parts, cells, strict=True)):
        fill = letters[name]
        if colours and fill not in {_FREE, _REPLY}:
            drawn.append(_painted(" " * count, place) if count else "")
        else:
            drawn.append(fill * count)
    return "".join(drawn)


def _cells(values: Sequence[int], width: int) -> list[int]:
    """Return the number of cells of each value: proportional, but at least one for a value above zero."""
    total = sum(values)
    if not total:
        return [0 for _ in values]
    cells = [max(round(value / total * width), 1) if value else 0 for value in values]
    while sum(cells) != width:
        step = 1 if sum(cells) < width else -1
        # Adjust the largest, where the error is least visible.
        largest = max(range(len(cells)), key=lambda place: cells[place])
        if cells[largest] + step < 1:
            break
        cells[largest] += step
    return cells


def _painted(text: str, place: int) -> str:
    return f"\x1b[{_COLOURS[place % len(_COLOURS)]}m{text}\x1b[0m"
