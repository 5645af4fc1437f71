"""Embeddings from a service with an API like OpenAI's ``/v1/embeddings``, on this machine or elsewhere.

The address is the person's own and must never come from a workspace: texts and a key are sent there.
``models.http`` connects and retries; this module validates every answer. Does not know chunks or indexes.
"""

import math
import sys
import threading
from array import array
from collections.abc import Mapping, Sequence
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import valid_unicode
from promptuary.config.api_keys import NO_KEY, KeyPlace
from promptuary.models.http import Credential, PostPolicy, post_json
from promptuary.models.languages import Known, languages_of_service
from promptuary.models.protocols import Purpose

_CHARACTERS: Final = 24_000
"""Longer texts are cut: services refuse the whole request for one text that exceeds the model's window."""


class EndpointEmbedder:
    """An ``Embedder`` at ``url``, to which ``/embeddings`` is appended.

    ``key`` says where its key is. ``dimensions`` requests shorter vectors, from models that support them; by default,
    the first answer decides. ``prefixes`` are put before every text of a purpose, as some models require. ``batch``
    texts are sent in one request.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: KeyPlace = NO_KEY,
        dimensions: int | None = None,
        prefixes: Mapping[Purpose, str] | None = None,
        batch: int = 64,
        policy: PostPolicy | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._model = model
        self._key = key
        self._requested_dimensions = dimensions
        self._dimensions = dimensions
        self._prefixes = dict(prefixes or {})
        self._batch = max(1, batch)
        self._policy = policy or PostPolicy()
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """The service, the model and everything else that affects its vectors."""
        shorter = f" {self._requested_dimensions}" if self._requested_dimensions else ""
        prefixes = "".join(f" {purpose}={prefix!r}" for purpose, prefix in sorted(self._prefixes.items()))
        return f"{self._model} at {self._url}{shorter}{prefixes}"

    @property
    def dimensions(self) -> int:
        """The length of a vector. Calls the service if it is not known yet."""
        if self._dimensions is None:
            self.embed(["dimensions"], "passage")
        return self._dimensions or 0

    @property
    def languages(self) -> Known:
        """The languages that the model knows, as far as its name says."""
        return languages_of_service(self._model)

    def prepare(self) -> None:
        """Do nothing: there is nothing to load."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        """Return one vector for each text, in order. Raises ``PromptuaryError`` if the service fails."""
        prefix = self._prefixes.get(purpose, "")
        inputs = [prefix + sendable(text) for text in texts]
        vectors: list[bytes] = []
        for start in range(0, len(inputs), self._batch):
            vectors += self._embed_batch(inputs[start : start + self._batch])
        return vectors

    def _embed_batch(self, inputs: Sequence[str]) -> list[bytes]:
        request: dict[str, object] = {"model": self._model, "input": inputs, "encoding_format": "float"}
        if self._requested_dimensions:
            request["dimensions"] = self._requested_dimensions
        credential = Credential(self._key.read("embedding"), advice=self._key.advice)
        answer = post_json(f"{self._url}/embeddings", request, self._policy, credential)
        vectors = [_unit_vector(numbers) for numbers in _in_order(answer, len(inputs))]
        with self._lock:
            self._dimensions = self._dimensions or len(vectors[0])
            wrong = next((len(vector) for vector in vectors if len(vector) != self._dimensions), None)
            if wrong is not None:
                raise _bad(f"vectors of {wrong} numbers where {self._dimensions} were expected")
        return [_packed(vector) for vector in vectors]


def sendable(text: str, most: int = _CHARACTERS) -> str:
    """Return the text to send: valid Unicode, cut to the limit, and never empty, which services refuse."""
    return valid_unicode(text[:most]) or " "


def _in_order(answer: object, count: int) -> list[Sequence[float]]:
    """Return the vectors of an answer, in the order of the texts."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad("an answer without a list 'data'")
    by_index = {str(row.get("index", place)): row.get("embedding") for place, row in enumerate(rows)}
    if len(rows) != count or by_index.keys() != set(map(str, range(count))):
        raise _bad(f"{len(rows)} vectors for {count} texts, or not one for each")
    found = [by_index[str(place)] for place in range(count)]
    if not all(isinstance(numbers, list) and numbers for numbers in found):
        raise _bad("a vector that is not a list of numbers")
    return found


def _unit_vector(numbers: Sequence[float]) -> list[float]:
    try:
        values = array("d", numbers)
    except (TypeError, OverflowError):
        raise _bad("a vector with a value that is not a number") from None
    length = math.hypot(*values)
    if not 0 < length < math.inf:
        raise _bad("a vector of length zero or infinity")
    return [value / length for value in values]


def _packed(vector: Sequence[float]) -> bytes:
    packed = array("f", vector)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _bad(what: str) -> PromptuaryError:
    return PromptuaryError(f"The embedding service sends {what}: check its address and the name of the model.")
