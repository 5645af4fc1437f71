"""Builds the query of the full-text index for the words of a question: what must match, what may, and the weights.

Questions are analysed exactly like texts. There is no query language, so nothing in a question can be an error.
"""

from collections.abc import Collection, Iterator, Sequence
from math import log
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct

from promptuary.search.query import LONG, folded, is_name, parse, reading
from promptuary.search.values import Words

if TYPE_CHECKING:
    from tantivy import Query, Schema, Searcher, TextAnalyzer

TRAIL_WEIGHT: Final = 0.3
"""The weight of a word in the headings or names around a chunk, relative to one in its text, and of the same rarity."""
PATH_WEIGHT: Final = 0.4
"""The same for a word in the path of its file."""
PART_WEIGHT: Final = 0.4
"""The weight of a part of a name, relative to the whole name that was asked for."""
NAME_WEIGHT: Final = 2.0
"""The weight of a name in code, relative to a word, in a long question: an error report is about its names."""
RESPELLED_WEIGHT: Final = 0.5
"""The weight of a word that is similar to a word of the question that no text has."""
QUOTE_WEIGHT: Final = 1.0
"""The extra weight of a quotation in a long question, where it is not required."""
TOGETHER_WEIGHT: Final = 0.5
"""The extra weight if the words of ``snake_case`` or ``v1.2`` are adjacent."""
MOST_SCORE: Final = 2.2
"""The highest factor that BM25 applies to the rarity of a word."""
PREFIX_SCORE: Final = 3.0
"""The score of a word that matches a prefix: about that of a word that is neither rare nor common."""
FEWEST: Final = 20
"""An index with fewer chunks is too small to estimate the rarity of a word that it does not have."""
MOST_WORDS: Final = 160
"""The greatest number of analysed words in a query."""
LONGEST_WORD: Final = 64
"""The greatest length in bytes of an indexed word; longer ones are data."""

_ENDINGS = tuple(
    """e s es ed d ing ng g ion on n ions ation tion ations ate able ible ble al ally ly y ies ness ment ments ive ity
    er or""".split()  # noqa: SIM905  (read as the text it is)
)
"""How a word may continue: the index holds stems, and that of ``configuration`` is shorter than ``configurat``."""


class Analyzers(Struct, frozen=True):
    """How texts become words: ``stems`` for prose, ``plain`` for paths and prefixes."""

    stems: "TextAnalyzer"
    plain: "TextAnalyzer"


class WordCounts(Protocol):
    """What a query must know of the texts; tantivy's searcher knows it, too."""

    @property
    def num_docs(self) -> int:
        """How many chunks there are."""
        ...

    def doc_freq(self, field: str, word: str) -> int:
        """Return how many chunks have a word in a field."""
        ...

    def terms_with_prefix(self, field: str, prefix: str, *, limit: int) -> Sequence[tuple[str, int]]:
        """Return the most frequent words that begin so, and how many chunks have each."""
        ...


QueryLanguage = tuple[Any, Any, Any]
"""What makes queries, as tantivy's ``Query`` does, and how it says that a part must and that it may match."""


