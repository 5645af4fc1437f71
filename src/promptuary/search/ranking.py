"""Ranks candidates: puts what words and what meaning say about each on one scale. Pure.

    score = meaning + weight * words * trust - length * log(chunks of the document)

*Meaning* is the cosine against its background: minus the average cosine of this query with all texts, and minus a part
of what brings this chunk near to every query. *Words* is how many of the query's words the chunk explains, each counted
by its rarity: evidence adds up. Both are absolute: ranks, or shares of the best, would make the best of nothing look
like the best of something.

One word that matches where the meaning does not is often chance, so words without agreement are trusted less, the fewer
they are. Where vectors are blurred, words count for more and need no agreement: in chats, where a chunk is about
several things at once, and for long queries, which are too. What a query is about is decided by the nearest candidates,
once for all: a weight for each would favour one kind. A document of a hundred chunks has a hundred chances to look
near; what it gains by that is taken off.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, log, sqrt
from typing import Final, NamedTuple

from promptuary.core.ports.index import Similarity
from promptuary.core.search import Why

NEAREST: Final = 10
"""How many of the nearest candidates decide what a query is about."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of the score. ``bench.retrieval`` chooses them with each set left out in turn.

    ``words`` is the weight of one word, ``chat`` and ``long`` that in chats and for long queries. ``short_query`` and
    ``long_query`` are how many words a query has that is not long at all, and that is long altogether. ``spoken`` is
    what the words of the whole conversation count, relative to those of the chunk. ``hub`` is the part that is taken
    off of a chunk's nearness to everything, ``length`` what is taken off for each power of e in the chunks of its
    document. Words need no agreement at a meaning of ``sure``.
    """

    words: float = 0.055
    chat: float = 0.6
    long: float = 0.2
    short_query: float = 14.0
    long_query: float = 28.0
    spoken: float = 1.5
    hub: float = 0.5
    length: float = 0.02
    sure: float = 0.4


WEIGHTS: Final = Weights()


class Candidate(NamedTuple):
    """A chunk that may be a hit. ``None``: the words did not find it, or it has no vector.

    ``lexical`` is how many of the words it explains; ``spoken`` the same for all that people say in its conversation,
    ``None`` if it is not in a chat. ``siblings`` is how many chunks its document has.
    """

    chunk: int
    lexical: float | None = None
    similarity: Similarity | None = None
    spoken: float | None = None
    siblings: int = 1


class Ranked(NamedTuple):
    """A chunk with its score."""

    chunk: int
    score: float
    why: Why


class _Blur(NamedTuple):
    """The weight of one word, and how much agreement words need: from 1, all of it, to 0."""

    weight: float
    doubt: float


def fuse(candidates: Sequence[Candidate], terms: int, weights: Weights = WEIGHTS) -> list[Ranked]:
    """Return the candidates for a query of ``terms`` words, the best first.

    A chunk that has no vector yet gets the average meaning of the others, so that words decide about it.
    """
    meanings = {one.chunk: _meaning(one.similarity, weights) for one in candidates if one.similarity is not None}
    # Exact, so that the result does not depend on the order of the candidates.
    usual = fsum(meanings.values()) / len(meanings) if meanings else 0.0
    blur = _blur(candidates, terms, weights)
    ranked = []
    for one in candidates:
        words, near = _words(one, weights), meanings.get(one.chunk, usual)
        agreement = min(1.0, max(0.0, near / weights.sure)) if meanings else 1.0
        trust = 1 - blur.doubt * (1 - agreement) / sqrt(max(1.0, words))
        length = weights.length * log(max(1, one.siblings))
        why = Why(
            words if words or one.lexical is not None else None,
            None if one.similarity is None else one.similarity.cosine,
            meaning=meanings.get(one.chunk),
            length=length,
            share=words / max(1, terms),
        )
        ranked.append(Ranked(one.chunk, near + blur.weight * words * trust - length, why))
    return sorted(ranked, key=lambda one: (-one.score, one.chunk))


def _meaning(similarity: Similarity, weights: Weights) -> float:
    return similarity.cosine - similarity.usual - weights.hub * similarity.typical


def _words(one: Candidate, weights: Weights) -> float:
    own = one.lexical or 0.0
    return own if one.spoken is None else (own + weights.spoken * one.spoken) / (1 + weights.spoken)


def _blur(candidates: Sequence[Candidate], terms: int, weights: Weights) -> _Blur:
    """Return how words are weighed: by the share of chats among the nearest candidates, and the length of the query.

    The nearest are those of the highest cosines; without vectors, those that explain most words.
    """
    near = [(-one.similarity.cosine, one.chunk, one.spoken is not None) for one in candidates if one.similarity]
    near = near or [(-(one.lexical or 0.0), one.chunk, one.spoken is not None) for one in candidates]
    nearest = sorted(near)[:NEAREST]
    chats = sum(is_chat for _, _, is_chat in nearest) / max(1, len(nearest))
    span = weights.long_query - weights.short_query
    length = (
        min(1.0, max(0.0, (terms - weights.short_query) / span)) if span > 0 else float(terms > weights.short_query)
    )
    weight = weights.words + (weights.chat - weights.words) * chats
    return _Blur(weight + max(0.0, weights.long - weight) * length, 1 - max(chats, length))
