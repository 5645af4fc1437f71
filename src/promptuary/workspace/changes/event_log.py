"""The events of a watcher: an increasing generation number, and the paths that were touched in each generation.

A flag would lose what happens between reading and clearing it. A number loses nothing: a reader remembers the last
generation that it has seen, and asks for what came after. This module only collects events; the watcher produces them.
"""

import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct, field

MAX_PATHS: Final = 2_000
"""With more paths than this, comparing everything is faster and safer."""

MAX_BATCH_SECONDS: Final = 0.5
"""Seconds after which a batch ends even if events still arrive: a constantly written file must not hide others."""

TouchedPaths = frozenset[tuple[Path, str]]
"""Pairs of a watched folder and a path in it; each means the path and everything below it."""


class PossibleChanges(Struct, frozen=True):
    """The paths that may have changed up to ``generation``; ``None`` if any path may have."""

    generation: int
    paths: TouchedPaths | None


class EventLog:
    """The generations and the paths touched in each. Thread-safe."""

    def __init__(self, most: int = MAX_PATHS) -> None:
        self._most = most
        self._generation = 0
        # The paths up to this generation are not stored any more.
        self._dropped = 0
        self._batches: deque[tuple[int, TouchedPaths]] = deque()
        self._path_count = 0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def generation(self) -> int:
        """How many batches were added."""
        return self._generation

    def add(self, paths: Iterable[tuple[Path, str]] | None) -> None:
        """Add a generation with the paths that were touched; ``None`` means any path."""
        touched = None if paths is None else frozenset(paths)
        with self._changed:
            self._generation += 1
            if touched is None or len(touched) > self._most:
                self._drop_all()
            else:
                self._batches.append((self._generation, touched))
                self._path_count += len(touched)
                while self._path_count > self._most:
                    self._dropped, oldest = self._batches.popleft()
                    self._path_count -= len(oldest)
            self._changed.notify_all()

    def since(self, generation: int) -> PossibleChanges:
        """Return what was touched after ``generation``."""
        with self._changed:
            if not self._dropped <= generation <= self._generation:
                return PossibleChanges(self._generation, None)
            touched = (paths for number, paths in self._batches if number > generation)
            return PossibleChanges(self._generation, frozenset().union(*touched))

    def wait(self, generation: int, timeout: float | None) -> bool:
        """Wait for a generation after ``generation``, at most ``timeout`` seconds; return whether there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._generation > generation, timeout)
            return self._generation > generation

    def open(self) -> None:
        """Let ``wait`` block again; anything may have changed while the log was closed."""
        with self._changed:
            self._closed = False
        self.add(None)

    def close(self) -> None:
        """Wake all waiting threads: no more events will be added."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _drop_all(self) -> None:
        self._batches.clear()
        self._path_count = 0
        self._dropped = self._generation


class EventBatch(Struct):
    """Debounces events: a batch ends after ``quiet`` seconds without one, or twice that, or ``MAX_BATCH_SECONDS``."""

    quiet: float
    paths: set[tuple[Path, str]] = field(default_factory=set)
    _first: float = 0.0
    _last: float = 0.0

    def add(self, paths: Iterable[tuple[Path, str]], now: float) -> None:
        """Add touched paths; adding none does not restart the clock."""
        before = bool(self.paths)
        new = set(paths)
        if new:
            self.paths |= new
            self._last = now
            self._first = self._first if before else now

    def take(self, now: float) -> set[tuple[Path, str]]:
        """If this batch is over, return its paths and start another one; else return nothing."""
        longest = max(MAX_BATCH_SECONDS, 2 * self.quiet)
        if not self.paths or (now - self._last < self.quiet and now - self._first < longest):
            return set()
        taken, self.paths = self.paths, set()
        return taken
