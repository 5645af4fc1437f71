"""How well a path answers a query: the tiers of a menu, from the exact name to letters in order.

Pure: a query, a path, a grade. Which paths to grade is decided in ``match``.
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
    """The name begins so."""
    WORDS = 2
    """Beginnings of the name's words: ``conf`` and ``uc`` in ``user_config.py`` and ``UserConfig.ts``."""
    SUBSTRING = 3
    """Somewhere in the name."""
    PATH = 4
    """Somewhere in the folders above."""
    LOOSE = 5
    """The letters in order with gaps, or with one typing error."""


Grade = tuple[Tier, int]
"""A tier, and a smaller number for a better match within it."""

_WORD_GAPS = re.compile(r"[\W_]+")
_MOST_WORDS = 12
SHORTEST_WITH_TYPO = 4


@dataclass(frozen=True)
class PathQuery:
    """What was typed. Letters in both cases mean their case; all small letters mean either."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The parts that must all match."""
        return tuple(word.removeprefix("./") for word in self.text.split())

    @cached_property
    def exact_case(self) -> bool:
        """Whether the case of letters counts."""
        return self.text.lower() != self.text

    @cached_property
    def names_only(self) -> bool:
        """Whether a file's name alone can answer: one word, no folder."""
        return len(self.words) == 1 and "/" not in self.text

    @cached_property
    def _grades(self) -> dict[str, Grade]:
        return {}

    def grade(self, path: str) -> Grade:
        """Return how well ``path`` matches; whether it matches loosely at all is not checked here."""
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
        shown = path if self.exact_case else path.lower()
        if "/" in word:
            return _grade_path(word, shown)
        tier = self._grade_name(word, path, shown)
        if tier is not Tier.LOOSE:
            return tier, 0
        name = shown[shown.rfind("/") + 1 :]
        if has_one_typo(word, name):
            return tier, 0
        joined = _WORD_GAPS.sub("", name)
        return tier, int(joined == name or not has_one_typo(word, joined))

    def _grade_name(self, word: str, path: str, shown: str) -> Tier:
        start = path.rfind("/") + 1
        name = shown[start:]
        if name.startswith(word):
            return Tier.EXACT if _is_stem(name, word) else Tier.PREFIX
        if abbreviates(word, path[start:], exact_case=self.exact_case):
            return Tier.WORDS
        if word in name:
            return Tier.SUBSTRING
        return Tier.PATH if word in shown else Tier.LOOSE


def _is_stem(name: str, word: str) -> bool:
    """Return whether ``name`` is ``word``, or ``word`` and one extension."""
    ending = name[len(word) :]
    return not ending or ending.rfind(".") == 0


def _grade_path(word: str, path: str) -> Grade:
    """Grade a word with ``/`` in it: as a path from the workspace, as the end of one, as folders in order."""
    if path.startswith(word):
        exact = len(path) == len(word) or ("/" not in path[len(word) :] and path[len(word)] == ".")
        return (Tier.EXACT if exact else Tier.PREFIX), 0
    at = path.find(f"/{word}")
    if at >= 0:
        return Tier.WORDS if "/" not in path[at + 1 + len(word) :] else Tier.SUBSTRING, 0
    if word in path:
        return Tier.SUBSTRING, 1
    if _in_order(word.split("/"), path.split("/")):
        return Tier.PATH, 0
    folders, _, name = word.rpartition("/")
    return Tier.LOOSE, int(folders not in path or not has_one_typo(name, path[path.rfind("/") + 1 :]))


def _in_order(parts: list[str], segments: list[str]) -> bool:
    """Return whether each part is found in a later segment than the part before, the last one in the name."""
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
    # Each word extends every reach by as many letters as fit: a set of reached lengths, no search.
    reached = {0}
    for word in words if exact_case else map(str.lower, words):
        # Most words begin with a letter that is not wanted next: told before anything is made.
        begun = [length for length in reached if wanted[length] == word[0]]
        if begun:
            reached.update(_extended(wanted, word, begun))
            if len(wanted) in reached:
                return True
    shown = name if exact_case else name.lower()
    # Whole at the beginning of a word, running on over the next ones with what stands between them.
    return text in shown and any(shown.startswith(text, match.start()) for match in pattern.finditer(name))


def _extended(wanted: str, word: str, begun: list[int]) -> Iterator[int]:
    for length in begun:
        for more in range(1, min(len(word), len(wanted) - length) + 1):
            if wanted[length + more - 1] != word[more - 1]:
                break
            yield length + more


def has_one_typo(text: str, name: str) -> bool:
    """Return whether ``text`` stands in ``name`` but for one slip: letters swapped, one too many or wrong."""
    if len(text) < SHORTEST_WITH_TYPO:
        return False
    # One slip leaves one half whole, unless it swaps the letters where the halves meet.
    half = len(text) // 2
    left, right = text[:half] in name, text[half:] in name
    slips = _corrections(text)
    if not left and not right:
        return slips.in_the_middle in name
    for slip in slips.any if left and right else slips.behind if left else slips.before:
        if slip in name:
            return True
    # A wrong letter, or a missing one, leaves one half as it should be and the other half near it.
    for at in range(1 if right else half, len(text) if left else half):
        if text[:at] not in name:
            return False
        if _halves_meet(text[:at], text[at:], name):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Corrections:
    """What may have been meant: two letters the other way round, or one letter less."""

    in_the_middle: str
    any: tuple[str, ...]
    before: tuple[str, ...]
    """Without those that need the first half as it was typed."""
    behind: tuple[str, ...]
    """Without those that need the second."""


@lru_cache(maxsize=64)
def _corrections(text: str) -> _Corrections:
    half, places = len(text) // 2, range(len(text))
    swapped = [text[:at] + text[at + 1] + text[at] + text[at + 2 :] for at in places[:-1]]
    every = tuple(dict.fromkeys([*swapped, *(text[:at] + text[at + 1 :] for at in places)]))
    return _Corrections(
        swapped[half - 1],
        every,
        tuple(slip for slip in every if text[:half] not in slip),
        tuple(slip for slip in every if text[half:] not in slip),
    )


def _halves_meet(left: str, right: str, name: str) -> bool:
    at = name.find(left)
    while at >= 0:
        end = at + len(left)
        if name.startswith(right, end + 1) or (len(right) > 1 and name.startswith(right[1:], end + 1)):
            return True
        at = name.find(left, at + 1)
    return False
