"""The paths that answer a query best: fuzzy search over a ``Listing``, fast enough for every keystroke.

Candidates come from a ``PathIndex``; ``tiers`` grades the few hundred that are left. Files that are changed
in git or often used have a shelf of their own, in the order of preference, so that they cannot be
missed among thousands of equal matches. Knows paths only as text.
"""

import gc
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol

from promptuary import concurrency
from promptuary.workspace.matching.grades import PathQuery, Tier
from promptuary.workspace.matching.path_index import ENOUGH_GOOD_MATCHES, MatchPattern, PathIndex, sort_paths

if TYPE_CHECKING:
    from frizbee import Matcher

MatchKind = Literal["file", "folder"]

_BATCH: Final = 10_000
"""How many new paths one question may take in while the scan is running: about 10 ms."""

_AT_ONCE: Final = 20_000
"""Up to this many paths are put in order while the question waits."""

_A_LOOK: Final = 100
"""To look one path up costs as much as to pass so many."""


class PathList(Protocol):
    """What a ``Listing`` offers: ``paths`` only grows until ``generation`` changes."""

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
        """Whether these are all."""
        ...

    @property
    def generation(self) -> int:
        """Which list this is."""
        ...


@dataclass(frozen=True, slots=True)
class Preferences:
    """What decides between equal matches: changed in git first, then the score of use."""

    changed: frozenset[str] = frozenset()
    used: Mapping[str, float] = field(default_factory=dict)

    def rank(self, path: str) -> tuple[bool, float]:
        """Return the order of ``path`` among equal matches, the smallest first."""
        return path not in self.changed, round(-self.used.get(path, 0.0), 3)


@dataclass(frozen=True, slots=True)
class PathMatch:
    """A path that matches, how, and which of its characters do."""

    path: str
    kind: MatchKind
    tier: Tier
    positions: tuple[int, ...] = ()


class Ranker:
    """Answers queries over a listing's files and folders; safe to use from several threads."""

    def __init__(self, listing: PathList) -> None:
        self._listing = listing
        self._lock = threading.Lock()
        self._shelves: dict[MatchKind, PathIndex] = {"file": PathIndex(), "folder": PathIndex()}
        self._live_folders: set[str] = set()
        self._ordered = 0
        self._ordering: threading.Thread | None = None
        self._favourites: tuple[object, PathIndex] = (None, PathIndex())
        self._met = _ListedPaths()

    def rank(
        self,
        query: str,
        *,
        limit: int = 20,
        kinds: Sequence[MatchKind] = ("file", "folder"),
        preferred: Preferences | None = None,
    ) -> list[PathMatch]:
        """Return the ``limit`` best paths for ``query``; the same paths and query give the same answer."""
        asked = PathQuery(query.strip())
        preferred = preferred or Preferences()
        with self._lock:
            self._take_in()
            shelves = [(kind, self._shelves[kind]) for kind in kinds]
            found: dict[tuple[MatchKind, str], int] = {}
            for kind, shelf in shelves:
                hits = shelf.search(asked, limit, loosely=len(found) < ENOUGH_GOOD_MATCHES)
                found |= {(kind, path): score for path, score in hits}
            if "file" in kinds:
                favourites = self._favourite_shelf(preferred)
                found |= {("file", path): score for path, score in favourites.search(asked, limit)}
        return _best(found, asked, limit, preferred)

    def wait_until_sorted(self) -> None:
        """Wait until a complete listing is in order: for a single question, and for tests."""
        self._take_in()
        if self._ordering:
            self._ordering.join()

    def _take_in(self) -> None:
        """Bring the shelves nearer to the listing, without keeping the question waiting."""
        if not self._listing.complete:
            self._append()
        elif self._ordered != self._listing.generation and not (self._ordering and self._ordering.is_alive()):
            if len(self._listing.paths) <= _AT_ONCE:
                self._order()
            else:
                self._ordering = concurrency.start_daemon(self._order_aside, name="promptuary-order")

    def _append(self) -> None:
        files = self._shelves["file"]
        new = self._listing.paths[files.received : files.received + _BATCH]
        files.extend(new)
        folders = {path.rpartition("/")[0] for path in new} - self._live_folders - {""}
        self._live_folders |= folders
        self._shelves["folder"].extend(sorted(folders))

    def _order_aside(self) -> None:
        self._order()
        # Lists of this length are young only once: otherwise they are walked through twice while somebody types.
        if gc.isenabled():
            gc.collect(1)

    def _order(self) -> None:
        generation = self._listing.generation
        shelves: dict[MatchKind, PathIndex] = {"file": PathIndex(), "folder": PathIndex()}
        shelves["file"].extend(sort_paths(self._listing.paths))
        shelves["folder"].extend(sort_paths(self._listing.folders))
        self._shelves = shelves
        self._ordered = generation

    def _favourite_shelf(self, preferred: Preferences) -> PathIndex:
        ordered = self._shelves["file"] if self._ordered == self._listing.generation else None
        present = self._met.among(self._listing, preferred.changed.union(preferred.used), ordered)
        key = (self._listing.generation, present, preferred)
        if self._favourites[0] != key:
            shelf = PathIndex()
            shelf.extend(sorted(sort_paths(present), key=preferred.rank))
            self._favourites = (key, shelf)
        return self._favourites[1]


@dataclass(slots=True)
class _ListedPaths:
    """Which of some paths a listing has; the listing is gone through once, not again for every new score of use."""

    wanted: frozenset[str] = frozenset()
    generation: int = -1
    seen: int = 0
    present: frozenset[str] = frozenset()

    def among(self, listing: PathList, wanted: frozenset[str], ordered: PathIndex | None) -> frozenset[str]:
        """Return those of ``wanted`` that are listed so far; few are looked up if the listing is in order."""
        generation, paths = listing.generation, listing.paths
        if (generation, wanted) != (self.generation, self.wanted) or len(paths) < self.seen:
            self.wanted, self.generation, self.seen, self.present = wanted, generation, 0, frozenset()
            if ordered and len(wanted) * _A_LOOK < len(paths):
                self.seen, self.present = len(paths), frozenset(filter(ordered.contains, wanted))
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
        # Steps of eight: less than one letter's worth is a near tie, which use decides.
        loose = -(score // 8) if tier is Tier.LOOSE else 0
        return tier, finer, loose, preferred.rank(path), path.count("/"), len(path), path, kind

    best = sorted(found.items(), key=key)[:limit]
    marks = _Highlights(query)
    return [PathMatch(path, kind, query.grade(path)[0], marks.of(path)) for (kind, path), _ in best]


class _Highlights:
    """Which characters of a path to show as matching."""

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
            marked.update(range(at, at + len(word)) if at >= 0 else self._scattered(word, path))
        return tuple(sorted(index for index in marked if index < len(path)))

    def _scattered(self, word: str, path: str) -> list[int]:
        # To make a matcher costs more than to use it for one path.
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
