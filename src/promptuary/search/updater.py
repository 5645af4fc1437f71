"""Keeps an index up to date while a program runs: waits for changes, syncs them, and embeds in between.

A thread of its own that never keeps the program from ending. Whatever goes wrong is told and tried again; the thread
does not end before it is closed.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError
from promptuary.search.service import BUSY, SearchService
from promptuary.search.sync import SyncReport

if TYPE_CHECKING:
    from promptuary.workspace.changes.watcher import Watcher

logger = logging.getLogger(__name__)

_LOOK_EVERY: Final = 30.0
"""Seconds after which everything is looked at, whatever the watcher says: events can be lost."""

_PATIENCE: Final = 0.5
"""Seconds to wait for an event before looking whether to end, or whether there is something to embed."""


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """Something that the keeper did: a sync that changed the index, vectors that were made, or a failure.

    ``watching`` tells how it learns of changes, whenever that changes: by events or by polling, and then why.
    """

    synced: SyncReport | None = None
    embedded: int = 0
    notes: tuple[str, ...] = ()
    watching: str = ""


class IndexUpdater:
    """Keeps ``files`` up to date; ``told`` hears of everything that is done."""

    def __init__(
        self, files: SearchService, *, debounce: float, told: Callable[[IndexUpdate], None] | None = None
    ) -> None:
        self._files = files
        self._debounce = debounce
        self._told = told or (lambda _: None)
        self._ending = threading.Event()
        self._watcher: Watcher | None = None
        self._watching = ""
        self._seen = -1
        self._looked = time.monotonic()
        self._failure = ""
        self._pause, self._embed_after = _PATIENCE, 0.0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, and return at once."""
        self._thread = concurrency.start_daemon(self._run, name="promptuary-updater")

    def close(self) -> None:
        """End, when what is at work is done."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=10.0)

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._round()
            except PromptuaryError as error:
                self._fail(str(error))
            except Exception as error:  # noqa: BLE001  (a thread that dies in silence keeps nothing up to date)
                self._fail(f"unexpected: {error!r}")

    def _round(self) -> None:
        """Do what is due: sync what changed, else make some vectors, else wait a moment."""
        watcher = self._files.watch(debounce=self._debounce)
        if watcher is not self._watcher:
            self._watcher, self._seen = watcher, -1  # other folders than before
        self._tell_how(watcher)
        due = time.monotonic() - self._looked > _LOOK_EVERY
        if due or self._seen < 0 or watcher.generation > self._seen:
            generation = watcher.generation
            if due:
                self._looked = time.monotonic()
            if self._sync(everything=due):
                # Only now: what failed, or what somebody else was at, is tried again.
                self._seen = generation
        elif not self._embed():
            watcher.wait(self._seen, _PATIENCE)

    def _tell_how(self, watcher: "Watcher") -> None:
        how = f"{watcher.mode} ({watcher.reason})" if watcher.reason else str(watcher.mode)
        if how != self._watching:
            self._watching = how
            self._tell(IndexUpdate(watching=how))

    def _sync(self, *, everything: bool) -> bool:
        """Sync what changed; false if another process is at it."""
        report, notes = self._files.refresh(everything=everything)
        if BUSY in notes:
            self._fail(BUSY)
            return False
        if report.anything or notes:
            self._tell(IndexUpdate(synced=report if report.anything else None, notes=tuple(notes)))
        return True

    def _embed(self) -> int:
        """Embed until a change comes; who cannot is left alone for a while, and for longer each time."""
        now = time.monotonic()
        if now < self._embed_after:
            return 0
        self._embed_after, self._pause = now + self._pause, min(2 * self._pause, _LOOK_EVERY)
        done = self._files.embed(lambda _: not self._ending.is_set() and time.monotonic() < now + _PATIENCE)
        self._embed_after, self._pause = 0.0, _PATIENCE
        if done:
            self._tell(IndexUpdate(embedded=done))
        return done

    def _fail(self, note: str) -> None:
        """Tell what went wrong, once for as long as it does, and wait a moment."""
        if note != self._failure:
            self._tell(IndexUpdate(notes=(note,)))
            self._failure = note
        self._ending.wait(_PATIENCE)

    def _tell(self, kept: IndexUpdate) -> None:
        self._failure = ""
        try:
            self._told(kept)
        except Exception:  # somebody else's function: whatever it raises, files still change
            logger.exception("what listens to the keeper of the index failed")
