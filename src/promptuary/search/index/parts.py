"""One open generation of the index: its catalogue, its full-text index and its vectors.

On disk these are SQLite, tantivy and turbovec; ``postgres`` has the same parts in tables.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Final, Protocol

from promptuary.base.errors import IndexDamagedError
from promptuary.models.protocols import Embedder
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.index.document import Document
from promptuary.search.index.fulltext.index import TantivyIndex
from promptuary.search.index.port import Similarity, VectorStore
from promptuary.search.index.vectors.index import TurboVectors
from promptuary.search.values import Words, vector_space_id

_SAMPLE: Final = 512
"""The size of the sample that represents all vectors."""
_GROWTH: Final = 1.1


class WordIndex(Protocol):
    """The full-text index of a generation."""

    def write(self, documents: Sequence[Document], dropped: Collection[int], *, fresh: bool = False) -> None:
        """Remove ``dropped`` and add ``documents``, replacing those with the same number; visible after ``commit``."""
        ...

    def commit(self) -> None:
        """Make changes durable and visible, to other processes too."""
        ...

    def search(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the best chunks, and how many words each explains."""
        ...

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings for those that no chunk has."""
        ...

    def size(self) -> int:
        """Return how many chunks there are."""
        ...

    def average(self, words: Words) -> float:
        """Return the score of a word of average rarity, among these: what ``search`` measures in."""
        ...

    def explained(self, words: Words, named: Sequence[tuple[int, str]]) -> Mapping[int, float]:
        """Return how many words chunks explain by their names."""
        ...


class VectorIndex(Protocol):
    """The vectors of a generation."""

    def write(self, vectors: Mapping[int, bytes], dropped: Collection[int]) -> None:
        """Remove ``dropped`` and add ``vectors``, replacing those with the same number."""
        ...

    def search(
        self, vector: bytes, limit: int, *, chunks: Collection[int] | None = None
    ) -> Sequence[tuple[int, Similarity]]:
        """Return the nearest chunks, the nearest first; ``chunks`` restricts the search to these."""
        ...

    def similarities(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, Similarity]:
        """Return how similar those of ``chunks`` are that have a vector."""
        ...

    def clear(self) -> None:
        """Remove all vectors."""
        ...

    def __len__(self) -> int: ...


class Generation(Protocol):
    """The parts of one generation; ``path`` is what tells it from others."""

    path: Path
    catalog: Catalog

    @property
    def lexical(self) -> WordIndex:
        """The full-text index."""
        ...

    @property
    def vectors(self) -> VectorIndex | None:
        """The vectors; ``None`` if there are none."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class LocalGeneration:
    """The parts of the index in the folder ``path``. It has vectors only if there are a ``store`` and an ``embedder``.

    ``in_memory``: they end with this object, and ``path`` is only what tells it from others.
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
        in_memory: bool = False,
    ) -> None:
        self.path = path
        self._folder = None if in_memory else path
        self._store, self._embedder = store, embedder
        if self._folder is not None:
            _refuse_links(self._folder)
        self.catalog = Catalog(self._folder and self._folder / "catalog.db")
        self._vectors: TurboVectors | None = None
        try:
            self.lexical = TantivyIndex(self._folder and self._folder / "lexical", writing=writing, verified=verified)
        except BaseException:
            self.catalog.close()
            raise

    @property
    def vectors(self) -> TurboVectors | None:
        """The vectors, opened on first use: a remote embedder may have to report their dimensions."""
        if self._vectors is None and self._store is not None and self._embedder is not None:
            dimensions = self._embedder.dimensions
            self._vectors = TurboVectors(
                self._folder and self._folder / "vectors",
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
