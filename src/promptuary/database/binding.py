"""The file of the state, which records whose it is: a foreign database is not used.

A search needs only the vectors of the database: see ``state`` for the other stores.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from promptuary.base.errors import StorageError
from promptuary.database import schema
from promptuary.database.columns import from_column, to_column
from promptuary.database.errors import damaged
from promptuary.database.port import Connection, Database
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase

QUERIES: Final = queries(__package__, "binding.sql")

MARK: Final = "being copied "
"""What the binding begins with while rows are being copied to a database (see ``transfer``)."""


class Bound(Database):
    """A database of the state, which records its owner. What that means is decided elsewhere."""

    @property
    def binding(self) -> str | None:
        """The owner; ``None`` if none is recorded."""
        row = self.read(
            lambda connection: connection.execute(QUERIES["binding"], {"tenant": connection.tenant}).fetchone()
        )
        try:
            return None if row is None else from_column(row[0])
        except ValueError as error:
            raise damaged(self.name, str(error)) from error

    def problems(self, *, has_vectors: bool = False) -> Sequence[tuple[str, str]]:  # noqa: ARG002  (a file has none)
        """Return what is wrong with how the database is set up, each with what to do about it.

        ``has_vectors``: the index is in it, with vectors.
        """
        return ()

    def check_complete(self, binding: str | None) -> None:
        """Raise ``StorageError`` if only a part of a workspace was copied to it, as its binding says."""
        if (binding or "").startswith(MARK):
            raise StorageError(
                f"{self.name} is not used: a migration to it was not completed. Repeat that `promptuary migrate`."
            )

    def bind(self, value: str, brought: Iterable[str] = ()) -> None:
        """Record the owner; ``brought`` are the files of notes that were there before this database."""
        paths = [{"tenant": self.tenant, "path": to_column(path)} for path in brought]

        def bound(connection: Connection) -> None:
            connection.executemany(QUERIES["bring"], paths)
            connection.execute(QUERIES["bind"], {"tenant": connection.tenant, "value": to_column(value)})

        self.write(bound)


class BoundDatabase(Bound, SqliteDatabase):
    """``state.db`` at ``path``, or in memory."""

    def __init__(self, path: Path | None, *, timeout: float = 30.0) -> None:
        SqliteDatabase.__init__(self, path, schema.steps(schema.STATE), timeout=timeout)

    @property
    def is_unused(self) -> bool:
        """Whether nothing was ever stored in it."""

        def unused(connection: Connection) -> bool:
            names = [str(name).replace('"', '""') for (name,) in connection.execute(QUERIES["tables"])]
            return not any(connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in names)  # noqa: S608

        return self.read(unused)
