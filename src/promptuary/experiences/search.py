"""Ranks the experiences that the index finds: by relevance, then by strength, success and shared tags.

Relevance is computed as in the ranking of files. The rest is bounded: experiences whose scores differ by more than a
part of the best keep their order. The order of the first hits does not depend on the limit.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from promptuary.experiences.decay import PRUNE_BELOW
from promptuary.experiences.values import Experience, ExperienceHit, ExperienceOutcome, ExperienceResult, strength
from promptuary.search.answer import Answer
from promptuary.search.values import Hit

MAX_HITS: Final = 20
"""How many hits are ranked with what is known about them. Further hits keep the order of the search."""
DEEP: Final = 200
"""How many are examined if a type, an outcome or tags are required."""

STRENGTH: Final = 0.05
SUCCESS: Final = 0.05
TAGS: Final = 0.15
"""The most that strength, success and shared tags can add, each as a share of the best score."""


class ExperienceQuery(Struct, frozen=True):
    """A query, in any words. ``tags`` are preferred; with ``strict_tags``, every hit has one of them."""

    text: str
    tags: Sequence[str] = ()
    limit: int = 10
    types: Sequence[str] = ()
    outcomes: Sequence[ExperienceOutcome] = ()
    strict_tags: bool = False
    lexical_only: bool = False

    @property
    def depth(self) -> int:
        """How many hits of the index are ranked."""
        return DEEP if self.types or self.outcomes or (self.strict_tags and self.tags) else MAX_HITS

    def wants(self, one: Experience) -> bool:
        """Return whether an experience may be among the hits."""
        return (
            (not self.types or one.type in self.types)
            and (not self.outcomes or one.outcome in self.outcomes)
            and (not self.strict_tags or not self.tags or not set(self.tags).isdisjoint(one.tags))
        )


def rank(query: ExperienceQuery, answer: Answer, experiences: Mapping[str, Experience], now: str) -> ExperienceResult:
    """Return the ``experiences`` of an answer, by id, that match best."""
    best = max((hit.score for hit in answer.hits), default=0.0)

    def judged(hits: Sequence[Hit]) -> list[ExperienceHit]:
        each = ((experiences[hit.path], hit) for hit in hits if hit.path in experiences)
        rated = (_rate(known, hit, query, now, best) for known, hit in each if query.wants(known))
        return [found for found in rated if found.strength >= PRUNE_BELOW]

    first = sorted(judged(answer.hits[: query.depth]), key=lambda hit: -hit.score)
    hits = [*first, *judged(answer.hits[query.depth :])]
    return ExperienceResult(hits[: max(0, query.limit)], answer.mode, answer.confidence, answer.notes)


def _rate(one: Experience, hit: Hit, query: ExperienceQuery, now: str, best: float) -> ExperienceHit:
    """Return a hit with its experience, whose bonus is bounded by a part of the ``best`` score."""
    worth = strength(one, now)
    shared = tuple(tag for tag in query.tags if tag in one.tags)
    tagged = len(shared) / len(query.tags) if query.tags else 0.0
    prior = max(0.0, best) * (STRENGTH * min(1.0, worth) + SUCCESS * one.success_score * one.confidence + TAGS * tagged)
    return ExperienceHit(one, hit.score + prior, hit.why, worth, prior, shared)
