"""Keeps an index up to date while a program runs: waits for changes, syncs them, and embeds in between.

Runs in a daemon thread. A failure is reported and the work is retried; the thread ends only when it is closed.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.search.values import (
    ChunksEmbedded,
    EmbedProgress,
    FilesSynced,
    IndexBusy,
    IndexUpdate,
    SyncReport,
    UpdateFailed,
    WatchModeChanged,
)

if TYPE_CHECKING:
    from promptuary.workspace.changes.watcher import Watcher

logger = logging.getLogger(__name__)

_CHECK_EVERY: Final = 30.0
"""Seconds between two checks of all files, whatever the watcher says: events can be lost."""

_WAIT: Final = 0.5
"""Seconds to wait for an event, or after a failure, before the next round."""

_EMBED_ROUND: Final = 2.0
"""Seconds of embedding, if nothing changes, before progress is reported and the priorities are updated."""


class IndexUpdater:
    """Calls ``refresh`` when ``watcher`` reports changes, and ``embed`` in between; ``on_update`` gets every update.

    ``refresh(True)`` checks every file, ``refresh(False)`` only what the watcher reported. ``unembedded`` returns how
    many chunks lack a vector.
    """

    def __init__(
        self,
        watcher: Callable[[], "Watcher"],
        refresh: Callable[[bool], SyncReport | IndexBusy],
        embed: Callable[[EmbedProgress], int],
        unembedded: Callable[[], int],
        on_update: Callable[[IndexUpdate], None] | None = None,
    ) -> None:
        self._get_watcher = watcher
        self._refresh = refresh
        self._embed = embed
        self._unembedded = unembedded
        self._on_update = on_update or (lambda _: None)
        self._ending = threading.Event()
        self._watcher: Watcher | None = None
        self._mode: WatchModeChanged | None = None
        self._seen = -1
        self._checked = time.monotonic()
        self._failure: IndexUpdate | None = None
        self._pause, self._embed_after = _WAIT, 0.0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, and return at once."""
        self._thread = concurrency.start_daemon(self._run, name="promptuary-updater")

    def close(self) -> None:
        """Stop when the current work is done."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=10.0)

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._round()
            except PromptuaryError as error:
                self._fail(UpdateFailed(str(error)))
            except Exception as error:  # noqa: BLE001  (a thread that dies silently keeps nothing up to date)
                self._fail(UpdateFailed(f"unexpected: {error!r}"))

    def _round(self) -> None:
        """Do what is due: sync what changed, else embed some chunks, else wait a moment."""
        watcher = self._get_watcher()
        if watcher is not self._watcher:
            self._watcher, self._seen = watcher, -1  # the folders have changed
        mode = WatchModeChanged(watcher.mode, watcher.reason)
        if mode != self._mode:
            self._mode = mode
            self._report(mode)
        due = time.monotonic() - self._checked > _CHECK_EVERY
        if due or self._seen < 0 or watcher.generation > self._seen:
            generation = watcher.generation
            if due:
                self._checked = time.monotonic()
            if self._sync(everything=due):
                # Only now: what failed, or what another process was syncing, is retried.
                self._seen = generation
        elif not self._embed_some(watcher):
            watcher.wait(self._seen, _WAIT)

    def _sync(self, *, everything: bool) -> bool:
        """Sync what changed; return whether that was possible."""
        report = self._refresh(everything)
        if isinstance(report, IndexBusy):
            self._fail(report)
            return False
        if report.has_changes:
            self._report(FilesSynced(report))
        for note in report.notes(recurring=False):
            self._report(note)
        return True

    def _embed_some(self, watcher: "Watcher") -> int:
        """Embed until a change comes; after a failure, wait before the next attempt, longer each time."""
        now = time.monotonic()
        if now < self._embed_after:
            return 0
        self._embed_after, self._pause = now + self._pause, min(2 * self._pause, _CHECK_EVERY)

        def proceed(done: int) -> bool:
            if self._ending.is_set() or watcher.generation > self._seen:
                return False
            # A round always embeds something, however long it takes to start.
            return done == 0 or time.monotonic() < now + _EMBED_ROUND

        done = self._embed(proceed)
        self._embed_after, self._pause = 0.0, _WAIT
        if done:
            self._report(ChunksEmbedded(done, self._unembedded(), time.monotonic() - now))
        return done

    def _fail(self, failure: IndexUpdate) -> None:
        """Report a failure, once while it lasts, and wait a moment."""
        if failure != self._failure:
            self._report(failure)
            self._failure = failure
        self._ending.wait(_WAIT)

    def _report(self, update: IndexUpdate) -> None:
        self._failure = None
        try:
            self._on_update(update)
        except Exception:  # foreign code may raise anything, and updating must continue
            logger.exception("the callback of a watched index failed")
