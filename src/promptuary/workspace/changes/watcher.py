"""Watches folders and reports which paths may have changed. The reports are hints; the disk decides.

One daemon thread reads the events of the operating system and adds them, in batches, to an ``EventLog``. Files that are
written at once into a new folder can escape the system's watcher, so a new folder is reported as a whole, and again a
little later. Where there are no events (a network file system, too few watches left) the watcher polls: each tick
reports that anything may have changed, because a cheap check would miss changes and a reliable one costs as much as a
full comparison. The system does not report events that it lost; a caller that needs certainty compares everything from
time to time.

Does not know what the paths are used for, nor whether they may be read.
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

from promptuary import concurrency
from promptuary.workspace.changes import mounts
from promptuary.workspace.changes.event_log import EventBatch, EventLog, PossibleChanges
from promptuary.workspace.changes.readable_names import PRIVATE_PATH
from promptuary.workspace.disk.private_folder import FOLDER
from promptuary.workspace.listing.ignore import VERSION_CONTROL

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

WatchMode = Literal["events", "polling"]

CHECK_INTERVAL: Final = 2.0
"""Seconds between two looks whether a watched folder is still the same."""

RECHECK_DELAY: Final = 0.5
"""Seconds after which a new folder is hinted once more: by then what was written into it at once is there."""

_ADDED, _DELETED = 1, 3
_LONGEST_STEP = 0.1
_MOMENT: Final = 3
"""Milliseconds in which the system tells of what has just been written."""


class Watcher:
    """Watches ``folders`` with everything in them; ``start`` it and ``close`` it, or use it in a ``with`` block.

    ``debounce`` is how many seconds must pass without an event before a batch is told. Where polling is needed it is
    done every ``poll`` seconds, 2 if not said. A folder may be missing, go and come back: the watcher waits for it.
    """

    def __init__(self, folders: Sequence[Path], *, debounce: float = 0.2, poll: float | None = None) -> None:
        self.folders = list(folders)
        self._watched = [_Watched(folder, CHECK_INTERVAL if poll is None else poll) for folder in folders]
        self._debounce = debounce
        self._events = EventLog()
        self._stop = threading.Event()
        self._turns = threading.Condition()
        self._asked = self._answered = 0
        self._thread: threading.Thread | None = None

    @property
    def generation(self) -> int:
        """Grows with every batch of events; compare it, and ask ``changed_since`` for what came after."""
        return self._events.generation

    @property
    def mode(self) -> WatchMode:
        """How changes are noticed: ``polling`` if any of the folders needs it."""
        return "polling" if self.reason else "events"

    @property
    def reason(self) -> str:
        """Why there is polling; empty if there is none."""
        return next((watched.polling for watched in self._watched if watched.polling), "")

    @property
    def failure(self) -> str:
        """What went wrong last and is not yet in order again; empty if nothing is."""
        return next((watched.failure for watched in self._watched if watched.failure), "")

    def changed_since(self, generation: int) -> PossibleChanges:
        """Return what may have changed after ``generation``; each path means itself and everything below it."""
        return self._events.since(generation)

    def wait(self, generation: int, timeout: float | None = None) -> bool:
        """Wait until the generation is above ``generation``, at most ``timeout`` seconds; return whether it is."""
        return self._events.wait(generation, timeout)

    def flush(self, timeout: float = 1.0) -> None:
        """Have everything noted that the system has told of until now, however short ago; for who cannot wait."""
        with self._turns:
            if self._thread is not None:
                self._asked += 1
                asked = self._asked
                self._turns.notify_all()
                self._turns.wait_for(lambda: self._answered >= asked or self._stop.is_set(), timeout)

    def start(self) -> Self:
        """Begin to watch, in the background; starting twice is harmless."""
        if self._thread is None:
            self._stop.clear()
            self._events.open()
            self._thread = concurrency.start_daemon(self._run, name="promptuary-watch")
            # A thread that is inside the library while the interpreter ends can bring the process down.
            atexit.register(self.close)
        return self

    def close(self) -> None:
        """Stop watching; closing twice is harmless."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            with self._turns:
                self._turns.notify_all()
            self._events.close()
            atexit.unregister(self.close)
            thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        batch = EventBatch(self._debounce)
        later: deque[tuple[float, set[tuple[Path, str]]]] = deque()
        step = max(0.005, min(self._debounce / 2, _LONGEST_STEP))
        while not self._stop.is_set():
            asked = self._asked
            now = time.monotonic()
            self._attend(batch, later, now, at_once=asked != self._answered)
            with self._turns:
                self._answered = asked
                self._turns.notify_all()
                self._turns.wait_for(lambda: self._asked != self._answered or self._stop.is_set(), step)
        for watched in self._watched:
            watched.disarm()

    def _attend(
        self, batch: EventBatch, later: deque[tuple[float, set[tuple[Path, str]]]], now: float, *, at_once: bool
    ) -> None:
        for watched in self._watched:
            if watched.check(now):
                self._events.add(None)
            batch.add(watched.events(_MOMENT if at_once else 1), now)
        if taken := batch.take(inf if at_once else now):
            self._events.add(taken)
            if folders := set(_folders(taken)):
                later.append((now + RECHECK_DELAY, folders))
        if later and later[0][0] <= now:
            self._events.add(later.popleft()[1])


