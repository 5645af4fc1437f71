"""The paths that answer a query best: fuzzy search over a ``Listing``, fast enough for every keystroke.

Candidates come from a compiled matcher, asked for better tiers first and for looser ones only while
there are too few; then ``tiers`` grades the few hundred that are left. Shelves are ordered by depth,
length and name, so the matcher's own order breaks ties and asking for the first N is enough.
Files that are changed in git or often used are few and are graded all, so that they cannot be missed.
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Final, Literal, Protocol

from promptuary.workspace.tiers import Query, Tier

if TYPE_CHECKING:
    from frizbee import Haystacks, Matcher

Kind = Literal["file", "folder"]

_BATCH: Final = 10_000
"""How many new paths one question may take in while the scan is running: about 10 ms."""

_AT_ONCE: Final = 20_000
"""Up to this many paths are put in order while the question waits."""

_THREADS: Final = min(4, os.cpu_count() or 1)
_SHORTEST_MISTYPED: Final = 4


class Paths(Protocol):
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
class Preferred:
    """What decides between equal matches: changed in git first, then the score of use."""

    changed: frozenset[str] = frozenset()
    used: Mapping[str, float] = field(default_factory=dict)

    def rank(self, path: str) -> tuple[bool, float]:
        """Return the order of ``path`` among equal matches, the smallest first."""
        return path not in self.changed, round(-self.used.get(path, 0.0), 3)


@dataclass(frozen=True, slots=True)
class Hit:
    """A path that matches, how, and which of its characters do."""

    path: str
    kind: Kind
    tier: Tier
    positions: tuple[int, ...] = ()


class Ranker:
    """Answers queries over a listing's files and folders; safe to use from several threads."""

    def __init__(self, listing: Paths) -> None:
        self._listing = listing
        self._lock = threading.Lock()
        self._shelves: dict[Kind, Shelf] = {"file": Shelf(), "folder": Shelf()}
        self._live_folders: set[str] = set()
        self._ordered = 0
        self._ordering: threading.Thread | None = None
        self._favourites: tuple[object, Shelf] = (None, Shelf())

    def rank(
        self,
        query: str,
        *,
        limit: int = 20,
        kinds: Sequence[Kind] = ("file", "folder"),
        preferred: Preferred | None = None,
    ) -> list[Hit]:
        """Return the ``limit`` best paths for ``query``; the same paths and query give the same answer."""
        asked = Query(query.strip())
        preferred = preferred or Preferred()
        with self._lock:
            self._take_in()
            found: dict[tuple[Kind, str], int] = {}
            for kind in kinds:
                found |= {(kind, path): score for path, score in self._shelves[kind].search(asked, limit)}
            if "file" in kinds:
                favourites = self._favourite_shelf(preferred)
                found |= {("file", path): score for path, score in favourites.search(asked, limit)}
        return _best(found, asked, limit, preferred)

    def settle(self) -> None:
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
                self._ordering = threading.Thread(target=self._order, name="promptuary-order", daemon=True)
                self._ordering.start()

    def _append(self) -> None:
        files = self._shelves["file"]
        new = self._listing.paths[files.taken : files.taken + _BATCH]
        files.extend(new)
        folders = {path.rpartition("/")[0] for path in new} - self._live_folders - {""}
        self._live_folders |= folders
        self._shelves["folder"].extend(sorted(folders))

    def _order(self) -> None:
        generation = self._listing.generation
        shelves: dict[Kind, Shelf] = {"file": Shelf(), "folder": Shelf()}
        shelves["file"].extend(in_order(self._listing.paths))
        shelves["folder"].extend(in_order(self._listing.folders))
        self._shelves = shelves
        self._ordered = generation

    def _favourite_shelf(self, preferred: Preferred) -> "Shelf":
        key = (self._listing.generation, len(self._listing.paths), preferred)
        if self._favourites[0] != key:
            present = {*preferred.changed, *preferred.used}.intersection(self._listing.paths)
            shelf = Shelf()
            shelf.extend(sorted(in_order(present), key=preferred.rank))
            self._favourites = (key, shelf)
        return self._favourites[1]


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
        fit = [path for path in paths if path.isascii() or _is_text(path)]
        self._paths += fit
        self._whole.extend(fit)
        self._names.extend([path.rpartition("/")[2] for path in fit])

    def search(self, query: Query, limit: int) -> list[tuple[str, int]]:
        """Return candidates with the matcher's score: among them the ``limit`` best."""
        if not self._paths or not _is_text(query.text):
            return []
        if not query.words:
            return [(path, 0) for path in self._paths[:limit]]
        search = _Search(query, limit, self._paths, {})
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
        if len(word) >= _SHORTEST_MISTYPED:
            search.ask(self._names, word, "fuzzy", typos=1)
        if not search.enough(Tier.LOOSE):
            search.ask(self._whole, word, "fuzzy")

    def _search_paths(self, search: "_Search") -> None:
        words = search.query.words
        if len(words) == 1 and search.ask(self._whole, words[0], "prefix").enough(Tier.PREFIX):
            return
        if "/" not in search.query.text and search.ask(self._names, words, "substring").enough(
            Tier.SUBSTRING
        ):
            return
        if search.ask(self._whole, words, "substring").enough(Tier.PATH):
            return
        # Cheaper than letters with gaps, and nearly always what a person means by ``src/conf``.
        parts = tuple(part for word in words for part in word.split("/") if part)
        if search.ask(self._whole, parts, "substring", most=search.limit * 5).enough(Tier.PATH):
            return
        if search.ask(self._whole, words, "fuzzy").enough(Tier.LOOSE):
            return
        if len(search.query.text) >= _SHORTEST_MISTYPED:
            search.ask(self._whole, words, "fuzzy", typos=1)


