"""Whether a parser takes time in proportion to its text: the one way in which the tests measure that.

Four times the text may take five times as long. Time is what the processor spent on it, in this thread and in programs
that were started. A processor that others use, too, is half as fast now and then: so the smaller text is measured right
before and right after the larger one, and one good round of several is enough. Quadratic time would be sixteen times as
long in all of them.
"""

import gc
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Family = Callable[[int], str]
"""Returns a text of about so many characters."""

FACTOR: Final = 4
LIMIT: Final = 5
FLOOR: Final = 0.02
"""Seconds that the smaller text may always take: below them the machine decides, and quadratic time would be longer."""

_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Parser:
    """What is measured: ``parse``, on what ``prepare`` makes of a text.

    A parser that somebody else wrote may have a ``deadline``, which returns for a number of bytes how many seconds it
    takes at most, whatever they are.
    """

    parse: Callable[[Any], object]
    deadline: Callable[[int], float] = lambda _: 0.0
    prepare: Callable[[str], Any] = str


@dataclass(frozen=True, slots=True)
class Growth:
    """How long a text and one of ``FACTOR`` times its size took, in seconds."""

    small: float
    large: float
    allowed: float = 0.0

    @property
    def is_linear(self) -> bool:
        """Whether the larger text took no longer than it may."""
        return self.large <= max(LIMIT * max(self.small, FLOOR), self.allowed)

    def __str__(self) -> str:
        times = self.large / max(self.small, 1e-9)
        return f"{FACTOR} times the text took {times:.1f} times as long: {self.small:.4f} s, {self.large:.4f} s"


def seconds(parser: Parser, text: str) -> float:
    """Return how long ``parser`` takes for ``text``."""
    made = parser.prepare(text)
    collects = gc.isenabled()
    gc.disable()  # it looks at everything that the tests have made so far
    try:
        start = spent()
        parser.parse(made)
        return spent() - start
    finally:
        if collects:
            gc.enable()


def growth(parser: Parser, family: Family, size: int) -> Growth:
    """Return how long ``parser`` takes for ``size`` characters of ``family`` and for more of them."""
    texts = family(size), family(FACTOR * size)
    # Below twice its deadline a parser was stopped, or could have been.
    found = Growth(0.0, seconds(parser, texts[1]), 2 * parser.deadline(len(texts[1].encode("utf-8", "replace"))))
    for _ in range(_ROUNDS):
        if found.is_linear:
            break
        before, large, after = (seconds(parser, texts[which]) for which in (0, 1, 0))
        found = Growth((before + after) / 2, large, found.allowed)
    return found


def assert_linear(parse: Callable[[str], object], family: Family, size: int) -> Growth:
    """Fail if ``parse`` takes more than linear time for the texts of ``family``."""
    found = growth(Parser(parse), family, size)
    assert found.is_linear, str(found)
    return found


def repeated(piece: str, opening: str = "", end: str = "") -> Family:
    """Return the texts that repeat ``piece``, between an opening and an end."""
    return lambda size: opening + piece * (size // len(piece)) + end


def spent() -> float:
    """Return the seconds of the processor that this thread has spent, and the programs that were started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime
