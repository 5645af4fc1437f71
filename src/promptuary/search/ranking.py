"""Ranks candidates: combines the scores by words and by meaning on one scale. Pure.

    score = meaning + weight * words * trust - length * log(chunks of the document)

*Meaning* is the cosine against its background: minus the average cosine of this query with all texts, and minus a part
of this chunk's nearness to every query; scaled, since the cosines of one model range wider than those of another.
*Words* is how many of the query's words the chunk explains, each counted by its rarity: evidence adds up. Both are
absolute: with ranks, or shares of the best, the best of many bad candidates would look like a good one.

A single word that matches while the meaning does not is often chance: the fewer matching words without agreement, the
less they count. Where vectors are blurred, words count for more and need no agreement: in chats, where a chunk is about
several things at once, and for long queries, which are too. In code they count for less: questions use other words than
it does. The nearest candidates decide what a query is about, once for all candidates: a weight for each would favour
one kind. A document of a hundred chunks has a hundred chances to look near; that advantage is subtracted. A word is
there or not, so where only words are compared nothing is subtracted: their score alone decides. So it is for what the
model does not know, a text or a question in another language: its cosine only orders what words do not.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import fsum, log, sqrt
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct

from promptuary.models.protocols import Scale
from promptuary.search.index.port import Ahead, ChunkTraits, Similarity
from promptuary.search.values import TimeEffect, Why

NEAREST: Final = 10
"""How many of the nearest candidates decide what a query is about."""
FEWEST: Final = 300
"""The least number of chunks to assume: among fewer, luck would be worth nothing."""
_FEWEST_BY_WORDS: Final = 3
"""The same where only words are compared: in a small index few of a message's words occur by chance."""
_NEARLY: Final = 0.7
"""The share of the best score that a candidate needs where the latest or the first answer is asked for."""
_MOST_DEFINITIONS: Final = 3
"""The most definitions of a name that are put before its uses: a name defined everywhere says little."""
_ALONE: Final = 4
"""How far others are below what alone is sure."""
_FIRST: Final = 5
"""How many candidates are considered for an answer."""
_MOST_WORDS: Final = 3.0
"""The most words that count for how near a candidate is."""


class Weights(Struct, frozen=True):
    """The constants of the score. ``bench.retrieval`` chooses them with each set left out in turn.

    ``words`` is the weight of one word; ``code``, ``chat`` and ``long`` are those in code, in chats and for long
    queries. ``short_query`` and ``long_query`` are how many words a query has that is not long at all, and that is long
    altogether. ``spoken`` is the weight of the words of the whole conversation, relative to those of the chunk.
    ``hub`` is the part of a chunk's nearness to everything that is subtracted, ``length`` what is subtracted for each
    power of e in the chunks of its document. Words need no agreement at a meaning of ``sure``.

    ``answer`` and ``chat_answer`` are the least evidence of an answer, among a thousand chunks; ``word_evidence`` is
    what one word adds to its meaning. ``asked`` is the share of this that is enough for a question, which is seldom
    small talk. Where only words are compared, an answer explains ``least_words``, asked or not, and ``least_share`` of
    all words: a question that nothing answers shares as many words with the nearest text as small talk does, and a
    pasted page shares some with every text. ``luck`` is by which part all these grow with each power of e in the number
    of chunks. ``again`` is what a further chunk of the same document loses, and ``in_time`` what a chunk from the time
    that the query names gains, as a part of the best score. ``foreign`` is by how much meaning counts where the model
    does not know the language, and ``guess`` what one word says there about the meaning. ``ahead`` is by how much an
    answer must be nearer than any general topic, ``ahead_of_talk`` than small talk. ``lean`` is what each step of one
    adds to the confidence or takes off it, up to ``most_ahead`` and ``most_behind``; ``strict`` is what long answers
    need besides, and ``ahead_words`` what a word adds to how near an answer is.
    """

    words: float = 0.06
    code: float = 0.02
    chat: float = 0.6
    long: float = 0.2
    short_query: float = 14.0
    long_query: float = 28.0
    spoken: float = 1.5
    hub: float = 0.45
    length: float = 0.02
    sure: float = 0.4
    answer: float = 0.43
    chat_answer: float = 0.38
    word_evidence: float = 0.15
    least_words: float = 1.48
    least_share: float = 0.1
    luck: float = 0.13
    asked: float = 0.7
    again: float = 0.01
    in_time: float = 0.25
    foreign: float = 0.04
    guess: float = 0.35
    ahead: float = -0.02
    ahead_of_talk: float = 0.05
    lean: float = 4.0
    most_ahead: float = 0.1
    most_behind: float = 0.25
    strict: float = 0.1
    ahead_words: float = 0.03


