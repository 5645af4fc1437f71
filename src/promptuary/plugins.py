"""Plug-ins: layers and embedders of other packages.

A package declares a layer as an entry point of the group ``promptuary.layers``: a ``Layer`` subclass, or a function
without arguments that returns a layer. A layer that cannot be loaded is logged and skipped, and does not affect others.
Embedders are declared in the group ``promptuary.embedders``; one is loaded when it is used.
"""

import logging
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

from promptuary.core.errors import ConfigError, PromptuaryError
from promptuary.core.layers import Layer, check
from promptuary.core.ports.models import Embedder, Purpose

GROUP = "promptuary.layers"
EMBEDDERS = "promptuary.embedders"
_SHORTEST: Final = 0.9
_LONGEST: Final = 1.1
"""The bounds of a vector of length one. They allow for rounding, not for vectors that are not normalised: cosines grow
with the length of the vector of a question."""

Result = TypeVar("Result")

logger = logging.getLogger(__name__)


@lru_cache(maxsize=8)
def _entries(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group. Cached per path: the lookup reads a file of every installed package."""
    del path  # a different one may have other packages
    return tuple(entry_points(group=group))


def installed_layers() -> list[Layer]:
    """Return a layer for each entry point that can be loaded, sorted by name."""
    layers: list[Layer] = []
    for entry in sorted(_entries(GROUP, tuple(sys.path)), key=lambda entry: entry.name):
        try:
            layer = entry.load()()
        except Exception:  # a plug-in may raise anything
            logger.exception("the layer %s of %s could not be loaded", entry.name, entry.value)
            continue
        if not isinstance(layer, Layer):
            logger.error("the entry point %s returns %r, which is not a layer", entry.name, layer)
            continue
        try:
            check([*layers, layer])
        except ConfigError as error:
            logger.error("the layer %s of %s is skipped: %s", entry.name, entry.value, error)  # noqa: TRY400
            continue
        layers.append(layer)
    return layers


def installed_embedders() -> dict[str, Callable[[], Embedder]]:
    """Return a function that creates each embedder, by the name of its entry point; of two with one name, the first.

    The function raises ``PromptuaryError`` if the plug-in fails.
    """
    found: dict[str, Callable[[], Embedder]] = {}
    for entry in sorted(_entries(EMBEDDERS, tuple(sys.path)), key=lambda entry: (entry.name, entry.value)):
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
