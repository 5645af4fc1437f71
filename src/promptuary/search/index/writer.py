"""Writes the index: the catalogue first, then the full-text index and the vectors.

Files that come in quick succession are buffered and written in one transaction: a transaction costs more than most
files. No transaction is open during any other work.

The order of steps makes a kill at any moment safe. A file's rows and the list of pending changes are one transaction;
the full-text index gets the changes at once but commits only in ``flush``, after the catalogue is on disk; only then is
the list cleared. The next writer sends pending changes again.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.files import Folder
from promptuary.search.index.catalog.rows import CatalogChange, FileContent
from promptuary.search.index.parts import Generation
from promptuary.search.values import Chunk, IndexedFile

_RECIPE: Final = "recipe"
_DROP_BATCH: Final = 2_000
"""How many files are dropped in one transaction."""
_PUT_BATCH: Final = 64
"""How many files are put in one transaction."""
_PUT_DELAY: Final = 0.05
"""Seconds for which files are buffered while more come."""


class GenerationWriter:
    """The ``IndexWriter`` of a generation, on disk or in memory."""

    def __init__(self, own: Generation, *, fresh: bool) -> None:
        self.fresh = fresh
        self._own = own
        self._committed = True
        self._send_again = False
        self._dropped: list[int] = []
        self._buffer: list[FileContent] = []
        self._folder = Folder("")
        self._since = 0.0

    @property
    def path(self) -> Path:
        """The folder that is written to."""
        return self._own.path

    def recipe(self) -> str:
        """Return the recipe of this index."""
        return self._own.catalog.meta(_RECIPE)

    def set_recipe(self, recipe: str) -> None:
        """Record the recipe of this index."""
        self._own.catalog.set_meta(_RECIPE, recipe)

    def recover(self) -> None:
        """Resend the changes that a killed writer may not have sent."""
        self._send(self._own.catalog.pending_changes())
        self.flush()

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return the indexed files of a folder by path."""
        self._write()
        return self._own.catalog.files(folder)

    def revisions(self) -> Mapping[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        self._write()
        return self._own.catalog.revisions()

    def files_at(self, folder: Folder, paths: Sequence[str]) -> tuple[Mapping[str, IndexedFile], bool]:
        """Return the indexed files at and below these paths, and whether the folder has other files."""
        self._write()
        return self._own.catalog.files_at(folder, paths)

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        self._write()
        return self._own.catalog.folders()

    def put(self, folder: Folder, file: IndexedFile, text: str, chunks: Sequence[Chunk]) -> None:
        """Index a file atomically. Chunks that it had before keep their numbers and vectors."""
        if folder != self._folder:
            self._write()
        now = time.monotonic()
        if not self._buffer:
            self._folder, self._since = folder, now
        self._buffer.append((file, text, chunks))
        if len(self._buffer) >= _PUT_BATCH or now - self._since > _PUT_DELAY:
            self._write()

    def touch(self, folder: Folder, file: IndexedFile) -> None:
        """Record that a file looks different on disk but has the same content."""
        self._write()
        self._own.catalog.touch(folder, file)

    def move(self, folder: Folder, old: str, file: IndexedFile) -> None:
        """Give an indexed file another path. Its chunks keep their numbers and vectors."""
        self._write()
        self._send(self._own.catalog.move(folder, old, file))

    def drop(self, folder: Folder, paths: Sequence[str]) -> None:
        """Delete files from the index, a batch at a time."""
        self._write()
        for start in range(0, len(paths), _DROP_BATCH):
            self._send(self._own.catalog.drop(folder, paths[start : start + _DROP_BATCH]))

    def drop_folder(self, folder: Folder) -> None:
        """Delete a folder and its files from the index."""
        self.drop(folder, list(self.files(folder)))
        self._own.catalog.drop_folder(folder)

    def flush(self) -> None:
        """Make everything that was written visible to searches, in other processes too."""
        self._write()
        if self._send_again:
            self._send(self._own.catalog.pending_changes())
            self._send_again = False
        if self._committed:
            return
        self._own.catalog.checkpoint()
        self._own.lexical.commit()
        # Searches ignore the vector of a chunk that is gone, so an unreachable embedder is not an error.
        with suppress(PromptuaryError):
            if self._dropped and self._own.catalog.has_vectors() and self._own.vectors is not None:
                self._own.vectors.write({}, self._dropped)
        self._own.catalog.clear_pending()
        self._committed, self._dropped = True, []

    def close(self) -> None:
        """Close the files. Unflushed changes are sent by the next writer, or read again by the next sync."""
        self._own.close()

    def _write(self) -> None:
        """Write the buffered files; if that fails, one by one, up to the one that cannot be written."""
        buffer, self._buffer = self._buffer, []
        if not buffer:
            return
        try:
            change = self._own.catalog.put(self._folder, buffer)
        except PromptuaryError:
            if len(buffer) == 1:
                raise
            for one in buffer:
                self._send(self._own.catalog.put(self._folder, [one]))
        else:
            # Not inside the try: the files are in the catalogue now, and putting them again would return no change.
            self._send(change)

    def _send(self, change: CatalogChange) -> None:
        """Send a change of the catalogue to the full-text index."""
        if not change.new and not change.dropped:
            return
        self._committed = False
        try:
            self._own.lexical.write(change.new, change.dropped, fresh=change.fresh)
        except BaseException:
            self._send_again = True
            raise
        self._dropped += change.dropped
