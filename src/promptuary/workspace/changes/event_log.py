"""What a watcher noted: a number that grows, and what was touched since it was smaller.

A flag would lose what happens between reading and clearing it; a number loses nothing: whoever remembers how far they
looked asks for what came after. Events come from elsewhere; here they are only gathered and kept.
"""

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MOST_PATHS: Final = 2_000
"""With more paths than this it is quicker, and safer, to look at everything."""

LONGEST_BATCH: Final = 0.5
"""Seconds after which a batch ends even if events still come: a file written for ever must not hide the others."""

TouchedPaths = frozenset[tuple[Path, str]]
"""Watched folders with paths in them; each means the path and everything below it."""


@dataclass(frozen=True, slots=True)
class PossibleChanges:
    """What may have changed up to ``generation``; ``paths`` is ``None`` if that is anything at all."""

    generation: int
    paths: TouchedPaths | None


class EventLog:
    """The generations and what belongs to each. May be used from several threads."""

    def __init__(self, most: int = MOST_PATHS) -> None:
        self._most = most
        self._generation = 0
        # Up to this generation it is not known any more what was touched.
        self._forgotten = 0
        self._kept: deque[tuple[int, TouchedPaths]] = deque()
        self._paths = 0
        self._closed = False
        self._grown = threading.Condition()

    @property
    def generation(self) -> int:
        """How many batches there have been."""
        return self._generation

    def add(self, paths: Iterable[tuple[Path, str]] | None) -> None:
        """Begin a generation with what was touched; ``None`` is anything."""
        touched = None if paths is None else frozenset(paths)
        with self._grown:
            self._generation += 1
            if touched is None or len(touched) > self._most:
                self._forget_all()
            else:
                self._kept.append((self._generation, touched))
                self._paths += len(touched)
                while self._paths > self._most:
                    self._forgotten, oldest = self._kept.popleft()
                    self._paths -= len(oldest)
            self._grown.notify_all()

    def since(self, generation: int) -> PossibleChanges:
        """Return what was touched after ``generation``."""
        with self._grown:
            if not self._forgotten <= generation <= self._generation:
                return PossibleChanges(self._generation, None)
            touched = (paths for number, paths in self._kept if number > generation)
            return PossibleChanges(self._generation, frozenset().union(*touched))

    def wait(self, generation: int, timeout: float | None) -> bool:
        """Wait for a generation after ``generation``, at most ``timeout`` seconds; return whether there is one."""
        with self._grown:
            self._grown.wait_for(lambda: self._closed or self._generation > generation, timeout)
            return self._generation > generation

    def open(self) -> None:
        """Let ``wait`` wait; what happened while nobody noted anything is anything."""
        with self._grown:
            self._closed = False
        self.add(None)

    def close(self) -> None:
        """Let nobody wait any longer: nothing will be noted."""
        with self._grown:
            self._closed = True
            self._grown.notify_all()

    def _forget_all(self) -> None:
        self._kept.clear()
        self._paths = 0
        self._forgotten = self._generation


@dataclass(slots=True)
class EventBatch:
    """Events being gathered: until none came for ``quiet`` seconds, or twice that or ``LONGEST_BATCH`` has passed."""

    quiet: float
    paths: set[tuple[Path, str]] = field(default_factory=set)
    _first: float = 0.0
    _last: float = 0.0

    def add(self, paths: Iterable[tuple[Path, str]], now: float) -> None:
        """Add what was touched; nothing leaves the clocks as they are."""
        before = bool(self.paths)
        new = set(paths)
        if new:
            self.paths |= new
            self._last = now
            self._first = self._first if before else now

    def take(self, now: float) -> set[tuple[Path, str]]:
        """Return what was gathered, if the batch is over, and begin another; else nothing."""
        longest = max(LONGEST_BATCH, 2 * self.quiet)
        if not self.paths or (now - self._last < self.quiet and now - self._first < longest):
            return set()
        taken, self.paths = self.paths, set()
        return taken
