"""Persistent vectors, in the SQLite file of the state: by embedder and by the hash of what was embedded.

They are stored as 16-bit floats, which halves the size and changes a cosine in the fourth digit. A text that is moved
or restored still has its vector. Knows nothing of chunks or of how vectors are searched.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary.concurrency import load_native
from promptuary.core.errors import PromptuaryError, how_to_install
from promptuary.database.columns import to_column
from promptuary.database.errors import damaged
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.storage.binding import BoundDatabase

if TYPE_CHECKING:
    from types import ModuleType

_QUERIES: Final = queries(__package__, "vectors.sql")


_AT_ONCE: Final = 500
"""How many hashes are looked up in one statement; SQLite accepts 999 values."""


class Vectors:
    """The vectors in the file ``path``, which may be that of a ``StateDatabase``."""

    def __init__(self, path: Path, *, timeout: float = 30.0) -> None:
        self._database = BoundDatabase(path, timeout=timeout)

    @property
    def database(self) -> BoundDatabase:
        """The file, which records its owner."""
        return self._database

    def get(self, embedder: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors of those hashes that have one."""
        found = self._rows("get_vectors", embedder, hashes)
        return dict(zip(found, _widened(list(found.values()), self._database.name), strict=True))

    def known(self, embedder: str, hashes: Sequence[str]) -> set[str]:
        """Return those hashes that have a vector."""
        return set(self._rows("have_vectors", embedder, hashes))

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by their hashes, all or none of them, replacing earlier ones."""
        if not vectors:
            return
        keys = [_key(one) for one in vectors]
        bodies = _narrowed(list(vectors.values()))

        def written(connection: Connection) -> None:
            connection.execute(_QUERIES["add_embedder"], {"name": to_column(embedder)})
            number = _number(connection, embedder)
            rows = ((number, key, body) for key, body in zip(keys, bodies, strict=True))
            connection.executemany(_QUERIES["put_vector"], rows)

        self._database.write(written)

    def count(self, embedder: str) -> int:
        """Return how many vectors of an embedder there are."""
        name = {"name": to_column(embedder)}
        return self._database.read(lambda own: int(own.execute(_QUERIES["count_vectors"], name).fetchone()[0]))

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:
        """Remove those vectors of an embedder whose hashes are not given, and return how many there were."""
        keys = [(_key(one),) for one in hashes]

        def kept(connection: Connection) -> int:
            connection.execute(_QUERIES["begin_wanted"])
            connection.executemany(_QUERIES["add_wanted"], keys)
            number = {"number": _number(connection, embedder)}
            removed = connection.execute(_QUERIES["forget_unwanted"], number).rowcount
            connection.execute(_QUERIES["end_wanted"])
            return removed

        return self._database.write(kept)

    def remove(self, hashes: Sequence[str]) -> int:
        """Remove the vectors of these hashes, of every embedder, and return how many there were."""
        keys = [(_key(one),) for one in hashes]
        return self._database.write(lambda own: max(0, own.executemany(_QUERIES["remove_vector"], keys).rowcount))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _rows(self, query: str, embedder: str, hashes: Sequence[str]) -> dict[str, bytes]:
        keys = {_key(one): one for one in hashes}

        def found(connection: Connection) -> dict[str, bytes]:
            number = _number(connection, embedder)
            rows: dict[str, bytes] = {}
            if number is None:
                return rows
            wanted = list(keys)
            for batch in (wanted[start : start + _AT_ONCE] for start in range(0, len(wanted), _AT_ONCE)):
                statement = _QUERIES[query].replace("/* hashes */", ",".join("?" * len(batch)))
                rows.update((keys[key], body) for key, body in connection.execute(statement, (number, *batch)))
            # In the order in which they were requested.
            return {one: rows[one] for one in keys.values() if one in rows}

        return self._database.read(found)


def _number(connection: Connection, embedder: str) -> int | None:
    row = connection.execute(_QUERIES["find_embedder"], {"name": to_column(embedder)}).fetchone()
    return None if row is None else int(row[0])


def _key(sha256: str) -> bytes:
    key = bytes.fromhex(sha256)
    if len(key) != 32:
        raise ValueError(f"{sha256!r} is not a SHA-256")
    return key


def _narrowed(vectors: Sequence[bytes]) -> list[bytes]:
    np = _numpy()
    for vector in vectors:
        if not vector or len(vector) % 4:
            raise ValueError(f"a vector of {len(vector)} bytes does not consist of 32-bit floats")
    wide = np.frombuffer(b"".join(vectors), "<f4")
    if not (abs(wide) <= 2).all():
        raise ValueError("a vector has a number that is not finite, or too large for one of length one")
    return _cut(wide.astype("<f2").tobytes(), [len(vector) // 2 for vector in vectors])


def _widened(bodies: Sequence[bytes], name: str) -> list[bytes]:
    if not bodies:
        return []
    np = _numpy()
    if any(len(body) % 2 for body in bodies):
        raise damaged(name, "a vector is not what was written")
    wide = np.frombuffer(b"".join(bodies), "<f2").astype("<f4")
    return _cut(wide.tobytes(), [len(body) * 2 for body in bodies])


def _cut(data: bytes, lengths: Sequence[int]) -> list[bytes]:
    parts: list[bytes] = []
    place = 0
    for length in lengths:
        parts.append(data[place : place + length])
        place += length
    return parts


def _numpy() -> "ModuleType":
    try:
        load_native("numpy")
        import numpy as np  # noqa: PLC0415  (100 ms, and only those who search by meaning need it)
    except ImportError as error:
        raise PromptuaryError(f"Vectors need the 'embeddings' extra: {how_to_install('embeddings')}") from error
    return np
