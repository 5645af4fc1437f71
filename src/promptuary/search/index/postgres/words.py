"""The full-text index in tables: BM25 over postings, with the statistics of one index and so of one owner.

Texts and questions are analysed by the code that does it for tantivy, and the builder of its queries makes these, too:
both rank alike. A write is a segment of its own; ``merge`` makes one of several, without the chunks that are gone. The
order of words is not stored: phrases are looked for in the texts of the candidates.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Any, Final

import msgspec

from promptuary.database.port import Connection
from promptuary.search.index.catalog.rows import findable
from promptuary.search.index.document import Document
from promptuary.search.index.fulltext.index import indexed_texts, make_analyzers
from promptuary.search.index.fulltext.query import QueryBuilder, rarity
from promptuary.search.index.fulltext.spelling import Speller
from promptuary.search.index.port import IndexedChunk
from promptuary.search.index.postgres.clauses import LANGUAGE, AskedWords, Clause
from promptuary.search.index.postgres.tables import QUERIES, IndexRows
from promptuary.search.query import spoken_terms
from promptuary.search.values import Words

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

SAID: Final = "said"
"""The field of what people say in a conversation."""
LINKS: Final = "links"
"""The field of what the links of a chunk call other files."""

# Those of tantivy: how much a word counts that occurs again, and how much the length of a text does.
_K: Final = 1.2
_B: Final = 0.75
_LAST: Final = "\U0010ffff"
"""Greater than any letter that a word continues with."""

_STEP: Final = 100
_POOL: Final = 300
"""Candidates whose texts are read for phrases, for up to ``_STEP`` results: fewer results are a prefix of more."""
_MOST_HOLDERS: Final = 2_000
"""Candidates for a phrase that is required."""

_MOST_KNOWN: Final = 50_000
"""Words that are remembered."""
_MOST_COUNTED: Final = 32_767
"""The greatest number in a posting."""
_SEGMENT: Final = 2_000
"""Chunks that are written at once while more come."""
_ROWS: Final = 4_000
"""Postings that are sent in one statement."""
_MOST_SEGMENTS: Final = 8
_MOST_MERGED: Final = 30_000
"""Chunks that are merged in one statement, which must not take long."""
_DEAD: Final = 5
"""If one chunk in so many is dead, they are removed."""

_analyzers = lru_cache(1)(make_analyzers)


class WordCounts:
    """What is known of the words of a version of an index: each word is counted once."""

    def __init__(self, rows: IndexRows, version: int) -> None:
        self._rows, self.version = rows, version
        self._known: dict[tuple[str, str], int] = {}
        self.fields: Mapping[str, tuple[int, int]] = {}
        self.num_docs = 0

    def expect(self, words: Iterable[tuple[str, str]]) -> None:
        """Count words of fields at once."""
        wanted = [one for one in dict.fromkeys(words) if one not in self._known]
        if self.num_docs and not wanted:
            return
        key = {"words": _json([{"field": field, "word": word} for field, word in wanted])}
        row = self._rows.read(lambda own: own.execute(QUERIES["counts"], key).fetchone())
        self._known |= dict.fromkeys(wanted, 0)
        if row is not None:
            self.num_docs, self.fields = int(row[0]), row[1] or {}
            self._known |= {(field, word): int(number) for field, word, number in row[2] or ()}

    def __len__(self) -> int:
        return len(self._known)

    def doc_freq(self, field: str, word: str) -> int:
        """Return how many chunks have a word in a field."""
        if (field, word) not in self._known:
            self.expect([(field, word)])
        return self._known[field, word]

    def terms_with_prefix(self, field: str, prefix: str, *, limit: int) -> Sequence[tuple[str, int]]:
        """Return the most frequent words that begin so, and how many chunks have each."""
        key = {"field": field, "first": prefix, "last": prefix + _LAST, "limit": limit}
        return [
            (word, int(number))
            for word, number in self._rows.read(lambda own: own.execute(QUERIES["beginning"], key).fetchall())
        ]

    def slope(self, field: str, texts: int) -> float:
        """Return how much each word of a text counts against it, if ``texts`` have the words of a field."""
        words = self.fields.get(field, (0, 0))[1]
        return _K * _B * texts / words if words else 0.0

    def score(self, field: str, words: Collection[str]) -> float:
        """Return the greatest score that words together can have in a text."""
        return (_K + 1) * sum(rarity(self.num_docs, self.doc_freq(field, word)) for word in words)


class PostingIndex:
    """The full-text index of a generation; ``texts`` returns chunks by their numbers. One thread writes."""

    def __init__(self, rows: IndexRows, texts: Callable[[Sequence[int]], Mapping[int, IndexedChunk]]) -> None:
        self._rows, self._texts = rows, texts
        self._new: dict[int, Document] = {}
        self._dead: dict[int, int] = {}
        self._last: int | None = None
        self._counts = WordCounts(rows, -1)
        self.version = 0
        """The version that searches read: what was counted of it is counted once."""

    # Writing

    def write(self, documents: Sequence[Document], dropped: Collection[int], *, fresh: bool = False) -> None:
        """Remove ``dropped`` and add ``documents``, replacing those with the same number; visible after ``commit``.

        ``fresh`` promises that the numbers are new.
        """
        if self._last is None:
            self._last = self._rows.write(_prepare)
        gone = [*dropped, *(() if fresh else (one.id for one in documents))]
        for number in gone:
            self._new.pop(number, None)
        self._dead |= dict.fromkeys(gone, self._last)
        self._new |= {one.id: one for one in documents}
        while len(self._new) >= _SEGMENT:
            batch = dict(list(self._new.items())[:_SEGMENT])
            self._rows.write(lambda own, batch=batch: self._store(own, batch.values()))  # type: ignore[misc]
            self._last += 1
            for number in batch:
                del self._new[number]

    def commit(self) -> None:
        """Make changes visible."""

        def work(own: Connection) -> bool:
            own.executemany(QUERIES["add_dead"], [{"chunk": one, "segment": last} for one, last in self._dead.items()])
            stored = self._store(own, self._new.values()) if self._new else False
            own.execute(QUERIES["show"])
            return stored

        if self._last is not None:
            self._last += self._rows.write(work)
            self._new, self._dead = {}, {}

    def _store(self, own: Connection, documents: Collection[Document]) -> bool:
        """Write a segment, which is not visible yet."""
        postings, fields = _inverted(documents)
        segment = {"segment": (self._last or 0) + 1}
        totals = _json(fields)
        own.execute(QUERIES["add_segment"], {**segment, "chunks": len(documents), "fields": totals})
        for start in range(0, len(postings), _ROWS):
            own.execute(QUERIES["add_postings"], {**segment, "postings": _json(postings[start : start + _ROWS])})
        return True

    def merge(self) -> bool:
        """Make one segment of several small ones, or of all with many dead chunks; return whether there were any."""

        def work(own: Connection) -> bool:
            if not own.execute(QUERIES["merging"]).fetchone()[0]:
                return False  # another server is at it
            found = own.execute(QUERIES["segments"]).fetchall()
            chosen = _to_merge(
                [(int(number), int(size)) for number, size, _ in found], int(found[0][2]) if found else 0
            )
            if not chosen:
                return False
            is_lowest = chosen[0] == found[0][0]
            own.execute(QUERIES["merge"], {"first": chosen[0], "last": chosen[-1], "is_lowest": int(is_lowest)})
            return True

        return self._rows.write(work)

    # Searching

    def search(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the best chunks, the best first, of equal ones the older first, and how many words each explains."""
        if limit < 1 or not words or (files is not None and not files):
            return []
        builder, clause, counts = self._built(words)
        if clause is None:
            return []
        scores = self._scores(clause, counts, limit, None if files is None else _json(sorted(files)))
        average = builder.average()
        best = sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [(number, score / average) for number, score in best]

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings for those that no chunk has."""
        # Whoever corrects a question asks it next: all of its words are counted at once.
        asked, stems = AskedWords(), _stems(spoken_terms(words))
        QueryBuilder(None, asked, _analyzers(), LANGUAGE).build(words, None)
        counts = self._counted([*asked.words, *((field, stem) for field in (SAID, LINKS) for stem in stems)])
        return Speller(counts, _analyzers(), counts.expect).respelled(words)

    def size(self) -> int:
        """Return how many chunks there are."""
        row = self._rows.read(lambda own: own.execute(QUERIES["size"]).fetchone())
        return 0 if row is None else int(row[0])

    def average(self, words: Words) -> float:
        """Return the score of a word of average rarity, among these: what ``search`` measures in."""
        return self._built(words)[0].average()

    def explained(self, words: Words, named: Sequence[tuple[int, str]]) -> dict[int, float]:
        """Return how many words chunks explain by their names; see ``TantivyIndex``."""
        return self._built(words)[0].explained(named)

    def found_in(self, field: str, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return the chunks that have any of these terms in ``SAID`` or ``LINKS``, with their scores, best first."""
        stems = _stems(terms)
        counts = self._counted([(field, stem) for stem in stems])
        texts = counts.fields.get(field, (0, 0))[0]
        wanted = [
            {
                "field": field,
                "word": stem,
                "weight": (_K + 1) * _rarity_of_said(texts, frequency),
                "slope": counts.slope(field, texts),
            }
            for stem in stems
            if (frequency := counts.doc_freq(field, stem))
        ]
        return self._best(wanted, [], limit) if wanted else []

    def _built(self, words: Words) -> "tuple[QueryBuilder, Clause | None, WordCounts]":
        """Return a query, and what was counted for it: it is built twice, since the first one says what to count."""
        asked = AskedWords()
        QueryBuilder(None, asked, _analyzers(), LANGUAGE).build(words, None)
        counts = self._counted(asked.words)
        builder = QueryBuilder(None, counts, _analyzers(), LANGUAGE)
        clause: Any = builder.build(words, None)
        counts.expect(_words_of(clause) if clause is not None else ())
        return builder, clause, counts

    def _counted(self, words: Iterable[tuple[str, str]]) -> WordCounts:
        """Return what is known of the words of this version, these included."""
        counts = self._counts
        if counts.version != self.version or len(counts) > _MOST_KNOWN:
            counts = self._counts = WordCounts(self._rows, self.version)
        counts.expect(words)
        return counts

    def _scores(self, clause: Clause, counts: WordCounts, limit: int, files: str | None) -> dict[int, float]:
        single = [one for one in clause.may if len(one.words) == 1 and one.score is None]
        begun = [one for one in clause.may if one.score is not None]
        phrases = [one for one in clause.may if one not in single and one not in begun]
        wanted = [
            {
                "field": one.field,
                "word": one.words[0][1],
                "weight": one.weight * counts.score(one.field, [one.words[0][1]]),
                "slope": counts.slope(one.field, counts.num_docs),
            }
            for one in single
        ]
        beginnings = [
            {
                "place": place,
                "field": choice.field,
                "first": choice.prefix or choice.words[0][1],
                # A word itself is what lies between it and itself with the least letter after it.
                "last": choice.prefix + _LAST if choice.prefix else choice.words[0][1] + "\x01",
                "score": one.score,
            }
            for place, one in enumerate(begun)
            for choice in one.choices
        ]
        if not clause.must and not phrases:
            return dict(self._best(wanted, beginnings, limit, files=files))
        pool = _POOL * -(-limit // _STEP)
        if clause.must:
            candidates = self._holders(clause.must, files)
            restricted = _json(candidates)
            scores = dict.fromkeys(candidates, 0.0)
            scores |= dict(self._best(wanted, beginnings, len(candidates), chunks=restricted)) if candidates else {}
        else:
            scores = dict(self._best(wanted, beginnings, pool, files=files))
        return self._with_phrases(scores, clause.must, phrases, counts)

    def _with_phrases(
        self, scores: Mapping[int, float], must: Sequence[Clause], may: Sequence[Clause], counts: WordCounts
    ) -> dict[int, float]:
        """Return the scores of those chunks that have what they must, with what phrases add."""
        found: dict[int, float] = {}
        for number, one in self._texts(list(scores)).items():
            text = _Text(Document(number, 0, one.path, one.chunk.heading, one.chunk.text, one.chunk.names))
            required = [_phrase_score(part, text, counts) for part in must]
            if all(required):
                more = sum(required) + sum(_phrase_score(part, text, counts) for part in may)
                found[number] = round(scores[number] + more, 4)
        return found

    def _holders(self, must: Sequence[Clause], files: str | None) -> list[int]:
        wanted = [
            {"part": part, "choice": place, "field": one.field, "word": word, "needed": len({w for _, w in one.words})}
            for part, clause in enumerate(must)
            for place, one in enumerate(clause.choices)
            for word in {word for _, word in one.words}
        ]
        key = {"words": _json(wanted), "files": files, "parts": len(must), "limit": _MOST_HOLDERS}
        return [int(one) for (one,) in self._rows.read(lambda own: own.execute(QUERIES["holders"], key).fetchall())]

    def _best(
        self,
        wanted: Sequence[Mapping[str, object]],
        beginnings: Sequence[Mapping[str, object]],
        limit: int,
        *,
        files: str | None = None,
        chunks: str | None = None,
    ) -> list[tuple[int, float]]:
        key = {
            "words": _json(wanted),
            "beginnings": _json(beginnings),
            "least": _K * (1 - _B),
            "limit": limit,
            "files": files,
            "chunks": chunks,
        }
        found = self._rows.read(lambda own: own.execute(QUERIES["best"], key).fetchall())
        return [(int(number), float(score)) for number, score in found]


class _Text:
    """The words of a chunk by field, with their places: analysed when a phrase needs them."""

    def __init__(self, document: Document) -> None:
        self._texts = [*indexed_texts(document)]
        self._words: dict[str, list[list[str]]] = {}

    def words(self, field: str) -> list[list[str]]:
        """Return the words of each text of a field."""
        if field not in self._words:
            self._words[field] = [_analyzer(field).analyze(text) for name, text in self._texts if name == field]
        return self._words[field]

    def times(self, field: str, phrase: Sequence[tuple[int, str]]) -> int:
        """Return how often a phrase is in a field."""
        needed = {word for _, word in phrase}
        texts = [text for name, text in self._texts if name == field]
        # Most candidates lack a word; where each word is takes much longer to find out.
        every = (text for text, words in zip(texts, self.words(field), strict=True) if needed.issubset(words))
        return sum(_times(text, field, phrase) for text in every)


def _times(text: str, field: str, phrase: Sequence[tuple[int, str]]) -> int:
    at: dict[str, set[int]] = {}
    for token in _analyzer(field).pre_tokenize(text).tokens:
        at.setdefault(token.text, set()).add(token.position)
    (first, start), *rest = phrase
    return sum(all(place + far - first in at[word] for far, word in rest) for place in at[start])


def _phrase_score(clause: Clause, text: _Text, counts: WordCounts) -> float:
    """Return the score of a text for having one of several phrases, or several of them; 0 if it has none."""
    if clause.may:
        return clause.weight * sum(_phrase_score(one, text, counts) for one in clause.may)
    times = text.times(clause.field, clause.words)
    if not times:
        return 0.0
    norm = _K * (1 - _B) + counts.slope(clause.field, counts.num_docs) * _stepped(
        sum(map(len, text.words(clause.field)))
    )
    return clause.weight * counts.score(clause.field, [word for _, word in clause.words]) * times / (times + norm)


def _analyzer(field: str) -> "TextAnalyzer":
    return _analyzers().plain if field == "path" else _analyzers().stems


def _inverted(
    documents: Iterable[Document],
) -> tuple[list[Mapping[str, object]], Mapping[str, tuple[int, int]]]:
    """Return the postings of chunks, and how many texts and words each field has."""
    found: dict[tuple[str, str], tuple[list[int], list[int], list[int]]] = {}
    totals: dict[str, tuple[int, int]] = {}
    for document in sorted(documents, key=lambda one: one.id):
        said = [(SAID, findable(document.own))] if document.own else []
        texts = (*indexed_texts(document), *said, *((LINKS, findable(text)) for text in document.links))
        fields: dict[str, list[str]] = {}
        for field, text in texts:
            fields.setdefault(field, []).extend(_analyzer(field).analyze(text))
        for field, words in fields.items():
            before = totals.get(field, (0, 0))
            totals[field] = before[0] + 1, before[1] + len(words)
            length = _stepped(len(words))
            for word, count in Counter(words).items():
                ids, counts, lengths = found.setdefault((field, word), ([], [], []))
                ids.append(document.id)
                counts.append(min(count, _MOST_COUNTED))
                lengths.append(length)
    return [
        {"field": field, "word": word, "ids": ids, "counts": counts, "lengths": lengths}
        for (field, word), (ids, counts, lengths) in found.items()
    ], totals


def _words_of(clause: Clause) -> Iterator[tuple[str, str]]:
    """Yield the words of a query by field."""
    yield from ((clause.field, word) for _, word in clause.words)
    for part in (*clause.must, *clause.may):
        yield from _words_of(part)


def _stems(terms: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(stem for term in terms for stem in _analyzers().stems.analyze(term)))


def _stepped(length: int) -> int:
    """Return the length of a text as tantivy stores it in a byte: exactly up to 40 words, then in growing steps."""
    above = length - 24
    if above < 16:
        return length
    shift = above.bit_length() - 4
    return min(24 + (above >> shift << shift), _MOST_COUNTED)


def _rarity_of_said(texts: int, frequency: int) -> float:
    """Return the weight of a word among conversations, as SQLite's full-text index computes it."""
    return max(1e-6, log((texts - frequency + 0.5) / (frequency + 0.5)))


def _to_merge(segments: Sequence[tuple[int, int]], dead: int) -> list[int]:
    """Return the numbers of the segments to merge: the newest ones up to one that is much larger than these together.

    So each chunk is merged a few times only, however many segments come. All, if many chunks are dead.
    """
    whole = sum(size for _, size in segments)
    if dead * _DEAD > whole and whole <= _MOST_MERGED:
        return [number for number, _ in segments]
    if len(segments) <= _MOST_SEGMENTS:
        return []
    chosen: list[int] = []
    merged = 0
    for number, size in reversed(segments):
        if merged + size > _MOST_MERGED or (len(chosen) > _MOST_SEGMENTS // 2 and size > 2 * merged):
            break
        chosen.insert(0, number)
        merged += size
    return chosen if len(chosen) > 1 else []


def _prepare(own: Connection) -> int:
    """Delete what a killed writer left; return the number of the last segment."""
    own.execute(QUERIES["drop_invisible"])
    return int(own.execute(QUERIES["last_segment"]).fetchone()[0])


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
