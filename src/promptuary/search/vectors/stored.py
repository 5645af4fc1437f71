"""The stored vectors of a workspace, opened on first use: a search by words only does not read the database."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from promptuary.base.principals import Owner
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.search.vectors.store import Vectors


class StoredVectors:
    """The ``VectorStore`` in ``state.db`` of ``workspace``, of ``owner`` or, without one, of everybody.

    Every method raises ``ForeignStateError`` if that database is somebody else's.
    """

    def __init__(self, workspace: Workspace, owner: Owner | None = None) -> None:
        self._workspace, self._owner = workspace, owner
        self._opening = threading.Lock()
        self._opened: Vectors | None = None

    def get(self, embedder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Return the vectors of those hashes that have one."""
        return self._store().get(embedder, hashes)

    def put(self, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by their hashes, all or none of them, replacing earlier ones."""
        self._store().put(embedder, vectors)

    def keep_only(self, embedder: str, hashes: Iterable[str]) -> int:
        """Delete those vectors of an embedder whose hashes are not given, and return how many that were."""
        return self._store().keep_only(embedder, hashes)

    def remove(self, hashes: Sequence[str]) -> int:
        """Delete the vectors of these hashes, of every embedder, and return how many that were."""
        return self._store().remove(hashes)

    def close(self) -> None:
        """Close the database, if it was opened."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()

    def _store(self) -> "Vectors":
        from promptuary.search.vectors.store import Vectors  # noqa: PLC0415  (not for a search by words)
        from promptuary.workspace.state_file import check_binding, state_file  # noqa: PLC0415

        with self._opening:
            if self._opened is None:
                file = state_file(self._workspace)
                opened = Vectors(file.path, self._owner)
                check_binding(opened.database, file)
                self._opened = opened
            return self._opened
