"""Layers and embedders that other packages bring along.

A package names layers in the entry point group ``promptuary.layers``; each is a ``Layer`` subclass or any function
without arguments that returns a layer. One that cannot be loaded is logged and left out: it must not take the others
along. Embedders are named in ``promptuary.embedders`` in the same way; one is loaded only when it is asked for.
"""

import logging
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

from promptuary.core.errors import ConfigError, PromptuaryError
from promptuary.core.layers import Layer, check
from promptuary.core.ports.models import Embedder, Purpose

GROUP = "promptuary.layers"
EMBEDDERS = "promptuary.embedders"
_SHORTEST: Final = 0.9
_LONGEST: Final = 1.1
"""What counts as a vector of length one: there is room for rounding and coarse numbers, and none for vectors that
nobody scaled, since the cosines of a question grow with the length of its vector."""

Result = TypeVar("Result")

logger = logging.getLogger(__name__)


def installed_layers() -> list[Layer]:
    """Return one layer for each entry point that can be loaded, in the order of their names."""
    layers: list[Layer] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            layer = entry.load()()
        except Exception:  # somebody else's package: whatever it raises is its own failure
            logger.exception("the layer %s of %s could not be loaded", entry.name, entry.value)
            continue
        if not isinstance(layer, Layer):
            logger.error("the entry point %s gives %r, which is no layer", entry.name, layer)
            continue
        try:
            check([*layers, layer])
        except ConfigError as error:
            logger.error("the layer %s of %s is left out: %s", entry.name, entry.value, error)  # noqa: TRY400
            continue
        layers.append(layer)
    return layers


def installed_embedders() -> dict[str, Callable[[], Embedder]]:
    """Return how to make each embedder, by the name of its entry point; of two with one name the first counts.

    Making one raises ``PromptuaryError`` if its package cannot: the person asked for this one and for no other.
    """
    found: dict[str, Callable[[], Embedder]] = {}
    for entry in sorted(entry_points(group=EMBEDDERS), key=lambda entry: (entry.name, entry.value)):
        if entry.name in found:
            logger.error("the embedder %s of %s is left out: the name is taken", entry.name, entry.value)
            continue
        found[entry.name] = _maker(entry)
    return found


def _maker(entry: EntryPoint) -> Callable[[], Embedder]:
    def make() -> Embedder:
        try:
            embedder = entry.load()()
        except PromptuaryError:
            raise
        except Exception as error:  # somebody else's package: whatever it raises is its own failure
            raise PromptuaryError(f"The embedder {entry.name} ({entry.value}) cannot be made: {error!r}") from error
        if not all(hasattr(type(embedder), name) or hasattr(embedder, name) for name in ("id", "dimensions", "embed")):
            raise PromptuaryError(f"The embedder {entry.name} ({entry.value}) has no id, dimensions or embed().")
        return _Guarded(entry.name, embedder)

    return make


class _Guarded:
    """An embedder of another package: whatever it does wrong is one error of ours, which costs a search its meaning."""

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
        # Vectors are kept for good: one that points nowhere would not be found, and not be made again.
        for length in map(_length, vectors):
            if not _SHORTEST <= length <= _LONGEST:  # so it is told for NaN, too
                told = f"of length {length:.3g}" if math.isfinite(length) else "with something that is no finite number"
                raise PromptuaryError(
                    f"The embedder {self._name} returned a vector {told}; each must be of length one, "
                    "in little-endian 32-bit floats."
                )
        return vectors

    def _guarded(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except PromptuaryError:
            raise
        except Exception as error:  # somebody else's package: whatever it raises is its own failure
            raise PromptuaryError(f"The embedder {self._name} failed: {error!r}") from error


def _length(vector: bytes) -> float:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return math.hypot(*numbers)