WEIGHTS: Final = Weights()
_CHUNK: Final = attrgetter("chunk")
_SCORE: Final = attrgetter("score")


class Candidate(NamedTuple):
    """A chunk that may be a hit. ``None``: the words did not find it, or it has no vector.

    ``lexical`` is how many of the words it explains; ``spoken`` the same for all that people say in its conversation,
    ``None`` if it is not in a chat. ``traits`` describe its document. ``foreign``: the model does not know the language
    of the query or of the chunk, so that the similarity says little.
    """

    chunk: int
    lexical: float | None = None
    similarity: Similarity | None = None
    spoken: float | None = None
    traits: ChunkTraits = ChunkTraits()
    foreign: bool = False


class Ranked(NamedTuple):
    """A chunk with its score and its parts, see ``Why``."""

    chunk: int
    score: float
    lexical: float | None
    cosine: float | None
    meaning: float | None
    length: float
    share: float
    foreign: bool = False
    time: TimeEffect = ""

    def why(self, match: Callable[[], tuple[str, ...]] = tuple) -> Why:
        """Return the parts of the score; ``match`` returns the words that are in the text."""
        return Why(
            self.lexical, self.cosine, match, None, self.meaning, self.length, self.share, self.foreign, self.time
        )


UNMEASURED: Final = Scale()
"""The scale of an embedder that was not measured yet."""


class _Blur(NamedTuple):
    """The weight of one word, how much agreement words need (from 1, all of it, to 0), and the share of chats."""

    weight: float
    doubt: float
    chats: float


def fuse(
    candidates: Sequence[Candidate], terms: int, weights: Weights = WEIGHTS, *, scale: Scale = UNMEASURED
) -> list[Ranked]:
    """Return the candidates for a query of ``terms`` words, the best first; ``scale`` is that of the embedder.

    A chunk that has no vector yet gets the average meaning of the others, so that words decide about it.
    """
    meanings = {
        one.chunk: _meaning(one.similarity, weights, scale)
        for one in candidates
        if one.similarity is not None and not one.foreign
    }
    # Exact, so that the result does not depend on the order of the candidates.
    usual = fsum(meanings.values()) / len(meanings) if meanings else 0.0
    blur = _blur(candidates, terms, weights)
    own, said = _best_in_chats(candidates)
    heard = own / (own + weights.spoken * said) if own else 0.0
    # Without vectors a chunk is not near by chance, and the loss would be as much as several words are worth.
    loss = weights.length if meanings else 0.0
    lengths = {size: loss * log(size or 1) for size in {one.traits.siblings for one in candidates}}
    ranked, terms = [], max(1, terms)
    for one in candidates:
        chunk, lexical, similarity, spoken, traits, foreign = one
        words = lexical or 0.0
        evidence, meaning = _evidence(one, weights), meanings.get(chunk)
        if spoken is not None:
            # An average of both, as evidence is, would put every chat below prose that has the same words.
            words = heard * (words + weights.spoken * spoken)
        near, trust = usual if meaning is None else meaning, 1.0
        if foreign:
            near = weights.guess * words if meanings else 0.0
            near += weights.foreign * _meaning(similarity, weights, scale) if similarity is not None else 0.0
        elif blur.doubt and meanings:
            agreement = min(1.0, max(0.0, near / weights.sure))
            trust -= blur.doubt * (1 - agreement) / sqrt(max(1.0, words))
        length = 0.0 if foreign else lengths[traits.siblings]
        score = near + blur.weight * words * trust - length
        explained = evidence if evidence or lexical is not None else None
        cosine = None if similarity is None else similarity.cosine
        ranked.append(Ranked(chunk, score, explained, cosine, meaning, length, evidence / terms, foreign))
    return _best_first(ranked)


