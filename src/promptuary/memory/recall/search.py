"""Searches the index of notes, with the ranking and the sense of "nothing" that files have.

A note is found once, by its best chunk. That it is pinned or recent counts a little: notes whose scores differ by more
than a twentieth of the best keep their order, so that neither can lift a note that does not answer over one that does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from promptuary.core.notes import Audience, MemoryResult, NoteHeader, NoteHit, NoteKind, NoteScope
from promptuary.core.search import Filters, Hit, SearchQuery
from promptuary.memory.recall.freshness import age_in_days
from promptuary.memory.recall.index import NoteIndex, folders, key_at
from promptuary.records.answer import answered

MOST: Final = 60
"""How many hits are ranked with what is known of their notes. More are found if more are asked for, in plain order."""

_BOUND: Final = 0.05
"""What pinned and recent together are worth, as a share of the best score."""
_PINNED: Final = 0.6
_HALF_LIFE: Final = 30.0
"""Days after which being recent is worth half."""


@dataclass(frozen=True, slots=True)
class NoteQuery:
    """A question as any text, the most notes to return, and which may be among them; empty means all."""

    text: str
    limit: int = 10
    scopes: Sequence[NoteScope] = ()
    audiences: Sequence[Audience] = ()
    kinds: Sequence[NoteKind] = ()
    lexical_only: bool = False

    def wants(self, header: NoteHeader) -> bool:
        """Return whether a note may be among the hits."""
        return (
            (not self.scopes or header.scope in self.scopes)
            and (not self.audiences or header.audience in self.audiences)
            and (not self.kinds or header.kind in self.kinds)
        )

    @property
    def filters(self) -> Filters:
        """The same for the index."""
        if not (self.scopes or self.audiences or self.kinds):
            return Filters()
        return Filters(folders=tuple(one.path for one in folders(self.scopes, self.audiences, self.kinds)))


def search_notes(query: NoteQuery, index: NoteIndex) -> MemoryResult:
    """Return the notes that answer ``query`` best, as far as they are indexed. A damaged index is rebuilt first."""
    limit = max(query.limit, MOST) if query.limit > 0 else 0
    answer = answered(SearchQuery(query.text, limit, query.filters, query.lexical_only), index, "notes")
    notes = with_priors(_one_a_note(answer.found.hits, query, index), index.notes.clock())
    return MemoryResult(notes[: max(0, query.limit)], answer.mode, answer.confidence, answer.remarks)


def answering(found: MemoryResult, most: int) -> list[NoteHit]:
    """Return the notes that answer, at most ``most``: none unless the best of them probably does."""
    return list(found.near[:most])


def _one_a_note(hits: Sequence[Hit], query: NoteQuery, index: NoteIndex) -> list[NoteHit]:
    """Return each note once, with its best hit. What changed since it was indexed is judged by what it is now."""
    best = {key_at(hit.folder, hit.path): hit for hit in reversed(hits)}
    found = ((index.notes.header(key), hit) for key, hit in reversed(best.items()))
    return [NoteHit(one, hit.text, hit.score, hit.why) for one, hit in found if one is not None and query.wants(one)]


def with_priors(hits: Sequence[NoteHit], now: str) -> list[NoteHit]:
    """Return the hits with what pinned and recent are worth added to their scores, the best first."""
    most = _BOUND * max((hit.score for hit in hits), default=0.0)
    if most <= 0:
        return list(hits)
    weighed = [replace(hit, score=hit.score + most * _prior(hit.header, now)) for hit in hits]
    return sorted(weighed, key=lambda hit: -hit.score)


def _prior(header: NoteHeader, now: str) -> float:
    """Return from 0 to 1 how much a note is preferred over others that answer as well."""
    age = age_in_days(header, now)
    recent = 0.0 if age is None else 0.5 ** (age / _HALF_LIFE)
    return _PINNED * header.pinned + (1 - _PINNED) * recent
