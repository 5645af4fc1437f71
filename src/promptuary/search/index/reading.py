"""What an index reads from its current generation, wherever that is: on disk, or in memory."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from promptuary.base.errors import IndexDamagedError, PromptuaryError
from promptuary.base.files import Folder
from promptuary.models.protocols import Embedder
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.index.parts import Generation
from promptuary.search.index.port import ChunkTraits, IndexedChunk, OfDay, Similarity, UnembeddedChunk, VectorStore
from promptuary.search.query import spoken_terms
from promptuary.search.values import Chunk, Filters, IndexCounts, IndexedFile, Words, vector_space_id

if TYPE_CHECKING:
    from pathlib import Path

Result = TypeVar("Result")

RECIPE: Final = "recipe"
_EMBEDDER: Final = "embedder"


class GenerationReader(ABC):
    """The reading half of a ``SearchIndex`` with this ``recipe``.

    Without a ``store`` or an ``embedder`` there are no vectors.
    """

    def __init__(self, recipe: str, store: VectorStore | None, embedder: Embedder | None) -> None:
        self._recipe = recipe
        self._store, self._embedder = store, embedder
        self._embedding: Path | None = None

    @abstractmethod
    def _now(self) -> Generation | None:
        """Return the current generation, opened; ``None`` if there is none."""

    @abstractmethod
    def _is_current(self, own: Generation) -> bool:
        """Return whether no other generation has replaced this one."""

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        return self._reading(lambda own: own.catalog.folders(), ())

    def counts(self) -> IndexCounts:
        """Return how much the index holds."""

        def work(own: Generation) -> IndexCounts:
            counts = own.catalog.counts()
            whole = self._embedder is None or (self._is_embedded(own) and not self._are_lost(own))
            return counts if whole else replace(counts, unembedded=counts.chunks)

        return self._reading(work, IndexCounts())

    def languages(self) -> Mapping[str, int]:
        """Return how many chunks there are in each language."""
        return self._reading(lambda own: own.catalog.languages(), {})

    def size(self) -> int:
        """Return how many chunks can be found by their words."""
        return self._reading(lambda own: own.lexical.size(), 0)

    def files(self, folder: Folder) -> Mapping[str, IndexedFile]:
        """Return the indexed files of a folder by path."""
        return self._reading(lambda own: own.catalog.files(folder), {})

    def revisions(self) -> Mapping[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        return self._reading(lambda own: own.catalog.revisions(), {})

    def content(self, folder: Folder, path: str) -> tuple[str, Sequence[Chunk]]:
        """Return the text of an indexed file and its chunks; nothing if it is not indexed."""
        nothing: tuple[str, Sequence[Chunk]] = ("", ())
        return self._reading(lambda own: own.catalog.content(folder, path), nothing)

    def is_current(self) -> bool:
        """Return whether the index was made by this recipe."""
        return self._reading(lambda own: own.catalog.meta(RECIPE) == self._recipe, default=False)

    def is_complete(self) -> bool:
        """Return whether searches find everything that was written; if not, the next writer repairs that."""
        return self._reading(lambda own: not own.catalog.has_pending(), default=True)

    def select(self, filters: Filters) -> Sequence[tuple[int, str, str]]:
        """Return the number, folder and path of every file that passes the filters. ``filters.paths`` is ignored."""
        return self._reading(lambda own: own.catalog.select(filters), ())

    def respelled(self, words: Words) -> Words:
        """Return the words with near spellings for those that no chunk has."""
        return self._reading(lambda own: own.lexical.respelled(words), words)

    def lexical(self, words: Words, limit: int, *, files: Collection[int] | None = None) -> Sequence[tuple[int, float]]:
        """Return the best chunks by words, and how many of the words each explains: BM25 in words of average rarity.

        The first chunk of a file counts the text of links to the file as its own words.
        """

        def work(own: Generation) -> Sequence[tuple[int, float]]:
            found = own.lexical.search(words, limit, files=files)
            # A quoted phrase must be in the text.
            named = [] if words.phrases else own.catalog.linked(spoken_terms(words), files)
            return _with_names(found, own.lexical.explained(words, named), limit) if named else found

        return self._reading(work, ())

    def dated(self, first: int, until: int, limit: int, *, files: Collection[int] | None = None) -> Sequence[OfDay]:
        """Return chunks of some days, those whose files say so first."""
        return self._reading(lambda own: own.catalog.dated(first, until, limit, files), ())

    def spoken(self, words: Words, limit: int) -> Mapping[int, float]:
        """Return the conversations in which people say most of the words, measured like ``lexical``."""

        def work(own: Generation) -> Mapping[int, float]:
            terms = spoken_terms(words)
            if not terms or not own.catalog.has_conversations():
                return {}
            average = own.lexical.average(words)
            return {one: score / average for one, score in own.catalog.spoken(terms, limit)}

        return self._reading(work, {})

    def nearest(
        self, vector: bytes, limit: int, *, files: Collection[int] | None = None
    ) -> Sequence[tuple[int, Similarity]]:
        """Return the nearest chunks."""

        def work(own: Generation) -> Sequence[tuple[int, Similarity]]:
            if own.vectors is None or not self._is_embedded(own):
                return ()
            chunks = None if files is None else own.catalog.chunks_of(files)
            return own.vectors.search(vector, limit, chunks=chunks)

        return self._reading(work, ())

    def similarities(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, Similarity]:
        """Return how similar those of ``chunks`` are that have a vector."""

        def work(own: Generation) -> Mapping[int, Similarity]:
            return {} if own.vectors is None or not self._is_embedded(own) else own.vectors.similarities(vector, chunks)

        return self._reading(work, {})

    def chunks(self, numbers: Sequence[int]) -> Mapping[int, IndexedChunk]:
        """Return the chunks with these numbers that are still in the index."""
        return self._reading(lambda own: own.catalog.chunks(numbers), {})

    def traits(self, numbers: Sequence[int]) -> Mapping[int, ChunkTraits]:
        """Return the documents of these chunks."""
        return self._reading(lambda own: own.catalog.traits(numbers), {}) if numbers else {}

    def has_vectors(self) -> bool:
        """Return whether any chunk has a vector of the embedder."""
        return self._reading(lambda own: self._is_embedded(own) and own.catalog.has_vectors(), default=False)

    def lacks_vectors(self) -> bool:
        """Return whether any chunk has no vector of the embedder yet."""
        return self._reading(lambda own: not self._is_embedded(own) or own.catalog.lacks_vectors(), default=False)

    def unembedded(self, limit: int, *, first: Collection[str] = ()) -> Sequence[UnembeddedChunk]:
        """Return chunks that lack a vector: those of the paths in ``first``, then of the files that changed last."""
        return self._reading(lambda own: self._begun(own).unembedded(limit, first), ())

    def lacking_vectors(self, above: int, limit: int) -> Sequence[tuple[int, str]]:
        """Return the numbers and hashes of chunks that lack a vector, above a number and in order."""
        return self._reading(lambda own: self._begun(own).lacking_vectors(above, limit), ())

    def embed(self, vectors: Mapping[int, bytes], *, without: Collection[int] = ()) -> None:
        """Store the vectors of chunks by their numbers; those that are gone are ignored.

        ``without`` are chunks that need no vector. If the index was rebuilt since chunks without a vector were
        requested, or now has vectors of another embedder, nothing is stored.
        """

        def work(own: Generation) -> None:
            if own.vectors is None or own.path != self._embedding or not self._is_embedded(own):
                return
            there = own.catalog.hashes(list(vectors))
            own.vectors.write({one: vectors[one] for one in there}, ())
            own.catalog.set_embedded([*vectors, *without], vectors=bool(there))

        self._reading(work, None)

    def hashes(self) -> Sequence[str]:
        """Return the hashes of all chunks, each once."""
        return self._reading(lambda own: own.catalog.all_hashes(), ())

    def _is_embedded(self, own: Generation) -> bool:
        """Return whether the vectors in the index are those of our embedder."""
        return self._embedder is not None and own.catalog.meta(_EMBEDDER) == vector_space_id(self._embedder)

    def _are_lost(self, own: Generation) -> bool:
        """Return whether vectors are missing or cannot be read: they are restored from the store."""
        try:
            return own.catalog.has_vectors() and own.vectors is not None and not len(own.vectors)
        except IndexDamagedError:
            return True
        except PromptuaryError:  # the embedder is unreachable, so the dimensions are unknown
            return False

    def _begun(self, own: Generation) -> Catalog:
        """Return the catalogue, in which only vectors of our embedder count from now on."""
        if not self._is_embedded(own) or self._are_lost(own):
            self._start_embedding(own)
        self._embedding = own.path
        return own.catalog

    def _start_embedding(self, own: Generation) -> None:
        """Delete the vectors of another embedder: they are never mixed."""
        if self._embedder is not None and own.vectors is not None:
            own.vectors.clear()
            own.catalog.clear_embedded()
            own.catalog.set_meta(_EMBEDDER, vector_space_id(self._embedder))

    def _reading(self, work: Callable[[Generation], Result], default: Result) -> Result:
        """Run ``work`` on the current generation; retry if that was replaced meanwhile."""
        for _ in range(3):
            own = self._now()
            if own is None:
                return default
            try:
                return work(own)
            except PromptuaryError:
                if self._is_current(own):
                    raise
        raise IndexDamagedError("the index is replaced all the time")


def _with_names(
    found: Sequence[tuple[int, float]], named: Mapping[int, float], limit: int
) -> Sequence[tuple[int, float]]:
    """Return the best of the hits by words and by names, each with the better score of the two.

    The better, not the sum: then hits below the limit by words need not be known.
    """
    scores = dict(found)
    for chunk, score in named.items():
        scores[chunk] = max(score, scores.get(chunk, 0.0))
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:limit]
