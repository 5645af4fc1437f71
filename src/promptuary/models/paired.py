"""Two embedders as one: a vector is the vector of the first followed by that of the second.

Each part has half of the squared length, so that the cosine of two such vectors is the mean of the two cosines, and the
index needs to know nothing about it. Does not know which embedders it pairs.
"""

import math
import sys
from array import array
from collections.abc import Sequence
from typing import Final

from promptuary.base import concurrency
from promptuary.models.languages import Known, known_languages
from promptuary.models.protocols import Embedder, Purpose

_HALF: Final = math.sqrt(0.5)


class PairedEmbedder:
    """An ``Embedder`` of two others. A query is embedded by both at the same time."""

    def __init__(self, first: Embedder, second: Embedder) -> None:
        self._first, self._second = first, second

    @property
    def id(self) -> str:
        """The ids of both."""
        return f"{self._first.id} + {self._second.id}"

    @property
    def dimensions(self) -> int:
        """The length of a vector: the sum of both."""
        return self._first.dimensions + self._second.dimensions

    @property
    def languages(self) -> Known:
        """The languages that both know: the cosine is the mean of both."""
        one, other = known_languages(self._first), known_languages(self._second)
        return other if one is None else one if other is None else one & other

    def prepare(self) -> None:
        """Load both, at the same time."""
        other = concurrency.begin(self._second.prepare)
        self._first.prepare()
        other.result()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return one vector for each text, in order."""
        if purpose == "passage":
            # Each uses every core on its own.
            pairs = zip(self._first.embed(texts, purpose), self._second.embed(texts, purpose), strict=True)
        else:
            other = concurrency.begin(lambda: self._second.embed(texts, purpose))
            pairs = zip(self._first.embed(texts, purpose), other.result(), strict=True)
        return [_shortened(one + another) for one, another in pairs]


def _shortened(vector: bytes) -> bytes:
    """Return a vector with every number multiplied by the square root of a half."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    shorter = array("f", [number * _HALF for number in numbers])
    if sys.byteorder == "big":
        shorter.byteswap()
    return shorter.tobytes()
