"""The vectors of an index in a table of PostgreSQL, as 16-bit floats of pgvector.

Those of a small index are compared one by one, which is exact: an approximate index would find mostly vectors of others
and drop them. Those of a large one are in an approximate index (HNSW), which is asked for more until enough of them
pass. Similarities are computed here, from the vectors that were found.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from promptuary.base.concurrency import load_native
from promptuary.base.errors import PromptuaryError, StorageError
from promptuary.database.port import Connection
from promptuary.database.postgres import Binary
from promptuary.search.index.port import Similarity
from promptuary.search.index.postgres.tables import QUERIES, IndexRows
from promptuary.search.index.vectors.index import FEW, compare

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

MOST_EXACT: Final = 10_000
"""Up to so many vectors are compared one by one: that takes some ten milliseconds."""
_BATCH: Final = 250
"""Vectors that are put into the approximate index in one transaction: each takes a millisecond, more on a busy server,
and a statement has half a minute."""
WIDTH: Final = 200
_MOST_WIDE: Final = 1_000
"""How many vectors the approximate index looks at before it is asked for more, at least and at most."""


class TableVectors:
    """The vectors of one generation."""

    def __init__(self, rows: IndexRows, dimensions: int) -> None:
        self._rows, self._dimensions = rows, dimensions
        place = rows.read(lambda own: own.execute(QUERIES["vector_place"]).fetchone())
        if place is None or not place[1]:
            raise PromptuaryError(
                'index = "database" needs pgvector to search by meaning: install it on the server before the tables '
                'are made (CREATE EXTENSION vector), or set embedder = "none".'
            )
        self._place = str(place[0])

    def write(self, vectors: Mapping[int, bytes], dropped: Collection[int]) -> None:
        """Remove ``dropped`` and add ``vectors``, replacing those with the same number."""
        np = _numpy()
        matrix = self._matrix(list(vectors.values()))
        halves = matrix.astype(">f2")
        gone = {"chunks": json.dumps([*vectors, *dropped])}

        def work(own: Connection) -> bool:
            row = own.execute(QUERIES["hold_vectors"]).fetchone()
            if row is None:
                return False  # the generation is gone
            number, total, is_large = row
            whole = np.frombuffer(total, "<f8") if total else np.zeros(self._dimensions)
            old = self._loaded([body for (body,) in own.execute(QUERIES["take_vectors"], gone).fetchall()])
            whole = whole - old.sum(axis=0, dtype=np.float64) + halves.sum(axis=0, dtype=np.float64)
            number += len(vectors) - len(old)
            key = {"vectors": number, "vector_sum": whole.astype("<f8").tobytes(), "is_large": is_large}
            own.execute(self._query("set_vector_sum"), key)
            own.executemany(
                self._query("add_vector"),
                [
                    {"chunk": chunk, "is_large": is_large, "body": self._binary(half.tobytes())}
                    for chunk, half in zip(vectors, halves, strict=True)
                ],
            )
            return number > MOST_EXACT and not is_large

        if self._rows.write(work):
            # What was written is written: whatever is left to do here, the next write does.
            with suppress(StorageError):
                self._enlarge()

    def search(
        self, vector: bytes, limit: int, *, chunks: Collection[int] | None = None
    ) -> Sequence[tuple[int, Similarity]]:
        """Return the nearest chunks, the nearest first; ``chunks`` restricts the search to these."""
        query = self._matrix([vector])
        if limit <= 0 or (chunks is not None and not chunks):
            return []
        key = {
            "vector": self._binary(query.astype(">f2").tobytes()),
            "limit": limit,
            "chunks": None if chunks is None else json.dumps(sorted(chunks)),
        }

        def work(own: Connection) -> tuple[Any, Any]:
            found = own.execute(QUERIES["vector_sum"]).fetchone()
            if found is None:
                return None, ()
            is_wide = found[2] and (chunks is None or len(chunks) > MOST_EXACT)
            if is_wide:
                own.execute(QUERIES["scan_further"], {"width": str(min(_MOST_WIDE, max(WIDTH, 2 * limit)))})
            return found, own.execute(self._query("nearly_nearest" if is_wide else "nearest"), key).fetchall()

        found = self._compared(query, *self._rows.read(work))
        return sorted(found.items(), key=lambda each: (-each[1].cosine, each[0]))[:limit]

    def similarities(self, vector: bytes, chunks: Sequence[int]) -> Mapping[int, Similarity]:
        """Return how similar those of ``chunks`` are that have a vector."""
        query, key = self._matrix([vector]), {"chunks": json.dumps(list(chunks))}

        def work(own: Connection) -> tuple[Any, Any]:
            return own.execute(QUERIES["vector_sum"]).fetchone(), own.execute(QUERIES["vectors_of"], key).fetchall()

        return self._compared(query, *self._rows.read(work)) if chunks else {}

    def clear(self) -> None:
        """Remove all vectors."""

        def work(own: Connection) -> None:
            own.execute(QUERIES["drop_vectors"])
            own.execute(self._query("set_vector_sum"), {"vectors": 0, "vector_sum": None, "is_large": False})

        self._rows.write(work)

    def __len__(self) -> int:
        row = self._rows.read(lambda own: own.execute(QUERIES["vector_sum"]).fetchone())
        return 0 if row is None else int(row[0])

    def _enlarge(self) -> None:
        """Put all vectors into the approximate index. Raises ``StorageError``, if this role may not make that, too.

        Until that is done, they are compared one by one.
        """
        self._rows.write(lambda own: own.execute(self._query("add_near_index")))

        def some(own: Connection) -> bool:
            chunks = [one for (one,) in own.execute(QUERIES["small_vectors"], {"limit": _BATCH})]
            own.execute(QUERIES["enlarge"], {"chunks": json.dumps(chunks)})
            return bool(chunks)

        while self._rows.write(some):
            pass

        def done(own: Connection) -> None:
            number, total, _ = own.execute(QUERIES["hold_vectors"]).fetchone()
            some(own)  # what another added meanwhile
            own.execute(self._query("set_vector_sum"), {"vectors": number, "vector_sum": total, "is_large": True})

        self._rows.write(done)

    def _query(self, name: str) -> str:
        """Return a query with the schema of pgvector and the dimensions of these vectors."""
        return QUERIES[name].replace("extension.", f"{self._place}.").replace("384", str(self._dimensions))

    def _compared(self, query: "Matrix", found: Any, rows: Sequence[Any]) -> dict[int, Similarity]:
        if found is None or not rows:
            return {}
        np = _numpy()
        number, total, _ = found
        mean = (np.frombuffer(total, "<f8") / (number + FEW)).astype(np.float32)[None]
        return compare(query, [int(chunk) for chunk, _ in rows], self._loaded([body for _, body in rows]), mean)

    def _loaded(self, bodies: Sequence[bytes]) -> "Matrix":
        """Return vectors as PostgreSQL sends them: four bytes, then the numbers."""
        np = _numpy()
        joined = b"".join(bytes(body)[4:] for body in bodies)
        matrix: Matrix = np.frombuffer(joined, ">f2").astype(np.float32).reshape(len(bodies), self._dimensions)
        return matrix

    def _binary(self, halves: bytes) -> Binary:
        return Binary(self._dimensions.to_bytes(2, "big") + b"\0\0" + halves)

    def _matrix(self, vectors: Sequence[bytes]) -> "Matrix":
        np = _numpy()
        for vector in vectors:
            if len(vector) != 4 * self._dimensions:
                raise ValueError(f"a vector has {len(vector)} bytes and not {4 * self._dimensions}")
        matrix: Matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), self._dimensions)
        if not np.isfinite(matrix).all():
            raise ValueError("a vector has a number that is not finite")
        return matrix


def _numpy() -> Any:
    load_native("numpy")
    import numpy as np  # noqa: PLC0415  (100 ms, and not needed to open an index)

    return np
