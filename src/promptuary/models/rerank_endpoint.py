"""Scores texts with a service that has the common ``/rerank`` API, on this machine or elsewhere.

Jina, Cohere, vLLM and llama.cpp take ``documents`` and answer with ``results``; Text Embeddings Inference takes
``texts`` and answers with a list. If one form is refused, the other is used. The address is the person's
own and must never come from a workspace: texts and a key are sent there.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from promptuary.base.errors import PromptuaryError, ServiceRefusedError
from promptuary.config.api_keys import NO_KEY, KeyPlace
from promptuary.models.http import Credential, PostPolicy, post_json
from promptuary.models.openai_embeddings import sendable

_CHARACTERS: Final = 8_000
"""Longer texts are cut: services refuse the whole request for one text that exceeds the model's window."""
_WRONG_FORM: Final = frozenset({400, 422})


class EndpointReranker:
    """A ``Reranker`` at ``url``, to which ``/rerank`` is appended unless it ends with that.

    ``key`` says where its key is. A service with one model needs no ``model``.
    """

    def __init__(self, url: str, model: str = "", *, key: KeyPlace = NO_KEY, policy: PostPolicy | None = None) -> None:
        self._url = url.rstrip("/").removesuffix("/rerank") + "/rerank"
        self._model = model
        self._key = key
        self._policy = policy or PostPolicy()
        self._field = "documents"

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score for each text, in order. Raises ``PromptuaryError`` if the service fails."""
        if not texts:
            return ()
        given = sendable(query, _CHARACTERS), [sendable(text, _CHARACTERS) for text in texts]
        try:
            answer = self._posted(self._field, *given)
        except ServiceRefusedError as error:
            if error.status not in _WRONG_FORM:
                raise
            other = "texts" if self._field == "documents" else "documents"
            try:
                answer = self._posted(other, *given)
            except PromptuaryError:
                raise error from None  # the error for the usual form says more
            self._field = other
        return _scores(answer, len(texts))

    def _posted(self, field: str, query: str, texts: Sequence[str]) -> object:
        request: dict[str, object] = {"query": query, field: texts}
        if field == "texts":
            request["truncate"] = True
        else:
            request |= {"top_n": len(texts), "return_documents": False} | (
                {"model": self._model} if self._model else {}
            )
        credential = Credential(self._key.read("rerank"), advice=self._key.advice)
        return post_json(self._url, request, self._policy, credential)


def _scores(answer: object, count: int) -> list[float]:
    """Return the scores of an answer, in the order of the texts."""
    rows = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _bad("an answer without a list of results")
    scores = {_index(row): row.get("relevance_score", row.get("score")) for row in rows}
    if len(rows) != count or scores.keys() != set(range(count)):
        raise _bad(f"{len(rows)} scores for {count} texts, or not one for each")
    found = [scores[place] for place in range(count)]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and math.isfinite(one) for one in found):
        raise _bad("a score that is not a number")
    return [float(one) for one in found]


def _index(row: Mapping[str, object]) -> object:
    index = row.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _bad(what: str) -> PromptuaryError:
    return PromptuaryError(f"The rerank service sends {what}: check its address and the name of the model.")
