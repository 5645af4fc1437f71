"""Finds the paths that match a query best: fuzzy search over a ``Listing``, fast enough for every keystroke.

Candidates come from a ``PathIndex``; ``grades`` grades the few hundred that are left. Files that are changed in git or
often used have a separate index, sorted by preference, so that they are not missed among thousands of equal matches.
Knows paths only as text.
"""

import gc
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol

from msgspec import Struct, field

from promptuary.base import concurrency
from promptuary.workspace.matching.grades import PathQuery, Tier
from promptuary.workspace.matching.path_index import (
    AT_ONCE,
    ENOUGH_GOOD_MATCHES,
    MatchPattern,
    PathIndex,
    sort_paths,
)

if TYPE_CHECKING:
    from frizbee import Matcher

MatchKind = Literal["file", "folder"]

_SORT_AT_ONCE: Final = 5_000
"""Up to this many paths are sorted while the query waits; more are sorted in the background."""

_LOOKUP_COST: Final = 100
"""Looking up one path costs as much as iterating over this many."""


class PathList(Protocol):
    """What the ranker needs from a ``Listing``: ``paths`` only grows until ``generation`` changes."""

    @property
    def paths(self) -> Sequence[str]:
        """The files known so far."""
        ...

    @property
    def folders(self) -> Sequence[str]:
        """The folders above them."""
        ...

    @property
    def complete(self) -> bool:
        """Whether every file is known."""
        ...

    @property
    def generation(self) -> int:
        """Changes when ``paths`` is replaced by another list."""
        ...


class Preferences(Struct, frozen=True):
    """The order of equal matches: files changed in git first, then by their score of use."""

    changed: frozenset[str] = frozenset()
    used: Mapping[str, float] = field(default_factory=dict)

    def rank(self, path: str) -> tuple[bool, float]:
        """Return the sort key of ``path`` among equal matches; the smallest comes first."""
        return path not in self.changed, round(-self.used.get(path, 0.0), 3)


class PathMatch(Struct, frozen=True):
    """A path that matches, how well, and the ``positions`` of the characters that do."""

    path: str
    kind: MatchKind
    tier: Tier
    positions: tuple[int, ...] = ()


class Ranker:
    """Answers queries over a listing's files and folders. Thread-safe."""

    def __init__(self, listing: PathList) -> None:
        self._listing = listing
        self._lock = threading.Lock()
        self._indexes: dict[MatchKind, PathIndex] = {"file": PathIndex(), "folder": PathIndex()}
        self._live_folders: set[str] = set()
        self._sorted_generation = 0
        self._filling: threading.Thread | None = None
        self._sorting: threading.Thread | None = None
        self._preferred: tuple[object, PathIndex] = (None, PathIndex())
        self._listed = _ListedPaths()
        self.is_partial = False
        """Whether the last query searched only a part of the paths, so that the same query may find more later."""

    def rank(
        self,
        query: str,
        *,
        limit: int = 20,
        kinds: Sequence[MatchKind] = ("file", "folder"),
        preferred: Preferences | None = None,
    ) -> list[PathMatch]:
        """Return the ``limit`` best paths for ``query``, the best first. Deterministic for the same paths and query.

        A capital letter is case-sensitive, unless nothing matches then: ``Readme`` finds ``README.md``.
        """
        asked = PathQuery(query.strip())
        best = self._rank(asked, limit, kinds, preferred or Preferences())
        if not asked.exact_case or any(match.tier < Tier.TYPO for match in best):
            return best
        in_any_case = self._rank(PathQuery(asked.text.lower()), limit, kinds, preferred or Preferences())
        return in_any_case if any(match.tier < Tier.TYPO for match in in_any_case) or not best else best

    def _rank(
        self, asked: PathQuery, limit: int, kinds: Sequence[MatchKind], preferred: Preferences
    ) -> list[PathMatch]:
        with self._lock:
            self._update()
            self.is_partial = self._sorted_generation == 0
            indexes = [(kind, self._indexes[kind]) for kind in kinds]
            found: dict[tuple[MatchKind, str], int] = {}
            for kind, index in indexes:
                hits = index.search(asked, limit, loosely=len(found) < ENOUGH_GOOD_MATCHES)
                found |= {(kind, path): score for path, score in hits}
            if "file" in kinds:
                preferred_index = self._preferred_index(preferred)
                found |= {("file", path): score for path, score in preferred_index.search(asked, limit)}
        return _best(found, asked, limit, preferred)

    def wait_until_sorted(self, timeout: float | None = None) -> None:
        """Wait until a complete listing is sorted, at most ``timeout`` seconds: for a single query, and for tests."""
        with self._lock:
            self._update()
        if self._sorting:
            self._sorting.join(timeout)

    def _update(self) -> None:
        """Update the indexes from the listing, without delaying the query for long."""
        if not self._listing.complete:
            self._append()
            if self._is_behind() and not (self._filling and self._filling.is_alive()):
                self._filling = concurrency.start_daemon(self._fill_in_background, name="promptuary-fill")
        elif self._sorted_generation != self._listing.generation and not self._is_sorting():
            if len(self._listing.paths) <= _SORT_AT_ONCE:
                self._sort()
            else:
                self._sorting = concurrency.start_daemon(self._sort_in_background, name="promptuary-sort")

    def _is_sorting(self) -> bool:
        return self._sorting is not None and self._sorting.is_alive()

    def _is_behind(self) -> bool:
        return self._indexes["file"].received < len(self._listing.paths)

    def _fill_in_background(self) -> None:
        while self._is_behind() and not self._listing.complete:
            concurrency.foreground.give_way()
            with self._lock:
                self._append()

    def _append(self) -> None:
        files = self._indexes["file"]
        # At most one batch: while the lock is held, nothing may yield to a thread that waits for the lock.
        new = self._listing.paths[files.received : files.received + AT_ONCE]
        files.extend(new)
        folders = {path.rpartition("/")[0] for path in new} - self._live_folders - {""}
        self._live_folders |= folders
        self._indexes["folder"].extend(sorted(folders))

    def _sort_in_background(self) -> None:
        self._sort()
        # Moves the long lists out of the youngest generation now: otherwise the collector traverses them twice during
        # typing.
        if gc.isenabled():
            gc.collect(1)

    def _sort(self) -> None:
        generation = self._listing.generation
        indexes: dict[MatchKind, PathIndex] = {"file": PathIndex(), "folder": PathIndex()}
        indexes["file"].extend(sort_paths(self._listing.paths))
        indexes["folder"].extend(sort_paths(self._listing.folders))
        self._indexes = indexes
        self._sorted_generation = generation

    def _preferred_index(self, preferred: Preferences) -> PathIndex:
        sorted_index = self._indexes["file"] if self._sorted_generation == self._listing.generation else None
        present = self._listed.among(self._listing, preferred.changed.union(preferred.used), sorted_index)
        key = (self._listing.generation, present, preferred)
        if self._preferred[0] != key:
            index = PathIndex()
            index.extend(sorted(sort_paths(present), key=preferred.rank))
            self._preferred = (key, index)
        return self._preferred[1]


