"""The index of one owner's records in a database: its notes, or its experiences.

Isolation is physical: what the owner may not see is not in it, so no filter can be forgotten. Each record is a file of
the index. Changes are found by comparing places and revisions. What the records are is defined in ``memory/recall`` and
``experiences``.

A writer reports which records changed, and continues; they are indexed in the background. A search waits for pending
records; if they take too long, it finds what is indexed by then and says that this is not everything. Once per process
everything is compared, since another process may have been killed before it indexed what it wrote; from then on each
search reads in the feed of changes what other processes and servers wrote. Nothing is embedded while somebody waits.

An index of few records may be in memory. No other process writes to that, so everything is compared before each search.
When there are more, an index on disk takes its place.
"""

import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from heapq import nlargest
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.base.errors import IndexDamagedError, PromptuaryError
from promptuary.base.files import Folder
from promptuary.search import query as language
from promptuary.search.answer import Answer, answer
from promptuary.search.index.memory import MemoryIndex
from promptuary.search.index.port import IndexWriter
from promptuary.search.kind_index import KindIndex, OpenBackend, SearchBackend
from promptuary.search.ranking import FEWEST, compared, luck
from promptuary.search.values import Chunk, IndexBusy, IndexedFile, SearchedByWordsOnly, SearchNote, SearchQuery

logger = logging.getLogger(__name__)

PATIENCE: Final = 4.0
"""Seconds that the search of a turn waits for records that are being indexed: most are done much sooner."""
LONG_PATIENCE: Final = 30.0
"""The same if a person asked for the search itself."""

_FLUSH_EVERY: Final = 3.0
"""Seconds between two flushes while many records are indexed."""
_LINGER: Final = 0.25
"""Seconds without a write until records are indexed, unless somebody searches: indexing costs several disk syncs and
more processor time than the writes, and writers would have to wait for both."""
_AT_LAST: Final = 5.0
"""Seconds after which they are indexed even while more is written."""
_MAX_SOON: Final = 64
_EMBED_SECONDS: Final = 1.0
_PAUSE: Final = 0.05
_LONGEST_WRITE: Final = 10.0
"""How many seconds to wait for whoever writes the index."""
_MOST_READ: Final = 200
"""How many records are ranked while there is no index: those whose texts have the most words of the query."""
_SHORT, _ENDING = 3, 2
_MIN_CHUNKS: Final = 20
"""The least number of chunks to assume: among fewer records, any of them is likely to be the one wanted."""

Key = TypeVar("Key")


class RecordPlace(NamedTuple, Generic[Key]):
    """A record that belongs in the index: its key, its folder and path there, and its revision."""

    key: Key
    folder: Folder
    path: str
    rev: str

    @property
    def place(self) -> tuple[str, str]:
        return self.folder.path, self.path


class RecordEntry(NamedTuple):
    folder: Folder
    file: IndexedFile
    text: str
    chunks: Sequence[Chunk]


