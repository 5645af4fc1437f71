"""The vector index: turbovec finds candidates among 4-bit vectors, and the exact vectors rank them.

The index holds numbers of chunks and quantised vectors, in the files of ``files``. The exact vectors are loaded for the
candidates, so quantisation can only make a search miss a chunk, never change its score. Small indexes do not need
turbovec. Before each search, a reader loads what other processes wrote. Knows neither chunks nor where vectors come
from.
"""

import struct
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptuary.base.concurrency import load_native
from promptuary.base.errors import IndexDamagedError, PromptuaryError, how_to_install
from promptuary.search.index.port import Similarity
from promptuary.search.index.vectors.files import NoVectorFiles, VectorFiles, VectorFilesHead

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.uint64]

ExactVectors = Callable[[Sequence[int]], Mapping[int, bytes]]
"""Returns the exact vectors of chunks, by number; unknown chunks are missing from the result."""

_STEP: Final = 100
_CANDIDATES: Final = 128
"""Candidates for up to ``_STEP`` results: the same for all these limits, so that fewer results are a prefix of more."""

_MAX_CHANGES: Final = 6 << 20
"""The index is rewritten when its changes exceed this many bytes and a quarter of its size.

Up to this size (4,000 vectors of 384 numbers) there are only changes, and turbovec is not needed.
"""

FEW: Final = 10
"""A few vectors say little about the average: as if there were so many zeros, that of a small index is nearly zero."""
_COUNTS: Final = struct.Struct("<II")


