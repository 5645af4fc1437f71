"""An index of one principal's records in a store: notes, experiences.

Isolation is physical: what the principal may not see is not in it, so no filter can be forgotten. Each record is a file
of the index. The index is disposable: a damaged one is rebuilt, and changes are found by comparing places and
revisions. It does not know what the records are; ``memory/recall`` and ``experiences`` define that.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from promptuary.core.errors import IndexDamagedError
from promptuary.core.ports.index import IndexWriter
from promptuary.core.search import Chunk, Folder, IndexedFile
from promptuary.search.service import SearchBackend
from promptuary.search.vectors.embed import embed_missing

_FLUSH_EVERY: Final = 3.0
"""Seconds between two flushes while many records are indexed."""

Key = TypeVar("Key")


class Listed(NamedTuple, Generic[Key]):
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


class RecordIndex(ABC, Generic[Key]):
    """The index of the records of one principal. Every method blocks, and may be called from any thread."""

    def __init__(self, backend: SearchBackend) -> None:
        self.backend = backend

    @abstractmethod
    def folders(self) -> Sequence[Folder]:
        """Return every folder of the index."""

    @abstractmethod
    def places(self, keys: Collection[Key]) -> Iterable[tuple[Folder, Sequence[str]]]:
        """Return the folders and the paths in them where these records may be."""

    @abstractmethod
    def listed(self, keys: Collection[Key] | None = None) -> Iterable[Listed[Key]]:
        """Return the records that belong in the index: those with ``keys``, or all."""

    @abstractmethod
    def entry(self, key: Key) -> RecordEntry | None:
        """Return the current record; ``None`` if it no longer belongs in the index."""

    def sync(self, *, rebuild: bool = False) -> bool:
        """Bring the index up to date with the store; return False, and change nothing, if another writer is active."""
        return self._writing(self._sync_all, rebuild=rebuild)

    def update(self, keys: Collection[Key]) -> bool:
        """Do the same for some records only: those that were added, changed or removed."""

        def work(writer: IndexWriter) -> None:
            if writer.fresh:
                self._sync_all(writer)
            else:
                at = ((folder, writer.files_at(folder, paths)[0]) for folder, paths in self.places(keys))
                known = {(folder.path, path): one.sha256 for folder, files in at for path, one in files.items()}
                self._carry_out(writer, self.listed(keys), known)

        return self._writing(work)

    def is_current(self) -> bool:
        """Return whether the index is up to date with the store; true if another writer is updating it."""
        same: list[bool] = []

        def compare(writer: IndexWriter) -> None:
            same.append(self._known(writer) == {one.place: one.rev for one in self.listed()})

        return not self._writing(compare) or same[-1]

    def embed(self, progress: Callable[[int], bool] | None = None) -> int:
        """Embed every chunk that lacks a vector, until ``progress`` returns false; return how many were done."""
        index, store, embedder = self.backend.index, self.backend.store, self.backend.embedder
        return 0 if store is None or embedder is None else embed_missing(index, store, embedder, progress=progress)

    def hashes(self, key: Key) -> list[str]:
        """Return the hashes under which the vectors of a record are stored."""
        places = ((folder, path) for folder, paths in self.places([key]) for path in paths)
        every = (self.backend.index.content(folder, path)[1] for folder, path in places)
        return sorted({chunk.sha256 for chunks in every for chunk in chunks})

    def close(self) -> None:
        self.backend.index.close()
        if self.backend.store is not None:
            self.backend.store.close()

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
        self._carry_out(writer, self.listed(), self._known(writer))

    def _known(self, writer: IndexWriter) -> dict[tuple[str, str], str]:
        """Return the records in the index: folder and path, and revision."""
        folders = self.folders()
        return {(folder.path, path): file.sha256 for folder in folders for path, file in writer.files(folder).items()}

    def _carry_out(
        self, writer: IndexWriter, listed: Iterable[Listed[Key]], known: Mapping[tuple[str, str], str]
    ) -> None:
        """Index what is ``listed``, and drop everything else that is ``known``: places in the index, and revisions."""
        gone, flushed = set(known), time.monotonic()
        for one in listed:
            if known.get(one.place) == one.rev:
                gone.discard(one.place)
                continue
            # It may have changed since it was listed, or be gone.
            if (entry := self.entry(one.key)) is None:
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
