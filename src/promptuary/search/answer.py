"""Answers a query from the index: finds candidates by words and by meaning, and ranks them together.

The order of the first hits does not depend on the limit: the candidates are a pool of fixed size, and only a limit
above that size gets more hits, in the order of the full-text index.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain, islice
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.text_language import question_language
from promptuary.models.languages import Known, known_languages
from promptuary.models.protocols import Embedder, Scale
from promptuary.search import query as language
from promptuary.search.dates.question import (
    TimeHint,
    asks_for_a_thing,
    asks_for_something,
    day_number,
    proposes,
    time_hint,
)
from promptuary.search.filters import passing_files
from promptuary.search.index.port import ChunkTraits, IndexedChunk, OfDay, SearchIndex, Similarity
from promptuary.search.outline.named import defining, is_alone, names_in, phrases_for
from promptuary.search.ranking import (
    NEAREST,
    UNMEASURED,
    WEIGHTS,
    Candidate,
    Ranked,
    Span,
    above_background,
    by_date,
    confidence,
    deciding,
    definitions_first,
    fuse,
    preferring,
    spread,
)
from promptuary.search.values import Hit, SearchNote, SearchQuery, Words, note_name

POOL: Final = 100
"""How many candidates are taken by words, and how many by meaning."""
LOOKED_AT: Final = 100
"""Copies are merged among this many of the best hits, whatever the limit: so the first hits are always the same."""
MOST_COPIES: Final = 20
_DEEP: Final = 400
"""How many chunks are looked at if the pool has too few, unless more hits than that are asked for."""
_AS_GOOD: Final = 0.5
"""A further passage of a document matches if it has this share of the score of the best."""
_DEFINING: Final = 20
"""How many chunks are examined for each way to begin a definition."""
_FEW_DAYS: Final = 3
"""So many days decide; what names more, such as a month, often means something else and only leans."""
_MOST_OF_DAYS: Final = 1_000
"""How many chunks of the days that a query names are looked at; of a time with more, some are in any pool."""
_QUESTION: Final = 3
"""The fewest words of a question about something: "what's up?" has two."""


class Answer(NamedTuple):
    """The hits, the best first; ``hybrid``: meaning was also compared. See ``SearchResult`` for ``confidence``.

    ``notes`` are for the person. ``copies`` are hits with the same text as one of ``hits``, by its hash.
    """

    hits: Sequence[Hit] = ()
    hybrid: bool = False
    confidence: float = 0.0
    notes: tuple[SearchNote, ...] = ()
    copies: Mapping[str, Sequence[Hit]] = {}

    @property
    def mode(self) -> Literal["lexical", "hybrid"]:
        """What was compared."""
        return "hybrid" if self.hybrid else "lexical"


def answer(
    query: SearchQuery,
    index: SearchIndex,
    embedder: Embedder | None,
    *,
    scale: Scale = UNMEASURED,
    workspace: str = "",
) -> Answer:
    """Return the best hits for ``query``; without an ``embedder``, whose ``scale`` is given, by words only.

    Every hit contains a quoted phrase. If no chunk does, and the query has other words, its words count separately:
    people also quote titles that occur nowhere. ``workspace`` is the root that places are relative to.
    """
    words = index.respelled(language.parse(query.text))
    if not words or query.limit < 1:
        return Answer()
    files = passing_files(query.filters, index)
    if files is not None and not files:
        return Answer()
    search = Searching(index, embedder, files, workspace, scale)
    found = search.answer(query, words)
    if not found.hits and words.phrases and (words.terms or words.prefixes):
        return search.answer(query, index.respelled(language.parse(language.unquoted(query.text))))
    return found


class Passage(NamedTuple):
    """A chunk that may be shown: its score, and its document."""

    ranked: Ranked
    traits: ChunkTraits


class Distinct(NamedTuple):
    """A chunk to show: others with the same text, the best first, and how many more of its document match."""

    ranked: Ranked
    copies: tuple[int, ...] = ()
    more: int = 0


class _OfTime(NamedTuple):
    """The chunks from the days that a query names; those that are ``first`` come before all others.

    ``said``: their files say that they are from there; ``is_past``: it ended before today.
    """

    chunks: Sequence[OfDay] = ()
    first: frozenset[int] = frozenset()
    said: bool = False
    is_past: bool = False


class _Defined(NamedTuple):
    """The chunks that define what a query names, and code that mentions it; ``None`` if the query is only a name."""

    chunks: frozenset[int] = frozenset()
    mentioning: frozenset[int] | None = None


class Searching:
    """A search among ``files``, or all if that is ``None``."""

    def __init__(
        self,
        index: SearchIndex,
        embedder: Embedder | None,
        files: Collection[int] | None,
        workspace: str,
        scale: Scale = UNMEASURED,
    ) -> None:
        self.index, self.embedder, self.scale = index, embedder, scale
        self.files, self.workspace = files, workspace
        # A day is that of the person who asks.
        self.now = datetime.now(UTC).astimezone()

    @cached_property
    def known(self) -> Known:
        """The languages that the embedder knows; a model that was not loaded may have to be."""
        return known_languages(self.embedder) if self.embedder else None

    def answer(self, query: SearchQuery, words: Words) -> Answer:
        """Return the best hits for a query with these words."""
        hint = time_hint(query.text, self.now)
        if hint.event and (others := language.parse(hint.rest)):
            # The name of the event says nothing about what came before or after it.
            words, query = self.index.respelled(others), replace(query, text=hint.rest)
        # A pasted report has names of many things, and is not a search for one of them.
        is_pasted = len(words.terms) > language.LONG
        defined = _Defined() if words.phrases or is_pasted else self._defined(query.text)
        of_time = self._of_time(hint)
        candidates = self._with_defined(self.candidates(query.text, words, of_time.chunks), defined)
        ranked: Sequence[Ranked] = fuse(candidates, len(words), scale=self.scale)
        asked = len(words) >= _QUESTION and language.is_question(query.text)
        sure = confidence(ranked, candidates, self.index.size(), language.word_count(words), asked=asked)
        ranked = spread(ranked, {one.chunk: one.traits.document for one in candidates}, WEIGHTS.again)
        alone = sure < 1 and of_time.said and bool(of_time.first)
        ranked = self._timed(ranked, candidates, hint, of_time, alone=alone)
        ranked = definitions_first(ranked, defined.chunks, defined.mentioning)
        traits = {one.chunk: one.traits for one in candidates}
        pool = [Passage(one, traits[one.chunk]) for one in ranked]
        further = self._beyond(words, set(traits), query) if len(pool) >= POOL else ()
        chosen = distinct(pool, further, query.per_file, merge=query.merge_copies)
        compared = any(one.similarity is not None and not one.foreign for one in candidates)
        hits, copies = self._hits(chosen, query.limit, words)
        if hits and sure < 1 and not compared and _is_named(hits[0], query.text, words):
            sure = 1.0
        if hits and alone and _asks_about(query.text, words, of_time):
            sure = 1.0
        return Answer(hits, compared, sure, copies=copies)

    def candidates(self, text: str, words: Words, of_time: Sequence[OfDay] = ()) -> list[Candidate]:
        """Return the chunks that may answer: a pool of a fixed size by words, one by meaning, and those ``of_time``."""
        index, embedder = self.index, self.embedder
        # The model and the full-text index both release the interpreter's lock, so they run in parallel.
        embedding = concurrency.begin(lambda: embedder.embed([text], "query")[0]) if embedder else None
        lexical = dict(index.lexical(words, POOL, files=self.files))
        traits = dict(index.traits(list(lexical)))
        vector = None if embedding is None else embedding.result()
        similar = {} if vector is None else self._similar(vector, words, list(lexical))
        timed = self._best_of_time(words, of_time, vector) if of_time else {}
        if vector is not None and timed:
            similar |= index.similarities(vector, [chunk for chunk in timed if chunk not in similar])
        pool = [*lexical, *(chunk for chunk in {**similar, **timed} if chunk not in lexical)]
        traits |= index.traits(pool[len(lexical) :])
        in_chat = any(each.conversation is not None for each in traits.values())
        spoken = index.spoken(words, POOL) if in_chat else {}
        foreign = bool(similar) and self._is_foreign(text, [traits[one] for one in lexical if one in traits])
        return [
            Candidate(
                one,
                lexical.get(one, timed.get(one)),
                similar.get(one),
                _spoken(each, spoken) if in_chat else None,
                each,
                foreign or self._is_unknown(each.language),
            )
            for one in pool
            if (each := traits.get(one)) is not None
        ]

    def _of_time(self, hint: TimeHint) -> _OfTime:
        """Return the chunks from the days that a query names."""
        days = hint.days(self.now)
        if days is None:
            return _OfTime()
        found: Sequence[OfDay] = self._dated(days)
        said = [dated for dated in found if dated.said]
        if not said and hint.coming_days and (coming := self._said_on(hint.coming_days)):
            days, found, said = hint.coming_days, coming, coming
        if said and len(found) > POOL:
            found = said
        if len(days) > _FEW_DAYS:
            return _OfTime(found if len(found) < _MOST_OF_DAYS else ())
        # When a file was last changed says less, nothing about today, and nothing at all if most were copied that day.
        is_past = days.stop <= day_number(self.now)
        first = said or (found if is_past and len(found) <= POOL else ())
        return _OfTime(found, frozenset(dated.chunk for dated in first), said=bool(said), is_past=is_past)

    def _dated(self, days: range) -> Sequence[OfDay]:
        return self.index.dated(days.start, days.stop, _MOST_OF_DAYS, files=self.files)

    def _said_on(self, days: range) -> list[OfDay]:
        return [dated for dated in self._dated(days) if dated.said]

    def _best_of_time(self, words: Words, days: Sequence[OfDay], vector: bytes | None) -> dict[int, float | None]:
        """Return those chunks, or the best of many, with how many of the words they explain."""
        files = {dated.file for dated in days}
        explained = dict(self.index.lexical(words, _DEEP, files=files))
        # Every hit contains a quoted phrase.
        if len(days) <= POOL and not words.phrases:
            return {dated.chunk: explained.get(dated.chunk) for dated in days}
        those = {dated.chunk for dated in days}
        best = [chunk for chunk in explained if chunk in those][:POOL]
        if vector is not None and not words.phrases:
            best += [chunk for chunk, _ in self.index.nearest(vector, POOL, files=files) if chunk in those]
        if not best and not words.phrases:
            best = [dated.chunk for dated in days[:POOL]]
        return {chunk: explained.get(chunk) for chunk in best}

    def _is_foreign(self, text: str, lexical: Sequence[ChunkTraits]) -> bool:
        """Return whether the embedder does not know the language of a query.

        Some words may be in any language: they are in that of most of the best chunks that have them.
        """
        if self.known is None:
            return False
        if code := question_language(text):
            return self._is_unknown(code)
        first = [one.language for one in lexical[:NEAREST]]
        unknown = sum(map(self._is_unknown, first))
        return 2 * unknown > len(list(filter(None, first))) and 4 * unknown >= len(first)

    def _is_unknown(self, code: str) -> bool:
        """Return whether the embedder does not know a language; not for a text that says nothing about its own."""
        return bool(code) and self.known is not None and code not in self.known

    def _defined(self, text: str) -> "_Defined":
        """Return the chunks that define what a query names, and the code that mentions it."""
        chunks: dict[int, None] = {}
        mentioning: set[int] = set()
        for named in names_in(text):
            asked = [Words(phrases=(phrase,)) for phrase in phrases_for(named)]
            near = [one for words in asked for one, _ in self.index.lexical(words, _DEFINING, files=self.files)]
            uses = [one for one, _ in self.index.lexical(Words(terms=(named.name,)), POOL, files=self.files)]
            found = self.index.chunks([*near, *uses])
            chunks |= dict.fromkeys(defining(found, named))
            mentioning.update(number for number, one in found.items() if one.kind == "code")
        return _Defined(frozenset(chunks), None if is_alone(text) else frozenset(mentioning))

    def _with_defined(self, candidates: list[Candidate], defined: "_Defined") -> list[Candidate]:
        """Return the candidates, plus chunks that define a name in the query and are not among them."""
        known = {one.chunk for one in candidates}
        traits = self.index.traits([one for one in defined.chunks if one not in known])
        return [*candidates, *(Candidate(one, 1.0, traits=each) for one, each in traits.items())]

    def _timed(
        self,
        ranked: Sequence[Ranked],
        candidates: Sequence[Candidate],
        hint: TimeHint,
        of_time: _OfTime,
        *,
        alone: bool,
    ) -> Sequence[Ranked]:
        """Return the same hits, reordered by what the query says about time."""
        if not hint:
            return ranked
        dates = {one.chunk: one.traits.date for one in candidates}
        span = Span(hint.since, hint.until) if hint.since or hint.until else self._span_of(hint)
        if of_time.first:
            ranked = deciding(ranked, of_time.first, alone=alone)
        elif span is not None:
            ranked = preferring(ranked, dates, span)
        return by_date(ranked, dates, newest=hint.order == "newest") if hint.order else ranked

    def _span_of(self, hint: TimeHint) -> Span | None:
        """Return the time before or after an event; the event is dated by the best hit for its name."""
        words = self.index.respelled(language.parse(hint.event))
        candidates = self.candidates(hint.event, words) if words else []
        ranked = fuse(candidates, len(words), scale=self.scale)
        if not ranked or confidence(ranked, candidates, self.index.size(), language.word_count(words)) < 1:
            return None
        date = next(one.traits.date for one in candidates if one.chunk == ranked[0].chunk)
        return Span(until=date) if hint.relation in {"before", "until"} else Span(since=date + 1)

    def _similar(self, vector: bytes, words: Words, lexical: Sequence[int]) -> dict[int, Similarity]:
        # A quoted phrase must be in a hit, and only the full-text index knows.
        nearest: Callable[[], Sequence[tuple[int, Similarity]]] = tuple
        if not words.phrases:
            nearest = concurrency.begin(lambda: self.index.nearest(vector, POOL, files=self.files)).result
        others = self.index.similarities(vector, lexical)
        # A chunk that shares no word with the query and is further from it than most is not an answer.
        near = {one: each for one, each in nearest() if one in others or above_background(each, self.scale) > 0}
        return {**near, **others}

    def _hits(self, chosen: Iterator[Distinct], limit: int, words: Words) -> tuple[list[Hit], dict[str, list[Hit]]]:
        """Return the first hits that are still in the index, and their copies; only as many as needed are read."""
        hits: list[Hit] = []
        copies: dict[str, list[Hit]] = {}
        while batch := list(islice(chosen, limit - len(hits))):
            chunks = self.index.chunks([number for one in batch for number in (one.ranked.chunk, *one.copies)])
            for ranked, same, more in batch:
                there = [self._hit(chunks[one], ranked, words) for one in (ranked.chunk, *same) if one in chunks]
                if ranked.chunk in chunks:
                    hits.append(replace(there[0], more=more))
                    copies[there[0].sha256] = there[1:]
        return hits, copies

    def _beyond(self, words: Words, known: set[int], query: SearchQuery) -> Iterator[Passage]:
        """Yield what is below the pool, in the order of the full-text index."""
        asked = max(_DEEP, query.limit + len(known))
        while True:
            best = self.index.lexical(words, asked, files=self.files)
            fresh = [Candidate(one, score) for one, score in best if one not in known]
            traits = self.index.traits([one.chunk for one in fresh])
            yield from (Passage(one, traits[one.chunk]) for one in fuse(fresh, len(words)) if one.chunk in traits)
            # A document of thousands of chunks may be all that matches.
            if len(best) < asked or (query.per_file and query.limit <= _DEEP):
                return
            known.update(one.chunk for one in fresh)
            asked *= 4

    def _hit(self, indexed: IndexedChunk, ranked: Ranked, words: Words) -> Hit:
        chunk = indexed.chunk
        return Hit(
            folder=indexed.folder,
            path=indexed.path,
            start_line=chunk.start_line,
            end_line=chunk.end_line,
            text=chunk.text,
            heading=chunk.heading,
            kind=indexed.kind,
            date=indexed.date,
            sha256=chunk.sha256,
            score=ranked.score,
            why=ranked.why(partial(language.matched, words, chunk.text)),
            workspace=self.workspace,
            said_at=chunk.date,
        )


def _asks_about(text: str, words: Words, days: _OfTime) -> bool:
    """Return whether a query asks what was on the days that it names; people also say "see you tomorrow"."""
    if proposes(text) or not (language.is_question(text) or asks_for_something(text)):
        return False
    return days.is_past or (len(words) >= _QUESTION and asks_for_a_thing(text))


def _is_named(hit: Hit, text: str, words: Words) -> bool:
    """Return whether a hit has the name that a query consists of, or a name with every word of a question."""
    names = (*hit.heading[-1:], note_name(hit.path))
    if language.is_question(text):
        # Another spelling of a word is a guess.
        return len(language.matched(replace(words, respelled=()), " ".join(names))) >= len(words)
    return text.strip().casefold() in map(str.casefold, names)


def _spoken(traits: ChunkTraits, spoken: Mapping[int, float]) -> float | None:
    return None if traits.conversation is None else spoken.get(traits.conversation, 0.0)


def distinct(
    pool: Sequence[Passage], further: Iterable[Passage], per_file: int, *, merge: bool = True
) -> Iterator[Distinct]:
    """Yield the passages of the ``pool`` and those ``further`` down in their order, without copies if these are merged.

    At most ``per_file`` are of the same document; 0 means any number. A copy counts as well if it is the best passage
    of its document.
    """
    more = _matching(pool, per_file)
    best = {one.traits.document: one.ranked.chunk for one in reversed(pool)}
    copies: dict[bytes, list[Passage]] = defaultdict(list)
    for one in pool[: LOOKED_AT if merge else 0]:
        copies[one.traits.sha256].append(one)
    shown: Counter[int] = Counter()
    seen: set[bytes] = set()
    for ranked, traits in chain(pool, further):
        if (merge and traits.sha256 in seen) or 0 < per_file <= shown[traits.document]:
            continue
        same = [one for one in copies.get(traits.sha256, ()) if one.ranked.chunk != ranked.chunk]
        seen.add(traits.sha256)
        named = {one.traits.document for one in same if best[one.traits.document] == one.ranked.chunk}
        shown.update({traits.document, *named})
        yield Distinct(ranked, tuple(one.ranked.chunk for one in same[:MOST_COPIES]), more.get(traits.document, 0))


def _matching(pool: Sequence[Passage], per_file: int) -> dict[int, int]:
    """Return how many passages of each document match nearly as well as its best, beyond the first ``per_file``."""
    if not per_file:
        return {}
    scores: dict[int, list[float]] = defaultdict(list)
    for ranked, traits in pool:
        # What is taken off for the length of a document says nothing about its passages.
        scores[traits.document].append(ranked.score + ranked.length)
    return {
        document: max(0, sum(one >= _AS_GOOD * max(found) > 0 for one in found) - per_file)
        for document, found in scores.items()
    }
