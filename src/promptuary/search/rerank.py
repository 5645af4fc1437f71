"""Puts the best hits in the order of a reranker, if one is configured and answers in time.

If anything goes wrong, the hits keep the order of words and meaning, and a note says why. A reranker sees the first
``TOP`` hits and never adds or removes one.
"""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.models.protocols import Reranker
from promptuary.search.values import Chunk, Hit, NotReranked, SearchQuery

TOP: Final = 20
"""How many hits a reranker scores: its time grows with each one."""


class Reranking(Struct, frozen=True):
    """A reranker, and the seconds that a search waits for it."""

    reranker: Reranker
    timeout: float

    def widened(self, query: SearchQuery) -> SearchQuery:
        """Return the query with a limit that finds all the hits to judge."""
        return replace(query, limit=max(query.limit, TOP)) if query.limit > 0 else query

    def reranked(self, query: SearchQuery, hits: Sequence[Hit]) -> tuple[Sequence[Hit], tuple[NotReranked, ...]]:
        """Return the first hits of the query in the order of the reranker, or unchanged with a note that says why."""
        judged = hits[:TOP]
        if len(judged) < 2:
            return hits[: query.limit], ()
        texts = [Chunk(hit.start_line, hit.end_line, hit.text, hit.heading).context for hit in judged]
        # It cannot be stopped: after the timeout it continues in its thread, and its result is ignored.
        judging = concurrency.begin(lambda: list(self.reranker.rerank(query.text, texts)))
        reason = f"the reranker did not answer within {self.timeout:g} seconds"
        if judging.wait(self.timeout):
            try:
                return reordered(hits, judging.result())[: query.limit], ()
            except PromptuaryError as error:
                reason = str(error)
            except Exception as error:  # noqa: BLE001  (a reranker of somebody else may raise anything)
                reason = f"the reranker failed: {error!r}"
        return hits[: query.limit], (NotReranked(reason),)


def reordered(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return ``hits``, the first of them in the order of their ``scores``; equal ones stay in the order they had.

    Those from the days that the query names stay first: a reranker does not know when a passage is from.
    The scores of the hits keep their order: the first hit has the best, whatever the reranker's own numbers are. Raises
    ``PromptuaryError`` unless there is one finite score for each of the first ``TOP`` hits.
    """
    judged = hits[:TOP]
    if len(scores) != len(judged) or not all(map(math.isfinite, scores)):
        raise PromptuaryError("the reranker did not return one finite score for each passage")
    order = sorted(range(len(judged)), key=lambda place: (hits[place].why.time != "decides", -scores[place]))
    first = [
        replace(hits[chosen], score=hits[place].score, why=replace(hits[chosen].why, rerank=scores[chosen]))
        for place, chosen in enumerate(order)
    ]
    return [*first, *hits[TOP:]]
