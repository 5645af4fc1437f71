"""Vectors by a service: any that answers ``/v1/embeddings`` as OpenAI does, on this machine or elsewhere.

The address is the person's own and must never come out of a workspace: texts and a key are sent there. How it is
reached, and what is tried again, is the concern of ``workspace.post``; here an answer is believed only as far as it was
checked. Knows nothing of chunks or indexes.
"""

import math
import os
import sys
import threading
from array import array
from collections.abc import Mapping, Sequence
from typing import Final

from promptuary.core.errors import ConfigError, PromptuaryError
from promptuary.core.ports.models import Purpose
from promptuary.workspace.web.post import PostPolicy, post_json

_CHARACTERS: Final = 24_000
"""More of a text is not sent: services refuse the whole request for one text above the model's window."""


class EndpointEmbedder:
    """An ``Embedder`` at ``url``, the address that ``/embeddings`` is added to.

    ``key_variable`` names the environment variable that holds the key. ``dimensions`` asks for shorter vectors, of
    models that have them; if not given they are learnt from the first answer. ``prefixes`` stand before every text of a
    purpose, as some models want it. ``batch`` texts are sent at once.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_variable: str = "",
        dimensions: int | None = None,
        prefixes: Mapping[Purpose, str] | None = None,
        batch: int = 64,
        policy: PostPolicy | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._model = model
        self._key_variable = key_variable
        self._asked = dimensions
        self._learnt = dimensions
        self._prefixes = dict(prefixes or {})
        self._batch = max(1, batch)
        self._policy = policy or PostPolicy()
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """The service, the model and everything else that decides about its vectors."""
        shorter = f" {self._asked}" if self._asked else ""
        prefixes = "".join(f" {purpose}={prefix!r}" for purpose, prefix in sorted(self._prefixes.items()))
        return f"{self._model} at {self._url}{shorter}{prefixes}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has. Asks the service if no text was embedded yet and none were given."""
        if self._learnt is None:
            self.embed(["dimensions"], "passage")
        return self._learnt or 0

    def prepare(self) -> None:
        """There is nothing to load."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return one vector a text, in order."""
        prefix = self._prefixes.get(purpose, "")
        inputs = [prefix + _sendable(text) for text in texts]
        vectors: list[bytes] = []
        for start in range(0, len(inputs), self._batch):
            vectors += self._ask(inputs[start : start + self._batch])
        return vectors

    def _ask(self, inputs: Sequence[str]) -> list[bytes]:
        asked: dict[str, object] = {"model": self._model, "input": inputs, "encoding_format": "float"}
        if self._asked:
            asked["dimensions"] = self._asked
        answer = post_json(f"{self._url}/embeddings", asked, self._policy, key=self._key())
        vectors = [_one_long(numbers) for numbers in _in_order(answer, len(inputs))]
        with self._lock:
            self._learnt = self._learnt or len(vectors[0])
            wrong = next((len(vector) for vector in vectors if len(vector) != self._learnt), None)
            if wrong is not None:
                raise _bad(f"vectors of {wrong} numbers where {self._learnt} were expected")
        return [_packed(vector) for vector in vectors]

    def _key(self) -> str:
        if not self._key_variable:
            return ""
        key = os.environ.get(self._key_variable, "").strip()
        if not key:
            raise ConfigError(f"The embedding service needs a key: set the environment variable {self._key_variable}.")
        return key


def _sendable(text: str) -> str:
    """Return what is sent of a text: valid Unicode, not too much and not nothing, which services refuse."""
    valid = text[:_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return valid or " "


def _in_order(answer: object, count: int) -> list[Sequence[float]]:
    """Return the vectors of an answer in the order of the texts."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad("an answer without a list called data")
    by_index = {str(row.get("index", place)): row.get("embedding") for place, row in enumerate(rows)}
    if len(rows) != count or by_index.keys() != set(map(str, range(count))):
        raise _bad(f"{len(rows)} vectors for {count} texts, or not one for each")
    found = [by_index[str(place)] for place in range(count)]
    if not all(isinstance(numbers, list) and numbers for numbers in found):
        raise _bad("a vector that is no list of numbers")
    return found


def _one_long(numbers: Sequence[float]) -> list[float]:
    try:
        values = array("d", numbers)
    except (TypeError, OverflowError):
        raise _bad("a vector with something that is no number") from None
    length = math.hypot(*values)
    if not 0 < length < math.inf:
        raise _bad("a vector without a direction")
    return [value / length for value in values]


def _packed(vector: Sequence[float]) -> bytes:
    packed = array("f", vector)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _bad(what: str) -> PromptuaryError:
    return PromptuaryError(f"The embedding service sends {what}: check its address and the name of the model.")
