"""One open generation of the index: its catalogue, its full-text index and its vectors."""

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Final

from promptuary.base.errors import IndexDamagedError
from promptuary.models.protocols import Embedder
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.index.fulltext.index import TantivyIndex
from promptuary.search.index.port import VectorStore
from promptuary.search.index.vectors.index import TurboVectors
from promptuary.search.values import vector_space_id

_SAMPLE: Final = 512
"""The size of the sample that represents all vectors."""
_GROWTH: Final = 1.1


class Generation:
    """The parts of the index in the folder ``path``. It has vectors only if there are a ``store`` and an ``embedder``.

    ``verified`` are the files of the full-text index that were verified before. Raises ``IndexDamagedError`` if a part
    is damaged, or if the folder contains a link.
    """

    def __init__(
        self,
        path: Path,
        store: VectorStore | None,
        embedder: Embedder | None,
        *,
        writing: bool,
        verified: frozenset[str] = frozenset(),
    ) -> None:
        _refuse_links(path)
        self.path = path
        self._store, self._embedder = store, embedder
        self.catalog = Catalog(path / "catalog.db")
        self._vectors: TurboVectors | None = None
        try:
            self.lexical = TantivyIndex(path / "lexical", writing=writing, verified=verified)
        except BaseException:
            self.catalog.close()
            raise

    @property
    def vectors(self) -> TurboVectors | None:
        """The vectors, opened on first use: a remote embedder may have to report their dimensions."""
        if self._vectors is None and self._store is not None and self._embedder is not None:
            dimensions = self._embedder.dimensions
            self._vectors = TurboVectors(
                self.path / "vectors",
                dimensions,
                self._exact,
                writing=True,
                sample=lambda: sample(self.catalog.highest()),
            )
        return self._vectors

    def close(self) -> None:
        """Close the files."""
        try:
            self.lexical.close()
        finally:
            if self._vectors is not None:
                self._vectors.close()
            self.catalog.close()

    def _exact(self, chunks: Sequence[int]) -> Mapping[int, bytes]:
        """Return the exact vectors of chunks."""
        if self._store is None or self._embedder is None:
            return {}
        hashes = self.catalog.hashes(chunks)
        stored = self._store.get(vector_space_id(self._embedder), list(set(hashes.values())))
        return {one: stored[sha] for one, sha in hashes.items() if sha in stored}


@lru_cache(maxsize=16)
def sample(highest: int) -> Sequence[int]:
    """Return some numbers up to about ``highest``, spread evenly; they change only when it has grown by a tenth."""
    end = int(_GROWTH ** int(log(highest, _GROWTH))) if highest > _SAMPLE else highest
    return tuple(dict.fromkeys(1 + place * max(0, end - 1) // (_SAMPLE - 1) for place in range(_SAMPLE))) if end else ()


def _refuse_links(folder: Path) -> None:
    """Raise ``IndexDamagedError`` if there is a link in ``folder``: an index that came with a clone may contain any."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise IndexDamagedError(f"The index contains a link ({entry.name}), which is not followed.")
                if entry.is_dir(follow_symlinks=False):
                    _refuse_links(folder / entry.name)
    except FileNotFoundError:  # a rebuild or a merge removed it
        return
