"""A few vectors, compared one by one: exact, and there at once, where the library for many takes a while to be ready.

It answers to the calls of the library that ``vectors`` makes, and becomes an index of the library when they are many.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.uint64]


class FewVectors:
    """Vectors by number, in memory."""

    def __init__(self) -> None:
        self._rows: dict[int, Matrix] = {}
        self._matrix: Matrix | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def add_with_ids(self, vectors: "Matrix", ids: "Numbers") -> None:
        """Add one vector a number; none of the numbers may be there."""
        self._rows.update(zip(ids.tolist(), vectors, strict=True))
        self._matrix = None

    def remove(self, number: int) -> bool:
        """Take a vector out; tell whether it was there."""
        self._matrix = None
        return self._rows.pop(number, None) is not None

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def search(
        self, queries: "Matrix", k: int, *, allowlist: "Numbers | None" = None
    ) -> "tuple[NDArray[np.floating[Any]], Numbers]":
        """Return cosines and numbers of the ``k`` vectors nearest to the one query; ``allowlist``: only of these."""
        import numpy as np  # noqa: PLC0415  (loaded by now)

        if self._matrix is None:
            whole = np.stack(list(self._rows.values()))
            self._matrix = whole / np.sqrt((whole * whole).sum(axis=1, keepdims=True)).clip(min=1e-12)
        numbers, cosines = np.fromiter(self._rows, np.uint64, len(self._rows)), self._matrix @ queries[0]
        if allowlist is not None:
            allowed = np.isin(numbers, allowlist)
            numbers, cosines = numbers[allowed], cosines[allowed]
        best = np.argsort(-cosines, kind="stable")[:k]
        return cosines[None, best], numbers[None, best]

    def moved_to(self, index: Any) -> Any:
        """Return ``index``, an empty one of the library, with these vectors in it."""
        import numpy as np  # noqa: PLC0415  (loaded by now)

        if self._rows:
            index.add_with_ids(np.stack(list(self._rows.values())), np.fromiter(self._rows, np.uint64, len(self._rows)))
        return index
