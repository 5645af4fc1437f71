"""A source text with some of its parts folded to their signatures. Pure.

The shortest forms are outlines, which leave out the deepest definitions first, and of equals the last. Longer ones
unfold parts of the text: definitions first, the smallest before the others, so that as many as possible are whole, and
then what has no name, such as imports. A folded part is a line with ``⋯``, its line number and its signature.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Forms
from promptuary.base.excerpt import Unfolding
from promptuary.base.text import split_lines
from promptuary.search.outline import Definition, definitions, signature_lines

_GAP = "⋯ lines {}-{} left out ⋯\n"


def text_forms(text: str, language: str, on_slow: Callable[[], None] = lambda: None) -> Forms:
    """Return the shorter forms of ``text``, the richest first; none if it defines nothing.

    There are also none if parsing takes too long; then ``on_slow`` is called.
    """
    found = definitions(text, language, on_slow)
    if not found:
        return ()
    order = sorted(range(len(found)), key=lambda index: (_rank(found[index]), index))
    parts = _Parts(text, found)

    def draw(step: int) -> str:
        if step > len(found):
            return parts.unfolded(step - len(found) - 1)
        shown = [found[index] for index in sorted(order[:step])]
        more = f"⋯ {len(found) - len(shown):,} more ⋯\n" if len(shown) < len(found) else ""
        return "".join(signature_lines(shown)) + more

    return Unfolding(draw, len(found) + parts.foldable_lines)


def _rank(one: Definition) -> int:
    """Return how deep a definition is; the headings of a document are not nested, but have a level."""
    return one.depth + len(one.signature) - len(one.signature.lstrip("#"))


class _Part(Struct, frozen=True):
    """Lines of the text, from ``first`` to before ``end``, and the signatures of what begins there."""

    first: int
    end: int
    signatures: tuple[str, ...]

    @property
    def length(self) -> int:
        """How many lines it has."""
        return self.end - self.first

    @property
    def folded_size(self) -> int:
        """How many characters it has when it is folded."""
        return sum(len(_folded(line)) for line in self.signatures) or len(_GAP)


class _Parts:
    """A text, cut where a definition begins or ends."""

    def __init__(self, text: str, found: Sequence[Definition]) -> None:
        self._lines = split_lines(text)
        self._parts = _cut(self._lines, found)
        sizes = [sum(map(len, self._lines[part.first : part.end])) for part in self._parts]
        folding = [size > part.folded_size for size, part in zip(sizes, self._parts, strict=True)]
        self._always = [0 if fold else part.length for fold, part in zip(folding, self._parts, strict=True)]
        self._order = sorted(
            (index for index, fold in enumerate(folding) if fold),
            key=lambda index: (not self._parts[index].signatures, sizes[index], index),
        )
        self.foldable_lines = sum(self._parts[index].length for index in self._order)

    def unfolded(self, lines: int) -> str:
        """Return the text with that many of its foldable lines: what has a name first, the smallest parts first."""
        shown = list(self._always)
        for index in self._order:
            shown[index] = min(self._parts[index].length, lines)
            lines -= shown[index]
            if not lines:
                break
        return "".join(self._drawn(shown))

    def _drawn(self, shown: Sequence[int]) -> Iterator[str]:
        folded = False  # whether the part before is folded: then a part without a name needs no separate line
        for part, count in zip(self._parts, shown, strict=True):
            yield from self._lines[part.first : part.first + count]
            if count == part.length:
                folded = False
                continue
            if not count and part.signatures:
                yield from map(_folded, part.signatures)
            elif count or not folded:
                yield _GAP.format(part.first + count + 1, part.end)
            folded = True


def _folded(signature: str) -> str:
    return f"⋯ {signature}"


def _cut(lines: Sequence[str], found: Sequence[Definition]) -> list[_Part]:
    """Return the parts in order: the text is cut where a definition begins or ends, but not before blank lines."""
    signatures: dict[int, list[str]] = {}
    for one, line in zip(found, signature_lines(found), strict=True):
        signatures.setdefault(one.first - 1, []).append(line)
    bounds = sorted({0, *signatures, *(min(one.last, len(lines)) for one in found), len(lines)})
    parts: list[_Part] = []
    for first, end in pairwise(bounds):
        if parts and first not in signatures and not "".join(lines[first:end]).strip():
            parts[-1] = replace(parts[-1], end=end)
        else:
            parts.append(_Part(first, end, tuple(signatures.get(first, ()))))
    return parts