class RecordIndex(KindIndex, Generic[Key]):
    """The index of the records of one owner."""

    what: ClassVar[str]
    """The name of the records in messages."""

    def __init__(self, open_backend: OpenBackend) -> None:
        super().__init__(open_backend)
        self._lock = threading.RLock()
        self._following = threading.Lock()
        self._indexing: concurrency.Task[None] | None = None
        self._embedding: concurrency.Task[None] | None = None
        self._changed: set[Key] = set()
        self._compared = self._searched = self._is_comparing = False
        self._failure = ""
        self._closing = False
        self._hurry = threading.Event()
        self._writes = concurrency.Debounce(_LINGER, _AT_LAST)

    # What belongs in it

    @abstractmethod
    def count(self) -> int:
        """Return how many records there are, including some that do not belong in the index."""

    def is_used(self) -> bool:
        """Return whether there is a record."""
        return self.count() > 0

    @abstractmethod
    def folders(self) -> Sequence[Folder]:
        """Return every folder of the index."""

    @abstractmethod
    def places(self, keys: Collection[Key]) -> Iterable[tuple[Folder, Sequence[str]]]:
        """Return the folders and the paths in them where these records may be."""

    @abstractmethod
    def find_records(self, keys: Collection[Key] | None = None) -> Iterable[RecordPlace[Key]]:
        """Return which records belong in the index: of those with ``keys``, or of all."""

    @abstractmethod
    def news(self) -> Collection[Key] | None:
        """Return which records were changed since the last call, by anybody; ``None`` if it may be all of them."""

    @abstractmethod
    def texts(self) -> Iterable[tuple[Key, str]]:
        """Return the text of every record as the database has it, read at once."""

    @abstractmethod
    def entry(self, key: Key) -> RecordEntry | None:
        """Return the current record; ``None`` if it no longer belongs in the index."""

    @property
    def title(self) -> str:  # type: ignore[override]
        """What messages call the index."""
        return f"the index of {self.what}"

    # Searching

    def ask(self, query: SearchQuery) -> Answer:
        """Return the best hits as far as they are indexed; by words from the database while the index is being made.

        All passages of a record count, and two records with the same text are two.
        """
        query = replace(query, per_file=0, merge_copies=False)
        if self._is_cold():
            return self._ask_database(query)
        found = super().ask(query)
        if not found.hybrid:
            return found
        sure = among_few(found.confidence, self.backend.index.size())
        return found._replace(confidence=compared(sure, found.ahead, strict=False))

    def _is_cold(self) -> bool:
        """Return whether the index is being made, and does not have half of the records yet."""
        if not self._is_comparing or self._indexing is None:
            return False
        with suppress(PromptuaryError):
            return self.backend.index.size() * 2 < self.count()
        return False

    def _ask_database(self, query: SearchQuery) -> Answer:
        """Return the best hits by words among the records that have the most of them in the database."""
        words = language.parse(query.text)
        every = (*words.terms, *words.phrases, *words.prefixes)
        # What another form of a word begins with, too: which texts really match is decided by the index below.
        parts = {word.casefold()[: max(_SHORT, len(word) - _ENDING)] for word in every}

        def shared(found: tuple[Key, str]) -> int:
            text = found[1].casefold()
            return sum(part in text for part in parts)

        index = MemoryIndex()
        with index.writing() as writer:
            for key, _ in nlargest(_MOST_READ, self.texts(), key=shared):
                if writer is not None and (entry := self.entry(key)) is not None:
                    writer.put(*entry)
        found = answer(query, index, None)
        return found._replace(notes=(SearchedByWordsOnly(f"{self.title} is still being made here"),))

    def wait(self, timeout: float) -> tuple[bool, tuple[SearchNote, ...]]:
        """Wait until pending records are indexed; return whether there is any record.

        After ``timeout`` seconds a note says that some are not in the index.
        """
        deadline = time.monotonic() + timeout
        notes: tuple[SearchNote, ...] = ()
        if self.backend_if_used is None:
            return False, notes
        self._follow()
        while not notes and (indexing := self._start(now=True)) is not None:
            if not indexing.wait(max(0.0, deadline - time.monotonic())):
                notes = (IndexBusy(here=True),)
            elif self._failure:
                notes = (IndexBusy(here=True, reason=self._failure),)
            elif self._changed or not self._compared:
                if time.monotonic() > deadline:
                    notes = (IndexBusy(),)
                else:
                    time.sleep(_PAUSE)  # another process is writing the index
        return True, notes

    # Following the database

    def mark_changed(self, keys: Iterable[Key]) -> None:
        """Index these records soon: they were added, changed or removed. Returns at once."""
        self._writes.touch()
        with self._lock:
            self._changed.update(keys)
            # Without a thread now, the next search indexes them: what was written is written.
            with suppress(RuntimeError):
                self._start()

    def settle(self) -> None:
        """Wait until everything that was written is indexed, unless another process is writing the index."""
        if (indexing := self._start(now=True)) is not None:
            indexing.wait()

    def sync(self, *, rebuild: bool = False) -> bool:
        """Bring the index up to date with the database; return False, and change nothing, if another one writes it."""
        return self._writing(self._sync_all, rebuild=rebuild)

    def update(self, keys: Collection[Key]) -> bool:
        """Do the same for some records only: those that were added, changed or removed."""

        def work(writer: IndexWriter) -> None:
            if writer.fresh:
                self._sync_all(writer)
            else:
                at = ((folder, writer.files_at(folder, paths)[0]) for folder, paths in self.places(keys))
                known = {(folder.path, path): file.sha256 for folder, files in at for path, file in files.items()}
                self._write_records(writer, self.find_records(keys), known)

        return self._writing(work)

    def rebuild_damaged(self) -> bool:
        """Rebuild the index from the database."""
        return self.sync(rebuild=True)

    def rebuild(self) -> None:
        """Rebuild the index, without what was forgotten. Raises ``PromptuaryError`` if another writes it for long."""
        self.settle()
        deadline = time.monotonic() + _LONGEST_WRITE
        while self.backend_if_used is not None and not self.sync(rebuild=True):
            if time.monotonic() > deadline:
                raise PromptuaryError(f"another process is writing {self.title}; try again when it is done")
            time.sleep(_PAUSE)  # often our own thread, which embeds what was written just now

    def is_current(self) -> bool:
        """Return whether the index is up to date with the database, after indexing pending records.

        True if another writer is updating it.
        """
        self.settle()
        same: list[bool] = []

        def compare(writer: IndexWriter) -> None:
            same.append(writer.revisions() == self._wanted())

        return self.backend_if_used is None or not self._writing(compare) or same[-1]

    # Vectors

    def embed_few(self) -> None:
        """Embed what lacks a vector if that is quick; otherwise a short-lived process would never do it."""
        try:
            self.wait(PATIENCE)
            began = time.monotonic()
            self.embed(lambda count: count < _MAX_SOON and time.monotonic() - began < _EMBED_SECONDS)
        except PromptuaryError as error:  # searches continue by words
            logger.warning("%s could not be embedded: %s", self.what, error)

    def hashes(self, key: Key) -> list[str]:
        """Return the hashes under which the vectors of a record are stored."""
        if (backend := self.backend_if_used) is None:
            return []
        if backend.most is not None:
            self.wait(LONG_PATIENCE)  # it may just have been opened, and be empty
        places = ((folder, path) for folder, paths in self.places([key]) for path in paths)
        every = (backend.index.content(folder, path)[1] for folder, path in places)
        return sorted({chunk.sha256 for chunks in every for chunk in chunks})

    def remove_vectors(self, hashes: Sequence[str]) -> None:
        backend = self.backend_if_used
        if backend is not None and backend.store is not None and hashes:
            backend.store.remove(hashes)

    def forget(self, hashes: Sequence[str]) -> None:
        """Delete vectors, and rebuild the index without what is gone, so that no byte of them is left."""
        _ = self.backend  # opened even if the last record is gone: the index may still hold it
        self.remove_vectors(hashes)
        self.rebuild()
        self.backend.drop_copies()

    def close(self) -> None:
        """Index pending records, and close every file."""
        with self._lock:
            self._closing = True
            self._hurry.set()
            indexing = self._start() if self._changed else self._indexing
        for task in (indexing, self._embedding):
            if task is not None:
                task.wait()
        super().close()

    # In the background

    def _start(self, *, now: bool = False) -> "concurrency.Task[None] | None":
        """Return the task that indexes pending changes; ``None`` if there are none. ``now``: somebody waits for it."""
        with self._lock:
            self._searched = self._searched or now
            if self._indexing is None and (self._changed or (self._searched and not self._compared)):
                # Known at once, not when the thread runs: a search before that must not take "nothing yet" for all.
                self._is_comparing = self._searched and not self._compared
                self._indexing = concurrency.begin(self._index_changes, daemon=False, name=f"promptuary-{self.what}")
            if now and self._indexing is not None:
                self._hurry.set()
            return self._indexing

    def _follow(self) -> None:
        """Find what was changed since the last search, by other processes and servers too."""
        with self._following:
            try:
                keys = self.news()
            except BaseException:
                self._compared = False  # some of it may have been told
                raise
            with self._lock:
                if keys is None:
                    self._compared = False
                elif self._compared:
                    self._changed.update(keys)
            self._compare()

    def _compare(self) -> None:
        """Compare all records with the index, and write nothing if it has them: mostly it does."""
        self._searched = True
        known = self._compared and (self._backend is None or self._backend.most is None)
        if known or self._changed or self._indexing is not None:
            return
        # If the index cannot be opened or read, the task that is started next says so.
        with suppress(Exception):
            backend, compared = self.backend_if_used, self._compared
            self._compared = backend is None or self._is_complete(backend)
            if self._compared and not compared:
                self._embed_later()

    def _is_complete(self, backend: SearchBackend) -> bool:
        index = backend.index
        return index.is_current() and index.is_complete() and index.revisions() == self._wanted()

    def _wanted(self) -> dict[tuple[str, str], str]:
        """Return the records that belong in the index: folder and path, and revision."""
        return {record.place: record.rev for record in self.find_records()}

    def _index_changes(self) -> None:
        while (batch := self._next_batch()) is not None:
            if not self._index_batch(*batch):
                with self._lock:
                    self._hurry.clear()
                    self._changed |= batch[0]
                    self._compared = self._compared and not batch[1]
                    self._indexing = None
                return
        self._embed_later()

    def _next_batch(self) -> tuple[set[Key], bool] | None:
        """Return which records to index, and whether to compare all; ``None`` if there is nothing to do."""
        if self._changed and (self._compared or not self._searched):
            self._writes.wait_for_a_pause(self._hurry)
        with self._lock:
            keys, self._changed = self._changed, set()
            everything = self._searched and not self._compared  # who only writes leaves that to the next search
            # Before it is done: what is told meanwhile may come too late for it.
            self._compared = self._compared or everything
            self._is_comparing = everything
            if keys or everything:
                return keys, everything
            # Under the lock: records added from now on start another task.
            self._indexing = None
            self._hurry.clear()
            return None

    def _index_batch(self, keys: set[Key], everything: bool) -> bool:  # noqa: FBT001
        """Index records; return False if that failed or another process is writing: the next search tries again."""
        try:
            self._move_to_disk()
            done = self.backend_if_used is None or (self.sync() if everything else self.update(keys))
            if self._backend is not None and self._backend.most is not None:
                self.restore_vectors()
        except Exception as error:  # searches find what is indexed, and say why that is not everything
            self._failure = str(error) or type(error).__name__
            logger.exception("%s could not be indexed", self.what)
            return False
        self._failure = ""
        return done

    def _move_to_disk(self) -> None:
        """Open the index on disk if there are more records than an index in memory is for."""
        backend = self._backend
        if backend is None or backend.most is None or self.count() <= backend.most:
            return
        with self._opening:
            # Not closed: somebody may be searching it, and it ends with the last one who does.
            self._backend = self._open_backend()
        self._compared = False

    def _embed_later(self) -> None:
        backend = self._backend
        if backend is None or backend.embedder is None:
            return
        with suppress(PromptuaryError):  # the next search repairs what is damaged
            # Who searches opens the vectors, and notices if they are lost; that costs too much for who only writes.
            index = backend.index
            if self._closing or not (index.counts().unembedded if self._searched else index.lacks_vectors()):
                return
        with self._lock:
            if not self._closing and self._embedding is None:
                self._embedding = concurrency.begin(self._embed_missing, daemon=False, name="promptuary-embed")

    def _embed_missing(self) -> None:
        try:
            self.embed(lambda _: not self._closing)
        except Exception as error:  # noqa: BLE001  (nobody waits for this thread; searches go on by words)
            logger.warning("%s could not be embedded: %s", self.what, error)
        with self._lock:
            self._embedding = None

    # Writing the index

    def _writing(self, work: Callable[[IndexWriter], None], *, rebuild: bool = False) -> bool:
        try:
            with self.backend.index.writing(rebuild=rebuild) as writer:
                if writer is not None:
                    work(writer)
                return writer is not None
        except IndexDamagedError:
            if rebuild:
                raise
            return self.sync(rebuild=True)

    def _sync_all(self, writer: IndexWriter) -> None:
        self._write_records(writer, self.find_records(), writer.revisions())

    def _write_records(
        self, writer: IndexWriter, wanted: Iterable[RecordPlace[Key]], known: Mapping[tuple[str, str], str]
    ) -> None:
        """Index what is ``wanted``, and drop everything else that is ``known``: places in the index, and revisions."""
        gone, flushed = set(known), time.monotonic()
        for record in wanted:
            if known.get(record.place) == record.rev:
                gone.discard(record.place)
                continue
            # It may have changed since it was found, or be gone.
            if (entry := self.entry(record.key)) is None:
                continue
            gone.discard((entry.folder.path, entry.file.path))
            writer.put(*entry)
            if time.monotonic() - flushed > _FLUSH_EVERY:
                writer.flush()
                flushed = time.monotonic()
        for folder in self.folders():
            if paths := [path for at, path in gone if at == folder.path]:
                writer.drop(folder, sorted(paths))
        writer.flush()


def among_few(confidence: float, chunks: int) -> float:
    """Return the confidence of an answer from an index of few ``chunks``.

    The ranking of files assumes a larger index, in which chance would find more.
    """
    few, more = max(_MIN_CHUNKS, chunks), max(FEWEST, chunks)
    return confidence * luck(more) / luck(few)
