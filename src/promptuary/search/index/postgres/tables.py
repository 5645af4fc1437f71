"""The rows of one index in PostgreSQL, by the key of its owner and its generation, which every query gets here."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from promptuary.base.errors import LockTimeoutError
from promptuary.base.principals import Owner
from promptuary.database.columns import to_column
from promptuary.database.dialect import translate
from promptuary.database.owners import EVERYBODY, NOBODY, add_owner, find_owner
from promptuary.database.port import Connection, Cursor, Database, Result, Work
from promptuary.database.queries import queries

QUERIES: Final = queries(__package__, "tables.sql")


class IndexConnection:
    """A connection for the rows of one index: every query gets the values of ``key``."""

    def __init__(self, connection: Connection, key: Mapping[str, Any]) -> None:
        self._connection, self._key = connection, key
        self.tenant, self.owners, self.is_committed = connection.tenant, connection.owners, connection.is_committed
        self.act_as, self.hold = connection.act_as, connection.hold

    def execute(self, query: str, values: Mapping[str, Any] | Sequence[Any] = (), /) -> Cursor:
        """Run a statement, whose values have names."""
        return self._connection.execute(query, {**dict(values), **self._key})

    def executemany(self, query: str, values: Iterable[Any], /) -> Cursor:
        """Run a statement once for each of ``values``; one that has no text here does nothing."""
        return self._connection.executemany(query, [{**one, **self._key} for one in values] if translate(query) else [])


class IndexRows:
    """The rows of the index ``name`` of ``owner``, or of everybody; with a ``generation``, of that."""

    def __init__(self, database: Database, owner: Owner | None, name: str, generation: int = 0) -> None:
        self._database, self._owner, self._name = database, owner, name
        self.generation = generation
        self.lock = f"index {name}"
        """The lock of the writer."""

    def of(self, generation: int) -> "IndexRows":
        """Return the rows of a generation."""
        return IndexRows(self._database, self._owner, self._name, generation)

    def read(self, work: Work[Result], /) -> Result:
        """Run ``work``, which reads from one snapshot."""

        def read(connection: Connection) -> Result:
            owner = EVERYBODY if self._owner is None else find_owner(connection, self._owner)
            return work(self._keyed(connection, NOBODY if owner is None else owner))

        return self._database.read(read)

    def write(self, work: Work[Result], /) -> Result:
        """Run ``work`` atomically; refused if this process was the writer and another one is by now."""

        def write(connection: Connection) -> Result:
            owner = EVERYBODY if self._owner is None else find_owner(connection, self._owner)
            if owner is None and self._owner is not None:
                owner = add_owner(connection, self._owner)
            self._database.check_lock(connection, self.lock)
            return work(self._keyed(connection, owner))

        return self._database.write(write)

    checkpoint = write

    def close(self) -> None:
        """Do nothing: other indexes use the database, too."""

    def _keyed(self, connection: Connection, owner: int | None) -> IndexConnection:
        connection.act_as(owner)
        key = {"tenant": connection.tenant, "owner": owner, "generation": self.generation}
        return IndexConnection(connection, key)


class TableGenerations:
    """The generations of an index. A path is the number of one: there are no files."""

    def __init__(self, database: Database, rows: IndexRows, name: str) -> None:
        self._database, self._rows = database, rows
        self._name = {"name": to_column(name)}
        self.version = 0
        """The version of the generation that was current when it was last asked for."""

    def current(self) -> Path | None:
        """Return the current generation; ``None`` if there is none."""
        row = self._rows.read(lambda own: own.execute(QUERIES["current"], self._name).fetchone())
        self.version = 0 if row is None else int(row[1])
        return None if row is None else Path(str(row[0]))

    def begin(self) -> Path:
        """Begin the next generation."""
        number = secrets.randbits(62)
        self._rows.of(number).write(lambda own: own.execute(QUERIES["begin"], self._name))
        return Path(str(number))

    def publish(self, path: Path) -> None:
        """Make ``path`` the current generation."""

        def work(own: Connection) -> None:
            own.execute(QUERIES["retire"], self._name)
            own.execute(QUERIES["publish"])

        self._rows.of(int(path.name)).write(work)

    def sweep(self, *, whole: bool = False) -> None:  # noqa: ARG002  (nothing of a row is left)
        """Delete all other generations."""
        every = self._rows.read(lambda own: own.execute(QUERIES["others"], self._name).fetchall())
        for (number,) in every:
            self._rows.of(number).write(drop_generation)

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Try to become the writer; yield whether that worked. After a kill, the lock is free when its lease ends."""
        with ExitStack() as held:
            try:
                held.enter_context(self._database.lock(self._rows.lock))
            except LockTimeoutError:
                yield False
                return
            yield True


def drop_generation(own: Connection) -> None:
    """Delete the generation of a connection."""
    place = own.execute(QUERIES["vector_place"]).fetchone()
    if place is not None and place[1]:
        own.execute(QUERIES["drop_vectors"])
    own.execute(QUERIES["drop_generation"])
