"""Ranks what the index of notes finds, with the ranking and the threshold for "no match" that files have.

A note is found once, by its best chunk. Being pinned or recent adds a little: notes whose scores differ by more than a
twentieth of the best keep their order, so neither can lift a note that does not match above one that does.

A message may name several notes, each by a word that says little about the whole message: the best hit for each name is
an answer, however much of the message it leaves unexplained.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.principals import NoteScope
from promptuary.memory.recall.freshness import age_in_days
from promptuary.memory.recall.visible import NoteKey, VisibleNotes
from promptuary.memory.secret_texts import without_secrets
from promptuary.memory.values import Audience, MemoryResult, NoteHeader, NoteHit, NoteKind
from promptuary.search import query as language
from promptuary.search.answer import Answer
from promptuary.search.dates.time_words import DAYS_OF_WEEK, plain_word
from promptuary.search.dates.written import MONTHS
from promptuary.search.values import Hit, Words

MAX_HITS: Final = 60
"""How many hits are ranked with what is known about their notes. Further hits keep the order of the search."""

_BOUND: Final = 0.05
"""The most that being pinned and recent can add, as a share of the best score."""
_PINNED: Final = 0.6
_HALF_LIFE: Final = 30.0
"""The half-life of recency, in days."""
_ASKED: Final = 0.2
"""The share of the words that a note explains if a person asks for notes by words."""
_FEW: Final = 2
"""A word that more notes have is the name of none of them."""
_FEW_NAMED: Final = 5
"""The same for a word that is spelled as a name: then the best of these notes is meant."""


class NoteQuery(Struct, frozen=True):
    """A question as any text, the most notes to return, and filters; an empty filter matches all."""

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


def rank(query: NoteQuery, hits: Sequence[tuple[NoteKey, Hit]], found: Answer, notes: VisibleNotes) -> MemoryResult:
    """Return the notes that match ``query`` best; ``hits`` are those of the answer that was found."""
    ranked = _one_a_note(hits, query, notes)
    # Small talk has words of notes, too, and names none of them.
    if found.ahead is None or found.ahead.small_talk >= 0:
        ranked = with_names(ranked, query.text)
    best = with_priors(ranked, notes.clock())
    return MemoryResult(best[: max(0, query.limit)], found.mode, found.confidence, found.notes)


def answering(found: MemoryResult, most: int) -> list[NoteHit]:
    """Return the notes that answer, at most ``most``: none unless the best one probably answers."""
    return list(found.near[:most])


def answering_notes(found: MemoryResult, most: int) -> list[NoteHit]:
    """Return the notes for words with which a person asks for notes: those that answer, else the best by these words.

    Two words that are asked for are found by one of them; in a message, that would be chance.
    """
    if (answers := answering(found, most)) or found.mode != "lexical":
        return answers
    best = max((hit.score for hit in found.hits), default=0.0)
    return [hit for hit in found.hits if 2 * hit.score >= best and hit.why.share >= _ASKED][:most]


def _one_a_note(hits: Sequence[tuple[NoteKey, Hit]], query: NoteQuery, notes: VisibleNotes) -> list[NoteHit]:
    """Return each note once, with its best hit. A note that changed since is filtered as it is now."""
    best = dict(reversed(hits))
    found = ((notes.header(key), hit) for key, hit in reversed(best.items()))
    return [
        NoteHit(one, without_secrets(hit.text), hit.score, hit.why)
        for one, hit in found
        if one is not None and query.wants(one)
    ]


def with_names(hits: Sequence[NoteHit], text: str) -> list[NoteHit]:
    """Return the hits, the best first, and mark those that ``text`` names.

    A name is a word that few notes have. One that is spelled as a name counts, and so do several for different notes if
    most words are such names: otherwise, a rare word is in one of many notes by chance.
    """
    terms = language.parse(language.unquoted(text)).terms
    having: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        for term in language.matched(Words(terms), f"{hit.header.title}\n{hit.text}"):
            having.setdefault(term, []).append(place)
    first = {term: places[0] for term, places in having.items() if len(places) <= _FEW}
    named = {
        places[0]
        for term, places in having.items()
        if len(places) <= _FEW_NAMED and language.is_spelled_as_name(term, text) and not _is_date(term)
    }
    if len(set(first.values())) > 1 and 2 * len(first) > len(terms):
        named.update(first.values())
    return [replace(hit, named=place in named) for place, hit in enumerate(hits)]


def _is_date(term: str) -> bool:
    """Return whether a term names a day or a month: these are spelled as names, and name no note."""
    word = plain_word(term.removesuffix("'s"))
    return word in DAYS_OF_WEEK or word in MONTHS


def with_priors(hits: Sequence[NoteHit], now: str) -> list[NoteHit]:
    """Return the hits with the bonus for pinned and recent notes added to their scores, the best first."""
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
