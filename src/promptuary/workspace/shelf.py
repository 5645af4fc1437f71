"""Paths laid out for the compiled matcher, which is asked for better tiers first.

Looser kinds of match are looked for only while there are too few better ones, since they cost more and
are worth less. The order of a shelf is the order of equal matches, so the first N are enough.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Final, Literal

from promptuary.workspace.tiers import SHORTEST_MISTYPED, Query, Tier

if TYPE_CHECKING:
    from frizbee import Haystacks, Matcher

FEW: Final = 5
"""With so many good matches nobody looks for letters with gaps or for slips of the finger."""

_THREADS: Final = min(4, os.cpu_count() or 1)
_WORTH_THREADS: Final = 100_000


def in_order(paths: Iterable[str]) -> list[str]:
    """Return the paths by depth, then length, then name."""
    ordered = sorted(paths)
    ordered.sort(key=len)
    ordered.sort(key=methodcaller("count", "/"))
    return ordered


class Shelf:
    """Paths copied to where the matcher reads them, whole and by name."""

    def __init__(self) -> None:
        from frizbee import Haystacks  # noqa: PLC0415 - costs every start 6 ms, used only for menus

        self.taken = 0
        self._paths: list[str] = []
        self._names: Haystacks = Haystacks()
        self._whole: Haystacks = Haystacks()

    def extend(self, paths: Sequence[str]) -> None:
        """Add paths; one that is not valid text cannot be written in a message and is left out."""
        self.taken += len(paths)
        fit = [path for path in paths if path.isascii() or is_text(path)]
        self._paths += fit
        self._whole.extend(fit)
        self._names.extend([path.rpartition("/")[2] for path in fit])

    def search(self, query: Query, limit: int, *, loosely: bool = True) -> list[tuple[str, int]]:
        """Return candidates with the matcher's score: among them the ``limit`` best.

        Without ``loosely`` letters with gaps in the folders and slips of the finger are not looked for.
        """
        if not self._paths or not is_text(query.text):
            return []
        if not query.words:
            return [(path, 0) for path in self._paths[:limit]]
        search = _Search(query, limit, self._paths, FEW if loosely else 0, {})
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
        if search.ask(self._whole, word, "substring").enough(Tier.PATH):
            return
        if search.enough(Tier.PATH, search.few):
            return
        if len(word) >= SHORTEST_MISTYPED:
            search.ask(self._names, word, "fuzzy", typos=1)
        if not search.enough(Tier.LOOSE, FEW):
            search.ask(self._whole, word, "fuzzy")

    def _search_paths(self, search: "_Search") -> None:
        words = search.query.words
        if len(words) == 1 and search.ask(self._whole, words[0], "prefix").enough(Tier.PREFIX):
            return
        if "/" not in search.query.text and search.ask(self._names, words, "substring").enough(Tier.SUBSTRING):
            return
        if search.ask(self._whole, words, "substring").enough(Tier.PATH):
            return
        # Cheaper than letters with gaps, and nearly always what a person means by ``src/conf``.
        parts = tuple(part for word in words for part in word.split("/") if part)
        if search.ask(self._whole, parts, "substring", most=search.limit * 5).enough(Tier.PATH, search.few):
            return
        search.ask(self._whole, words, "fuzzy")
        if len(words) == 1 and not search.enough(Tier.LOOSE, FEW):
            search.ask(self._whole, words, "fuzzy", typos=1)


@dataclass(slots=True)
class _Search:
    """One question to one shelf: the candidates so far, by index, with the matcher's score."""

    query: Query
    limit: int
    paths: list[str]
    few: int
    scores: dict[int, int]

    def ask(
        self,
        haystacks: "Haystacks",
        words: str | tuple[str, ...],
        matching: Literal["exact", "prefix", "substring", "fuzzy"],
        *,
        typos: int = 0,
        most: int = 0,
    ) -> "_Search":
        """Add what the matcher finds; a looser kind of match is asked for more, since grading reorders it."""
        most = most or (self.limit * 5 if matching == "fuzzy" else self.limit)
        matcher = matcher_for(
            words, max_typos=typos, max_items=most, matching=matching, exact_case=self.query.exact_case
        )
        threads = _THREADS if len(haystacks) > _WORTH_THREADS and matching in {"substring", "fuzzy"} else 1
        for match in matcher.match_list_parallel(haystacks, threads):
            if not typos or self._one_slip(match.index):
                self.scores.setdefault(match.index, match.score)
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


def matcher_for(
    words: str | tuple[str, ...],
    *,
    max_typos: int,
    max_items: int | None,
    matching: Literal["exact", "prefix", "substring", "fuzzy"],
    exact_case: bool,
) -> "Matcher":
    """Return the compiled matcher for one word, or for several that must all match."""
    from frizbee import Matcher  # noqa: PLC0415 - see Shelf

    return Matcher.from_patterns(
        [words] if isinstance(words, str) else words,
        max_typos=max_typos,
        max_items=max_items,
        matching=matching,
        casing="respect" if exact_case else "ignore",
    )


def is_text(path: str) -> bool:
    """Return whether ``path`` is text: a name may hold bytes that are not."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
