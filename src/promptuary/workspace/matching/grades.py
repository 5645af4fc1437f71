"""How well a path answers a query: the tiers of a menu, from the exact name to letters in order.

Pure: a query, a path, a grade. ``ranker`` decides which paths to grade.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

from promptuary.core.text import name_word_pattern


class Tier(IntEnum):
    """The kinds of match, the best first."""

    EXACT = 0
    """The name, with or without its extension."""
    PREFIX = 1
    """The name begins with the query."""
    WORDS = 2
    """The beginnings of the name's words: ``conf`` and ``uc`` in ``user_config.py`` and ``UserConfig.ts``."""
    SUBSTRING = 3
    """The query is somewhere in the name."""
    PATH = 4
    """The query is somewhere in the folders above."""
    LOOSE = 5
    """The letters in order with gaps, or with one typing error."""


Grade = tuple[Tier, int]
"""A tier, and a smaller number for a better match within it."""

_WORD_GAPS = re.compile(r"[\W_]+")
_MOST_WORDS = 12
SHORTEST_WITH_TYPO = 4


@dataclass(frozen=True)
class PathQuery:
    """What a person typed. Case counts if the query has a capital letter."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the query, which must all match."""
        return tuple(word.removeprefix("./") for word in self.text.split())

    @cached_property
    def exact_case(self) -> bool:
        """Whether the match is case-sensitive."""
        return self.text.lower() != self.text

    @cached_property
    def names_only(self) -> bool:
        """Whether the query is about file names alone: one word, no folder."""
        return len(self.words) == 1 and "/" not in self.text

    @cached_property
    def _grades(self) -> dict[str, Grade]:
        return {}

    def grade(self, path: str) -> Grade:
        """Return how well ``path`` matches; a path that does not match at all is graded ``LOOSE``."""
        known = self._grades.get(path)
        if known is None:
            known = self._grades[path] = self._grade(path)
        return known

    def _grade(self, path: str) -> Grade:
        if len(self.words) == 1:
            return self._grade_word(self.words[0], path)
        first, *others = [self._grade_word(word, path) for word in self.words] or [(Tier.EXACT, 0)]
        worst = max([first[0], *(tier for tier, _ in others)])
        return worst, first[1] + sum(tier + finer for tier, finer in others)

    def _grade_word(self, word: str, path: str) -> Grade:
        compared = path if self.exact_case else path.lower()
        if "/" in word:
            return _grade_path(word, compared)
        tier = self._grade_name(word, path, compared)
        if tier is not Tier.LOOSE:
            return tier, 0
        name = compared[compared.rfind("/") + 1 :]
        if has_one_typo(word, name):
            return tier, 0
        joined = _WORD_GAPS.sub("", name)
        return tier, int(joined == name or not has_one_typo(word, joined))

    def _grade_name(self, word: str, path: str, compared: str) -> Tier:
        start = path.rfind("/") + 1
        name = compared[start:]
        if name.startswith(word):
            return Tier.EXACT if _is_stem(name, word) else Tier.PREFIX
        if abbreviates(word, path[start:], exact_case=self.exact_case):
            return Tier.WORDS
        if word in name:
            return Tier.SUBSTRING
        return Tier.PATH if word in compared else Tier.LOOSE


def _is_stem(name: str, word: str) -> bool:
    """Return whether ``name`` is ``word``, or ``word`` and one extension."""
    ending = name[len(word) :]
    return not ending or ending.rfind(".") == 0


def _grade_path(word: str, path: str) -> Grade:
    """Grade a word that contains ``/``: as the start of a path, as its end, as folders in order."""
    if path.startswith(word):
        exact = len(path) == len(word) or ("/" not in path[len(word) :] and path[len(word)] == ".")
        return (Tier.EXACT if exact else Tier.PREFIX), 0
    at = path.find(f"/{word}")
    if at >= 0:
        return Tier.WORDS if "/" not in path[at + 1 + len(word) :] else Tier.SUBSTRING, 0
    if word in path:
        return Tier.SUBSTRING, 1
    if _are_in_order(word.split("/"), path.split("/")):
        return Tier.PATH, 0
    folders, _, name = word.rpartition("/")
    return Tier.LOOSE, int(folders not in path or not has_one_typo(name, path[path.rfind("/") + 1 :]))


