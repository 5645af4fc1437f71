"""A text as lines, and the parts of a text: the input of the splitter.

Lines count from zero here, and an end is the line after the last. How parts are found, and how large a chunk may be, is
decided elsewhere.
"""

from bisect import bisect_right
from importlib.util import find_spec
from itertools import accumulate
from typing import Final
from zlib import crc32

from msgspec import Struct, field

from promptuary.base.errors import ConfigError

_MARKED = 80
"""Characters of a line that its checksum covers."""


VERSION: Final = 12
"""The version of the chunker. It increases whenever the same file would be split or masked differently."""


class Sizes(Struct, frozen=True):
    """The size of chunks in tokens, and how many tokens of a long passage each repeats from the one before."""

    tokens: int = 256
    overlap: int = 32

    def __post_init__(self) -> None:
        if self.tokens < 16:
            raise ConfigError(f"chunks of {self.tokens} tokens are too small; use 16 or more")
        if not 0 <= self.overlap <= self.tokens // 2:
            raise ConfigError(
                f"an overlap of {self.overlap} tokens is too large for chunks of {self.tokens}; "
                f"use 0 to {self.tokens // 2}, or larger chunks"
            )

    @property
    def recipe(self) -> str:
        """The text that identifies these settings. The extra ``languages`` changes how code is split."""
        by = " by grammars" if find_spec("tree_sitter") else ""
        return f"chunks {VERSION} of {self.tokens} tokens, {self.overlap} of them twice{by}"


class Part(Struct):
    """Some lines under one title, and the smaller parts within, in order and without overlap.

    A part without a title belongs to the part around it. ``alone``: it is not joined with the part before it.
    ``head`` is how many lines its heading has, if it begins with one.
    """

    first: int
    end: int
    title: str = ""
    parts: list["Part"] = field(default_factory=list)
    alone: bool = False
    head: int = 0

    def heads(self) -> int:
        """Return how many lines the headings have, including those of the parts within."""
        return self.head + sum(part.heads() for part in self.parts)

    def with_gaps(self) -> list["Part"]:
        """Return the parts within, and the lines between them as parts without a title."""
        whole, position = [], self.first
        for part in self.parts:
            if part.first > position:
                whole.append(Part(position, part.first, head=self.head if position == self.first else 0))
            whole.append(part)
            position = part.end
        if position < self.end:
            whole.append(Part(position, self.end))
        return whole


class Lines:
    """The lines of a text.

    ``blank`` says for each whether it has only white space, and is true after the last. ``glued`` marks lines that
    should stay together with the line before.
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
        """Return these lines exactly as they are in the text."""
        return self.text[self.starts[first] : self.starts[end] - 1]

    def size(self, first: int, end: int) -> int:
        """Return how many characters these lines have."""
        return self.starts[end] - self.starts[first]

    def reach(self, first: int, size: float) -> int:
        """Return the end of the longest run of lines from ``first`` that is at most ``size`` characters."""
        return bisect_right(self.starts, self.starts[first] + size, first) - 1

    def trimmed(self, first: int, end: int) -> tuple[int, int]:
        """Return the same lines without blank lines around them; an empty range if all are blank."""
        blank = self.blank
        while first < end and blank[first]:
            first += 1
        while end > first and blank[end - 1]:
            end -= 1
        return first, end

    def glue(self, first: int, end: int) -> None:
        """Mark these lines as belonging together."""
        self.glued[first + 1 : end] = b"\1" * (end - first - 1)

    def mark(self, line: int) -> int:
        """Return a checksum of the beginning of a line."""
        return crc32(self.lines[line][:_MARKED].encode("utf-8", "surrogatepass"))
