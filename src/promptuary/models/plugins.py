"""Embedders of other packages."""

import logging
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from typing import Final, TypeVar

from promptuary.base.errors import PromptuaryError
from promptuary.models.protocols import Embedder, Purpose
from promptuary.plugins import entries

logger = logging.getLogger(__name__)


EMBEDDERS = "promptuary.embedders"


_SHORTEST: Final = 0.9


_LONGEST: Final = 1.1
"""The bounds of a vector of length one. They allow for rounding, not for vectors that are not normalised: cosines grow
with the length of the vector of a question."""


Result = TypeVar("Result")


def installed_embedders() -> dict[str, Callable[[], Embedder]]:
    """Return a function that creates each embedder, by the name of its entry point; of two with one name, the first.

    The function raises ``PromptuaryError`` if the plug-in fails.
    """
    found: dict[str, Callable[[], Embedder]] = {}
    for entry in sorted(entries(EMBEDDERS), key=lambda entry: (entry.name, entry.value)):
        if entry.name in found:
            logger.error("the embedder %s of %s is skipped: the name is taken", entry.name, entry.value)
            continue
        found[entry.name] = _maker(entry)
    return found


def _maker(entry: EntryPoint) -> Callable[[], Embedder]:
    def make() -> Embedder:
        try:
            embedder = entry.load()()
        except PromptuaryError:
            raise
        except Exception as error:  # a plug-in may raise anything
            raise PromptuaryError(f"The embedder {entry.name} ({entry.value}) cannot be created: {error!r}") from error
        if not all(hasattr(type(embedder), name) or hasattr(embedder, name) for name in ("id", "dimensions", "embed")):
            raise PromptuaryError(f"The embedder {entry.name} ({entry.value}) has no id, dimensions or embed().")
        return _Guarded(entry.name, embedder)

    return make


class _Guarded:
    """An embedder of another package. Its exceptions and invalid results become a ``PromptuaryError``."""

    def __init__(self, name: str, inner: Embedder) -> None:
        self._name = name
        self._inner = inner

    @property
    def id(self) -> str:
        return self._guarded(lambda: str(self._inner.id))

    @property
    def dimensions(self) -> int:
        return self._guarded(lambda: int(self._inner.dimensions))

    def prepare(self) -> None:
        # An embedder may have nothing to load.
        self._guarded(getattr(self._inner, "prepare", lambda: None))

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        vectors = self._guarded(lambda: [bytes(vector) for vector in self._inner.embed(texts, purpose)])
        expected = 4 * self.dimensions
        if len(vectors) != len(texts) or any(len(vector) != expected for vector in vectors):
            raise PromptuaryError(
                f"The embedder {self._name} must return one vector a text, each {expected} bytes of 32-bit floats."
            )
        # Vectors are stored permanently: a wrong one would never be noticed, and never be replaced.
        for length in map(_length, vectors):
            if not _SHORTEST <= length <= _LONGEST:  # in this order, it holds for NaN, too
                wrong = f"of length {length:.3g}" if math.isfinite(length) else "with a number that is not finite"
                raise PromptuaryError(
                    f"The embedder {self._name} returned a vector {wrong}; each must be of length one, "
                    "in little-endian 32-bit floats."
                )
        return vectors

    def _guarded(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except PromptuaryError:
            raise
        except Exception as error:  # a plug-in may raise anything
            raise PromptuaryError(f"The embedder {self._name} failed: {error!r}") from error


def _length(vector: bytes) -> float:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return math.hypot(*numbers)
