"""A query by words as a value, made by the same builder that makes tantivy's queries. Knows neither SQL nor scores."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.search.index.fulltext.query import FEWEST, QueryLanguage

_MUST: Final = "must"
_MAY: Final = "may"


class Clause(Struct, frozen=True):
    """One part of a query: ``words`` that stand in ``field`` at these distances, or words that begin with ``prefix``.

    Otherwise it has parts: all of ``must``, and those of ``may`` that match, or one of them if nothing must. ``score``
    is that of whatever matches; without one, it is BM25 times ``weight``.
    """

    field: str = ""
    words: tuple[tuple[int, str], ...] = ()
    prefix: str = ""
    must: tuple["Clause", ...] = ()
    may: tuple["Clause", ...] = ()
    weight: float = 1.0
    score: float | None = None

    @property
    def choices(self) -> Sequence["Clause"]:
        """The parts of which one must match."""
        return self.may or (self,)


class _Clauses:
    """Makes clauses by the names that tantivy has for its queries; ``schema`` is for its sake."""

    @staticmethod
    def term_query(schema: object, field: str, word: str) -> Clause:  # noqa: ARG004
        return Clause(field, ((0, word),))

    @staticmethod
    def phrase_query(schema: object, field: str, words: Iterable[str | tuple[int, str]]) -> Clause:  # noqa: ARG004
        every = (one if isinstance(one, tuple) else (place, one) for place, one in enumerate(words))
        return Clause(field, tuple(every))

    @staticmethod
    def regex_query(schema: object, field: str, pattern: str) -> Clause:  # noqa: ARG004
        return Clause(field, prefix=pattern.removesuffix(".*"))

    @staticmethod
    def boost_query(clause: Clause, weight: float) -> Clause:
        return replace(clause, weight=clause.weight * weight)

    @staticmethod
    def const_score_query(clause: Clause, score: float) -> Clause:
        return replace(clause, score=score)

    @staticmethod
    def boolean_query(parts: Iterable[tuple[str, Clause]]) -> Clause:
        every = tuple(parts)
        return Clause(
            must=tuple(one for how, one in every if how == _MUST), may=tuple(one for how, one in every if how == _MAY)
        )


LANGUAGE: Final[QueryLanguage] = (_Clauses, _MUST, _MAY)


class AskedWords:
    """Records which words a query asks for, so that they can be counted at once; every word is there."""

    num_docs = FEWEST

    def __init__(self) -> None:
        self.words: dict[tuple[str, str], None] = {}

    def doc_freq(self, field: str, word: str) -> int:
        """Record a word."""
        self.words[field, word] = None
        return 1

    def terms_with_prefix(self, field: str, prefix: str, *, limit: int) -> Sequence[tuple[str, int]]:  # noqa: ARG002
        """Return nothing."""
        return ()
