"""How a hit is printed: an excerpt with the most words of the query, cut to the terminal, and why it ranks there."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from promptuary.base.front_matter import matter_end
from promptuary.base.table import display_width
from promptuary.base.text import one_line
from promptuary.cli.terminal import cut
from promptuary.search.query import folded, parse, reading
from promptuary.search.values import Why

LINES: Final = 3
_ENDING: Final = 2
"""Letters at the end of a word that another form of it may lack or change."""
_BETWEEN: Final = re.compile(r"[\W_]+")


def excerpt(text: str, words: Sequence[str], width: int, *, heading: str = "", opening: bool = False) -> list[str]:
    """Return at most three lines of ``text``, none of them blank: the one with the most ``words`` and its neighbours.

    They contain no control characters. A long line is cut around the first of the words. The line of the ``heading``,
    which the caller prints, is omitted if there are others. If ``text`` is the ``opening`` of a file of prose, its
    front matter is omitted unless it contains more of the words than any line after it.
    """
    wanted = _Wanted(words)
    every = text.split("\n")
    end = matter_end(every) if opening else 0
    front, lines = [line for line in every[:end] if line.strip()], [line for line in every[end:] if line.strip()]
    lines = [line for line in lines if line.strip("# ") != heading] or lines
    if not lines or wanted.most(front) > wanted.most(lines):
        lines = front + lines
    found = [wanted.count(line) for line in lines]
    best = found.index(max(found)) if found else 0
    first = max(0, min(best - 1, len(lines) - LINES))
    shown = _dedented([line.rstrip().expandtabs(4) for line in lines[first : first + LINES]])
    return [_fitted(one_line(line), wanted, width) for line in shown]


class _Wanted:
    """The words that choose lines, and the parts of those that are names."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [plain for word in words if (plain := _plain(word))]
        self._words += [word[:-_ENDING] for word in self._words if len(word) > 2 * _ENDING + 1]
        self._names = [parts for word in words if len(parts := _parts(word)) > 1]

    def count(self, line: str) -> float:
        """Return how many of the words ``line`` contains; parts of a name count less than one, adjacent parts more."""
        plain = _plain(line)
        joined = _BETWEEN.sub("", plain) if self._names else ""
        found = float(sum(word in plain for word in self._words))
        for parts in self._names:
            together = sum(f"{one}{other}" in joined for one, other in pairwise(parts))
            found += (sum(part in plain for part in parts) + together) / (2 * len(parts))
        return found

    def most(self, lines: Sequence[str]) -> float:
        """Return the highest count of any line."""
        return max(map(self.count, lines), default=0.0)

    def place(self, line: str) -> int:
        """Return the offset of the first word in ``line``, else of the first part of a name, else zero."""
        plain = _plain(line)
        for sought in (self._words, [part for parts in self._names for part in parts]):
            if places := [place for word in sought if (place := plain.find(word)) >= 0]:
                # Folding can make a text longer, so the offset is approximate.
                return min(*places, len(line))
        return 0


def _plain(text: str) -> str:
    return folded(text).casefold()


def _parts(word: str) -> list[str]:
    """Return the words of a name, without single letters, which every line contains."""
    pieces = (piece for part in _BETWEEN.split(word) for piece in reading(part).parts or (part,))
    return [part for piece in pieces if len(part := _plain(piece)) > 1]


def _dedented(lines: Sequence[str]) -> list[str]:
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines), default=0)
    return [line[indent:] for line in lines]


def _fitted(line: str, wanted: _Wanted, width: int) -> str:
    if display_width(line) <= width:
        return line
    start = wanted.place(line)
    if display_width(line[:start]) < width * 2 // 3:
        return cut(line, width)
    begin = max(0, start - width // 3)
    return cut(f"…{line[begin:].lstrip()}", width)


def query_words(text: str) -> Sequence[str]:
    """Return the words of a query, which select the lines of an excerpt."""
    parsed = parse(text)
    return [*parsed.terms, *parsed.prefixes, *(word for phrase in parsed.phrases for word in phrase.split())]


def reasons(score: float, why: Why) -> Iterator[str]:
    """Yield the parts of a score, and the words that matched."""
    parts = {"words": why.lexical, "meaning": why.meaning, "cosine": why.cosine, "reranker": why.rerank}
    yield f"score {score:.3f}"
    yield from (f"{name} {value:.3f}" for name, value in parts.items() if value is not None)
    if why.length:
        yield f"long document -{why.length:.3f}"
    if why.foreign:
        yield "the model does not know this language: words decide"
    if why.time:
        yield "from the time that you name: that decides" if why.time == "decides" else "from the time that you name"
    respelled = [one for one in why.matched if " ~ " in one]
    if exact := [one for one in why.matched if one not in respelled]:
        yield f"matched: {one_line(' '.join(exact))}"
    yield from map(one_line, respelled)
