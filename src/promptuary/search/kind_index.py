"""The index of one kind of things: of files, of notes, of experiences. One mechanism, whatever the kind is.

It is opened on first use, asked, embedded, rebuilt if it is damaged, and closed. A kind says what belongs in it, and
when it is brought up to date: ``service`` does that for files, ``records`` for what is in a database. Who may open
which index is decided in ``indexes``.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from msgspec import Struct

from promptuary.base.errors import IndexDamagedError, PromptuaryError
from promptuary.models.protocols import Embedder, Scale
from promptuary.search.answer import Answer, answer
from promptuary.search.index.port import SearchIndex, VectorStore
from promptuary.search.rerank import Reranking
from promptuary.search.values import EmbedProgress, IndexRebuilt, SearchedByWordsOnly, SearchNote, SearchQuery
from promptuary.search.vectors.elsewhere import Elsewhere, known_elsewhere
from promptuary.search.vectors.embed import embed_missing, restore
from promptuary.search.vectors.scale import measured

_RESTORE_TIMEOUT: Final = 2.0
"""Seconds that a search spends on restoring stored vectors."""


class SearchBackend(Struct, frozen=True):
    """The index, the store of vectors, what embeds, and what puts the best hits in order.

    Without a store or an embedder there are no vectors. ``most`` is for how many records an index in memory is made;
    ``None`` on disk. ``drop_copies`` removes other indexes of the same things, which may hold what was forgotten.
    """

    index: SearchIndex
    store: VectorStore | None = None
    embedder: Embedder | None = None
    reranking: Reranking | None = None
    most: int | None = None
    drop_copies: Callable[[], object] = lambda: None

    def measured(self, embedder: Embedder | None) -> tuple[Scale, Elsewhere | None]:
        """Return the scale of ``embedder``, and what its hits are compared with, as far as it has embedded that."""
        scale = measured(self.store, embedder)
        if self.store is None or embedder is None or not scale.topical:
            return scale, None
        return scale, known_elsewhere(self.store, embedder)


OpenBackend = Callable[[], SearchBackend]
"""Opens an index, and creates its folder."""


class KindIndex(ABC):
    """The index of one kind. ``open_backend`` is called at the first use, not before.

    Every method may be called from any thread.
    """

    title = "the index"
    """What messages call it."""

    def __init__(self, open_backend: OpenBackend) -> None:
        self._open_backend = open_backend
        self._backend: SearchBackend | None = None
        self._opening = threading.Lock()

    @abstractmethod
    def is_used(self) -> bool:
        """Return whether there is anything to index; if not, nothing is created on disk."""

    @abstractmethod
    def rebuild_damaged(self) -> bool:
        """Rebuild the index from what it was made of; return False if another writer is active."""

    @property
    def backend(self) -> SearchBackend:
        """The opened index."""
        with self._opening:
            if self._backend is None:
                self._backend = self._open_backend()
            return self._backend

    @property
    def backend_if_used(self) -> SearchBackend | None:
        """The opened index; ``None`` if there is nothing to index."""
        return self._backend or (self.backend if self.is_used() else None)

    def ask(self, query: SearchQuery) -> Answer:
        """Return the best hits as far as they are indexed: reranked if there is a reranker.

        Words alone are compared if the embedder fails. A damaged index is rebuilt first. The notes of the answer say
        what was not as it should be.
        """
        backend = self.backend
        embedder = None if query.lexical_only else backend.embedder
        reranking = None if query.lexical_only else backend.reranking
        wide = reranking.widened(query) if reranking else query
        notes: list[SearchNote] = []
        try:
            if embedder is not None and not backend.index.has_vectors():
                embedder = None
            found = self.read(wide, backend, embedder)
        except IndexDamagedError:
            if not self.rebuild_damaged():
                raise PromptuaryError(f"another process is rebuilding {self.title}; try again soon") from None
            notes.append(IndexRebuilt())
            found = self.read(wide, backend, None)
        except PromptuaryError as error:
            if embedder is None:
                raise
            notes.append(SearchedByWordsOnly(str(error)))
            found = self.read(wide, backend, None)
        if reranking is not None:
            hits, problems = reranking.reranked(query, found.hits)
            found, notes = found._replace(hits=hits), [*notes, *problems]
        return found._replace(notes=tuple(notes))

    def read(self, query: SearchQuery, backend: SearchBackend, embedder: Embedder | None) -> Answer:
        """Return the best hits for a query; without an ``embedder``, by words only."""
        scale, elsewhere = backend.measured(embedder)
        return answer(query, backend.index, embedder, scale=scale, elsewhere=elsewhere)

    def embed(self, progress: EmbedProgress | None = None, *, first: Collection[str] = ()) -> int:
        """Embed every chunk that lacks a vector, until ``progress`` returns false; return how many were done.

        ``first`` are paths of files that come before all others.
        """
        backend = self.backend_if_used
        if backend is None or backend.store is None or backend.embedder is None:
            return 0
        return embed_missing(backend.index, backend.store, backend.embedder, first=first, progress=progress)

    def restore_vectors(self) -> None:
        """Put stored vectors into an index that lacks them: it may just have been made. Nothing is embedded."""
        backend, deadline = self.backend, time.monotonic() + _RESTORE_TIMEOUT
        # The search reports an error better, and continues by words.
        with suppress(PromptuaryError):
            if backend.store is not None and backend.embedder is not None and backend.index.lacks_vectors():
                restore(backend.index, backend.store, backend.embedder, progress=lambda _: time.monotonic() < deadline)

    def close(self) -> None:
        """Close every file."""
        with self._opening:
            backend, self._backend = self._backend, None
        if backend is not None:
            backend.index.close()
            if backend.store is not None:
                backend.store.close()
