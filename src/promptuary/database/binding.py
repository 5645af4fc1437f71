"""The file of the state, which records whose it is: a foreign database is not used.

A search needs only the vectors of the database: see ``state`` for the other stores.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from promptuary.database import schema
from promptuary.database.columns import from_column, to_column
from promptuary.database.errors import damaged
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase

_QUERIES: Final = queries(__package__, "binding.sql")


class BoundDatabase(SqliteDatabase):
    """``state.db`` at ``path``, or in memory, which records its owner. What that means is decided elsewhere."""

    def __init__(self, path: Path | None, *, timeout: float = 30.0) -> None:
        super().__init__(path, schema.steps(schema.STATE), timeout=timeout)

    @property
    def binding(self) -> str | None:
        """The owner; ``None`` if none is recorded."""
        row = self.read(
            lambda connection: connection.execute(_QUERIES["binding"], {"tenant": connection.tenant}).fetchone()
        )
        try:
            return None if row is None else from_column(row[0])
        except ValueError as error:
            raise damaged(self.name, str(error)) from error

    @property
    def is_unused(self) -> bool:
        """Whether nothing was ever stored in it."""

        def unused(connection: Connection) -> bool:
            names = [str(name).replace('"', '""') for (name,) in connection.execute(_QUERIES["tables"])]
            return not any(connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for name in names)  # noqa: S608

        return self.read(unused)

    def bind(self, value: str, brought: Iterable[str] = ()) -> None:
        """Record the owner; ``brought`` are the files of notes that were there before this database."""
        paths = [{"tenant": self.tenant, "path": to_column(path)} for path in brought]

        def bound(connection: Connection) -> None:
            connection.executemany(_QUERIES["bring"], paths)
            connection.execute(_QUERIES["bind"], {"tenant": connection.tenant, "value": to_column(value)})

        self.write(bound)
