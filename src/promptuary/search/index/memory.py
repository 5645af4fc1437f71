"""The index in memory, of what is so little that it is made again whenever it is opened.

It has the same parts as the index on disk, so that both find the same with the same scores.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from promptuary.models.protocols import Embedder
from promptuary.search.index.parts import Generation, LocalGeneration
from promptuary.search.index.port import VectorStore
from promptuary.search.index.reading import GenerationReader
from promptuary.search.index.writer import GenerationWriter

_numbers: Final = count(1)


class MemoryIndex(GenerationReader):
    """A ``SearchIndex`` that ends with this object. Without a ``store`` or an ``embedder`` there are no vectors."""

    def __init__(self, *, store: VectorStore | None = None, embedder: Embedder | None = None) -> None:
        super().__init__("", store, embedder)
        self._own: Generation | None = None
        self._writing = threading.Lock()

    @contextmanager
    def writing(self, *, rebuild: bool = False) -> Iterator[GenerationWriter | None]:
        """Become the writer; ``None`` if another thread is. ``rebuild`` starts a new index."""
        if not self._writing.acquire(blocking=False):
            yield None
            return
        try:
            known = None if rebuild else self._own
            own = known or self._opened()
            if self._own is None:
                self._own = own  # searches find what is flushed while more is added
            writer = GenerationWriter(own, fresh=known is None)
            if known is not None:
                writer.recover()  # what a writer did not finish
            yield writer
            writer.flush()
            self._own = own
        finally:
            self._writing.release()

    def exists(self) -> bool:
        """Return whether there is an index."""
        return self._own is not None

    def clear(self) -> None:
        """Drop everything, after a writer that is at work."""
        with self._writing:
            # Not closed: searches may be reading it, and it ends with the last of them.
            self._own = None

    def close(self) -> None:
        """Drop everything."""
        self.clear()

    def _opened(self) -> Generation:
        name = Path(str(next(_numbers)))
        return LocalGeneration(name, self._store, self._embedder, writing=True, in_memory=True)

    def _now(self) -> Generation | None:
        return self._own

    def _is_current(self, own: Generation) -> bool:
        return self._own is own