class TurboVectors:
    """The vectors in ``folder``, which is created by the first write, or in memory; ``writing`` allows writes.

    ``exact`` is called from any thread that searches. ``sample`` returns the numbers of some chunks, spread evenly over
    all: their mean is the background that a cosine is compared with.
    """

    def __init__(
        self,
        folder: Path | None,
        dimensions: int,
        exact: ExactVectors,
        *,
        writing: bool,
        sample: Callable[[], Sequence[int]] = tuple,
    ) -> None:
        self._files = NoVectorFiles(dimensions) if folder is None else VectorFiles(folder, dimensions)
        self._dimensions = dimensions
        self._exact = exact
        self._sample = sample
        self._mean: tuple[Sequence[int], Matrix] | None = None
        self._writing = writing
        self._lock = threading.Lock()
        self._index: Any = None
        self._head = VectorFilesHead(dimensions)

    def write(self, vectors: Mapping[int, bytes], dropped: Collection[int]) -> None:
        """Remove ``dropped`` and add ``vectors``, replacing those with the same number. Durable when it returns."""
        if not self._writing:
            raise PromptuaryError("The vector index was opened read-only.")
        matrix = self._matrix(list(vectors.values()))
        with self._lock, self._files.locked():
            self._refresh()
            gone = [number for number in dropped if number not in vectors and number in self._index]
            if not vectors and not gone:
                return
            try:
                self._apply(gone, list(vectors), matrix)
                self._save(
                    _COUNTS.pack(len(gone), len(vectors)) + _numbers(gone) + _numbers(vectors) + matrix.tobytes()
                )
            except BaseException:
                self._index = None  # reloaded: it may hold what the files do not
                raise

    def search(
        self, vector: bytes, limit: int, *, chunks: Collection[int] | None = None
    ) -> Sequence[tuple[int, Similarity]]:
        """Return the nearest chunks, the nearest first; ``chunks`` restricts the search to these."""
        query = self._matrix([vector])
        if limit <= 0:
            return []
        with self._lock:
            self._refresh()
            candidates = self._candidates(query, _CANDIDATES * -(-limit // _STEP), chunks)
        found = self._similarities(query, candidates)
        return sorted(found.items(), key=lambda each: (-each[1].cosine, each[0]))[:limit]

    def similarities(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, Similarity]:
        """Return how similar those of ``chunks`` are that have a vector."""
        return self._similarities(self._matrix([vector]), chunks)

    def clear(self) -> None:
        """Remove all vectors, even if the index cannot be read. Durable when it returns."""
        with self._lock, self._files.locked():
            try:
                head = self._files.head()
            except IndexDamagedError:
                head = VectorFilesHead(self._dimensions)
            self._head = self._files.replace(head, b"")
            self._index = None

    def prepare(self) -> None:
        """Load the index now instead of at the first search."""
        with self._lock:
            self._refresh()
            self._index.prepare()

    def close(self) -> None:
        """Free the memory, and close the files."""
        with self._lock:
            self._index = None
            self._files.close()

    def __len__(self) -> int:
        with self._lock:
            self._refresh()
            return len(self._index)

    def _candidates(self, query: "Matrix", pool: int, chunks: Collection[int] | None) -> list[int]:
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

        allowed = None
        if chunks is not None:
            known = {number for number in chunks if number in self._index}
            if len(known) <= pool:
                return list(known)
            allowed = np.fromiter(known, np.uint64, len(known))
        if not len(self._index):
            return []
        with _translate_errors():
            found: list[int] = self._index.search(self._padded(query), pool, allowlist=allowed)[1][0].tolist()
        return found

    def _similarities(self, query: "Matrix", chunks: Sequence[int]) -> dict[int, Similarity]:
        known = self._exact(chunks) if chunks else {}
        if not known:
            return {}
        return compare(query, list(known), self._matrix(list(known.values())), self._background())

    def _background(self) -> "Matrix":
        """Return the mean of some vectors, recomputed when the index has grown or shrunk."""
        numbers = self._sample()
        if self._mean is None or self._mean[0] != numbers:
            known = self._exact(numbers) if numbers else {}
            vectors = _of_length_one(self._matrix(list(known.values()) or [bytes(4 * self._dimensions)]))
            self._mean = numbers, vectors.sum(axis=0, keepdims=True) / (len(vectors) + FEW)
        return self._mean[1]

    def _refresh(self) -> None:
        """Load changes from the files into the index in memory."""
        while (head := self._files.head()) != self._head or self._index is None:
            known = self._head.length if self._index is not None and head.continues(self._head) else None
            base = self._files.base(head) if known is None else b""
            changes = None if base is None else self._files.changes(head, known)
            if base is None or changes is None:
                continue  # a writer replaced the files meanwhile
            try:
                if known is None:
                    self._index = self._opened(base)
                for change in changes:
                    self._replay(change)
                self._head = head
            except BaseException:
                self._index = None
                raise

    def _opened(self, base: bytes) -> Any:
        if not base:
            return InMemoryVectors()
        turbovec = _library()
        with _translate_errors():
            index = turbovec.IdMapIndex.from_bytes(base)
        if index.dim != self._width:
            raise IndexDamagedError(f"The vector index has {index.dim} dimensions and not {self._width}.")
        return index

    def _replay(self, change: bytes) -> None:
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

        gone, added = _COUNTS.unpack_from(change)
        numbers = np.frombuffer(change, "<u8", gone + added, _COUNTS.size).tolist()
        start = _COUNTS.size + 8 * (gone + added)
        matrix = np.frombuffer(change, "<f4", added * self._dimensions, start).reshape(added, self._dimensions)
        with _translate_errors():
            self._apply(numbers[:gone], numbers[gone:], matrix)

    def _apply(self, gone: Sequence[int], added: Sequence[int], matrix: "Matrix") -> None:
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

        for number in (*gone, *added):
            self._index.remove(number)
        if added:
            self._index.add_with_ids(self._padded(matrix), np.array(added, np.uint64))

    def _save(self, change: bytes) -> None:
        """Write a change, or the whole index if the changes are too many to be replayed at each start."""
        if self._head.changed + len(change) > max(_MAX_CHANGES, self._head.size // 4):
            if isinstance(self._index, InMemoryVectors):
                self._index = self._index.moved_to(_library().IdMapIndex(dim=self._width, bit_width=4))
            self._head = self._files.replace(self._head, self._index.to_bytes() if len(self._index) else b"")
            return
        if not self._head.number:
            self._head = self._files.replace(self._head, b"")
        self._head = self._files.append(self._head, change)

    @property
    def _width(self) -> int:
        """The dimensions rounded up to a multiple of eight, as turbovec requires; zeros change no cosine."""
        return -(-self._dimensions // 8) * 8

    def _padded(self, matrix: "Matrix") -> "Matrix":
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

        missing = self._width - self._dimensions
        return np.ascontiguousarray(np.pad(matrix, ((0, 0), (0, missing))) if missing else matrix, np.float32)

    def _matrix(self, vectors: Sequence[bytes]) -> "Matrix":
        try:
            load_native("numpy")
            import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)
        except ImportError as error:
            raise _missing() from error
        for vector in vectors:
            if len(vector) != 4 * self._dimensions:
                raise ValueError(f"a vector has {len(vector)} bytes and not {4 * self._dimensions}")
        matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), self._dimensions)
        if not np.isfinite(matrix).all():
            raise ValueError("a vector has a number that is not finite")
        return matrix


def compare(query: "Matrix", numbers: Sequence[int], matrix: "Matrix", mean: "Matrix") -> dict[int, Similarity]:
    """Return how similar the rows of ``matrix`` are to a query, and to the ``mean`` of the index."""
    matrix = _of_length_one(matrix)
    cosines = (matrix * _of_length_one(query)).sum(axis=1).tolist()
    usual, centre = float((query * mean).sum()), float((mean * mean).sum())
    typical = ((matrix * mean).sum(axis=1) - centre).tolist()
    found = zip(numbers, cosines, typical, strict=True)
    return {one: Similarity(cosine, usual, more) for one, cosine, more in found}


def _of_length_one(matrix: "Matrix") -> "Matrix":
    # Row by row: the last digits of a matrix product depend on the number of rows.
    lengths = (matrix * matrix).sum(axis=1, keepdims=True).clip(min=1e-24) ** 0.5
    scaled: Matrix = matrix / lengths
    return scaled


def _library() -> Any:
    try:
        return load_native("turbovec")
    except ImportError as error:
        raise _missing() from error


def _numbers(numbers: Collection[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def _missing() -> PromptuaryError:
    return PromptuaryError(f"Semantic search needs the 'embeddings' extra: {how_to_install('embeddings')}")


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the library's errors about damaged content; its panics are not of the class ``Exception``."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, (OSError, ValueError, KeyError)) or type(error).__name__ == "PanicException":
            raise IndexDamagedError(f"The vector index is damaged ({error}); it is rebuilt.") from error
        raise


class InMemoryVectors:
    """Vectors by number, in memory, with the interface of turbovec's index."""

    def __init__(self) -> None:
        self._rows: dict[int, Matrix] = {}
        self._matrix: Matrix | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def add_with_ids(self, vectors: "Matrix", ids: "Numbers") -> None:
        """Add one vector for each id; the ids must be new."""
        self._rows.update(zip(ids.tolist(), vectors, strict=True))
        self._matrix = None

    def remove(self, number: int) -> bool:
        """Remove a vector; return whether it existed."""
        self._matrix = None
        return self._rows.pop(number, None) is not None

    def prepare(self) -> None:
        """Do nothing: the vectors are in memory."""

    def search(
        self, queries: "Matrix", k: int, *, allowlist: "Numbers | None" = None
    ) -> "tuple[NDArray[np.floating[Any]], Numbers]":
        """Return cosines and numbers of the ``k`` vectors nearest to the one query, among ``allowlist`` if given."""
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

        if self._matrix is None:
            whole = np.stack(list(self._rows.values()))
            self._matrix = whole / np.sqrt((whole * whole).sum(axis=1, keepdims=True)).clip(min=1e-12)
        # Row by row: for a product of a matrix, the library starts threads that wait in a loop, ten times its time.
        numbers, cosines = np.fromiter(self._rows, np.uint64, len(self._rows)), np.vecdot(self._matrix, queries[0])
        if allowlist is not None:
            allowed = np.isin(numbers, allowlist)
            numbers, cosines = numbers[allowed], cosines[allowed]
        best = np.argsort(-cosines, kind="stable")[:k]
        return cosines[None, best], numbers[None, best]

    def moved_to(self, index: Any) -> Any:
        """Add these vectors to ``index``, an empty one of the library, and return it."""
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

        if self._rows:
            index.add_with_ids(np.stack(list(self._rows.values())), np.fromiter(self._rows, np.uint64, len(self._rows)))
        return index
