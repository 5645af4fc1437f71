"""Splits a text into chunks: joins small parts, and splits large ones at their parts, else at paragraphs and lines.

Where there is a choice, a chunk ends after the line whose checksum is smallest. So the end depends on the words around
it and not on the text before, and an edit moves the ends near it but not those far away.

Counting tokens is most of the cost. How many characters may fit is estimated from the chunk before; only candidates for
a chunk are counted, and every chunk is counted unless it is so short that it always fits.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import islice

from promptuary.base.budget import TokenCounter
from promptuary.search.chunks.lines import Lines, Part, Sizes
from promptuary.search.values import Chunk

_DENSITY = 3.8
"""The initial estimate of characters per token."""

_THIN = 8.0
"""Text with more characters per token than this counts as too long without being counted."""

_LONG = 4.5
"""A part with more characters per token of a chunk is split uncounted; if it fits after all, it is one window."""

_SPARE = 0.95
_FLOOR = 0.5
"""A chunk may end anywhere in its last half, so that there is a choice."""

_FULL = 0.55
_TRIES = 4


class Splitter:
    """Splits one text. ``chunks`` grows with every part that is split."""

    def __init__(self, lines: Lines, sizes: Sizes, counter: TokenCounter) -> None:
        self.chunks: list[Chunk] = []
        self._lines = lines
        self._limit = sizes.tokens
        self._overlap = sizes.overlap
        self._counter = counter
        self._density = _DENSITY

    def split(self, part: Part, heading: tuple[str, ...] = ()) -> None:
        """Split a part that is too long for one chunk; ``heading`` is its own heading with those above."""
        if not part.parts:
            self._windows(part.first, part.end, heading)
            return
        parts = [one for one in part.with_gaps() if self._lines.trimmed(one.first, one.end)[0] < one.end]
        starts = [one.first for one in parts] + [part.end]
        index = 0
        while index < len(parts):
            one = parts[index]
            end = self._together(parts, starts, index)
            inner = (*heading, one.title) if one.title else heading
            if end == index:
                self.split(one, inner)
                index += 1
            elif self._is_heading(parts[index:end]):
                if end < len(parts):
                    # What follows is too long to be joined as a whole: the heading joins its beginning.
                    parts[end].head += sum(each.heads() for each in parts[index:end])
                    parts[end].first = starts[end] = one.first
                else:
                    self._append(one.first, starts[end], inner)
                index = end
            else:
                self._add(one.first, starts[end], inner if end == index + 1 else heading)
                index = end

    def _is_heading(self, parts: Sequence[Part]) -> bool:
        """Return whether the parts are only headings."""
        heads = sum(part.heads() for part in parts)
        if not heads or not all(part.heads() for part in parts):
            return False
        texts = (line for line in range(parts[0].first, parts[-1].end) if not self._lines.blank[line])
        return sum(1 for _ in islice(texts, heads + 1)) == heads

    def _append(self, first: int, end: int, heading: tuple[str, ...]) -> None:
        """Add a heading without text below it to the chunk before it, if it fits."""
        if self.chunks:
            above = self.chunks[-1]
            if self._is_short(above.start_line - 1, end) or self._count(above.start_line - 1, end) <= self._limit:
                first, heading = self.chunks.pop().start_line - 1, above.heading
        self._add(first, end, heading)

    def _add(self, first: int, end: int, heading: tuple[str, ...]) -> None:
        first, end = self._lines.trimmed(first, end)
        if first < end:
            self.chunks.append(Chunk(first + 1, end, self._lines.span(first, end), heading))

    def _count(self, first: int, end: int) -> int:
        """Count the tokens of these lines, and remember how many characters a token had."""
        first, end = self._lines.trimmed(first, end)
        size = self._lines.size(first, end)
        if size > self._limit * _THIN:
            return self._limit * 2
        count = self._counter.count(self._lines.span(first, end)) if first < end else 0
        if count:
            self._density = min(size / count, _THIN)
        return count

    def _is_short(self, first: int, end: int) -> bool:
        """Return whether these lines fit into a chunk without being counted: no token is less than a byte."""
        size = self._lines.size(first, end)
        return size <= self._limit and (size * 4 <= self._limit or self._lines.span(first, end).isascii())

    def _together(self, parts: Sequence[Part], starts: Sequence[int], index: int) -> int:
        """Return the end of the parts from ``index`` that make one chunk; ``index`` if that part is too long."""
        first = starts[index]
        if self._lines.size(first, starts[index + 1]) > self._limit * _LONG:
            return index
        last = index + 1
        while (
            last < len(parts) and not parts[last].alone and self._lines.size(first, starts[last]) < self._limit * _THIN
        ):
            last += 1
        if last == index + 1:
            fits = self._is_short(first, starts[last]) or self._count(first, starts[last]) <= self._limit
            return last if fits else index

        def choose(end: int) -> int:
            stop = min(last, max(index + 1, bisect_right(starts, end, index) - 1))
            small = stop < last and self._lines.size(starts[stop], starts[stop + 1]) < self._limit * self._density
            if not small:
                return starts[stop]
            floor = self._lines.reach(first, self._lines.size(first, starts[stop]) * _FLOOR)
            stops = range(max(index + 1, bisect_left(starts, floor, index)), stop + 1)
            return starts[min(stops, key=lambda one: (self._lines.mark(starts[one]), -one))]

        end = self._fit(first, starts[index + 1], starts[last], choose)
        return index if end is None else bisect_left(starts, end)

    def _fit(self, first: int, least: int, most: int, choose: Callable[[int], int]) -> int | None:
        """Return the end of a chunk from ``first`` that fits; ``None`` if even one that ends at ``least`` does not.

        ``choose`` returns where a chunk that may extend to a given line should end.
        """
        if self._is_short(first, most):
            return most
        lines, limit = self._lines, self._limit
        fits, room = None, limit * self._density * _SPARE
        reached = min(lines.reach(first, room), most)
        for attempt in range(64):
            end = choose(reached)
            count = self._count(first, end)
            if count > limit:
                if fits is not None or end <= least:
                    return fits
                room = lines.size(first, end) * (_SPARE * limit / count if attempt < _TRIES else 0.5)
                reached = min(lines.reach(first, room), end - 1)
                continue
            if end >= most or end == fits or count >= _FULL * limit or attempt >= _TRIES:
                return end
            fits, before = end, reached
            reached = min(lines.reach(first, lines.size(first, end) * _SPARE * limit / max(count, 1)), most)
            if reached <= before:
                return end
        return fits

    def _windows(self, first: int, end: int, heading: tuple[str, ...]) -> None:
        """Split lines that have no parts into windows; each begins with the last lines of the one before."""
        floor, before = first, len(self.chunks)
        position, end = self._lines.trimmed(first, end)
        begin = position
        while position < end:
            stop = self._window(begin, position, end)
            if stop is None:
                begin = position
                stop = self._window(begin, position, end)
            if stop is None:
                stop = position + 1
                begin = self._with_title(begin, before, heading)
            self._add(begin, stop, heading)
            floor = begin + 1
            position, _ = self._lines.trimmed(stop, end)
            begin = self._back(floor, position) if position < end else position

    def _with_title(self, line: int, before: int, heading: tuple[str, ...]) -> int:
        """Return where a chunk of one line that is too long begins: with the title, if only that is above it.

        A title alone is not a useful chunk, and the line is too long with or without it.
        """
        if not heading or len(self.chunks) != before + 1:
            return line
        above = self.chunks[-1]
        titles = (text for text in above.text.split("\n") if text.strip())
        if not all(any(title in text for title in heading) for text in titles):
            return line
        return self.chunks.pop().start_line - 1

    def _window(self, begin: int, position: int, end: int) -> int | None:
        """Return where the window that adds the lines from ``position`` ends; ``None`` if none of them fits."""
        if self._lines.size(begin, position + 1) > self._limit * _THIN:
            return None

        def choose(reached: int) -> int:
            return end if reached >= end else self._best_end(begin, position, max(reached, position + 1))

        return self._fit(begin, position + 1, end, choose)

    def _best_end(self, begin: int, position: int, reached: int) -> int:
        lines = self._lines
        lowest = lines.reach(begin, lines.size(begin, reached) * _FLOOR)
        ends = range(max(position + 1, lowest), reached + 1)
        whole = [end for end in ends if not lines.glued[end]]
        if not whole:
            block = position
            for line in range(ends[0], position, -1):
                if not lines.glued[line]:
                    block = line
                    break
            block_end = self._block_end(block, reached)
            if block_end is not None:
                return block if block > position else block_end
        return self._preferred(whole or ends)

    def _preferred(self, ends: Sequence[int]) -> int:
        """Return the best end of a chunk: after a paragraph, else after a line; among these, by the checksum."""
        lines, blank = self._lines, self._lines.blank
        some = [end for end in ends if blank[end] and not blank[end - 1]] or [end for end in ends if not blank[end - 1]]
        return min(some or ends, key=lambda end: (lines.mark(end - 1), -end)) if len(some) != 1 else some[0]

    def _block_end(self, block: int, reached: int) -> int | None:
        """Return the end of the block of glued lines; ``None`` if it does not fit into one chunk."""
        end, lines = max(reached, block + 1), self._lines
        while lines.glued[end]:
            if lines.size(block, end) > self._limit * _THIN:
                return None
            end += 1
        return None if self._too_long(block, end) else end

    def _too_long(self, first: int, end: int) -> bool:
        """Return whether these lines do not fit into a chunk."""
        size = self._lines.size(first, end)
        return size > self._limit * _THIN or self._counter.count(self._lines.span(first, end)) > self._limit

    def _back(self, floor: int, position: int) -> int:
        """Return the first line that the window from ``position`` on repeats: whole lines that fit the overlap."""
        lines = self._lines
        size = self._overlap * self._density
        begin = max(floor, bisect_left(lines.starts, lines.starts[position] - size, floor, position))
        while begin < position:
            while begin < position and (lines.glued[begin] or lines.blank[begin]):
                begin += 1
            if begin == position or self._counter.count(lines.span(begin, position)) <= self._overlap:
                break
            begin += (position - begin + 1) // 2
        if begin < position and lines.glued[position + 1]:
            block_end = self._block_end(position, position + 1)
            if block_end is not None and self._too_long(begin, block_end):
                return position
        return begin
