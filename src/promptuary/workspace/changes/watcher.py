"""Watches folders and reports which paths may have changed. The reports are hints; the disk decides.

One daemon thread reads the events of the operating system and adds them, in batches, to an ``EventLog``. Files that are
written at once into a new folder can escape the system's watcher, so a new folder is reported as a whole, and again a
little later. Where there are no events (a network file system, too few watches left) the watcher polls: each tick
reports that anything may have changed, because a cheap check would miss changes and a reliable one costs as much as a
full comparison. The system does not report events that it lost; a caller that needs certainty compares everything from
time to time.

Events in closed folders are not reported. Does not know what the paths are used for, nor whether they may be read.
"""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Final, Literal, Self

from promptuary.base import concurrency
from promptuary.workspace.changes import mounts
from promptuary.workspace.changes.event_log import EventBatch, EventLog, PossibleChanges
from promptuary.workspace.disk.protected_folders import ProtectedFolders
from promptuary.workspace.listing.noise import VERSION_CONTROL

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

WatchMode = Literal["events", "polling"]

CHECK_INTERVAL: Final = 2.0
"""Seconds between two checks whether a watched folder is still the same folder."""

RECHECK_DELAY: Final = 0.5
"""Seconds after which a new folder is reported again: by then the files that were written at once are in it."""

_DELETED = 3
_LIMIT: Final = "watch limit"
"""In the error of the library, if the system can watch no more folders."""
_MAX_STEP = 0.1
_FLUSH_TIMEOUT_MS: Final = 3
"""Milliseconds in which the system reports a file that has just been written."""


