"""The files of a workspace, listed in the background; the list can be read while it still grows.

Inside git the list is what git reports (tracked and untracked, ignore rules applied), and nested repositories and
submodules are walked; elsewhere it is a walk that applies the ignore files on its way. There is no limit. A ``Listing``
starts no process: git's output comes from the streams it is given. It holds names only, none of
them in a closed folder, and does not know which of them policy refuses.
"""

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct, field

from promptuary.base import concurrency
from promptuary.base.errors import SourceError
from promptuary.workspace.listing.ignore import OWN_IGNORE_FILES, IgnoreRules, OwnIgnoreRules
from promptuary.workspace.listing.walk import FileFilter, SkipReason, walk

NameStream = Callable[[], Iterator[bytes]]
"""Starts ``git ls-files -z`` and yields its output as it arrives; may raise ``SourceError``."""

FRESH_FOR: Final = 5.0
"""Seconds for which a list is not stale if neither the folder nor git's index has changed."""

# A name that git itself would never list, but that a forged index may hold: from the root of the disk, or with dots.
_NOT_NORMAL = re.compile(r"[\0/](?:/|\.\.?[/\0])")
_NESTED_RULES = tuple(f"/{name}" for name in OWN_IGNORE_FILES)


class Listing:
    """The files of a workspace. ``start`` starts the scan; ``paths`` may be read at any time."""

    def __init__(
        self, root: Path, streams: Sequence[NameStream] = (), *, links: bool = False, show_ignored: bool = False
    ) -> None:
        self.root = root
        self.generation = 0
        """Changes when ``paths`` is replaced by another list; until then it only grows at its end."""
        self._streams = tuple(streams)
        self._links = links
        self._show_ignored = show_ignored
        self._lock = threading.Lock()
        self._scan: _Scan | None = None
        self._running = False
        self._complete = threading.Event()
        self._idle = threading.Event()
        self._closed = False
        self._paths: list[str] = []
        self._folders: tuple[int, list[str]] = (-1, [])
        self._skipped: Counter[SkipReason] = Counter()
        self._cut_rules: Sequence[str] = ()
        self._seen: tuple[object, ...] = ()
        self._finished = 0.0
        self._took = 0.0

    def start(self) -> Self:
        """Start listing in the background, unless it was started; return at once."""
        if self._scan is None:
            self.refresh()
        return self

    @property
    def paths(self) -> Sequence[str]:
        """The files known so far, relative to the workspace; sorted once ``complete``."""
        return self._paths

    @property
    def complete(self) -> bool:
        """Whether one whole scan is done."""
        return self._complete.is_set()

    @property
    def skipped(self) -> dict[SkipReason, int]:
        """How many names were skipped, by reason."""
        return dict(self._skipped)

    @property
    def cut_rules(self) -> Sequence[str]:
        """The ignore files that have more rules than are applied, so that they hide less than they say."""
        return self._cut_rules

    @property
    def folders(self) -> Sequence[str]:
        """The folders that hold a listed file at any depth, sorted, without the workspace itself."""
        generation, folders = self._folders
        if generation != self.generation or not self.complete:
            generation, folders = self.generation, folders_of(self._paths)
            self._folders = (generation, folders)
        return folders

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no scan is running, at most ``timeout`` seconds; return ``complete``."""
        self._idle.wait(timeout)
        return self.complete

    def refresh(self) -> None:
        """List again in the background; the old list stays in place until the new one is complete."""
        with self._lock:
            if self._running or self._closed:
                return
            self._running = True
            self._idle.clear()
            scan = _Scan(self.root, FileFilter(self.root, links=self._links), lambda: self._closed)
            if self._scan is None:
                self._paths = scan.paths
                self._skipped = scan.file_filter.skipped
            self._scan = scan
        concurrency.start_daemon(lambda: self._run(scan), name="promptuary-listing")

    def stale(self) -> bool:
        """Return whether it is worth listing again. Cheap: two system calls and the clock."""
        if not self.complete or self._running:
            return False
        age = time.monotonic() - self._finished
        return age > max(FRESH_FOR, 10 * self._took) or self._seen != _signature(self.root)

    def close(self) -> None:
        """Stop a running scan; what was listed stays."""
        self._closed = True

    def _run(self, scan: "_Scan") -> None:
        began = time.monotonic()
        seen = _signature(self.root)
        try:
            paths = scan.list_all(() if self._show_ignored else self._streams, hide=not self._show_ignored)
            if not self.complete:
                self._publish(paths, scan)
            self._publish(scan.verified(paths), scan)
            self._seen = seen
        finally:
            self._finished = time.monotonic()
            self._took = self._finished - began
            self._running = False
            self._idle.set()

    def _publish(self, paths: list[str], scan: "_Scan") -> None:
        if not self._closed:
            self._paths, self._skipped, self._cut_rules = paths, scan.file_filter.skipped, scan.cut_rules
            self.generation += 1
            self._complete.set()


class _Scan(Struct):
    """One scan of the workspace. ``paths`` only grows."""

    root: Path
    file_filter: FileFilter
    closed: Callable[[], bool]
    paths: list[str] = field(default_factory=list)
    walked: set[str] = field(default_factory=set)
    own: OwnIgnoreRules | None = None
    by_git: bool = False

    @property
    def cut_rules(self) -> list[str]:
        """The ignore files with more rules than are applied, of those read so far."""
        return sorted({*self.file_filter.cut_rules, *(self.own.cut if self.own else ())})

    def list_all(self, streams: Sequence[NameStream], *, hide: bool) -> list[str]:
        """Return every file, sorted: those that git lists, or those that a walk finds if git lists none."""
        self.by_git = bool(streams) and self._ask_git(streams)
        if not self.by_git:
            self._walk("", IgnoreRules() if hide else None)
        # Not a set: git's output is sorted already, which makes sorting it again cheap.
        return sorted(dict.fromkeys(concurrency.foreground.yielding(self._shown(self.paths))))

    def verified(self, paths: list[str]) -> list[str]:
        """Return the paths that are files now: git also lists deleted files, links and submodules."""
        if not self.by_git:
            return paths
        before = len(self.paths)
        named = [path for path in paths if path not in self.walked] if self.walked else paths
        files, folders = self.file_filter.classify(named)
        for folder in folders:
            self._walk(folder, IgnoreRules(noise=False))
        found = self.walked.union(self.paths[before:])
        return sorted(found.union(files)) if found else files

    def _ask_git(self, streams: Sequence[NameStream]) -> bool:
        """Add what git lists; return whether it listed anything."""
        if any((self.root / name).exists() for name in OWN_IGNORE_FILES):
            self.own = OwnIgnoreRules(self.root)
        try:
            for stream in streams:
                for block in split_names(stream()):
                    concurrency.foreground.give_way()
                    self._add(block)
                    if self.closed():
                        return True
        except SourceError:
            return False
        return bool(self.paths)

    def _add(self, block: str) -> None:
        if self.own is None and any(name in block for name in _NESTED_RULES):
            self.own = OwnIgnoreRules(self.root)
        names = block.split("\0")
        if _NOT_NORMAL.search(f"\0{block}\0"):
            names = [name for name in names if not _NOT_NORMAL.search(f"\0{name}\0")]
        names = self.file_filter.opened(names)
        nested = [name for name in names if name.endswith("/")] if "/\0" in f"{block}\0" else []
        self.paths += self._shown([name for name in names if not name.endswith("/")] if nested else names)
        for folder in nested:
            self._walk(folder.rstrip("/"), IgnoreRules(noise=False))

    def _walk(self, folder: str, ignores: IgnoreRules | None) -> None:
        for files in walk(self.file_filter, folder, ignores):
            shown = self._shown(files)
            self.paths += shown
            if self.by_git or folder:
                self.walked.update(shown)
            if self.closed():
                return

    def _shown(self, paths: list[str]) -> list[str]:
        return paths if self.own is None else self.own.without_ignored(paths)


def split_names(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield NUL-separated output as text, split between names only: as much at a time as a chunk completes."""
    rest: list[bytes] = []
    for chunk in chunks:
        complete, nul, last = chunk.rpartition(b"\0")
        if not nul:
            rest.append(chunk)
            continue
        yield os.fsdecode(b"".join([*rest, complete]))
        rest = [last]
    if any(rest):
        yield os.fsdecode(b"".join(rest))


def folders_of(paths: Iterable[str]) -> list[str]:
    """Return every folder above any of the paths, sorted, without the workspace itself."""
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in concurrency.foreground.yielding(paths)}:
        above = folder
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return sorted(found)


def _signature(root: Path) -> tuple[object, ...]:
    """Return a value that changes when a file is added or removed at the top, or git's index is written."""
    return tuple(_modification_time(path) for path in (root, root / ".git" / "index"))


def _modification_time(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
