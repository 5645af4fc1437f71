"""Paths laid out for the compiled matcher, which is asked for better tiers first.

Looser kinds of match are looked for only while there are too few better ones, since they cost more and
are worth less. The order of a shelf is the order of equal matches, so the first N are enough. What a question
left is remembered: typing on can only narrow it, so the next letter is looked for in these paths alone.
"""

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Final, Literal

from promptuary.workspace.matching.grades import SHORTEST_WITH_TYPO, PathQuery, Tier

if TYPE_CHECKING:
    from frizbee import Matcher

MatchMode = Literal["exact", "prefix", "substring", "fuzzy"]

ENOUGH_GOOD_MATCHES: Final = 5
"""With so many good matches nobody looks for letters with gaps or for slips of the finger."""

_THREADS: Final = min(4, os.cpu_count() or 1)
_WORTH_THREADS: Final = 100_000

_AS_COSTLY: Final[dict[MatchMode, int]] = {"exact": 200, "prefix": 200, "substring": 40, "fuzzy": 40}
"""How many texts the matcher goes through where they lie while one is handed to it."""

_QUESTIONS: Final = 16
"""Of how many questions: what was typed last, and what deleting a few letters leads back to."""

_LOOSENESS: Final[dict[MatchMode, int]] = {"exact": 0, "prefix": 1, "substring": 2, "fuzzy": 3}


def sort_paths(paths: Iterable[str]) -> list[str]:
    """Return the paths by depth, then length, then name."""
    ordered = sorted(paths)
    ordered.sort(key=len)
    ordered.sort(key=methodcaller("count", "/"))
    return ordered


def _place(path: str) -> tuple[int, int, str]:
    """Return what ``sort_paths`` goes by."""
    return path.count("/"), len(path), path


@dataclass(frozen=True, slots=True)
class MatchPattern:
    """What the matcher is asked for: words that must all match, in what way."""

    words: tuple[str, ...]
    matching: MatchMode
    exact_case: bool
    typos: int = 0

    def narrows(self, other: "MatchPattern") -> bool:
        """Return whether every match of this is one of ``other``: as strict or stricter, and typed on from it."""
        return (
            self.exact_case == other.exact_case
            and _LOOSENESS[self.matching] + self.typos <= _LOOSENESS[other.matching] + other.typos
            and len(self.words) >= len(other.words)
            and all(word.startswith(before) for word, before in zip(self.words, other.words, strict=False))
        )

    def matcher(self, most: int | None = None) -> "Matcher":
        """Return the compiled matcher, which finds the ``most`` best."""
        from frizbee import Matcher  # noqa: PLC0415 - costs every start 6 ms, used only for menus

        return Matcher.from_patterns(
            self.words,
            max_typos=self.typos,
            max_items=most,
            matching=self.matching,
            casing="respect" if self.exact_case else "ignore",
        )


class TextColumn:
    """One text for each path, such as its name, copied to where the matcher reads it."""

    def __init__(self, text_of: Callable[[str], str]) -> None:
        from frizbee import Haystacks  # noqa: PLC0415 - see Pattern

        self._text_of = text_of
        self._paths: list[str] = []
        self._haystacks = Haystacks()
        self._left: deque[tuple[MatchPattern, Sequence[int]]] = deque(maxlen=_QUESTIONS)

    def extend(self, paths: Sequence[str]) -> None:
        """Add the texts of these paths; what is remembered knows nothing of them and is forgotten."""
        self._paths += paths
        self._haystacks.extend([self._text_of(path) for path in paths])
        self._left.clear()

    def ask(self, pattern: MatchPattern, most: int) -> list[tuple[int, int]]:
        """Return the ``most`` best matches, as indices with the matcher's score, the best first."""
        among = self.left(pattern)
        if among is None:
            few = self._few(pattern)
            matcher = pattern.matcher(max(most, few + 1))
            wide = len(self._haystacks) > _WORTH_THREADS and pattern.matching in {"substring", "fuzzy"}
            found = matcher.match_list_parallel(self._haystacks, _THREADS if wide else 1)
            if len(found) <= few:
                self.remember(pattern, sorted([match.index for match in found]))
            return [(match.index, match.score) for match in found[:most]]
        if not among:
            return []
        found = pattern.matcher().match_list([self._text_of(self._paths[index]) for index in among])
        if len(found) < len(among):
            self.remember(pattern, [among[at] for at in sorted([match.index for match in found])])
        return [(among[match.index], match.score) for match in found[:most]]

    def left(self, pattern: MatchPattern) -> Sequence[int] | None:
        """Return in order a few indices with every match of ``pattern`` among them, if so much is known."""
        few = self._few(pattern)
        known = [left for before, left in self._left if len(left) <= few and pattern.narrows(before)]
        return min(known, key=len, default=None)

    def _few(self, pattern: MatchPattern) -> int:
        """Return how many texts are better handed to the matcher than looked for among all."""
        return len(self._paths) // _AS_COSTLY[pattern.matching]

    def remember(self, pattern: MatchPattern, indices: Sequence[int]) -> None:
        """Keep for the next questions that every match of ``pattern`` is among these."""
        if pattern.matching != "exact":  # typing on from a whole name is none of its kind
            self._left.append((pattern, indices))


