"""The search of notes as a service: opened when there is a note to find, kept up to date in the background.

Whoever writes a note says which, and goes on. A search waits a moment for what was written, and finds what is indexed
by then. Once a process everything is compared, since another process may have been killed before it indexed what it
wrote. Nothing is embedded while somebody waits.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import MemoryResult
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery, search_notes
from promptuary.memory.recall.visible import NoteKey, VisibleNotes

logger = logging.getLogger(__name__)

_LINGER: Final = 0.25
"""Seconds that notes wait to be indexed with those that are written next, unless somebody searches: each time costs the
disk several syncs, which whoever writes would have to wait for."""
_FEW: Final = 64
_PATIENCE: Final = 1.0
"""Seconds that a search waits for notes that are being indexed: most are done much sooner."""


class NoteSearch:
    """The search of the notes of one principal. ``open_index`` is called when there is a note, and not before.

    Every method may be called from any thread.
    """

    def __init__(self, notes: VisibleNotes, open_index: Callable[[], NoteIndex]) -> None:
        self._notes, self._open_index = notes, open_index
        self._lock = threading.RLock()
        self._index: NoteIndex | None = None
        self._indexing: concurrency.Task[None] | None = None
        self._embedding: concurrency.Task[None] | None = None
        self._changed: set[NoteKey] = set()
        self._compared = False
        self._closing = False
        self._hurry = threading.Event()

    def changed(self, keys: Iterable[NoteKey]) -> None:
        """Index these notes soon: they were written, changed, archived or deleted. Returns at once."""
        with self._lock:
            self._changed.update(keys)
            self._start()

    def find(self, query: NoteQuery, *, timeout: float = _PATIENCE) -> MemoryResult:
        """Return the notes that answer best; ``timeout`` is how many seconds to wait for those being indexed."""
        if (indexing := self._started()) is not None:
            indexing.wait(timeout)
        index = self._opened()
        return MemoryResult() if index is None else search_notes(query, index)

    def embed_few(self) -> None:
        """Embed what lacks a vector if that is soon done; a process that ends quickly does not get to it otherwise."""
        try:
            began = time.monotonic()
            self.embed(lambda count: count < _FEW and time.monotonic() - began < _PATIENCE)
        except PromptuaryError as error:  # searches go on by words
            logger.warning("notes could not be embedded: %s", error)

    def embed(self, progress: Callable[[int], bool] | None = None) -> int:
        """Embed what lacks a vector, until ``progress`` returns false; return how many chunks were done."""
        index = self._opened()
        return 0 if index is None else index.embed(progress)

    def rebuild(self) -> None:
        """Make the index anew, without what was forgotten. Raises ``PromptuaryError`` if another process writes it."""
        if (indexing := self._started()) is not None:
            indexing.wait()
        index = self._opened()
        if index is not None and not index.sync(rebuild=True):
            raise PromptuaryError("another process is writing the index of notes; try again when it is done")

    def is_current(self) -> bool:
        """Return whether the index is equal to the notes, after what was written last is indexed."""
        self.settle()
        index = self._opened()
        return index is None or index.is_current()

    def forget(self, hashes: Sequence[str]) -> None:
        """Delete vectors, and make the index anew without the notes that are gone, so that no byte of them is left."""
        index = self._opened()
        if index is not None and index.backend.store is not None and hashes:
            index.backend.store.remove(hashes)
        self.rebuild()

    def hashes(self, key: NoteKey) -> list[str]:
        """Return the hashes under which the vectors of a note are stored."""
        index = self._opened()
        return [] if index is None else index.hashes(key)

    def settle(self) -> None:
        """Wait until everything that was written is indexed, unless another process is writing the index."""
        if (indexing := self._started()) is not None:
            indexing.wait()

    def close(self) -> None:
        """Index what was written last, and close every file."""
        with self._lock:
            self._closing = True
            self._hurry.set()
            indexing = self._start() if self._changed else self._indexing
        for task in (indexing, self._embedding):
            if task is not None:
                task.wait()
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _opened(self) -> NoteIndex | None:
        """Return the index; ``None`` if there is no note: then nothing is created on disk."""
        with self._lock:
            if self._index is None and self._notes.count():
                self._index = self._open_index()
            return self._index

    def _start(self) -> "concurrency.Task[None] | None":
        """Return what indexes the changes in the background; ``None`` if there are none."""
        with self._lock:
            if self._indexing is None and (self._changed or not self._compared):
                self._indexing = concurrency.begin(self._index_changes, daemon=False, name="promptuary-notes")
            return self._indexing

    def _started(self) -> "concurrency.Task[None] | None":
        """Do the same for somebody who waits for it."""
        self._hurry.set()
        return self._start()

    def _index_changes(self) -> None:
        while (batch := self._next_batch()) is not None:
            if not self._carried_out(*batch):
                with self._lock:
                    self._hurry.clear()
                    self._changed |= batch[0]
                    self._indexing = None
                return
        self._embed_later()

    def _next_batch(self) -> tuple[set[NoteKey], bool] | None:
        """Return which notes to index, and whether to compare all; ``None`` if there is nothing to do."""
        if self._compared and self._changed:
            self._hurry.wait(_LINGER)
        with self._lock:
            keys, self._changed = self._changed, set()
            if keys or not self._compared:
                return keys, not self._compared
            # Under the lock: what is added from now on starts another task.
            self._indexing = None
            self._hurry.clear()
            return None

    def _carried_out(self, keys: set[NoteKey], everything: bool) -> bool:  # noqa: FBT001
        """Index notes; return False if that failed or another process is writing: the next search tries again."""
        try:
            index = self._opened()
            done = index is None or (index.sync() if everything else index.update(keys))
        except Exception:  # nobody waits for this thread; searches find what is indexed
            logger.exception("notes could not be indexed")
            return False
        self._compared = self._compared or done
        return done

    def _embed_later(self) -> None:
        with self._lock:
            if not self._closing and self._embedding is None:
                self._embedding = concurrency.begin(self._embed_missing, daemon=False, name="promptuary-embed")

    def _embed_missing(self) -> None:
        try:
            self.embed(lambda _: not self._closing)
        except Exception as error:  # noqa: BLE001  (nobody waits for this thread; searches go on by words)
            logger.warning("notes could not be embedded: %s", error)
        with self._lock:
            self._embedding = None
