"""A small embedder for tests: texts with the same words have the same vector. Needs no model and no library."""

import hashlib
import re
import struct
from collections.abc import Sequence
from math import sqrt

from promptuary.models.protocols import Purpose, Scale


class WordEmbedder:
    """An ``Embedder`` that adds up a fixed direction for each word.

    Its scale is given: no text is embedded to measure it.
    """

    scale: Scale | None = Scale()

    def __init__(self, name: str = "words", dimensions: int = 16) -> None:
        self.id = name
        self.dimensions = dimensions

    def prepare(self) -> None:
        """Do nothing: there is nothing to load."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return the vectors of ``texts``; the purpose makes no difference."""
        del purpose
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        numbers = [0.0] * self.dimensions
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(f"{self.id} {word}".encode("utf-8", "surrogatepass")).digest()
            numbers[digest[0] % self.dimensions] += 1.0 if digest[1] % 2 else -1.0
        return unit_vector(*numbers)


def unit_vector(*numbers: float) -> bytes:
    """Return a vector in the direction of ``numbers`` as the ports carry it: little-endian floats of length one."""
    length = sqrt(sum(number * number for number in numbers))
    scaled = [number / length for number in numbers] if length else [1.0, *[0.0] * (len(numbers) - 1)]
    return struct.pack(f"<{len(scaled)}f", *scaled)
