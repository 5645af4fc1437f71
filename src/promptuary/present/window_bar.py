"""The bar of a window: how much of it each layer takes, and how much is free. Pure."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from promptuary.context.receipt import Receipt

REPLY: Final = "reply"
FREE: Final = "free"
_MARKS: Final = "█▓▒░▚▞▙▟"
_MARK_OF: Final = {REPLY: "┄", FREE: "·"}


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
    whole = max(window, sum(tokens for _, tokens in parts))
    wanted = [max(1, round(tokens / whole * width)) if tokens else 0 for _, tokens in parts]
    return [Segment(name, tokens, cells) for (name, tokens), cells in zip(parts, _fit(wanted, width), strict=True)]


def _fit(cells: Sequence[int], width: int) -> list[int]:
    """Return ``cells`` with the largest ones made smaller or larger until their sum is ``width``."""
    fitted = list(cells)
    while fitted and (over := sum(fitted) - width):
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
