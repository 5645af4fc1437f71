"""Copies everything that a workspace has from one database to another: for migrations, backups and restores.

One reader and one writer serve every kind of database. The reader yields the rows of a table in the order of its key,
from one snapshot; the writer adds them in batches. The tables are those of ``schema.STATE``: what only one kind of
database has can be made again there. The binding is not copied. While rows are being copied, a mark stands in its
place, so that nobody uses a part of a workspace, and a copy that was killed is continued: if the rows that are there
are the first ones of each table, by count and hash, those that follow are added. Does not know what the rows mean.
"""

import functools
import hashlib
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from promptuary.base.errors import ConflictError, StorageError, TargetInUseError
from promptuary.database import schema
from promptuary.database.binding import MARK, QUERIES, Bound
from promptuary.database.columns import from_column, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Database, Row
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase

_QUERIES: Final = queries(__package__, "transfer.sql")

_NOT_COPIED: Final = "binding"
_WITHOUT_USE: Final = frozenset({"tenant", "owner"})
"""Tables that have rows also if nothing was ever stored."""

_FIRST_PAGE: Final = 100
_MAX_PAGE: Final = 2_000
_PAGE_BYTES: Final = 2_000_000
"""How much is read and written at once, if rows are no longer than that."""

_encode: Final = msgspec.msgpack.Encoder(enc_hook=bytes).encode

OnRows = Callable[[int], object]
"""Gets how many rows were read since the last call; often 0, so that whoever holds a lock can renew it."""


TargetState = Literal["new", "continued", "same", "replaced"]
"""What a copy does to its target: it is empty, has a part of a copy, has the same rows, or has others."""