class Watcher:
    """Watches ``folders`` with everything in them; ``start`` it and ``close`` it, or use it in a ``with`` block.

    ``debounce`` is how many seconds must pass without an event before a batch is reported. ``poll`` is the interval of
    polling in seconds, where polling is needed; the default is ``CHECK_INTERVAL``. A folder may be missing, or be
    removed and created again: the watcher waits for it.
    """

    def __init__(self, folders: Sequence[Path], *, debounce: float = 0.2, poll: float | None = None) -> None:
        self.folders = list(folders)
        self._watched = [_Watched(folder, CHECK_INTERVAL if poll is None else poll) for folder in folders]
        self._debounce = debounce
        self._events = EventLog()
        self._stop = threading.Event()
        self._flushed = threading.Condition()
        self._flush_requested = self._flush_done = 0
        self._thread: threading.Thread | None = None

    @property
    def generation(self) -> int:
        """A number that grows with every batch of events; pass it to ``changed_since`` or ``wait`` later."""
        return self._events.generation

    @property
    def mode(self) -> WatchMode:
        """How changes are detected: ``polling`` if any of the folders needs it."""
        return "polling" if self.reason else "events"

    @property
    def reason(self) -> str:
        """Why a folder is polled; empty if none is."""
        return next((watched.polling for watched in self._watched if watched.polling), "")

    @property
    def failure(self) -> str:
        """The last failure that persists; empty if there is none."""
        return next((watched.failure for watched in self._watched if watched.failure), "")

    def changed_since(self, generation: int) -> PossibleChanges:
        """Return the paths that may have changed after ``generation``; each includes everything below it."""
        return self._events.since(generation)

    def wait(self, generation: int, timeout: float | None = None) -> bool:
        """Wait until the generation is above ``generation``, at most ``timeout`` seconds; return whether it is."""
        return self._events.wait(generation, timeout)

    def flush(self, timeout: float = 1.0) -> bool:
        """Add the system's pending events to the log now, ignoring the debounce; wait at most ``timeout`` seconds.

        Return whether they are in the log.
        """
        with self._flushed:
            if self._thread is None:
                return False
            self._flush_requested += 1
            requested = self._flush_requested
            self._flushed.notify_all()
            self._flushed.wait_for(lambda: self._flush_done >= requested or self._stop.is_set(), timeout)
            return self._flush_done >= requested

    def start(self) -> Self:
        """Start watching in the background; starting twice is harmless."""
        if self._thread is None:
            self._stop.clear()
            self._events.open()
            self._thread = concurrency.start_daemon(self._run, name="promptuary-watch")
            # A thread that is inside the library while the interpreter exits can crash the process.
            atexit.register(self.close)
        return self

    def close(self) -> None:
        """Stop watching; closing twice is harmless."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            with self._flushed:
                self._flushed.notify_all()
            self._events.close()
            atexit.unregister(self.close)
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        batch = EventBatch(self._debounce)
        rechecks: deque[tuple[float, set[tuple[Path, str]]]] = deque()
        step = max(0.005, min(self._debounce / 2, _MAX_STEP))
        while not self._stop.is_set():
            requested = self._flush_requested
            now = time.monotonic()
            self._collect(batch, rechecks, now, flush=requested != self._flush_done)
            with self._flushed:
                self._flush_done = requested
                self._flushed.notify_all()
                self._flushed.wait_for(lambda: self._flush_requested != self._flush_done or self._stop.is_set(), step)
        for watched in self._watched:
            watched.disarm()

    def _collect(
        self, batch: EventBatch, rechecks: deque[tuple[float, set[tuple[Path, str]]]], now: float, *, flush: bool
    ) -> None:
        for watched in self._watched:
            if watched.check(now):
                self._events.add(None)
            batch.add(watched.events(_FLUSH_TIMEOUT_MS if flush else 1), now)
        if taken := batch.take(inf if flush else now):
            self._events.add(taken)
            if folders := set(_folders(taken)):
                rechecks.append((now + RECHECK_DELAY, folders))
        if rechecks and rechecks[0][0] <= now:
            self._events.add(rechecks.popleft()[1])


class _Watched:
    """One folder: watched by the system while it exists and the system reports changes, else polled."""

    def __init__(self, folder: Path, poll: float) -> None:
        self.polling = ""
        self.failure = ""
        self._folder = folder
        self._poll = poll
        self._place = Path(os.path.realpath(folder))
        self._closed = ProtectedFolders.of(self._place)
        self._notify: RustNotify | None = None
        self._identity: tuple[int, int] | None = None
        self._lost = False
        self._next_check = 0.0

    def check(self, now: float) -> bool:
        """Make sure that the folder is watched, if a check is due; return whether anything may have changed."""
        if now < self._next_check:
            return False
        before, self._identity = self._identity, self._current_identity()
        changed, self._lost = self._lost or before != self._identity, False
        if self._identity is None:
            self.disarm()
        elif changed or (self._notify is None and not self.polling):
            changed = True
            self.disarm()
            self._arm()
        self._next_check = now + (self._poll if self.polling else CHECK_INTERVAL)
        return changed or (self._identity is not None and bool(self.polling))

    def events(self, timeout_ms: int) -> Iterator[tuple[Path, str]]:
        """Yield the paths touched since the last call; wait at most ``timeout_ms`` for the first."""
        if self._notify is None:
            return
        try:
            # Returns the events as soon as none arrived for a millisecond.
            events = self._notify.watch(50, 1, timeout_ms, None)
        except Exception as error:  # noqa: BLE001  (whatever it is, the thread continues and watches the folder again)
            self._fail(f"{self._folder} cannot be watched just now: {error}")
            return
        if isinstance(events, str):
            return
        for change, path in events:
            if change == _DELETED and path == str(self._place):
                self._fail(f"{self._folder} is not there")
            inside = path.removeprefix(f"{self._place}/")
            if path.startswith(f"{self._place}/") and is_worth_checking(inside, self._closed):
                yield self._folder, inside

    def disarm(self) -> None:
        """Close the system's watcher."""
        notify, self._notify = self._notify, None
        if notify is not None:
            notify.close()

    def _arm(self) -> None:
        self.failure = ""
        kind = mounts.remote_type(self._place, mounts.read_table())
        self.polling = f"{self._folder} is on a file system ({kind}) that reports no changes" if kind else ""
        if self.polling:
            return
        try:
            self._notify = _notify(str(self._place))
        except Exception as error:  # noqa: BLE001  (too few watches, no such system call: polling always works)
            few = "has more folders than the system can watch; raise fs.inotify.max_user_watches"
            why = few if _LIMIT in str(error) else f"cannot be watched: {error}"
            self.polling = f"{self._folder} {why}"

    def _fail(self, failure: str) -> None:
        """Stop watching, and check again at once: the same folder may be back already."""
        self.failure = failure
        self.disarm()
        self._identity = None
        self._lost = True
        self._next_check = 0.0

    def _current_identity(self) -> tuple[int, int] | None:
        try:
            status = self._place.stat()
        except OSError as error:
            self.failure = f"{self._folder} is not there ({error.strerror})"
            return None
        if not S_ISDIR(status.st_mode) or not os.access(self._place, os.R_OK | os.X_OK):
            self.failure = f"{self._folder} is not a folder that can be listed"
            return None
        return status.st_dev, status.st_ino


def _notify(folder: str) -> "RustNotify":
    from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  (loaded when something is watched)

    try:
        return RustNotify([folder], False, False, 300, True, False)  # noqa: FBT003
    except OSError as error:
        if _LIMIT in str(error):
            raise
        # Without the folders that may not be read. It would also hide that the system watches only some of them.
        return RustNotify([folder], False, False, 300, True, True)  # noqa: FBT003


def is_worth_checking(path: str, closed: ProtectedFolders) -> bool:
    """Return whether an event at ``path``, relative to its folder, is reported."""
    return VERSION_CONTROL.isdisjoint(path.split("/")) and not closed.holds(path)


def _folders(touched: Iterable[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Yield those that are folders, which usually means that they are new."""
    for folder, path in touched:
        try:
            mode = os.lstat(f"{folder}/{path}").st_mode
        except (OSError, ValueError):
            continue
        if S_ISDIR(mode):
            yield folder, path
