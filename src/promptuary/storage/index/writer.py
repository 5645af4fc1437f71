"""Writes the index: the catalogue first, then what the full text index and the vectors must be told.

Files that come in quick succession wait for each other and are written in one transaction: beginning one costs more
than most files do. No transaction is open while anything else is done.

The order is what makes it safe to be killed at any moment. A file's rows and the note of what is still to be told are
one transaction; the full text index is told at once but commits only in ``flush``, after the catalogue is on the disk;
and only then is the note taken away. Who comes next tells again what may not have arrived.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from promptuary.core.errors import PromptuaryError
from promptuary.core.search import Chunk, Folder, IndexedFile
from promptuary.storage.index.catalog.rows import FileContent, Written
from promptuary.storage.index.parts import Generation

_RECIPE: Final = "recipe"
_AT_ONCE: Final = 2_000
"""How many files are dropped in one transaction."""
_TOGETHER: Final = 64
"""How many files are put in one transaction."""
_PATIENCE: Final = 0.05
"""Seconds for which a file waits for others, as long as others come."""


class DiskIndexWriter:
    """The one writer of an index. ``fresh``: the index is new, and everything is still to be put into it."""

    def __init__(self, own: Generation, *, fresh: bool) -> None:
        self.fresh = fresh
        self._own = own
        self._told = True
        self._missed = False
        self._dropped: list[int] = []
        self._waiting: list[FileContent] = []
        self._folder = Folder("")
        self._since = 0.0

    @property
    def path(self) -> Path:
        """The folder that is written to."""
        return self._own.path

    def recipe(self) -> str:
        """Return how the files in this index were cut."""
        return self._own.catalog.meta(_RECIPE)

    def note(self, recipe: str) -> None:
        """Note how files are cut from now on."""
        self._own.catalog.note(_RECIPE, recipe)

    def recover(self) -> None:
        """Tell again what a writer that was killed may not have told."""
        self._tell(self._own.catalog.unwritten())
        self.flush()

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return what is indexed of a folder, by path."""
        self._write()
        return self._own.catalog.files(folder)

    def files_at(self, folder: Folder, paths: Sequence[str]) -> tuple[Mapping[str, IndexedFile], bool]:
        """Return what is indexed at these paths and below them, and whether the folder has other files."""
        self._write()
        return self._own.catalog.files_at(folder, paths)

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        self._write()
        return self._own.catalog.folders()

    def put(self, folder: Folder, file: IndexedFile, text: str, chunks: Sequence[Chunk]) -> None:
        """Index a file as a whole or not at all; chunks that it had before stay as they are, vectors included."""
        if folder != self._folder:
            self._write()
        now = time.monotonic()
        if not self._waiting:
            self._folder, self._since = folder, now
        self._waiting.append((file, text, chunks))
        if len(self._waiting) >= _TOGETHER or now - self._since > _PATIENCE:
            self._write()

    def touch(self, folder: Folder, file: IndexedFile) -> None:
        """Note that a file looks different on disk but holds the same."""
        self._write()
        self._own.catalog.touch(folder, file)

    def move(self, folder: Folder, old: str, file: IndexedFile) -> None:
        """Give an indexed file another path."""
        self._write()
        self._tell(self._own.catalog.move(folder, old, file))

    def drop(self, folder: Folder, paths: Sequence[str]) -> None:
        """Forget files, a part of them at a time if they are many."""
        self._write()
        for start in range(0, len(paths), _AT_ONCE):
            self._tell(self._own.catalog.drop(folder, paths[start : start + _AT_ONCE]))

    def drop_folder(self, folder: Folder) -> None:
        """Forget a folder and its files."""
        self.drop(folder, list(self.files(folder)))
        self._own.catalog.drop_folder(folder)

    def flush(self) -> None:
        """Make everything that was written findable, by other processes too."""
        self._write()
        if self._missed:
            self._tell(self._own.catalog.unwritten())
            self._missed = False
        if self._told:
            return
        self._own.catalog.settle()
        self._own.lexical.commit()
        # One that stays behind is passed over by every search: no reason to fail if an embedder cannot be asked.
        with suppress(PromptuaryError):
            if self._dropped and self._own.catalog.has_vectors() and self._own.vectors is not None:
                self._own.vectors.write({}, self._dropped)
        self._own.catalog.told()
        self._told, self._dropped = True, []

    def close(self) -> None:
        """Let go of the files; who was not flushed is told of by the next writer, or read again by the next sync."""
        self._own.close()

    def _write(self) -> None:
        """Write the files that wait; if together they cannot be written, one by one, up to the one that cannot."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            written = self._own.catalog.put(self._folder, waiting)
        except PromptuaryError:
            if len(waiting) == 1:
                raise
            for one in waiting:
                self._tell(self._own.catalog.put(self._folder, [one]))
        else:
            # Outside of what is tried again: the catalogue has these now, and would call nothing new a second time.
            self._tell(written)

    def _tell(self, written: Written) -> None:
        if not written.new and not written.dropped:
            return
        self._told = False
        try:
            self._own.lexical.write(written.new, written.dropped, fresh=written.fresh)
        except BaseException:
            self._missed = True  # whoever goes on after this tells it again
            raise
        self._dropped += written.dropped