def _are_in_order(parts: list[str], segments: list[str]) -> bool:
    """Return whether each part is in a later segment than the part before, and the last part in the name."""
    *folders, name = parts
    above = iter(segments[:-1])
    return name in segments[-1] and all(any(part in segment for segment in above) for part in folders)


def abbreviates(text: str, name: str, *, exact_case: bool = False) -> bool:
    """Return whether ``text`` is made of beginnings of the words of ``name``, in their order."""
    pattern = name_word_pattern(name)
    words = pattern.findall(name)
    wanted = _WORD_GAPS.sub("", text)
    if not wanted or len(words) > _MOST_WORDS:
        return False
    # ``reached`` holds the lengths of ``wanted`` that are matched so far; each word extends them. No backtracking.
    reached = {0}
    for word in words if exact_case else map(str.lower, words):
        # Most words begin with a letter that is not wanted next: checked first, because it is cheap.
        begun = [length for length in reached if wanted[length] == word[0]]
        if begun:
            reached.update(_extended(wanted, word, begun))
            if len(wanted) in reached:
                return True
    compared = name if exact_case else name.lower()
    # The whole text from the beginning of a word on, separators between words included.
    return text in compared and any(compared.startswith(text, match.start()) for match in pattern.finditer(name))


def _extended(wanted: str, word: str, begun: list[int]) -> Iterator[int]:
    for length in begun:
        for more in range(1, min(len(word), len(wanted) - length) + 1):
            if wanted[length + more - 1] != word[more - 1]:
                break
            yield length + more


def has_one_typo(text: str, name: str) -> bool:
    """Return whether ``text`` is in ``name`` but for one typing error: a swapped, surplus, missing or wrong letter."""
    if len(text) < SHORTEST_WITH_TYPO:
        return False
    # One typing error leaves one half correct, unless it swaps the letters where the halves meet.
    half = len(text) // 2
    left, right = text[:half] in name, text[half:] in name
    corrections = _corrections(text)
    if not left and not right:
        return corrections.in_the_middle in name
    for correction in corrections.any if left and right else corrections.behind if left else corrections.before:
        if correction in name:
            return True
    # A wrong or missing letter leaves both sides of it correct, one letter apart.
    for at in range(1 if right else half, len(text) if left else half):
        if text[:at] not in name:
            return False
        if _halves_meet(text[:at], text[at:], name):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Corrections:
    """What may have been meant: the text with two letters swapped, or with one letter removed."""

    in_the_middle: str
    any: tuple[str, ...]
    before: tuple[str, ...]
    """Those that change the first half."""
    behind: tuple[str, ...]
    """Those that change the second half."""


@lru_cache(maxsize=64)
def _corrections(text: str) -> _Corrections:
    half, places = len(text) // 2, range(len(text))
    swapped = [text[:at] + text[at + 1] + text[at] + text[at + 2 :] for at in places[:-1]]
    every = tuple(dict.fromkeys([*swapped, *(text[:at] + text[at + 1 :] for at in places)]))
    return _Corrections(
        swapped[half - 1],
        every,
        tuple(correction for correction in every if text[:half] not in correction),
        tuple(correction for correction in every if text[half:] not in correction),
    )


def _halves_meet(left: str, right: str, name: str) -> bool:
    at = name.find(left)
    while at >= 0:
        end = at + len(left)
        if name.startswith(right, end + 1) or (len(right) > 1 and name.startswith(right[1:], end + 1)):
            return True
        at = name.find(left, at + 1)
    return False