class QueryBuilder:
    """Builds one query for one state of the index: for tantivy, or in another ``language`` with the same words."""

    def __init__(
        self,
        schema: "Schema | None",
        searcher: "Searcher | WordCounts",
        analyzers: Analyzers,
        language: QueryLanguage | None = None,
    ) -> None:
        self._query, self._must, self._should = language or _tantivy()
        self._schema = schema
        self._searcher = searcher
        self._analyzers = analyzers
        self._terms: dict[tuple[str, str], float] = {}
        self._evened: dict[tuple[str, str], float] = {}
        self._weights: dict[str, float] = {}
        self._stands_for: dict[str, str] = {}
        self._prefixes = 0
        self._rest: list[Query] = []

    def build(self, words: Words, files: Collection[int] | None) -> "Query | None":
        """Return the query; ``None`` if nothing can match."""
        required = self._read(words)
        optional = [*self._weighted(), *self._rest]
        if not (required or optional):
            return None
        clauses = [(self._must, one) for one in required] + [(self._should, one) for one in optional]
        query = self._query.boolean_query(clauses)
        return query if files is None else self._among(files, query)

    def average(self) -> float:
        """Return the score of a text for having one word of the question, of average rarity, many times.

        Words that no text has count as well: a text that has all the others does not explain the question.
        """
        best = sum(
            weight * MOST_SCORE * self._rarity(self._stands_for.get(stem, stem))
            for stem, weight in self._weights.items()
        )
        count = sum(self._weights.values()) + self._prefixes
        return (best + PREFIX_SCORE * self._prefixes) / count if count else 1.0

    def explained(self, named: Sequence[tuple[int, str]]) -> dict[int, float]:
        """Return how many words chunks explain by their names, each by its best one."""
        average, best = self.average(), dict[int, float]()
        for chunk, name in named:
            best[chunk] = max(self._name_score(name) / average, best.get(chunk, 0.0))
        return {chunk: score for chunk, score in best.items() if score > 0}

    def _name_score(self, name: str) -> float:
        """Return the score of a text for having the words of ``name`` once; 0 unless all of them are asked for."""
        stems = {stem for term in parse(name).terms for stem in self._analyzers.stems.analyze(folded(term))}
        return sum(map(self._rarity, stems)) if stems and stems <= self._weights.keys() else 0.0

    def _rarity(self, stem: str) -> float:
        """Return the weight of a word. One that no text has weighs little more than one that a single text has.

        In an index of a few chunks it would weigh several times as much, so that no text could explain a question with
        such a word; there the ratio of the two is the same as among ``FEWEST`` chunks.
        """
        number, frequency = self._searcher.num_docs, self._searcher.doc_freq("body", stem)
        if frequency or number >= FEWEST:
            return rarity(number, frequency)
        return rarity(number, 1) * rarity(FEWEST, 0) / rarity(FEWEST, 1)

    def _read(self, words: Words) -> "list[Query]":
        """Collect what may match, and return what must."""
        required = [one for phrase in words.phrases for one in self._phrase(phrase)]
        is_long = len(words.terms) > LONG
        for quotation in words.quotations:
            self._rest += [self._query.boost_query(one, QUOTE_WEIGHT) for one in self._phrase(quotation)]
        for term in words.terms:
            self._term(term, NAME_WEIGHT if is_long and is_name(term) else 1.0)
        for typed, spelled in words.respelled:
            self._respelled(typed, spelled)
        for prefix in words.prefixes:
            self._prefix(prefix)
        return required

    def _respelled(self, typed: str, spelled: str) -> None:
        """Add a word that is similar to a typed one; ``spelled`` may be a stem."""
        for stem in dict.fromkeys((spelled, *self._analyzers.stems.analyze(spelled))):
            self._add("body", stem, RESPELLED_WEIGHT)
            self._add("trail", stem, RESPELLED_WEIGHT * TRAIL_WEIGHT)
            if self._searcher.doc_freq("body", stem):
                # The typed word is as rare as its correction.
                for unknown in self._analyzers.stems.analyze(typed):
                    self._stands_for.setdefault(unknown, stem)
        self._add("path", spelled, RESPELLED_WEIGHT * PATH_WEIGHT)

    def _among(self, files: Collection[int], query: "Query") -> "Query":
        chosen = self._query.term_set_query(self._schema, "file", list(files))
        both: Query = self._query.boolean_query(
            [(self._must, self._query.const_score_query(chosen, 0.0)), (self._must, query)]
        )
        return both

    def _weighted(self) -> "Iterator[Query]":
        """Yield the single words: tantivy is fastest with a flat list of words that the index contains."""
        for (field, word), weight in self._terms.items():
            query = self._query.term_query(self._schema, field, word)
            yield query if weight == 1.0 else self._query.boost_query(query, weight)

    def _add(self, field: str, word: str, weight: float) -> None:
        key = (field, word)
        if key not in self._terms:
            frequency = self._searcher.doc_freq(field, word) if len(self._terms) < 3 * MOST_WORDS else 0
            if not frequency:
                return
            self._evened[key] = self._factor(word, frequency) if field == "trail" else 1.0
        self._terms[key] = max(weight * self._evened[key], self._terms.get(key, 0.0))

    def _factor(self, word: str, frequency: int) -> float:
        """Return the factor with which a word that so many trails have is as rare in trails as it is in texts.

        The names of functions are trails of a few words, and so a word of prose is rare in them: where notes and code
        are together, a name with such a word would outweigh the texts that are about it.
        """
        number, others = self._searcher.num_docs, self._searcher.doc_freq("body", word)
        return rarity(number, others) / rarity(number, frequency) if others > frequency else 1.0

    def _words(self, text: str, weight: float) -> list[str]:
        stems = self._analyzers.stems.analyze(text)[:MOST_WORDS]
        for stem in stems:
            self._weights[stem] = max(weight, self._weights.get(stem, 0.0))
            self._add("body", stem, weight)
            self._add("trail", stem, weight * TRAIL_WEIGHT)
        for word in self._plain(text)[:MOST_WORDS]:
            self._add("path", word, weight * PATH_WEIGHT)
        return stems

    def _plain(self, text: str) -> list[str]:
        if text.isascii() and text.isalnum() and len(text) < LONGEST_WORD:
            return [text.lower()]  # the same result, faster
        return self._analyzers.plain.analyze(text)

    def _term(self, term: str, weight: float) -> None:
        found = reading(term)
        for text in (*found.texts, *found.runs):
            stems = self._words(text, weight)
            if len(stems) > 1 and all(self._searcher.doc_freq("body", stem) for stem in stems):
                phrase = self._query.phrase_query(self._schema, "body", list(stems))
                self._rest.append(self._query.boost_query(phrase, TOGETHER_WEIGHT))
        for part in found.parts:
            self._words(part, weight * PART_WEIGHT)

    def _phrase(self, phrase: str) -> "Iterator[Query]":
        """Yield what must match: the phrase in any field; the parts between changes of script separately."""
        found = reading(phrase)
        for text in (*found.texts, *found.runs):
            for stem in self._analyzers.stems.analyze(text)[:MOST_WORDS]:
                self._weights.setdefault(stem, 1.0)
            places = [
                self._together("body", text, self._analyzers.stems, 1.0),
                self._together("trail", text, self._analyzers.stems, TRAIL_WEIGHT),
                self._together("path", text, self._analyzers.plain, PATH_WEIGHT),
            ]
            if any_of := [(self._should, one) for one in places if one is not None]:
                yield self._query.boolean_query(any_of)

    def _together(self, field: str, text: str, analyzer: "TextAnalyzer", weight: float) -> "Query | None":
        # Words that are too long to be indexed leave a gap.
        tokens = [(token.position, token.text) for token in analyzer.pre_tokenize(text).tokens][:MOST_WORDS]
        if not tokens:
            return None
        if len(tokens) == 1:
            query = self._query.term_query(self._schema, field, tokens[0][1])
        else:
            first = tokens[0][0]
            query = self._query.phrase_query(self._schema, field, [(at - first, word) for at, word in tokens])
        boosted: Query = self._query.boost_query(query, weight)
        return boosted

    def _prefix(self, prefix: str) -> None:
        found = reading(prefix)
        for run in found.runs:
            self._words(run, 1.0)
        words = [word for text in found.texts for word in self._analyzers.plain.analyze(text)]
        if not words:
            return
        self._prefixes += 1
        *before, beginning = words
        for word in before:
            self._words(word, 1.0)
        # An analysed word has letters and digits only: none of them is special in a regular expression.
        pattern = f"{beginning}.*"
        stems = set(self._analyzers.stems.analyze(" ".join(beginning + ending for ending in _ENDINGS)))
        shorter = [stem for stem in stems if len(stem) > 2 and not stem.startswith(beginning)]
        any_of = [self._query.regex_query(self._schema, field, pattern) for field in ("body", "trail", "path")]
        any_of += [self._query.term_query(self._schema, "body", stem) for stem in shorter]
        union = self._query.boolean_query([(self._should, one) for one in any_of])
        self._rest.append(self._query.const_score_query(union, PREFIX_SCORE))


def _tantivy() -> QueryLanguage:
    from tantivy import Occur, Query  # noqa: PLC0415  (only a search needs it)

    return Query, Occur.Must, Occur.Should


def rarity(number: int, frequency: int) -> float:
    """Return the BM25 weight of a word that ``frequency`` of so many chunks have."""
    return log(1 + (number - frequency + 0.5) / (frequency + 0.5))