class PathIndex:
    """Paths in three columns: whole, by name, and the folders they are in."""

    def __init__(self) -> None:
        self.received = 0
        self._paths: list[str] = []
        self._whole = TextColumn(str)
        self._names = TextColumn(_name_of)
        self._folders = TextColumn(_folder_of)

    def extend(self, paths: Sequence[str]) -> None:
        """Add paths; one that is not valid text cannot be written in a message and is left out."""
        self.received += len(paths)
        fit = [path for path in paths if path.isascii() or is_valid_text(path)]
        self._paths += fit
        self._whole.extend(fit)
        self._names.extend(fit)
        self._folders.extend(list({_folder_of(path): path for path in fit}.values()))

    def contains(self, path: str) -> bool:
        """Return whether ``path`` is here, if the paths were added in order."""
        at = bisect_left(self._paths, _place(path), key=_place)
        return self._paths[at : at + 1] == [path]

    def search(self, query: PathQuery, limit: int, *, loosely: bool = True) -> list[tuple[str, int]]:
        """Return candidates with the matcher's score: among them the ``limit`` best.

        Without ``loosely`` letters with gaps in the folders and slips of the finger are not looked for.
        """
        if not self._paths or not is_valid_text(query.text):
            return []
        if not query.words:
            return [(path, 0) for path in self._paths[:limit]]
        search = _Search(query, limit, self._paths, ENOUGH_GOOD_MATCHES if loosely else 0, {})
        if query.names_only:
            self._search_names(search)
        else:
            self._search_paths(search)
        return [(self._paths[index], score) for index, score in search.scores.items()]

    def _search_names(self, search: "_Search") -> None:
        word = search.query.words[0]
        if search.ask(self._names, word, "prefix").enough(Tier.PREFIX):
            # More begin so than were asked for: the exact names may be among the rest.
            search.ask(self._names, word, "exact").ask(self._names, f"{word}.", "prefix")
            return
        if search.ask(self._names, word, "fuzzy").enough(Tier.SUBSTRING):
            return
        self._rule_out(word, search.query)
        if search.ask(self._whole, word, "substring").enough(Tier.PATH):
            return
        if search.enough(Tier.PATH, search.few):
            return
        if len(word) >= SHORTEST_WITH_TYPO:
            search.ask(self._names, word, "fuzzy", typos=1)
        if not search.enough(Tier.LOOSE, ENOUGH_GOOD_MATCHES):
            search.ask(self._whole, word, "fuzzy")

    def _search_paths(self, search: "_Search") -> None:
        words = search.query.words
        if len(words) == 1 and search.ask(self._whole, words[0], "prefix").enough(Tier.PREFIX):
            return
        if "/" not in search.query.text and search.ask(self._names, words, "substring").enough(Tier.SUBSTRING):
            return
        if len(words) == 1:
            self._rule_out(words[0], search.query)
        if search.ask(self._whole, words, "substring").enough(Tier.PATH):
            return
        # Cheaper than letters with gaps, and nearly always what a person means by ``src/conf``.
        parts = tuple(part for word in words for part in word.split("/") if part)
        if search.ask(self._whole, parts, "substring", most=search.limit * 5).enough(Tier.PATH, search.few):
            return
        search.ask(self._whole, words, "fuzzy")
        if len(words) == 1 and not search.enough(Tier.LOOSE, ENOUGH_GOOD_MATCHES):
            search.ask(self._whole, words, "fuzzy", typos=1)

    def _rule_out(self, word: str, query: PathQuery) -> None:
        """Tell the whole paths where ``word`` can stand if no folder has it: folders are few, and quick to ask.

        Of a word with ``/`` in it what comes before the last one stands in a folder; of another word either all
        stands in one, or all in the name.
        """
        inside, slash, _ = word.rpartition("/")
        pattern = MatchPattern((word,), "substring", query.exact_case)
        if self._whole.left(pattern) is not None or (slash and not inside):
            return
        if self._folders.ask(MatchPattern((inside if slash else word,), "substring", query.exact_case), 1):
            return
        among = () if slash else self._names.left(pattern)
        if among is not None:
            self._whole.remember(pattern, among)


@dataclass(slots=True)
class _Search:
    """One question to one shelf: the candidates so far, by index, with the matcher's score."""

    query: PathQuery
    limit: int
    paths: list[str]
    few: int
    scores: dict[int, int]

    def ask(
        self, column: TextColumn, words: str | tuple[str, ...], matching: MatchMode, *, typos: int = 0, most: int = 0
    ) -> "_Search":
        """Add what the matcher finds; a looser kind of match is asked for more, since grading reorders it."""
        most = most or (self.limit * 5 if matching == "fuzzy" else self.limit)
        words = (words,) if isinstance(words, str) else words
        for index, score in column.ask(MatchPattern(words, matching, self.query.exact_case, typos), most):
            if not typos or self._one_slip(index):
                self.scores.setdefault(index, score)
        return self

    def _one_slip(self, index: int) -> bool:
        """Return whether it is a slip of the finger: a letter missing among scattered ones is noise."""
        tier, finer = self.query.grade(self.paths[index])
        return tier is not Tier.LOOSE or not finer

    def enough(self, tier: Tier, wanted: int | None = None) -> bool:
        """Return whether there are as many matches of this tier or better as were asked for, or ``wanted``."""
        wanted = self.limit if wanted is None else min(wanted, self.limit)
        if len(self.scores) < wanted or tier is Tier.LOOSE:
            return len(self.scores) >= wanted
        return sum(self.query.grade(self.paths[index])[0] <= tier for index in self.scores) >= wanted


def _name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def is_valid_text(path: str) -> bool:
    """Return whether ``path`` is text: a name may hold bytes that are not."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