def confidence(
    ranked: Sequence[Ranked],
    candidates: Sequence[Candidate],
    chunks: int,
    terms: int,
    weights: Weights = WEIGHTS,
    *,
    asked: bool = False,
) -> float:
    """Return the confidence that the first of ``ranked`` answer a query of ``terms`` words; below 1, that is chance.

    The more ``chunks`` an index has, the higher the best score by chance. ``asked``: the query is a question.
    """
    first = ranked[:_FIRST]
    meaning = max((one.meaning for one in first if one.meaning is not None), default=None)
    # A rare word may count for several: that is still evidence of only one word.
    words = min(float(terms), max((one.lexical or 0.0 for one in first), default=0.0))
    if meaning is None:
        enough = min(words / weights.least_words, words / max(1, terms) / weights.least_share)
        return enough / luck(max(_FEWEST_BY_WORDS, chunks), weights)
    chance = luck(max(FEWEST, chunks), weights) * (weights.asked if asked else 1)
    chats = _blur(candidates, 0, weights).chats
    needed = weights.answer + (weights.chat_answer - weights.answer) * chats
    return max(0.0, meaning + weights.word_evidence * words) / (needed * chance)


def compared(confidence: float, ahead: Ahead | None, *, strict: bool, weights: Weights = WEIGHTS) -> float:
    """Return a confidence that also knows whether small talk or a general topic is nearer to the query than the hits.

    ``strict``, for files: no topic may be nearer, and an answer needs more evidence, since it may be long; small talk
    only leans, for files also say how to shorten a text. Notes are short and about what people ask everywhere: there
    no small talk may be nearer, and topics lean.
    """
    if ahead is None:
        return confidence
    lean = min(weights.most_ahead, max(-weights.most_behind, ahead.topics))
    topics, small_talk = ahead.topics - weights.ahead, ahead.small_talk - weights.ahead_of_talk
    sure, margin = confidence + weights.lean * lean, small_talk
    if strict:
        sure, margin = sure - weights.strict + weights.lean * min(0.0, small_talk), topics
    return max(0.0, sure if margin >= 0 else min(sure, 1 + weights.lean * margin))


def luck(chunks: int, weights: Weights = WEIGHTS) -> float:
    """Return how good the best score by chance is among so many chunks, relative to a thousand."""
    return 1 + weights.luck * log(chunks / 1_000)


class Span(NamedTuple):
    """A time: from ``since`` up to ``until``, excluded, in seconds since 1970; ``None`` is open."""

    since: int | None = None
    until: int | None = None

    def __contains__(self, date: object) -> bool:
        return (
            isinstance(date, int)
            and (self.since is None or date >= self.since)
            and (self.until is None or date < self.until)
        )


def preferring(
    ranked: Sequence[Ranked], dates: Mapping[int, int], span: Span, weights: Weights = WEIGHTS
) -> list[Ranked]:
    """Return the same with higher scores for chunks from the time ``span``, the best first.

    A preference, not a filter: what a query says about time may refer to something else.
    """
    gain = weights.in_time * max((one.score for one in ranked), default=0.0)
    timed = [
        one._replace(score=one.score + gain, time="leans") if dates.get(one.chunk) in span else one for one in ranked
    ]
    return _best_first(timed)


def deciding(
    ranked: Sequence[Ranked], chunks: Collection[int], weights: Weights = WEIGHTS, *, alone: bool = False
) -> list[Ranked]:
    """Return the same with those of ``chunks`` before all others: they are from the days that the query names.

    They gain the best score, and what a word is worth, so that they are also first where nothing else is compared.
    ``alone``: nothing but the day answers, so they gain that several times, and recall leaves out the others.
    """
    gain = weights.words + (_ALONE if alone else 1) * max(0.0, *(scored.score for scored in ranked), 0.0)
    timed = [
        own._replace(score=max(0.0, own.score) + gain, time="decides") if own.chunk in chunks else own for own in ranked
    ]
    return _best_first(timed)


def by_date(ranked: Sequence[Ranked], dates: Mapping[int, int], *, newest: bool) -> list[Ranked]:
    """Return the same, with those that are nearly as good as the best first, in the order of their dates.

    The scores keep their order: the first hit has the best.
    """
    best = max((one.score for one in ranked), default=0.0)
    good = [one for one in ranked if one.score >= _NEARLY * best]
    dated = sorted(good, key=lambda one: -dates.get(one.chunk, 0) if newest else dates.get(one.chunk, 0))
    placed = [one._replace(score=good[place].score) for place, one in enumerate(dated)]
    return [*placed, *ranked[len(good) :]]


