"""What of a hit is shown: the few lines in which most of the words are, each as wide as there is room. Pure."""

from collections.abc import Sequence
from typing import Final

from promptuary.cli.terminal import cut, wide
from promptuary.core.text import one_line

LINES: Final = 3
_ENDING: Final = 2
"""Letters that a word may lose or change when it stands in another form."""


def excerpt(text: str, words: Sequence[str], width: int, *, heading: str = "") -> list[str]:
    """Return at most three lines of ``text``, none of them blank: the one with most of ``words`` and its neighbours.

    Nothing in them can move a cursor. A line that is too long is cut to where the first of the words is. The line of
    the ``heading``, which is shown already, is left out if there are others.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    lines = [line for line in lines if line.strip("# ") != heading] or lines
    wanted = [word.casefold() for word in words if word]
    wanted += [word[:-_ENDING] for word in wanted if len(word) > 2 * _ENDING + 1]
    found = [sum(word in line.casefold() for word in wanted) for line in lines]
    best = found.index(max(found)) if found else 0
    first = max(0, min(best - 1, len(lines) - LINES))
    shown = _dedented([line.rstrip().expandtabs(4) for line in lines[first : first + LINES]])
    return [_fitted(one_line(line), wanted, width) for line in shown]


def _dedented(lines: Sequence[str]) -> list[str]:
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)
    return [line[indent:] for line in lines]


def _fitted(line: str, words: Sequence[str], width: int) -> str:
    if wide(line) <= width:
        return line
    folded = line.casefold()
    places = [place for word in words if (place := folded.find(word)) >= 0]
    # Folding can make a text longer, so the place is one at which to look, not one to rely on.
    start = min(min(places, default=0), len(line))
    if wide(line[:start]) < width * 2 // 3:
        return cut(line, width)
    begin = max(0, start - width // 3)
    return cut(f"…{line[begin:].lstrip()}", width)
