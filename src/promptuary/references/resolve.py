"""From references to sources: concurrently, each with its deadline, each failing alone."""

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptuary import concurrency
from promptuary.core.blocks import Source
from promptuary.core.errors import Code, SourceError
from promptuary.core.references import Reference
from promptuary.references.resolve_context import Desk
from promptuary.references.selection import readings
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.references.kinds import Kind

logger = logging.getLogger(__name__)

CONCURRENCY = 8
"""How many references are fetched at a time."""

_FILE_IN_FOLDER = re.compile(r".+/[^/]*\.[^/.]*[A-Za-z][^/.]*")
_QUICK = frozenset({"file", "folder", "glob"})
_STALLED = 0.05
"""Seconds after which a reading is no longer quick, and another thread goes on with the rest."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of one reference: its sources, or why there are none."""

    reference: Reference
    sources: tuple[Source, ...] = ()
    error: SourceError | None = None


def settle(references: Iterable[Reference], workspace: Workspace) -> list[Reference]:
    """Return the references that count: named kinds as they are, bare paths as the file or folder they name."""
    settled = (_settled(one, workspace) if one.bare else one for one in references)
    return [one for one in settled if one is not None]


def _settled(reference: Reference, workspace: Workspace) -> Reference | None:
    for reading in readings(reference):
        kind = workspace.kind_of(reading.path)
        if kind == "folder" and reference.sigil == "@":
            return replace(reference, kind="folder")
        if kind in {"file", "other"}:
            return replace(reference, kind="file")
    # A path with folders and a known ending after a "#" is meant: better a clear answer than silence.
    path = reference.value.partition("#")[0]
    meant = reference.sigil == "#" and _FILE_IN_FOLDER.fullmatch(path)
    if meant and workspace.policy.refusal(path) is None:
        return replace(reference, kind="file")
    return None


def resolve(
    references: Sequence[Reference], desk: Desk, kinds: "Mapping[str, Kind]", *, timeout: float
) -> list[Resolution]:
    """Return what each reference leads to, in order; ``timeout`` is for each, from the moment it is begun."""
    race = _Race(references, lambda reference: _attempt(reference, desk, kinds[reference.kind]), timeout)
    return race.run()


class _Race:
    """Daemon threads that take one reference after the other, and a clock over each of them.

    A thread cannot be stopped: one that is late is left to itself and another takes its place. Whoever finishes the
    last reference rings; waking the caller for each would cost more than reading a file.
    """

    def __init__(
        self, references: Sequence[Reference], attempt: Callable[[Reference], Resolution], timeout: float
    ) -> None:
        self._references, self._attempt, self._timeout = references, attempt, timeout
        self._waiting = deque(range(len(references)))
        self._begun: dict[int, float] = {}
        self._ended: dict[int, Resolution] = {}
        self._deciding = threading.Lock()
        self._over = threading.Event()

    def run(self) -> list[Resolution]:
        # Reading files keeps one interpreter busy: more threads only wait for each other. Git and servers do not.
        slow = sum(reference.kind not in _QUICK for reference in self._references)
        workers = min(CONCURRENCY, len(self._references), slow + 1)
        for _ in range(workers):
            self._start_worker()
        while self._references and not self._over.wait(min(self._patience(), _STALLED)):
            if self._waiting and workers < CONCURRENCY:
                self._start_worker()
                workers += 1
            for index in self._late():
                self._start_worker()
                self._end(index, Resolution(self._references[index], error=_too_late(self._timeout)))
        return [self._ended[index] for index in range(len(self._references))]

    def _start_worker(self) -> None:
        concurrency.start_daemon(self._work, name="promptuary-reference")

    def _work(self) -> None:
        while self._waiting:
            try:
                index = self._waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            with self._deciding:
                self._begun[index] = time.monotonic()
            self._end(index, self._attempt(self._references[index]))

    def _end(self, index: int, resolution: Resolution) -> None:
        """Take the first answer for a reference; a late one comes second and is dropped."""
        with self._deciding:
            if self._begun.pop(index, None) is not None:
                self._ended[index] = resolution
            if len(self._ended) == len(self._references):
                self._over.set()

    def _patience(self) -> float:
        """Return how long it is until the first of those under way is late."""
        now = time.monotonic()
        with self._deciding:
            return max(min(self._begun.values(), default=now) + self._timeout - now, 0.001)

    def _late(self) -> list[int]:
        now = time.monotonic()
        with self._deciding:
            return [index for index, begun in self._begun.items() if now - begun >= self._timeout]


def _attempt(reference: Reference, desk: Desk, kind: "Kind") -> Resolution:
    try:
        return Resolution(reference, tuple(kind(reference, desk)))
    except SourceError as error:
        return Resolution(reference, error=error)
    except Exception:  # a defect of one kind must not lose the message; it is logged with its trace
        logger.exception("resolving a %s reference failed", reference.kind)
        reason = "this is a defect of Promptuary; run again with --debug and report what it prints"
        return Resolution(reference, error=SourceError(Code.INTERNAL, reason))


def _too_late(timeout: float) -> SourceError:
    return SourceError(Code.TIMEOUT, f"it took longer than {timeout:.2g} s; ask for less, or allow more time")
