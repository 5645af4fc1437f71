"""Puts candidates in one order: what the words say and what the meaning says, on one scale. Pure.

    score = cosine + weight * bm25 / (9 * sqrt(terms))

The cosine is absolute, so BM25 must be too: ranks, or shares of the best score, would make the best of nothing look
like the best of something. A sum of n terms' scores has a noise of sqrt(n); nine times that makes a good match of five
words count about as much as a cosine of one. How much words count depends on what is asked about: in prose a name or a
number is what tells two places apart, and words count in full; code is asked for in other words than it is written in,
and they count little, unless the question names what it is about (``parse_url``, ``HttpServer``). What is asked about
is told by the ten nearest candidates, for all candidates alike: a weight for each alone would favour one kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Final

from promptuary.core.search import Why

PROSE: Final = 1.2
CODE: Final = 0.025
_SCALE: Final = 9.0
NEAREST: Final = 10
"""How many of the nearest candidates tell what is asked about."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer: its BM25 score if the words found it, its cosine if it has a vector."""

    chunk: int
    lexical: float | None = None
    cosine: float | None = None
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its place in the order."""

    chunk: int
    score: float
    why: Why


def fuse(candidates: Sequence[Candidate], terms: int, *, names: int = 0) -> list[Ranked]:
    """Return the candidates of a question of so many terms, of which some are names in code, the best first.

    A chunk that has no vector yet is taken to be as near as the others are on average: words decide about it.
    """
    known = [one.cosine for one in candidates if one.cosine is not None]
    # Exact, so that the order in which they come does not show in the last digit.
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
    """Return how much words count, between code and prose; in code as much as in prose if all of them are names."""
    near = sorted((-one.cosine, one.chunk, one.is_code) for one in candidates if one.cosine is not None)
    nearest = near[:NEAREST]
    share = sum(is_code for _, _, is_code in nearest) / len(nearest) if nearest else 0.0
    return PROSE + (CODE - PROSE) * share * (1 - named)
