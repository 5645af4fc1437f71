"""An index that stays, on disk or in a database: keeps the catalogue, the full-text index and the vectors consistent.

The catalogue is written first and lists the changes that the others have not committed, so a process may be killed
between any two steps: the next writer sends these changes again. A reader ignores chunks that the catalogue does not
have. A damaged index is rebuilt from the files; vectors are restored from the vector store.
"""

import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from promptuary.base.errors import IndexDamagedError
from promptuary.models.protocols import Embedder
from promptuary.search.index.generations import Generations
from promptuary.search.index.parts import Generation, LocalGeneration
from promptuary.search.index.port import VectorStore
from promptuary.search.index.reading import RECIPE, GenerationReader
from promptuary.search.index.writer import GenerationWriter

_VERSION: Final = "4"
"""Increases when an older index cannot be read or would give different results."""
_TRUSTED: Final = 300.0
"""Seconds for which verified files are trusted. Not for ever: a merge would hide damage to them."""


class AnyGenerations(Protocol):
    """The generations of an index, wherever they are."""

    def lock(self) -> AbstractContextManager[bool]:
        """Try to become the writer; yield whether that worked."""
        ...

    def current(self) -> Path | None:
        """Return the current generation; ``None`` if there is none."""
        ...

    def begin(self) -> Path:
        """Begin the next generation."""
        ...

    def publish(self, path: Path) -> None:
        """Make ``path`` the current generation."""
        ...

    def sweep(self, *, whole: bool = False) -> None:
        """Remove all other generations."""
        ...


class StoredIndex(GenerationReader):
    """A ``SearchIndex`` that stays, in ``generations``. An index with another ``recipe`` is rebuilt.

    Without a ``store`` or an ``embedder`` there are no vectors. An index of another ``maker`` is not even read: it may
    say anything of the files that it came with.
    """

    def __init__(
        self,
        generations: AnyGenerations,
        recipe: str,
        *,
        store: VectorStore | None = None,
        embedder: Embedder | None = None,
        maker: str = "",
    ) -> None:
        self._maker = f", {maker}" if maker else ""
        super().__init__(f"{_VERSION} {recipe}{self._maker}", store, embedder)
        self._generations = generations
        self._foreign: Path | None = None
        self._opening = threading.Lock()
        self._opened: Generation | None = None

    @abstractmethod
    def _generation(self, path: Path, *, writing: bool) -> Generation:
        """Open a generation."""

    @contextmanager
    def writing(self, *, rebuild: bool = False) -> Iterator[GenerationWriter | None]:
        """Become the writer; ``None`` if another writer is at work. ``rebuild`` starts a new index.

        So does a damaged index, or one with another recipe: see ``IndexWriter.fresh``.
        """
        with self._generations.lock() as alone:
            if not alone:
                yield None
                return
            self._generations.sweep()
            writer = self._writer(rebuild=rebuild)
            try:
                yield writer
                writer.flush()
                if writer.fresh:
                    self._generations.publish(writer.path)
            finally:
                writer.close()
            if rebuild:
                # The old one may hold what was forgotten: it is gone when this ends.
                self._generations.sweep(whole=True)

    def exists(self) -> bool:
        """Return whether there is an index."""
        return self._generations.current() is not None

    def close(self) -> None:
        """Close the files."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _writer(self, *, rebuild: bool) -> GenerationWriter:
        current = self._generations.current()
        if current is not None and not rebuild:
            # A damaged index is rebuilt.
            with suppress(IndexDamagedError):
                writer = GenerationWriter(self._generation(current, writing=True), fresh=False)
                try:
                    if writer.recipe() == self._recipe:
                        writer.recover()
                        return writer
                except BaseException:
                    writer.close()
                    raise
                writer.close()
        path = self._generations.begin()
        writer = GenerationWriter(self._generation(path, writing=True), fresh=True)
        writer.set_recipe(self._recipe)
        if current is None:
            # There is no old index to read: searches find what is flushed while more is added.
            self._generations.publish(path)
        return writer

    def _is_current(self, own: Generation) -> bool:
        return self._generations.current() == own.path

    def _now(self) -> Generation | None:
        current = self._generations.current()
        with self._opening:
            if self._opened is not None and self._opened.path != current:
                self._opened.close()
                self._opened = None
            if self._opened is None and current not in (None, self._foreign):
                opened = self._generation(current, writing=False)
                if not (opened.catalog.meta(RECIPE) or "").endswith(self._maker):
                    opened.close()
                    self._foreign = current
                    return None
                self._opened = opened
            return self._opened


class DiskIndex(StoredIndex):
    """The index in ``folder``, which must exist; see ``StoredIndex``."""

    def __init__(
        self,
        folder: Path,
        recipe: str,
        *,
        store: VectorStore | None = None,
        embedder: Embedder | None = None,
        maker: str = "",
    ) -> None:
        super().__init__(Generations(folder), recipe, store=store, embedder=embedder, maker=maker)
        self._verified = -_TRUSTED

    def _generation(self, path: Path, *, writing: bool) -> LocalGeneration:
        opened, now = self._opened, time.monotonic()
        known: frozenset[str] = frozenset()
        if isinstance(opened, LocalGeneration) and now - self._verified < _TRUSTED:
            # So that a small change does not read every file. Names of files are never used twice.
            known = opened.lexical.verified
        else:
            self._verified = now
        return LocalGeneration(path, self._store, self._embedder, writing=writing, verified=known)
