"""Grades how well a path matches a query: the tiers of a menu, from the exact name to letters in order.

Pure: a query, a path, a grade. ``ranker`` decides which paths to grade.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Final

from msgspec import Struct

from promptuary.base.text import name_word_pattern


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
    """The query is somewhere in the folders above; of a query with folders, each part in a folder, in their order."""
    FOLDERS = 5
    """Beginnings of folders and of the name without a slash: "tuitran" for ``tui_gateway/transport.py``."""
    TYPO = 6
    """One typing error in the name, or in a folder of a query with folders."""
    LOOSE = 7
    """The letters in order with gaps."""


Grade = tuple[Tier, int]
"""A tier, and a smaller number for a better match within it."""

_WORD_GAPS = re.compile(r"[\W_]+")
_MAX_WORDS = 12
MIN_WITH_TYPO: Final = 4
MIN_BEGINNING: Final = 3
"""The beginning of a name says more than letters inside it, so fewer letters suffice to recognise a typing error."""
MIN_IN_FOLDERS: Final = 5
"""Two letters of a folder and three of the name, or vice versa: fewer match every other path."""


class PathQuery(Struct, frozen=True, dict=True):
    """What a person typed. Case counts if the query has a capital letter."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the query, which must all match."""
        return tuple(word.removeprefix("./") for word in self.text.split())

    @cached_property
    def exact_case(self) -> bool:
        return self.text.lower() != self.text

    @cached_property
    def names_only(self) -> bool:
        """Whether the query is about file names alone: one word, no folder."""
        return len(self.words) == 1 and "/" not in self.text

    @cached_property
    def _grades(self) -> dict[str, Grade]:
        return {}

    def grade(self, path: str) -> Grade:
        """Return how well ``path`` matches; a path that does not match at all is also graded ``LOOSE``."""
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
            return _grade_path(word, path, compared, exact_case=self.exact_case)
        tier = self._grade_name(word, path, compared)
        if tier is not Tier.LOOSE:
            return tier, 0
        steps = folder_steps(word, path, exact_case=self.exact_case)
        if steps is not None:
            return Tier.FOLDERS, steps
        slip = _name_slip(word, compared[compared.rfind("/") + 1 :])
        return (Tier.LOOSE, 0) if slip is None else (Tier.TYPO, slip)

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


def _grade_path(word: str, path: str, compared: str, *, exact_case: bool) -> Grade:
    """Grade a word that contains ``/``: as the start of a path, as its end, as folders in order."""
    if compared.startswith(word):
        rest = compared[len(word) :]
        return (Tier.EXACT if not rest or ("/" not in rest and rest[0] == ".") else Tier.PREFIX), 0
    at = compared.find(f"/{word}")
    if at >= 0:
        return Tier.WORDS if "/" not in compared[at + 1 + len(word) :] else Tier.SUBSTRING, 0
    *folders, name = word.split("/")
    *above, last = path.split("/")
    named = part_fit(name, last, exact_case=exact_case)
    if named is None:
        return Tier.LOOSE, 0
    placed = _find_place(tuple(folders), above, exact_case=exact_case)
    if placed is None:
        return Tier.LOOSE, 0
    slips = (named >= _SLIP) + (placed >= _SLIP)
    # The name says more than its folder, of which there are several.
    fit = 2 * named + placed
    return (Tier.PATH, fit) if not slips else (Tier.TYPO, fit) if slips == 1 else (Tier.LOOSE, 0)


_SLIP: Final = 4
"""From this number, a fit has a typing error."""


def _find_place(folders: tuple[str, ...], above: list[str], *, exact_case: bool) -> int | None:
    """Return the worst fit of ``folders``, each in a later folder than the one before; ``None`` if one does not fit.

    Every folder is given the best place that leaves one to those after it; at most one may have a typing error.
    """
    # ``best[n]`` is the least sum of fits with which the first ``n`` folders are placed so far.
    best: list[int | None] = [0, *[None] * len(folders)]
    for segment in above:
        for number in range(len(folders), 0, -1):
            before = best[number - 1]
            if before is None:
                continue
            fit = part_fit(folders[number - 1], segment, exact_case=exact_case)
            if fit is None or (fit >= _SLIP and before >= _SLIP):
                continue
            now = best[number]
            best[number] = min(max(before, fit), now) if now is not None else max(before, fit)
    return best[-1]


@lru_cache(maxsize=4096)
def part_fit(part: str, segment: str, *, exact_case: bool = False) -> int | None:
    """Return how well ``part`` of a query fits one segment of a path, the best is 0; ``None`` if it does not."""
    compared = segment if exact_case else segment.lower()
    if compared.startswith(part):
        return 0 if _is_stem(compared, part) else 1
    if abbreviates(part, segment, exact_case=exact_case):
        return 2
    if part in compared:
        return 3
    slip = slip_of(part, compared)
    return None if slip is None else _SLIP + slip


def folder_steps(word: str, path: str, *, exact_case: bool = False) -> int | None:
    """Return in how many steps ``word`` consists of beginnings of folders and of the name; ``None`` if it does not.

    A step is a run of letters from the beginning of a word on, and costs more inside of a folder or name than at its
    beginning. The last one is in the name, and each has two letters or more: single letters are in every path.
    """
    wanted = _without_gaps(word)
    if len(wanted) < MIN_IN_FOLDERS:
        return None
    folder, _, name = (path if exact_case else path.lower()).rpartition("/")
    # Few paths have the first letters in a folder and the last ones in the name: checked first, because it is cheap.
    if wanted[:2] not in folder or (wanted[-2:] not in name and word[-2:] not in name):
        return None
    above, _, last = path.rpartition("/")
    reached = dict(_steps_in_folders(wanted, above, exact_case=exact_case))
    if not reached:
        return None
    _step_through(wanted, _words_of(last, exact_case=exact_case), reached)
    return reached.get(len(wanted))


