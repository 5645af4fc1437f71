"""Finds the words of the index that a misspelled word of a query may stand for.

One mistake: every word that is one mistake away is looked up. That takes some milliseconds for each unknown word,
however large the index is, and compares words as they are written although the index holds stems. Two mistakes: the
most frequent stems that begin with the same letters are compared. A word that the index has costs one look-up.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.search.index.fulltext.query import Analyzers, WordCounts
from promptuary.search.query import STOP_WORDS, distance, mistakes, one_mistake_away, words_to_check, worth_respelling
from promptuary.search.values import Words

if TYPE_CHECKING:
    from tantivy import Searcher

_MOST_SPELLINGS: Final = 3
"""How many corrections one word may have."""
_SAME_LETTERS: Final = 3
"""A word with two mistakes has none in this many letters at its beginning, except a wrongly doubled one."""
_MOST_COMPARED: Final = 1_000
_ENDING: Final = 3
"""Letters of an ending such as -ation, at least."""
_FEWEST_LEFT: Final = 5
"""Letters that are left without it."""
_JUNK: Final = 50_000
"""A correction must occur in one more chunk for each this many chunks: more text contains more junk."""


class Speller:
    """Finds near spellings in one state of the index."""

    def __init__(
        self,
        searcher: "Searcher | WordCounts",
        analyzers: Analyzers,
        expect: Callable[[Iterable[tuple[str, str]]], object] = lambda _: None,
    ) -> None:
        """``expect`` is told which words of which fields will be counted, so that they can be counted at once."""
        self._searcher = searcher
        self._expect = expect
        self._analyzers = analyzers
        self._fewest = 1 + searcher.num_docs // _JUNK

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings for those that no chunk has."""
        every = words_to_check(words)
        self._expect(place for word in every for place in self._places(word))
        unknown = [word for word in every if not any(self._searcher.doc_freq(*one) for one in self._places(word))]
        if not unknown or not worth_respelling(unknown, words):
            return words
        return replace(words, respelled=tuple((word, near) for word in unknown for near in self._near(word)))

    def _places(self, word: str) -> tuple[tuple[str, str], ...]:
        (stem,) = self._analyzers.stems.analyze(word)
        return ("body", stem), ("trail", stem), ("path", word)

    def _near(self, word: str) -> list[str]:
        """Return the words that ``word`` may stand for, the most probable first."""
        candidates = one_mistake_away(word)
        if not STOP_WORDS.isdisjoint(candidates):
            return []
        stems = self._analyzers.stems.analyze(" ".join(candidates))
        found = dict(self._one_mistake(candidates, stems))
        if not found and mistakes(word) > 1:
            found = dict(self._two_mistakes(word, self._without_ending(candidates, stems)))
        ranked = sorted(found, key=lambda one: (one[0] != word[0], -found[one], one))
        return ranked[:_MOST_SPELLINGS]

    def _one_mistake(self, candidates: Sequence[str], stems: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Yield the candidates that the index has, each stem once, and how many chunks have them."""
        first: dict[str, str] = {}
        for candidate, stem in zip(candidates, stems, strict=True):
            first.setdefault(stem, candidate)
        self._expect((field, stem) for stem in first for field in ("body", "trail"))
        for stem, candidate in first.items():
            frequency = self._searcher.doc_freq("body", stem) + self._searcher.doc_freq("trail", stem)
            if frequency >= self._fewest:
                yield candidate, frequency

    def _two_mistakes(self, word: str, others: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Yield the stems that are two mistakes away from that of ``word``, or one from any of ``others``."""
        (own,) = self._analyzers.stems.analyze(word)
        allowed = {own: 2} | dict.fromkeys(others, 1)
        for beginning in _beginnings(own):
            for term, frequency in self._searcher.terms_with_prefix("body", beginning, limit=_MOST_COMPARED):
                near = any(distance(stem, term, most) <= most for stem, most in allowed.items())
                if near and frequency >= self._fewest:
                    yield term, frequency

    def _without_ending(self, candidates: Sequence[str], stems: Sequence[str]) -> list[str]:
        """Return the stems of those candidates that have an ending.

        A mistake in an ending prevents stemming: with the ending corrected, "implemntatoin" stems to "implemnt".
        """
        found = {
            stem
            for candidate, stem in zip(candidates, stems, strict=True)
            if len(candidate) - len(stem) >= _ENDING and len(stem) >= _FEWEST_LEFT
        }
        return sorted(found)[:_MOST_SPELLINGS]


def _beginnings(stem: str) -> tuple[str, str]:
    """Return the beginning of a word, also with its second letter doubled, or single instead of doubled."""
    other = stem[:2] + stem[3:] if stem[1] == stem[2] else stem[:2] + stem[1:]
    return stem[:_SAME_LETTERS], other[:_SAME_LETTERS]
