"""The bar of a window: how much of it each layer takes, and how much is free; and numbers as a sparkline. Pure."""

import string
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from promptuary.base.table import Column, table
from promptuary.base.text import one_line
from promptuary.context.receipt import Receipt

REPLY: Final = "reply"
FREE: Final = "free"
_MARKS: Final = "█▓▒░▚▞▙▟"
_MARK_OF: Final = {REPLY: "┄", FREE: "·"}
_STEPS: Final = "▁▂▃▄▅▆▇█"
_COLOURS: Final = (42, 44, 45, 46, 43, 41, 102, 104, 105, 106, 103, 101)
"""Colours of the background, as terminals number them: a bar of spaces needs no special characters."""
_MIN_BAR: Final = 10
_PLAIN_FREE: Final = "."
_PLAIN_REPLY: Final = "_"


class Segment(Struct, frozen=True):
    """A part of the bar: its name, its tokens, and how many cells it takes."""

    name: str
    tokens: int
    cells: int

    def mark(self, place: int) -> str:
        """Return the character that fills its cells, where ``place`` is its position among the segments."""
        return _MARK_OF.get(self.name, _MARKS[place % len(_MARKS)])


def segments(receipt: Receipt, width: int) -> list[Segment]:
    """Return the bar of a receipt: each layer, the room for the reply, and what is free; ``width`` cells in total.

    A layer with any tokens has at least one cell, as long as there are enough cells.
    """
    window = max(receipt.window, 1)
    parts = [*receipt.by_layer().items(), (REPLY, receipt.reserve)]
    free = max(window - sum(tokens for _, tokens in parts), 0)
    parts = [*((name, tokens) for name, tokens in parts if tokens > 0), (FREE, free)]
    cells = _shares([tokens for _, tokens in parts], width)
    return [Segment(name, tokens, count) for (name, tokens), count in zip(parts, cells, strict=True)]


def _shares(values: Sequence[int], width: int) -> list[int]:
    """Return the cells of each value, ``width`` in total: in proportion, but at least one for a value above zero."""
    whole = sum(values)
    fitted = [max(1, round(value / whole * width)) if value else 0 for value in values]
    # The largest are made smaller or larger, where the error is least visible.
    while whole and (over := sum(fitted) - width):
        largest = fitted.index(max(fitted))
        if over > 0 and fitted[largest] == 0:
            break
        fitted[largest] -= 1 if over > 0 else -1
    return fitted


def bar_text(receipt: Receipt, width: int = 60) -> str:
    """Return the bar and its legend as two lines of text."""
    parts = segments(receipt, width)
    bar = "".join(part.mark(place) * part.cells for place, part in enumerate(parts))
    legend = [
        f"{part.mark(place)} {part.name} {part.tokens:,} ({part.tokens / max(receipt.window, 1):.1%})"
        for place, part in enumerate(parts)
    ]
    return f"[{bar}]\n{'  '.join(legend)}"


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
    bar = max(width - len("window  []"), _MIN_BAR)
    free = max(receipt.window - receipt.tokens - receipt.reserve, 0)
    whole = {"used": receipt.tokens, "free": free, "reply": receipt.reserve}
    lines = [
        f"window  [{_bar(whole, {'used': '#', 'free': _PLAIN_FREE, 'reply': _PLAIN_REPLY}, bar, colours=colours)}]",
        f"prompt  [{_bar(layers, letters, bar, colours=colours)}]",
    ]
    used = f"{receipt.tokens:,} of {receipt.window:,} tokens used ({'first colour' if colours else '#'})"
    legend = _legend(layers, receipt.tokens, letters, colours=colours)
    return [*lines, *legend, f"{used}, {receipt.reserve:,} for the reply ({_PLAIN_REPLY})"]


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
    cells = _shares(list(parts.values()), width)
    drawn = []
    for place, (name, count) in enumerate(zip(parts, cells, strict=True)):
        fill = letters[name]
        if colours and fill not in {_PLAIN_FREE, _PLAIN_REPLY}:
            drawn.append(_painted(" " * count, place) if count else "")
        else:
            drawn.append(fill * count)
    return "".join(drawn)


def _painted(text: str, place: int) -> str:
    return f"\x1b[{_COLOURS[place % len(_COLOURS)]}m{text}\x1b[0m"
