"""Paths in the layout of the compiled matcher, which searches better tiers first.

Looser kinds of match are searched only while there are too few better ones, since they cost more and are worth less.
The order of an index is the order of equal matches, so the first N are enough. The index caches what matched a query:
more letters can only narrow it, so the next letter is searched in these paths alone.
"""

import os
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from promptuary.base.concurrency import foreground
from promptuary.base.text import is_unicode
from promptuary.workspace.matching.grades import (
    MIN_BEGINNING,
    MIN_IN_FOLDERS,
    MIN_WITH_TYPO,
    PathQuery,
    Tier,
    part_fit,
    slip_of,
)

if TYPE_CHECKING:
    from frizbee import Matcher

MatchMode = Literal["exact", "prefix", "suffix", "substring", "fuzzy"]

ENOUGH_GOOD_MATCHES: Final = 5
"""With this many good matches, letters with gaps and typing errors are not searched."""

_THREADS: Final = min(4, os.cpu_count() or 1)
_WORTH_THREADS: Final = 100_000

_COPY_COST: Final[dict[MatchMode, int]] = {"exact": 200, "prefix": 200, "suffix": 200, "substring": 40, "fuzzy": 40}
"""How many texts of a column the matcher searches in the time in which one text is copied to it."""

_MAX_REMEMBERED: Final = 16
"""How many queries are cached: the last ones typed, and those to which deleting a few letters returns."""

_SEGMENTS_GRADED: Final = 200
_SEGMENTS_TRIED: Final = 3
"""How many folder names that are similar to a misspelt one are searched."""

_LOOSENESS: Final[dict[MatchMode, int]] = {"exact": 0, "prefix": 1, "suffix": 1, "substring": 2, "fuzzy": 3}


def sort_paths(paths: Iterable[str]) -> list[str]:
    """Return the paths by depth, then length, then name.

    They are sorted in many small lists: no other thread runs while the interpreter sorts a long one.
    """
    alike: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for path in foreground.yielding(paths):
        alike[path.count("/"), len(path)].append(path)
    ordered: list[str] = []
    for key in sorted(alike):
        ordered += sorted(alike[key])
    return ordered


def _sort_key(path: str) -> tuple[int, int, str]:
    return path.count("/"), len(path), path


class MatchPattern(Struct, frozen=True):
    """A query to the matcher: words that must all match, and how."""

    words: tuple[str, ...]
    matching: MatchMode
    exact_case: bool
    typos: int = 0

    def narrows(self, other: "MatchPattern") -> bool:
        """Return whether every match of this also matches ``other``: as strict or stricter, and with more letters."""
        return (
            self.exact_case == other.exact_case
            and _LOOSENESS[self.matching] + self.typos <= _LOOSENESS[other.matching] + other.typos
            and len(self.words) >= len(other.words)
            and all(word.startswith(before) for word, before in zip(self.words, other.words, strict=False))
        )

    def matcher(self, most: int | None = None) -> "Matcher":
        """Return the compiled matcher; it finds the ``most`` best matches."""
        from frizbee import Matcher  # noqa: PLC0415 - costs every start 6 ms, used only for menus

        return Matcher.from_patterns(
            self.words,
            max_typos=self.typos,
            max_items=most,
            matching=self.matching,
            casing="respect" if self.exact_case else "ignore",
        )


AT_ONCE: Final = 2_000
"""How many paths are added at once, in about 3 ms: pending queries are answered in between."""


class TextColumn:
    """One text for each path, such as its name, in the memory of the matcher."""

    def __init__(self, text_of: Callable[[str], str]) -> None:
        from frizbee import Haystacks  # noqa: PLC0415 - see Pattern

        self._text_of = text_of
        self._paths: list[str] = []
        self._haystacks = Haystacks()
        self._remembered: deque[tuple[MatchPattern, Sequence[int]]] = deque(maxlen=_MAX_REMEMBERED)

    def extend(self, paths: Sequence[str]) -> None:
        """Add the texts of these paths; remembered matches are dropped, because they lack the new paths."""
        self._paths += paths
        self._haystacks.extend([self._text_of(path) for path in paths])
        self._remembered.clear()

    def ask(self, pattern: MatchPattern, most: int) -> list[tuple[int, int]]:
        """Return the ``most`` best matches, as indices with the matcher's score, the best first."""
        among = self.narrow(pattern)
        if among is None:
            few = self._copy_limit(pattern)
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

    def text(self, index: int) -> str:
        return self._text_of(self._paths[index])

    def narrow(self, pattern: MatchPattern) -> Sequence[int] | None:
        """Return a few sorted indices that include every match of ``pattern``; ``None`` if unknown."""
        fewest, most = None, self._copy_limit(pattern)
        for before, left in reversed(self._remembered):
            if len(left) <= most and pattern.narrows(before):
                fewest, most = left, len(left) - 1
        return fewest

    def _copy_limit(self, pattern: MatchPattern) -> int:
        """Return the most texts for which copying them to the matcher is faster than searching the whole column."""
        return len(self._paths) // _COPY_COST[pattern.matching]

    def remember(self, pattern: MatchPattern, indices: Sequence[int]) -> None:
        """Cache for the next queries that every match of ``pattern`` is among these."""
        if pattern.matching not in {"exact", "suffix"}:  # more letters do not narrow these
            self._remembered.append((pattern, indices))