@lru_cache(maxsize=1024)
def _steps_in_folders(wanted: str, folder: str, *, exact_case: bool) -> dict[int, int]:
    """Return how many first letters of ``wanted`` the folders match, each with its least cost, but not all of them.

    A word wholly in the folders says nothing about the name; one wholly in the name is graded as a name.
    """
    reached: dict[int, int] = {0: 0}
    for segment in folder.split("/"):
        _step_through(wanted, _words_of(segment, exact_case=exact_case), reached)
    return {length: cost for length, cost in reached.items() if 0 < length < len(wanted)}


@lru_cache(maxsize=64)
def _without_gaps(text: str) -> str:
    return _WORD_GAPS.sub("", text)


@lru_cache(maxsize=4096)
def _words_of(segment: str, *, exact_case: bool) -> tuple[str, ...]:
    words = name_word_pattern(segment).findall(segment)[:_MAX_WORDS]
    return tuple(words if exact_case else map(str.lower, words))


def _step_through(wanted: str, words: tuple[str, ...], reached: dict[int, int]) -> None:
    """Add to ``reached`` what the words of one segment match of ``wanted``, each after what was matched before it."""
    whole: dict[int, int] = {}
    for place, word in enumerate(words):
        added: dict[int, int] = {}
        ended: dict[int, int] = {}
        # A new step has two letters; one from a whole word on into the next is the same step.
        for starts, step, least in ((reached, 1 if place == 0 else 2, 2), (whole, 0, 1)):
            for length, cost in starts.items():
                if wanted.startswith(word[:least], length) and length < len(wanted):
                    end = _common(wanted, length, word)
                    for now in range(length + least, length + end + 1):
                        added[now] = min(added.get(now, cost + step), cost + step)
                    if end == len(word):
                        ended[length + end] = min(ended.get(length + end, cost + step), cost + step)
        for length, cost in added.items():
            reached[length] = min(reached.get(length, cost), cost)
        whole = ended


def _common(wanted: str, start: int, word: str) -> int:
    """Return how many letters of ``wanted`` from ``start`` on are those of ``word``."""
    most = min(len(word), len(wanted) - start)
    for count in range(most):
        if wanted[start + count] != word[count]:
            return count
    return most


def abbreviates(text: str, name: str, *, exact_case: bool = False) -> bool:
    """Return whether ``text`` consists of beginnings of the words of ``name``, in order."""
    wanted = _without_gaps(text)
    compared = name if exact_case else name.lower()
    # Few names have the letters in order: checked first, because it is cheap.
    if not wanted or (name.isascii() and not _in_order(wanted, compared)):
        return False
    pattern = name_word_pattern(name)
    words = pattern.findall(name)
    if len(words) > _MAX_WORDS:
        return False
    # ``reached`` holds the lengths of ``wanted`` that are matched so far; each word extends them. No backtracking.
    reached = {0}
    for word in words if exact_case else map(str.lower, words):
        # Most words begin with a letter that is not wanted next: checked first, because it is cheap.
        begun = [length for length in reached if wanted[length] == word[0]]
        if begun:
            reached.update(_extend(wanted, word, begun))
            if len(wanted) in reached:
                return True
    # The whole text from the beginning of a word on, separators between words included.
    return text in compared and any(compared.startswith(text, match.start()) for match in pattern.finditer(name))


def _in_order(letters: str, name: str) -> bool:
    at = 0
    for letter in letters:
        at = name.find(letter, at) + 1
        if not at:
            return False
    return True


def _extend(wanted: str, word: str, begun: list[int]) -> Iterator[int]:
    for length in begun:
        for more in range(1, min(len(word), len(wanted) - length) + 1):
            if wanted[length + more - 1] != word[more - 1]:
                break
            yield length + more


def _name_slip(text: str, name: str) -> int | None:
    """Return how well a name matches ``text`` with one typing error, with or without the gaps between its words."""
    slip = slip_of(text, name)
    if slip is not None:
        return slip
    joined = _WORD_GAPS.sub("", name)
    return slip_of(text, joined) if joined != name else None


def slip_of(text: str, name: str) -> int | None:
    """Return 0 if ``name`` begins with ``text`` except for one typing error, 1 if it contains it so, else ``None``."""
    if len(text) >= MIN_WITH_TYPO and not _half_is_in(text, name):
        return None
    if len(text) >= MIN_BEGINNING and begins_with_one_typo(text, name):
        return 0
    return 1 if has_one_typo(text, name) else None


def begins_with_one_typo(text: str, name: str) -> bool:
    """Return whether ``name`` begins with ``text``, except for a swapped, surplus, missing or wrong letter."""
    at = _common(text, 0, name)
    rest = text[at:]
    return (
        name.startswith(rest[1:], at + 1)  # a wrong letter
        or name.startswith(rest, at + 1)  # a missing one
        or name.startswith(rest[1:], at)  # one too many
        or (len(rest) > 1 and name.startswith(rest[1] + rest[0] + rest[2:], at))
    )


def has_one_typo(text: str, name: str) -> bool:
    """Return whether ``text`` is in ``name`` with one typing error: a swapped, surplus, missing or wrong letter."""
    if len(text) < MIN_WITH_TYPO:
        return False
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


def _half_is_in(text: str, name: str) -> bool:
    """Return whether ``text`` may be in ``name`` with one typing error.

    It leaves one half correct, unless it swaps the letters where the halves meet.
    """
    half = len(text) // 2
    return text[:half] in name or text[half:] in name or _corrections(text).in_the_middle in name


class _Corrections(Struct, frozen=True):
    """Possible corrections: the text with two letters swapped, or with one letter removed."""

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
