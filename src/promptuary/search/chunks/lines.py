"""A text as lines, and the parts it is made of: what cutting works on.

Lines count from zero here, and an end is the line after the last. Who finds the parts, and how large a chunk may be,
is not known here.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from zlib import crc32

_TOLD_APART = 80


@dataclass(slots=True)
class Part:
    """Some lines under one title, and the smaller parts within, in order and apart from each other.

    A part without a title belongs to what is around it. ``alone``: what stands before it is of another matter.
    """

    first: int
    end: int
    title: str = ""
    parts: list["Part"] = field(default_factory=list)
    alone: bool = False

    def with_gaps(self) -> list["Part"]:
        """Return the parts within and, as parts without a title, the lines that are in none of them."""
        whole, position = [], self.first
        for part in self.parts:
            if part.first > position:
                whole.append(Part(position, part.first))
            whole.append(part)
            position = part.end
        if position < self.end:
            whole.append(Part(position, self.end))
        return whole


class Lines:
    """The lines of a text.

    ``blank`` tells of each whether there is nothing to read in it, and is true behind the last. ``glued`` marks those
    that should not be parted from the line before.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0, *accumulate(map((1).__add__, map(len, self.lines)))]
        self.blank = [not line or line.isspace() for line in self.lines]
        self.blank.append(True)
        self.glued = bytearray(len(self.lines) + 1)

    def __len__(self) -> int:
        return len(self.lines)

    def span(self, first: int, end: int) -> str:
        """Return these lines exactly as they stand."""
        return self.text[self.starts[first] : self.starts[end] - 1]

    def size(self, first: int, end: int) -> int:
        """Return how many characters these lines are."""
        return self.starts[end] - self.starts[first]

    def reach(self, first: int, size: float) -> int:
        """Return the end of the longest run of lines from ``first`` that is at most ``size`` characters."""
        return bisect_right(self.starts, self.starts[first] + size, first) - 1

    def trimmed(self, first: int, end: int) -> tuple[int, int]:
        """Return the same lines without the blank ones around them; nothing is left of blank lines alone."""
        blank = self.blank
        while first < end and blank[first]:
            first += 1
        while end > first and blank[end - 1]:
            end -= 1
        return first, end

    def mark(self, line: int) -> int:
        """Return a number that follows from how a line begins, and from nothing else."""
        return crc32(self.lines[line][:_TOLD_APART].encode("utf-8", "surrogatepass"))