class PathIndex:
    """Searchable paths in columns: the whole path, the name, and the folder; and the different names of folders."""

    def __init__(self) -> None:
        self.received = 0
        self._paths: list[str] = []
        self._whole = TextColumn(str)
        self._names = TextColumn(_name_of)
        self._folders = TextColumn(_folder_of)
        self._segments = TextColumn(str)
        self._known_folders: set[str] = set()
        self._known_segments: set[str] = set()

    def extend(self, paths: Sequence[str]) -> None:
        """Add paths. One that is not valid text is skipped, because it cannot be written in a message."""
        for start in range(0, len(paths), AT_ONCE):
            if start:
                foreground.give_way()
            self._extend(paths[start : start + AT_ONCE])

    def _extend(self, paths: Sequence[str]) -> None:
        self.received += len(paths)
        fit = [path for path in paths if path.isascii() or is_unicode(path)]
        self._paths += fit
        self._whole.extend(fit)
        self._names.extend(fit)
        folders = {folder: path for path in fit if (folder := _folder_of(path)) not in self._known_folders}
        self._known_folders.update(folders)
        self._folders.extend(list(folders.values()))
        new = {segment for folder in folders for segment in folder.split("/")} - self._known_segments - {""}
        self._known_segments |= new
        self._segments.extend(sorted(new))

    def contains(self, path: str) -> bool:
        """Return whether ``path`` was added; only correct if the paths were added in the order of ``sort_paths``."""
        at = bisect_left(self._paths, _sort_key(path), key=_sort_key)
        return self._paths[at : at + 1] == [path]

    def search(self, query: PathQuery, limit: int, *, loosely: bool = True) -> list[tuple[str, int]]:
        """Return candidates with the matcher's score; they include the ``limit`` best paths.

        Without ``loosely``, letters with gaps in the folders and typing errors are not searched.
        """
        if not self._paths or not is_unicode(query.text):
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
            # More names begin with it than are wanted: the exact names may be among the rest.
            search.ask(self._names, word, "exact").ask(self._names, f"{word}.", "prefix")
            return
        if search.ask(self._names, word, "fuzzy").enough(Tier.SUBSTRING):
            return
        self._narrow_by_folders(word, search.query)
        if search.ask(self._whole, word, "substring").enough(Tier.PATH):
            return
        if search.enough(Tier.PATH, search.few):
            return
        # Letters of the folders and of the name; then one wrong letter in the name.
        if len(word) >= MIN_IN_FOLDERS or not search.enough(Tier.LOOSE, ENOUGH_GOOD_MATCHES):
            search.ask(self._whole, word, "fuzzy", most=search.limit * 10)
        if len(word) >= MIN_WITH_TYPO and not search.enough(Tier.TYPO, search.few):
            search.ask(self._names, word, "fuzzy", typos=1)

    def _search_paths(self, search: "_Search") -> None:
        words = search.query.words
        if len(words) == 1 and search.ask(self._whole, words[0], "prefix").enough(Tier.PREFIX):
            return
        if "/" not in search.query.text and search.ask(self._names, words, "substring").enough(Tier.SUBSTRING):
            return
        if len(words) == 1:
            self._narrow_by_folders(words[0], search.query)
        if search.ask(self._whole, words, "substring").enough(Tier.PATH):
            return
        # Cheaper than letters with gaps, and nearly always what a person means by ``src/conf``.
        parts = tuple(part for word in words for part in word.split("/") if part)
        if search.ask(self._whole, parts, "substring", most=search.limit * 5).enough(Tier.PATH, search.few):
            return
        if len(words) == 1:
            self._search_slips(search, parts)
            if search.enough(Tier.TYPO, search.few):
                return
        search.ask(self._whole, words, "fuzzy")

    def _search_slips(self, search: "_Search", parts: tuple[str, ...]) -> None:
        """Search with one typing error in a folder, then with one in the name.

        The folders of a tree have few different names: the intended ones are found among these, and searched.
        """
        if not search.few or not parts:
            return
        *folders, name = parts
        for place, part in enumerate(folders):
            for segment in self._respell(part, exact_case=search.query.exact_case):
                respelled = (*folders[:place], segment, *folders[place + 1 :], name)
                search.ask(self._whole, respelled, "substring", most=search.limit * 5)
        if len(name) < MIN_WITH_TYPO or not folders or search.enough(Tier.TYPO, search.few):
            return
        if all(self._is_in_a_folder(part, exact_case=search.query.exact_case) for part in folders):
            search.ask(self._names, name, "fuzzy", typos=1)

    def _is_in_a_folder(self, part: str, *, exact_case: bool) -> bool:
        """Return whether ``part`` fits the name of a folder, judging by its best matches."""
        found = self._segments.ask(MatchPattern((part,), "fuzzy", exact_case), _SEGMENTS_GRADED)
        fits = (part_fit(part, self._segments.text(index), exact_case=exact_case) for index, _ in found)
        return any(fit is not None for fit in fits)

    def _respell(self, part: str, *, exact_case: bool) -> list[str]:
        """Return the names of folders that ``part`` may mean with one typing error, the nearest first."""
        if len(part) < MIN_BEGINNING:
            return []
        found = self._segments.ask(MatchPattern((part,), "fuzzy", exact_case, typos=1), _SEGMENTS_GRADED)
        near: dict[str, tuple[int, int]] = {}
        for index, _ in found:
            segment = self._segments.text(index) if exact_case else self._segments.text(index).lower()
            slip = None if part in segment else slip_of(part, segment)
            if slip is not None:
                near[segment] = (slip, abs(len(segment) - len(part)))
        return sorted(near, key=lambda segment: (near[segment], segment))[:_SEGMENTS_TRIED]

    def _narrow_by_folders(self, word: str, query: PathQuery) -> None:
        """Cache in the column of whole paths where ``word`` can be if no folder contains it.

        Folders are few and quick to search. A word is either wholly in a folder, or wholly in the name, or its last
        ``/`` is between the two.
        """
        inside, slash, _ = word.rpartition("/")
        pattern = MatchPattern((word,), "substring", query.exact_case)
        if self._whole.narrow(pattern) is not None or (slash and not inside):
            return
        if self._folders.ask(pattern, 1):
            return
        if slash and self._folders.ask(MatchPattern((inside,), "suffix", query.exact_case), 1):
            return
        among = () if slash else self._names.narrow(pattern)
        if among is not None:
            self._whole.remember(pattern, among)


