"""Persistent vectors, in the database of the state: by embedder and by the hash of what was embedded.

They are stored as 16-bit floats, which halves the size and changes a cosine in the fourth digit. A text that is moved
or restored still has its vector. Knows nothing of chunks or of how vectors are searched.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptuary.base.concurrency import load_native
from promptuary.base.errors import PromptuaryError, how_to_install
from promptuary.base.principals import Owner
from promptuary.config.settings import Settings
from promptuary.database.binding import Bound, BoundDatabase
from promptuary.database.columns import to_column
from promptuary.database.errors import damaged
from promptuary.database.owners import EVERYBODY, NOBODY, add_owner, find_owner
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.workspace.state_file import open_database
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from types import ModuleType

_QUERIES: Final = queries(__package__, "vectors.sql")


class Vectors:
    """The vectors of ``owner`` in the file ``path``, which may be that of a ``StateDatabase``. No owner is everybody.

    What is removed is removed for every owner: it is forgotten.
    """

    def __init__(self, path: Path | None, owner: Owner | None = None, *, timeout: float = 30.0) -> None:
        self._opened: Bound | None = BoundDatabase(path, timeout=timeout) if path else None
        self._owner = owner

    @property
    def _database(self) -> Bound:
        if self._opened is None:
            raise AssertionError("the vectors have no file")
        return self._opened

    def get(self, embedder: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors of those hashes that have one."""
        found = self._found(embedder, hashes)
        return dict(zip(found, _widened(list(found.values()), self._database.name), strict=True))

    def known(self, embedder: str, hashes: Sequence[str]) -> set[str]:
        """Return those hashes that have a vector."""
        return set(self._found(embedder, hashes))

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by their hashes, all or none of them, replacing earlier ones."""
        if not vectors:
            return
        keys = [_key(sha256) for sha256 in vectors]
        bodies = _narrowed(list(vectors.values()))

        def written(connection: Connection) -> None:
            name = {"tenant": connection.tenant, "name": to_column(embedder)}
            if connection.execute(_QUERIES["find_embedder"], name).fetchone() is None:
                connection.hold(EVERYBODY)
                connection.execute(_QUERIES["add_embedder"], name)
            owner = EVERYBODY if self._owner is None else add_owner(connection, self._owner)
            own = self._own(connection, embedder) | {"owner": owner}
            rows = (own | {"sha256": key, "body": body} for key, body in zip(keys, bodies, strict=True))
            connection.executemany(_QUERIES["put_vector"], rows)

        self._database.write(written)

    def count(self, embedder: str) -> int:
        """Return how many vectors of an embedder there are."""
        return self._database.read(
            lambda own: int(own.execute(_QUERIES["count_vectors"], self._own(own, embedder)).fetchone()[0])
        )

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:
        """Remove those vectors of an embedder whose hashes are not given, and return how many there were."""
        wanted = {_key(sha256) for sha256 in hashes}

        def kept(connection: Connection) -> int:
            own = self._own(connection, embedder)
            gone = [row[0] for row in connection.execute(_QUERIES["hashes"], own) if row[0] not in wanted]
            connection.executemany(_QUERIES["drop_vector"], [own | {"sha256": sha256} for sha256 in gone])
            return len(gone)

        return self._database.write(kept)

    def remove(self, hashes: Sequence[str]) -> int:
        """Remove the vectors of these hashes, of every embedder, and return how many there were."""
        keys = [_key(sha256) for sha256 in hashes]

        def removed(connection: Connection) -> int:
            connection.act_as(None)
            tenant = {"tenant": connection.tenant}
            owners = [EVERYBODY, *(row[0] for row in connection.execute(_QUERIES["owners"], tenant))]
            every = [
                tenant | {"owner": owner, "embedder": row[0], "sha256": key}
                for row in connection.execute(_QUERIES["embedders"], tenant).fetchall()
                for owner in owners
                for key in keys
            ]
            return max(0, connection.executemany(_QUERIES["drop_vector"], every).rowcount)

        return self._database.write(removed)

    def close(self) -> None:
        """Close the file, if it was opened."""
        if self._opened is not None:
            self._opened.close()

    def _own(self, connection: Connection, embedder: str) -> dict[str, Any]:
        """Return the beginning of the keys of the vectors of an embedder."""
        row = connection.execute(_QUERIES["find_embedder"], {"tenant": connection.tenant, "name": to_column(embedder)})
        owner = EVERYBODY if self._owner is None else find_owner(connection, self._owner)
        number = row.fetchone()
        return {
            "tenant": connection.tenant,
            "owner": NOBODY if owner is None else owner,
            "embedder": None if number is None else number[0],
        }

    def _found(self, embedder: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the stored vectors, in the order of ``hashes``."""
        keys = {sha256: _key(sha256) for sha256 in hashes}

        def found(connection: Connection) -> dict[str, bytes]:
            own = self._own(connection, embedder)
            rows = (
                (sha256, connection.execute(_QUERIES["get_vector"], own | {"sha256": key}).fetchone())
                for sha256, key in keys.items()
            )
            return {sha256: row[0] for sha256, row in rows if row is not None}

        return self._database.read(found)


class WorkspaceVectors(Vectors):
    """The vectors in the database of ``workspace``, opened on first use: a search by words does not read it.

    Every method raises ``ForeignStateError`` if that database is somebody else's.
    """

    def __init__(self, workspace: Workspace, settings: Settings, owner: Owner | None = None) -> None:
        super().__init__(None, owner)
        self._workspace, self._settings, self._opening = workspace, settings, threading.Lock()

    @property
    def _database(self) -> Bound:
        with self._opening:
            if self._opened is None:
                self._opened = open_database(self._workspace, self._settings.database, self._settings.tenant)
            return super()._database


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
