"""The file of the state, which records whose it is: a foreign database is not used.

Separate from ``state``, which imports everything about threads: a search needs only the vectors of the database.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from promptuary.base.errors import ForeignStateError
from promptuary.database import schema
from promptuary.database.columns import from_column, to_column
from promptuary.database.errors import damaged
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase
from promptuary.workspace.data_folder.notes_folders import notes_beside
from promptuary.workspace.data_folder.relocation import is_signed
from promptuary.workspace.state_file import StateFile

_QUERIES: Final = queries(__package__, "binding.sql")
_OTHER_STATE: Final = (
    "with another XDG_STATE_HOME than this program has now: start it with the same one (an agent passes it on to its "
    "server after `promptuary install`)."
)
_ADOPT: Final = "promptuary doctor --adopt"


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


def check_binding(database: BoundDatabase, file: StateFile) -> None:
    """Bind ``database``, which was opened from ``file``, to this person if it is new.

    The files of notes that are there before it may have come with the folder, so they wait for the person. Closes it
    and raises ``ForeignStateError`` if it belongs to somebody else.
    """
    bound = database.binding
    if bound is None and database.is_unused:
        database.bind(file.binding, notes_beside(file.path))
        return
    if file.binding in (bound, database.binding):  # another process may have bound it just now
        return
    database.close()
    if is_signed(file.path.parent.parent):  # so the folder was not moved
        raise ForeignStateError(
            f"{database.name} is not used: it was made by somebody else, or {_OTHER_STATE} If your home is new, run "
            f"`{_ADOPT}`."
        )
    raise ForeignStateError(
        f"{database.name} is not used: it was made by somebody else, in another folder, or {_OTHER_STATE} If it is "
        f"yours (the folder was moved, or your home is new), run `{_ADOPT}`; otherwise remove it."
    )
