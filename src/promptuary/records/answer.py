"""Answers a query from an index of records, with the ranking and the threshold for "no match" that files have."""

from typing import Final, Literal, NamedTuple

from promptuary.core.errors import IndexDamagedError, PromptuaryError
from promptuary.core.search import IndexRebuilt, SearchedByWordsOnly, SearchNote, SearchQuery
from promptuary.records.index import Key, RecordIndex
from promptuary.search.answer import Answer, answer
from promptuary.search.ranking import FEWEST, luck
from promptuary.search.vectors.scale import measured

_FEWEST: Final = 20
"""The least number of chunks to assume: among fewer records, any of them is likely to be the one wanted."""


class RecordAnswer(NamedTuple):
    """The hits of the index, their confidence, and notes for a person."""

    found: Answer
    confidence: float
    remarks: tuple[SearchNote, ...]

    @property
    def mode(self) -> Literal["lexical", "hybrid"]:
        """What was compared."""
        return "hybrid" if self.found.hybrid else "lexical"


def answered(query: SearchQuery, index: RecordIndex[Key], what: str) -> RecordAnswer:
    """Return the hits of the index of ``what``: reranked if there is a reranker, by words only if necessary.

    A damaged index is rebuilt first.
    """
    found, remarks = _answered(query, index, what)
    reranking = index.backend.reranking
    if reranking is not None and not query.lexical_only:
        hits, problems = reranking.reranked(query, found.hits)
        found, remarks = found._replace(hits=hits), [*remarks, *problems]
    sure = among_few(found.confidence, index.backend.index.size()) if found.hybrid else found.confidence
    return RecordAnswer(found, sure, tuple(remarks))


def among_few(confidence: float, chunks: int) -> float:
    """Return the confidence of an answer from an index of few ``chunks``.

    The ranking of files assumes a larger index, in which chance would find more.
    """
    few, more = max(_FEWEST, chunks), max(FEWEST, chunks)
    return confidence * luck(more) / luck(few)


def _answered(query: SearchQuery, index: RecordIndex[Key], what: str) -> tuple[Answer, list[SearchNote]]:
    chunks, embedder = index.backend.index, None if query.lexical_only else index.backend.embedder
    try:
        scale = measured(index.backend.store, embedder)
        return answer(query, chunks, embedder if embedder and chunks.has_vectors() else None, scale=scale), []
    except IndexDamagedError:
        if not index.sync(rebuild=True):
            raise PromptuaryError(f"another process is rebuilding the index of {what}; try again soon") from None
        return answer(query, chunks, None), [IndexRebuilt()]
    except PromptuaryError as error:
        if embedder is None:
            raise
        return answer(query, chunks, None), [SearchedByWordsOnly(str(error))]