class _ListedPaths(Struct):
    """Which of some paths a listing has. Iterates over the listing once, not for every new score of use."""

    wanted: frozenset[str] = frozenset()
    generation: int = -1
    seen: int = 0
    present: frozenset[str] = frozenset()

    def among(self, listing: PathList, wanted: frozenset[str], sorted_index: PathIndex | None) -> frozenset[str]:
        """Return those of ``wanted`` that are listed so far; a few are looked up if there is a sorted index."""
        generation, paths = listing.generation, listing.paths
        if (generation, wanted) != (self.generation, self.wanted) or len(paths) < self.seen:
            self.wanted, self.generation, self.seen, self.present = wanted, generation, 0, frozenset()
            if sorted_index and len(wanted) * _LOOKUP_COST < len(paths):
                self.seen, self.present = len(paths), frozenset(filter(sorted_index.contains, wanted))
        new = paths[self.seen :]
        if new:
            self.present |= wanted.intersection(new)
            self.seen += len(new)
        return self.present


def _best(
    found: Mapping[tuple[MatchKind, str], int], query: PathQuery, limit: int, preferred: Preferences
) -> list[PathMatch]:
    def key(item: tuple[tuple[MatchKind, str], int]) -> tuple[object, ...]:
        (kind, path), score = item
        tier, finer = query.grade(path)
        # Steps of eight, which is less than one letter is worth: a near tie is decided by use.
        loose = -(score // 8) if tier >= Tier.FOLDERS else 0
        return tier, finer, loose, preferred.rank(path), path.count("/"), len(path), path, kind

    best = sorted(found.items(), key=key)[:limit]
    highlights = _Highlights(query)
    return [PathMatch(path, kind, query.grade(path)[0], highlights.of(path)) for (kind, path), _ in best]


class _Highlights:
    """Which characters of a path to highlight as matching."""

    def __init__(self, query: PathQuery) -> None:
        self._query = query
        self._matchers: dict[str, Matcher] = {}

    def of(self, path: str) -> tuple[int, ...]:
        """Return the indices of the characters, in order."""
        shown = path if self._query.exact_case else path.lower()
        marked: set[int] = set()
        for word in self._query.words:
            at = shown.find(word, 0 if "/" in word else path.rfind("/") + 1)
            at = at if at >= 0 else shown.find(word)
            marked.update(range(at, at + len(word)) if at >= 0 else self._find_scattered(word, path))
        return tuple(sorted(index for index in marked if index < len(path)))

    def _find_scattered(self, word: str, path: str) -> list[int]:
        # Building a matcher costs more than using it for one path.
        matcher = self._matchers.get(word)
        if matcher is None:
            matcher = self._matchers[word] = MatchPattern((word,), "fuzzy", exact_case=False, typos=1).matcher()
        start = path.rfind("/") + 1
        for text, offset in ((path[start:], start), (path, 0)):
            match = matcher.match_one_indices(text, 0)
            if match:
                # The matcher counts bytes.
                encoded = text.encode()
                return sorted({offset + len(encoded[:index].decode(errors="ignore")) for index in match.indices})
        return []
