"""Ranks candidates: puts their scores by words and by meaning on one scale. Pure.

    score = cosine + weight * bm25 / (9 * sqrt(terms))

The cosine is absolute, so BM25 must be too: ranks, or shares of the best score, would make the best of nothing look
like the best of something. A sum of n terms' scores has a noise of sqrt(n); nine times that makes a good match of five
words count about as much as a cosine of one. The weight of words depends on what the query is about. In prose, a name
or a number distinguishes two passages, and words count in full. Queries about code use other words than the code, so
words count little, unless they are names in code (``parse_url``, ``HttpServer``). What the query is about is decided by
the kinds of the ten nearest candidates, once for all candidates: a weight for each would favour one kind.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Final, NamedTuple

from promptuary.core.search import Why

PROSE: Final = 1.2
CODE: Final = 0.025
_SCALE: Final = 9.0
NEAREST: Final = 10
"""How many of the nearest candidates decide what a query is about."""


class Candidate(NamedTuple):
    """A chunk that may be a hit: its BM25 score if the words found it, its cosine if it has a vector."""

    chunk: int
    lexical: float | None = None
    cosine: float | None = None
    is_code: bool = False


class Ranked(NamedTuple):
    """A chunk with its score."""

    chunk: int
    score: float
    why: Why


def fuse(candidates: Sequence[Candidate], terms: int, *, names: int = 0) -> list[Ranked]:
    """Return the candidates for a query of ``terms`` terms, ``names`` of them names in code, the best first.

    A chunk that has no vector yet gets the average cosine of the others, so that words decide about it.
    """
    known = [one.cosine for one in candidates if one.cosine is not None]
    # Exact, so that the result does not depend on the order of the candidates.
    usual = fsum(known) / len(known) if known else 0.0
    weight = _weight(candidates, names / max(1, terms)) / (_SCALE * sqrt(max(1, terms)))
    ranked = [
        Ranked(
            one.chunk,
            (usual if one.cosine is None else one.cosine) + weight * (one.lexical or 0.0),
            Why(one.lexical, one.cosine),
        )
        for one in candidates
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.chunk))


def _weight(candidates: Sequence[Candidate], named: float) -> float:
    """Return the weight of words, between that of code and of prose; that of prose if all words are names in code."""
    near = sorted((-one.cosine, one.chunk, one.is_code) for one in candidates if one.cosine is not None)
    nearest = near[:NEAREST]
    share = sum(is_code for _, _, is_code in nearest) / len(nearest) if nearest else 0.0
    return PROSE + (CODE - PROSE) * share * (1 - named)