class _Search(Struct):
    """One query to one index: the candidates so far, by position, with the matcher's score."""

    query: PathQuery
    limit: int
    paths: list[str]
    few: int
    scores: dict[int, int]

    def ask(
        self, column: TextColumn, words: str | tuple[str, ...], matching: MatchMode, *, typos: int = 0, most: int = 0
    ) -> "_Search":
        """Add what the matcher finds. More fuzzy matches are requested than needed, since grading reorders them."""
        most = most or (self.limit * 5 if matching == "fuzzy" else self.limit)
        words = (words,) if isinstance(words, str) else words
        for index, score in column.ask(MatchPattern(words, matching, self.query.exact_case, typos), most):
            if not typos or self._is_one_typo(index):
                self.scores.setdefault(index, score)
        return self

    def _is_one_typo(self, index: int) -> bool:
        """Return whether a match is a typing error; a letter missing among scattered ones is noise."""
        return self.query.grade(self.paths[index])[0] is not Tier.LOOSE

    def enough(self, tier: Tier, wanted: int | None = None) -> bool:
        """Return whether there are ``wanted`` matches of this tier or better; by default as many as the limit."""
        wanted = self.limit if wanted is None else min(wanted, self.limit)
        if len(self.scores) < wanted or tier is Tier.LOOSE:
            return len(self.scores) >= wanted
        return sum(self.query.grade(self.paths[index])[0] <= tier for index in self.scores) >= wanted


def _name_of(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