@dataclass(slots=True)
class _Search:
    """One question to one shelf: the candidates so far, by index, with the matcher's score."""

    query: Query
    limit: int
    paths: list[str]
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
        matcher = _matcher(
            words, max_typos=typos, max_items=most, matching=matching, exact_case=self.query.exact_case
        )
        threads = _THREADS if len(haystacks) > _AT_ONCE and matching in {"substring", "fuzzy"} else 1
        for match in matcher.match_list_parallel(haystacks, threads):
            self.scores.setdefault(match.index, match.score)
        return self

    def enough(self, tier: Tier) -> bool:
        """Return whether the answer is full with matches of this tier or better."""
        if len(self.scores) < self.limit or tier is Tier.LOOSE:
            return len(self.scores) >= self.limit
        return sum(self.query.grade(self.paths[index])[0] <= tier for index in self.scores) >= self.limit


def _matcher(
    words: str | tuple[str, ...],
    *,
    max_typos: int,
    max_items: int | None,
    matching: Literal["exact", "prefix", "substring", "fuzzy"],
    exact_case: bool,
) -> "Matcher":
    from frizbee import Matcher  # noqa: PLC0415 - see Shelf

    return Matcher.from_patterns(
        [words] if isinstance(words, str) else words,
        max_typos=max_typos,
        max_items=max_items,
        matching=matching,
        casing="respect" if exact_case else "ignore",
    )


def _best(found: Mapping[tuple[Kind, str], int], query: Query, limit: int, preferred: Preferred) -> list[Hit]:
    def key(item: tuple[tuple[Kind, str], int]) -> tuple[object, ...]:
        (kind, path), score = item
        tier, finer = query.grade(path)
        # Steps of eight: less than one letter's worth is a near tie, which use decides.
        loose = -(score // 8) if tier is Tier.LOOSE else 0
        return tier, finer, loose, preferred.rank(path), path.count("/"), len(path), path, kind

    best = sorted(found.items(), key=key)[:limit]
    return [Hit(path, kind, query.grade(path)[0], positions(query, path)) for (kind, path), _ in best]


def positions(query: Query, path: str) -> tuple[int, ...]:
    """Return which characters of ``path`` to show as matching."""
    shown = path if query.exact_case else path.lower()
    marked: set[int] = set()
    for word in query.words:
        at = shown.find(word, 0 if "/" in word else path.rfind("/") + 1)
        at = at if at >= 0 else shown.find(word)
        marked.update(range(at, at + len(word)) if at >= 0 else _scattered(word, path))
    return tuple(sorted(index for index in marked if index < len(path)))


def _scattered(word: str, path: str) -> list[int]:
    start = path.rfind("/") + 1
    for text, offset in ((path[start:], start), (path, 0)):
        matcher = _matcher(word, max_typos=1, max_items=None, matching="fuzzy", exact_case=False)
        match = matcher.match_one_indices(text, 0)
        if match:
            # The matcher counts bytes.
            encoded = text.encode()
            return sorted({offset + len(encoded[:index].decode(errors="ignore")) for index in match.indices})
    return []


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
