"""The search of records as a service: opened when there is a record, updated in the background.

A writer reports which records changed, and continues. A search waits for pending records; if they take too long, it
finds what is indexed by then and says that this is not everything. Once per process everything is compared, since
another process may have been killed before it indexed what it wrote. Nothing is embedded while somebody waits.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError
from promptuary.core.search import IndexBusy, SearchNote
from promptuary.records.index import Key, RecordIndex

logger = logging.getLogger(__name__)

_LINGER: Final = 0.25
"""Seconds without a write until records are indexed, unless somebody searches: indexing costs several disk syncs and
more processor time than the writes, and writers would have to wait for both."""
_AT_LAST: Final = 5.0
"""Seconds after which they are indexed even while more is written."""
_FEW: Final = 64
_EMBED_SECONDS: Final = 1.0
PATIENCE: Final = 4.0
"""Seconds that the search of a turn waits for records that are being indexed: most are done much sooner."""
LONG_PATIENCE: Final = 30.0
"""The same if a person asked for the search itself."""
_PAUSE: Final = 0.05


Index = TypeVar("Index", bound=RecordIndex[Any])


class RecordSearch(Generic[Key, Index]):
    """The search of the records of one principal. ``open_index`` is not called before there is one.

    ``count`` returns how many there are; ``what`` is their name in messages. Every method may be called from any
    thread.
    """

    def __init__(self, count: Callable[[], int], open_index: Callable[[], Index], what: str) -> None:
        self._count, self._open_index, self._what = count, open_index, what
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._indexing: concurrency.Task[None] | None = None
        self._embedding: concurrency.Task[None] | None = None
        self._changed: set[Key] = set()
        self._compared = False
        self._failure = ""
        self._closing = False
        self._hurry = threading.Event()
        self._writes = concurrency.Bustle(_LINGER, _AT_LAST)

    def changed(self, keys: Iterable[Key]) -> None:
        """Index these records soon: they were added, changed or removed. Returns at once."""
        self._writes.stir()
        with self._lock:
            self._changed.update(keys)
            # Without a thread now, the next search indexes them: what was written is written.
            with suppress(RuntimeError):
                self._start()

    def index_for(self, timeout: float) -> tuple[Index | None, tuple[SearchNote, ...]]:
        """Return the index for a search; ``None`` if there is no record.

        ``timeout`` is how many seconds to wait for pending records; a note says if they are not in the index then.
        """
        deadline = time.monotonic() + timeout
        while (indexing := self._started()) is not None:
            if not indexing.wait(max(0.0, deadline - time.monotonic())):
                return self._opened(), (IndexBusy(here=True),)
            if self._failure:
                return self._opened(), (IndexBusy(here=True, reason=self._failure),)
            if self._changed or not self._compared:
                if time.monotonic() > deadline:
                    return self._opened(), (IndexBusy(),)
                time.sleep(_PAUSE)  # another process is writing the index
        return self._opened(), ()

    def embed_few(self) -> None:
        """Embed what lacks a vector if that is quick; otherwise a short-lived process would never do it."""
        try:
            self.index_for(PATIENCE)
            began = time.monotonic()
            self.embed(lambda count: count < _FEW and time.monotonic() - began < _EMBED_SECONDS)
        except PromptuaryError as error:  # searches continue by words
            logger.warning("%s could not be embedded: %s", self._what, error)

    def embed(self, progress: Callable[[int], bool] | None = None) -> int:
        """Embed what lacks a vector, until ``progress`` returns false; return how many chunks were done."""
        index = self._opened()
        return 0 if index is None else index.embed(progress)

    def rebuild(self) -> None:
        """Rebuild the index, without what was forgotten. Raises ``PromptuaryError`` if another process writes it."""
        if (indexing := self._started()) is not None:
            indexing.wait()
        index = self._opened()
        if index is not None and not index.sync(rebuild=True):
            raise PromptuaryError(f"another process is writing the index of {self._what}; try again when it is done")

    def is_current(self) -> bool:
        """Return whether the index is up to date with the store, after indexing pending records."""
        self.settle()
        index = self._opened()
        return index is None or index.is_current()

    def forget(self, hashes: Sequence[str]) -> None:
        """Delete vectors, and rebuild the index without what is gone, so that no byte of them is left."""
        with self._lock:
            if self._index is None:  # even if the last note is gone: the index may still hold it
                self._index = self._open_index()
        self.remove_vectors(hashes)
        self.rebuild()

    def remove_vectors(self, hashes: Sequence[str]) -> None:
        index = self._opened()
        if index is not None and index.backend.store is not None and hashes:
            index.backend.store.remove(hashes)

    def hashes(self, key: Key) -> list[str]:
        """Return the hashes under which the vectors of a record are stored."""
        index = self._opened()
        return [] if index is None else index.hashes(key)

    def settle(self) -> None:
        """Wait until everything that was written is indexed, unless another process is writing the index."""
        if (indexing := self._started()) is not None:
            indexing.wait()

    def close(self) -> None:
        """Index pending records, and close every file."""
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

    def _opened(self) -> Index | None:
        """Return the index; ``None`` if there is no record: then nothing is created on disk."""
        with self._lock:
            if self._index is None and self._count():
                self._index = self._open_index()
            return self._index

    def _start(self) -> "concurrency.Task[None] | None":
        """Return the task that indexes pending changes; ``None`` if there are none."""
        with self._lock:
            if self._indexing is None and (self._changed or not self._compared):
                self._indexing = concurrency.begin(self._index_changes, daemon=False, name=f"promptuary-{self._what}")
            return self._indexing

    def _started(self) -> "concurrency.Task[None] | None":
        """Do the same for a caller that waits for it."""
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

    def _next_batch(self) -> tuple[set[Key], bool] | None:
        """Return which records to index, and whether to compare all; ``None`` if there is nothing to do."""
        if self._compared and self._changed:
            self._writes.wait_for_a_pause(self._hurry)
        with self._lock:
            keys, self._changed = self._changed, set()
            if keys or not self._compared:
                return keys, not self._compared
            # Under the lock: records added from now on start another task.
            self._indexing = None
            self._hurry.clear()
            return None

    def _carried_out(self, keys: set[Key], everything: bool) -> bool:  # noqa: FBT001
        """Index records; return False if that failed or another process is writing: the next search tries again."""
        try:
            index = self._opened()
            done = index is None or (index.sync() if everything else index.update(keys))
        except Exception as error:  # searches find what is indexed, and say why that is not everything
            self._failure = str(error) or type(error).__name__
            logger.exception("%s could not be indexed", self._what)
            return False
        self._failure = ""
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
            logger.warning("%s could not be embedded: %s", self._what, error)
        with self._lock:
            self._embedding = None