def spread(ranked: Sequence[Ranked], documents: Mapping[int, int], loss: float) -> list[Ranked]:
    """Reorder so that one document does not fill the first places.

    Each chunk is placed as if its score were lower by ``loss`` for every better one of the same document. The first
    chunks of all documents keep their order.
    """
    before: dict[int, int] = defaultdict(int)
    placed = []
    for one in ranked:
        document = documents[one.chunk]
        placed.append((before[document] * loss - one.score, one.chunk, one))
        before[document] += 1
    return [one for _, _, one in sorted(placed)]


def definitions_first(
    ranked: Sequence[Ranked], found: Collection[int], mentioning: Collection[int] | None
) -> Sequence[Ranked]:
    """Return ``ranked`` with the first chunks of ``found`` before all of ``mentioning``; the scores stay in place.

    ``None`` puts them before everything.
    """
    if not found:
        return ranked
    chosen = [place for place, one in enumerate(ranked) if one.chunk in found][:_MOST_DEFINITIONS]
    first = next((place for place, one in enumerate(ranked) if mentioning is None or one.chunk in mentioning), 0)
    before = [place for place in range(first) if place not in chosen]
    order = [*before, *chosen, *(place for place in range(first, len(ranked)) if place not in chosen)]
    return [ranked[place]._replace(score=ranked[at].score) for at, place in enumerate(order)]


def _best_first(ranked: Iterable[Ranked]) -> list[Ranked]:
    """Return the same in the order of their scores, of equal ones the older first."""
    # Two sorts by a value are several times as fast as one by a tuple, which is made for each.
    return sorted(sorted(ranked, key=_CHUNK), key=_SCORE, reverse=True)


def nearness(ranked: Sequence[Ranked], scale: Scale, weights: Weights = WEIGHTS) -> float | None:
    """Return how near the first of ``ranked`` are to the query, words included; ``None`` where meaning says little."""
    if not ranked or ranked[0].foreign:
        return None
    word, first = weights.ahead_words / scale.factor, [one for one in ranked[:_FIRST] if one.cosine is not None]
    return max(((one.cosine or 0.0) + word * min(_MOST_WORDS, one.lexical or 0.0) for one in first), default=None)


def above_background(similarity: Similarity, scale: Scale) -> float:
    """Return by how much a chunk is nearer to the query than an unrelated text is."""
    return similarity.cosine - max(similarity.usual, scale.unrelated)


def _meaning(similarity: Similarity, weights: Weights, scale: Scale) -> float:
    return scale.factor * (above_background(similarity, scale) - weights.hub * similarity.typical)


def _best_in_chats(candidates: Sequence[Candidate]) -> tuple[float, float]:
    """Return the most words that a chunk of a chat explains, and a conversation."""
    chats = [(one.lexical or 0.0, one.spoken) for one in candidates if one.spoken is not None]
    return max((own for own, _ in chats), default=0.0), max((said for _, said in chats), default=0.0)


def _evidence(one: Candidate, weights: Weights) -> float:
    own = one.lexical or 0.0
    return own if one.spoken is None else (own + weights.spoken * one.spoken) / (1 + weights.spoken)


def _blur(candidates: Sequence[Candidate], terms: int, weights: Weights) -> _Blur:
    """Return how words are weighed: by the kinds of the nearest candidates, and the length of the query.

    The nearest are those of the highest cosines; without vectors, those that explain most words.
    """
    near = [(-one.similarity.cosine, one.chunk, one) for one in candidates if one.similarity and not one.foreign]
    near = near or [(-(one.lexical or 0.0), one.chunk, one) for one in candidates]
    nearest = [one for _, _, one in sorted(near)[:NEAREST]]
    chats = sum(one.spoken is not None for one in nearest) / max(1, len(nearest))
    code = sum(one.traits.is_code for one in nearest) / max(1, len(nearest))
    span = weights.long_query - weights.short_query
    length = (
        min(1.0, max(0.0, (terms - weights.short_query) / span)) if span > 0 else float(terms > weights.short_query)
    )
    weight = weights.words + (weights.chat - weights.words) * chats + (weights.code - weights.words) * code
    return _Blur(weight + max(0.0, weights.long - weight) * length, 1 - max(chats, length), chats)