class _Watched:
    """One folder: armed while it is there and the system tells of changes, else looked at from time to time."""

    def __init__(self, folder: Path, poll: float) -> None:
        self.polling = ""
        self.failure = ""
        self._folder = folder
        self._poll = poll
        self._place = Path(os.path.realpath(folder))
        self._notify: RustNotify | None = None
        self._identity: tuple[int, int] | None = None
        self._lost = False
        self._next_check = 0.0

    def check(self, now: float) -> bool:
        """See to it that the folder is watched, if it is time to; return whether anything may have changed."""
        if now < self._next_check:
            return False
        before, self._identity = self._identity, self._seen()
        changed, self._lost = self._lost or before != self._identity, False
        if self._identity is None:
            self.disarm()
        elif changed or (self._notify is None and not self.polling):
            changed = True
            self.disarm()
            self._arm()
        self._next_check = now + (self._poll if self.polling else CHECK_INTERVAL)
        return changed or (self._identity is not None and bool(self.polling))

    def events(self, patience: int) -> Iterator[tuple[Path, str]]:
        """Yield what was touched since the last call; ``patience`` is how many milliseconds to wait for the first."""
        if self._notify is None:
            return
        try:
            # It returns what there is as soon as nothing came for a millisecond.
            told = self._notify.watch(50, 1, patience, None)
        except Exception as error:  # noqa: BLE001  (whatever it is, the thread goes on and arms again)
            self._lose(f"{self._folder} cannot be watched just now: {error}")
            return
        if isinstance(told, str):
            return
        for change, path in told:
            if change == _DELETED and path == str(self._place):
                self._lose(f"{self._folder} is not there")
            hint = path_to_check(path.removeprefix(f"{self._place}/"), comes_or_goes=change in {_ADDED, _DELETED})
            if hint is not None and path.startswith(f"{self._place}/"):
                yield self._folder, hint

    def disarm(self) -> None:
        """Let go of the system's watcher."""
        notify, self._notify = self._notify, None
        if notify is not None:
            notify.close()

    def _arm(self) -> None:
        self.failure = ""
        kind = mounts.remote_type(self._place, mounts.read_table())
        self.polling = f"{self._folder} is on a file system ({kind}) that does not tell of changes" if kind else ""
        if self.polling:
            return
        try:
            from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  (loaded when something is watched)

            self._notify = RustNotify([str(self._place)], False, False, 300, True, True)  # noqa: FBT003
        except Exception as error:  # noqa: BLE001  (too few watches, no such system call: looking always works)
            self.polling = f"{self._folder} cannot be watched: {error}"

    def _lose(self, failure: str) -> None:
        """Give up what is watched, and look at once: the same folder may be back already."""
        self.failure = failure
        self.disarm()
        self._identity = None
        self._lost = True
        self._next_check = 0.0

    def _seen(self) -> tuple[int, int] | None:
        try:
            status = self._place.stat()
        except OSError as error:
            self.failure = f"{self._folder} is not there ({error.strerror})"
            return None
        if not S_ISDIR(status.st_mode) or not os.access(self._place, os.R_OK | os.X_OK):
            self.failure = f"{self._folder} is not a folder that can be listed"
            return None
        return status.st_dev, status.st_ino


def path_to_check(path: str, *, comes_or_goes: bool) -> str | None:
    """Return what to hint for an event at ``path``, relative to its folder; ``None`` if it is nobody's concern."""
    names = path.split("/")
    if not VERSION_CONTROL.isdisjoint(names):
        return None
    if names[-1] == FOLDER:
        # The memory may have come or gone with the folder around it.
        return f"{path}/memory" if comes_or_goes else None
    return None if PRIVATE_PATH.search(f"{path}/") else path


def _folders(touched: Iterable[tuple[Path, str]]) -> Iterator[tuple[Path, str]]:
    """Yield those that are folders, which mostly means that they are new."""
    for folder, path in touched:
        try:
            mode = os.lstat(f"{folder}/{path}").st_mode
        except (OSError, ValueError):
            continue
        if S_ISDIR(mode):
            yield folder, path