class Table(Struct, frozen=True):
    """A table of the schema without its first column, which is the tenant."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    texts: tuple[int, ...]
    numbers: tuple[int, ...]
    """The places of columns with text, and of those with numbers that are not whole."""

    def key_of(self, row: Row) -> dict[str, Any]:
        """Return the key of a row."""
        return {name: row[self.columns.index(name)] for name in self.key}

    def select(self, *, after: bool) -> str:
        """Return the query for a page of rows, from the first one or after a key."""
        key = _listed(self.key)
        beyond = f" AND ({key}) > ({_slots(self.key)})" if after else ""
        order = f" ORDER BY {key}" if key else ""
        return f'SELECT {_listed(self.columns)} FROM "{self.name}" WHERE tenant = :tenant{beyond}{order} LIMIT :limit'  # noqa: S608  (names of the schema)

    @property
    def insert(self) -> str:
        """The statement that adds a row."""
        columns = ("tenant", *self.columns)
        return f'INSERT INTO "{self.name}" ({_listed(columns)}) VALUES ({_slots(columns)})'  # noqa: S608

    def canonical(self, row: Row) -> Row:
        """Return a row as every database returns it: SQLite stores neither a negative zero nor what is no number."""
        values = list(row)
        for place in self.texts:
            if isinstance(values[place], bytes):
                values[place] = to_column(from_column(values[place]))
        for place in self.numbers:
            if values[place] is not None:
                values[place] = None if math.isnan(values[place]) else values[place] + 0.0
        return tuple(values)


class Digest(Struct, frozen=True):
    """How many rows there are, and the sum of their hashes: databases order odd texts differently."""

    rows: int = 0
    sum: int = 0

    @property
    def hash(self) -> str:
        """The sum, for people and programs."""
        return f"{self.sum:032x}"

    def add(self, rows: Sequence[Row]) -> "Digest":
        """Return the digest of these rows, too."""
        hashes = (int.from_bytes(hashlib.blake2b(_encode(row), digest_size=16).digest()) for row in rows)
        return Digest(self.rows + len(rows), (self.sum + sum(hashes)) % 2**128)


Digests = Mapping[str, Digest]
"""The digest of each table, by its name."""


@functools.cache
def tables() -> tuple[Table, ...]:
    """Return the tables of a workspace, each after those that its rows refer to."""

    def described(own: Connection) -> tuple[Table, ...]:
        names = [row[0] for row in own.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
        return tuple(_described(own, name) for name in names if name != _NOT_COPIED)

    with closing(SqliteDatabase(None, schema.steps(schema.STATE))) as empty:
        return empty.read(described)


def _described(own: Connection, name: str) -> Table:
    found = [row[1:] for row in own.execute(f'PRAGMA table_info ("{name}")') if row[1] != "tenant"]
    kinds = [kind for _, kind, *_ in found]
    return Table(
        name,
        tuple(column for column, *_ in found),
        tuple(column for column, *_, place in sorted(found, key=lambda one: one[-1]) if place),
        tuple(place for place, kind in enumerate(kinds) if kind == "TEXT"),
        tuple(place for place, kind in enumerate(kinds) if kind == "DOUBLE PRECISION"),
    )


def count_rows(connection: Connection) -> int:
    """Return how many rows a workspace has."""
    connection.act_as(None)
    queries = (f'SELECT count(*) FROM "{table.name}" WHERE tenant = :tenant' for table in tables())  # noqa: S608
    return sum(int(connection.execute(query, {"tenant": connection.tenant}).fetchone()[0]) for query in queries)


def _is_used(connection: Connection) -> bool:
    """Return whether anything was ever stored in a workspace."""
    connection.act_as(None)
    names = (table.name for table in tables() if table.name not in _WITHOUT_USE)
    queries = (f'SELECT 1 FROM "{name}" WHERE tenant = :tenant LIMIT 1' for name in names)  # noqa: S608
    return any(connection.execute(query, {"tenant": connection.tenant}).fetchone() for query in queries)


def digests(connection: Connection, on_rows: OnRows = lambda _: None) -> dict[str, Digest]:
    """Return the digest of everything that a workspace has."""
    _read_all(connection)
    return {table.name: _digest(connection, table, on_rows=on_rows)[0] for table in tables()}


def target_state(source: Bound, target: Bound) -> TargetState:
    """Return what a copy would find in its target."""
    if target.read(_is_half_copied):
        return "continued"
    if not target.read(_is_used):
        return "new"
    return "same" if source.read(digests) == target.read(digests) else "replaced"


def _is_half_copied(connection: Connection) -> bool:
    """Return whether a copy to this workspace was begun and not completed."""
    row = connection.execute(QUERIES["binding"], {"tenant": connection.tenant}).fetchone()
    return row is not None and from_column(row[0]).startswith(MARK)


class Copy:
    """A copy of everything from ``source`` to ``target``, which nobody can use before it is finished."""

    def __init__(self, source: Bound, target: Bound, on_rows: OnRows = lambda _: None) -> None:
        self._source, self._target, self._on_rows = source, target, on_rows
        self._mark = f"{MARK}{secrets.token_hex(8)}"
        """Tells this copy from another one to the same place, which would take over."""

    def run(self, *, replace: bool = False) -> Digests:
        """Add the rows that are missing, compare counts and hashes, and return them.

        Raises ``TargetInUseError`` if the target has rows that no copy brought there, unless they are to be replaced.
        """
        with sound(self._source.name):
            copied = self._source.read(lambda snapshot: self._copied(snapshot, replace=replace))
        self.compare(copied, self._target.write(lambda own: digests(own, self._on_rows)), self._target.name)
        return copied

    def compare(self, copied: Digests, found: Digests, name: str) -> None:
        """Raise ``StorageError`` if a database has other rows than were copied."""
        for table, digest in copied.items():
            if found[table] != digest:
                raise StorageError(
                    f"{name} has other rows in the table {table} than were copied ({found[table].rows:,}, not "
                    f"{digest.rows:,}, or with other content), so the copy is not used; nothing is lost. Run it again."
                )

    def finish(self, binding: str) -> None:
        """Bind the target: from now on it is used."""

        def bound(own: Connection) -> None:
            self._check_mark(own)
            own.execute(QUERIES["bind"], {"tenant": own.tenant, "value": to_column(binding)})

        self._target.write(bound)

    def _copied(self, snapshot: Connection, *, replace: bool) -> dict[str, Digest]:
        _read_all(snapshot)
        starts = self._target.write(lambda own: self._begin(own, snapshot, replace=replace))
        return {table.name: self._copy(snapshot, table, *starts[table.name]) for table in tables()}

    def _begin(self, own: Connection, snapshot: Connection, *, replace: bool) -> "_Starts":
        """Take over a copy that was begun, or empty the target; return where the copy goes on in each table."""
        _read_all(own)
        own.hold(None)
        is_begun = _is_half_copied(own)
        if not is_begun and not replace and _is_used(own):
            raise TargetInUseError(f"{self._target.name} has data of this workspace already")
        # First, so that whoever is still copying to it waits for this transaction, and then fails.
        own.execute(QUERIES["bind"], {"tenant": own.tenant, "value": self._mark})
        starts = self._shared(own, snapshot) if is_begun else None
        if starts is None:
            _remove_rows(own)
        return starts or dict.fromkeys((table.name for table in tables()), (Digest(), None))

    def _shared(self, own: Connection, snapshot: Connection) -> "_Starts | None":
        """Return the first rows of each table that the target has; ``None`` if it has any others."""
        starts: _Starts = {}

        def on_rows(rows: int) -> None:
            for one in (own, snapshot):
                one.execute(_QUERIES["scan_by_key"])  # PostgreSQL ends transactions in which nothing happens
            self._on_rows(rows)

        for table in tables():
            there, _ = _digest(own, table, on_rows=lambda _: on_rows(0))
            starts[table.name] = _digest(snapshot, table, there.rows, on_rows=on_rows)
            if starts[table.name][0] != there:  # the source was changed since
                return None
        return starts

    def _copy(self, snapshot: Connection, table: Table, digest: Digest, after: dict[str, Any] | None) -> Digest:
        for rows in _pages(snapshot, table, after):
            self._target.write(functools.partial(self._add, table=table, rows=rows))
            digest = digest.add(rows)
            self._on_rows(len(rows))
        return digest

    def _add(self, own: Connection, *, table: Table, rows: Sequence[Row]) -> None:
        own.act_as(None)
        self._check_mark(own)
        tenant = {"tenant": own.tenant}
        own.executemany(table.insert, [tenant | dict(zip(table.columns, row, strict=True)) for row in rows])

    def _check_mark(self, own: Connection) -> None:
        if not own.execute(QUERIES["keep_mark"], {"tenant": own.tenant, "value": self._mark}).rowcount:
            raise ConflictError(f"{self._target.name}: somebody else copies to it now; let them finish.")


_Starts = dict[str, tuple[Digest, dict[str, Any] | None]]
"""For each table what is there already, and its last key."""


def remove_all(database: Database) -> None:
    """Remove everything that a database has of its workspace, but not whose it is."""

    def remove(own: Connection) -> None:
        own.act_as(None)
        own.hold(None)
        for (name,) in own.execute(_QUERIES["index_tables"]).fetchall():
            own.execute(f'DELETE FROM "{name}" WHERE tenant = :tenant', {"tenant": own.tenant})  # noqa: S608  (ours)
        _remove_rows(own)
        own.owners.clear()

    database.write(remove)


def _remove_rows(own: Connection) -> None:
    for table in reversed(tables()):
        own.execute(f'DELETE FROM "{table.name}" WHERE tenant = :tenant', {"tenant": own.tenant})  # noqa: S608


def _read_all(connection: Connection) -> None:
    connection.act_as(None)
    connection.execute(_QUERIES["scan_by_key"])


def _digest(
    connection: Connection, table: Table, most: int | None = None, *, on_rows: OnRows
) -> tuple[Digest, dict[str, Any] | None]:
    """Return the digest of the first rows of a table, and the key of the last of them."""
    digest, last = Digest(), None
    for rows in _pages(connection, table, most=most):
        digest, last = digest.add(rows), table.key_of(rows[-1])
        on_rows(len(rows))
    return digest, last


def _pages(
    connection: Connection, table: Table, after: dict[str, Any] | None = None, *, most: int | None = None
) -> Iterator[list[Row]]:
    """Yield the rows of a table in the order of its key, many at a time, those after a key, or the first ones."""
    if after is not None and not table.key:
        return  # a table of one row
    limit, left = _FIRST_PAGE, most
    while left is None or left > 0:
        asked = limit if left is None else min(limit, left)
        values = {"tenant": connection.tenant, "limit": asked} | (after or {})
        rows = connection.execute(table.select(after=after is not None), values).fetchall()
        rows = [table.canonical(row) for row in rows]
        if rows:
            yield rows
        if len(rows) < asked or not table.key:
            return
        after, left = table.key_of(rows[-1]), None if left is None else left - len(rows)
        size = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes))) + len(rows)
        limit = max(1, min(_MAX_PAGE, 2 * limit, limit * _PAGE_BYTES // size))


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _slots(columns: Sequence[str]) -> str:
    return ", ".join(f":{column}" for column in columns)
