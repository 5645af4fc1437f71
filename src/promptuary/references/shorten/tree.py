"""A folder as a tree, whole or with some of it folded. Pure.

Everything is named before anything is described: a shorter tree first drops the remarks on its files, then the deepest
entries, files before folders. A folder with very many entries loses most of them before others lose any; equally deep
folders are cut evenly. A folded folder keeps its totals. Of very many files, only those nearest to the top are named.
"""

import heapq
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from promptuary.base.blocks import Forms
from promptuary.base.excerpt import Unfolding
from promptuary.base.text import counted, human_size, one_line

_CROWDED = 128
"""This many entries of a folder are equally important; each further doubling counts as one level deeper."""

MAX_NAMED = 20_000
"""The most files that are named; no window shows more, and each costs time."""


class Leaf(Struct, frozen=True):
    """A file: its size, its tokens (``exact``, or estimated from its size), and a remark on it.

    ``mark`` is shown even in the shortest form. ``sized``: its size is known.
    """

    size: int
    tokens: int
    remark: str
    exact: bool = True
    mark: str = ""
    sized: bool = True


class Entry(Struct):
    """A file, or a folder with what is in it; ``step`` is the first form, from the shortest, that shows it.

    ``unnamed`` files of a folder, or below it, have no entry.
    """

    name: str
    remark: str = ""
    mark: str = ""
    below: "dict[str, Entry] | None" = None
    count: int = 0
    size: int = 0
    tokens: int = 0
    exact: bool = True
    sized: bool = True
    unnamed: int = 0
    step: int = 0
    sorted: "list[Entry]" = field(default_factory=list)


class Tree:
    """The files of a folder."""

    def __init__(self, title: str, files: Sequence[tuple[str, Leaf]]) -> None:
        self._top = Entry(title, below={})
        self.unnamed = max(0, len(files) - MAX_NAMED)
        if self.unnamed:
            files = sorted(files, key=lambda file: file[0].count("/"))
        for place, (path, leaf) in enumerate(files):
            _plant(self._top, path.split("/"), leaf, named=place < MAX_NAMED)
        self._entries = _by_importance(self._top)

    @property
    def total(self) -> str:
        """How many files there are, and their cost."""
        return _total(self._top)

    def whole(self) -> str:
        return self._drawn(2 * self._entries)

    def forms(self) -> Forms:
        """Return shorter trees, the richest first."""
        return Unfolding(self._drawn, 2 * self._entries - 1) if self._entries else ()

    def _drawn(self, steps: int) -> str:
        """Return the tree with the most important entries, or with all and remarks on the most important ones."""
        top = self._top
        lines = _below(top, steps, steps - self._entries)
        return "\n".join([f"{one_line(top.name)}  ({_total(top)})", *lines]) + "\n"


def _plant(entry: Entry, parts: Sequence[str], leaf: Leaf, *, named: bool) -> None:
    for part in parts:
        _grow(entry, leaf)
        below = entry.below if entry.below is not None else {}
        if not named and part not in below:
            entry.unnamed += 1
            return
        entry = below.setdefault(part, Entry(part, below={}))
    entry.remark, entry.mark, entry.below = leaf.remark, leaf.mark, None


def _grow(entry: Entry, leaf: Leaf) -> None:
    entry.count += 1
    entry.size += leaf.size
    entry.tokens += leaf.tokens
    entry.exact = entry.exact and leaf.exact
    entry.sized = entry.sized and leaf.sized


def _by_importance(top: Entry) -> int:
    """Give each entry its step, the most important first, and return how many entries there are."""
    waiting: list[tuple[int, bool, int, int, Entry]] = []
    steps = pushed = 0

    def push(entry: Entry, rank: int) -> None:
        nonlocal pushed
        inner = (entry.below or {}).values()
        entry.sorted = sorted(inner, key=lambda one: (one.name.casefold(), one.name))
        for place, one in enumerate(sorted(entry.sorted, key=lambda one: one.below is None)):
            pushed += 1
            crowded = (place // _CROWDED + 1).bit_length() - 1
            heapq.heappush(waiting, (rank + crowded, one.below is None, place, pushed, one))

    push(top, 0)
    while waiting:
        rank, _, _, _, entry = heapq.heappop(waiting)
        entry.step = steps
        steps += 1
        push(entry, rank + 1)
    return steps


def _below(top: Entry, shown: int, remarked: int) -> Iterator[str]:
    """Yield the lines below ``top``: of the first ``shown`` entries, with remarks on the first ``remarked`` ones."""
    waiting = _level(top, "", shown, remarked)
    while waiting:
        line, entry, indent = waiting.pop()
        yield line
        if entry:
            waiting += _level(entry, indent, shown, remarked)


def _level(entry: Entry, indent: str, shown: int, remarked: int) -> list[tuple[str, Entry | None, str]]:
    """Return a line for each entry of a folder, the last first, with the folder to continue with and its indent."""
    entries = [one for one in entry.sorted if one.step < shown]
    hidden = len(entry.sorted) - len(entries) + entry.unnamed
    lines: list[tuple[str, Entry | None, str]] = []
    for one in entries:
        last = one is entries[-1] and not hidden
        line = f"{indent}{'└── ' if last else '├── '}{one_line(one.name)}"
        if one.below is None:
            remark = one.remark if one.step < remarked else one.mark
            lines.append((f"{line}  {remark}" if remark else line, None, ""))
        else:
            lines.append((f"{line}/  ({_total(one)})", one, indent + ("    " if last else "│   ")))
    if entries and hidden:
        lines.append((f"{indent}└── … {hidden:,} more", None, ""))
    return lines[::-1]


def _total(entry: Entry) -> str:
    if not entry.count:
        return "no files"
    tokens = f"{'' if entry.exact else '~'}{entry.tokens:,} tokens"
    size = f"{'' if entry.sized else 'more than '}{human_size(entry.size)}"
    return f"{counted(entry.count, 'file')}, {size}, {tokens}"
