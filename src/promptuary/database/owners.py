"""Owners of what is stored: each gets a number in the database with the first write for it."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from promptuary.base.principals import Owner
from promptuary.database.columns import from_column, to_column
from promptuary.database.port import Connection, Database, Result, Row
from promptuary.database.queries import Query, queries

_QUERIES: Final = queries(__package__, "owners.sql")

EVERYBODY: Final = 0
"""The owner of what is shared by everybody who uses the workspace."""

NOBODY: Final = -1
"""The number for an owner without any rows yet: no row has it."""

Key = dict[str, Any]
"""Values of a query: at least those that its key begins with."""


def find_owner(connection: Connection, owner: Owner) -> int | None:
    """Return the number of ``owner``, as whom the transaction acts now; ``None`` if nothing was written for it yet."""
    known = connection.owners.get(owner)
    if known is not None:
        connection.act_as(known)
        return known
    row = connection.execute(_QUERIES["find_owner"], _owner_key(connection, owner)).fetchone()
    connection.act_as(NOBODY if row is None else int(row[0]))
    if row is None:
        return None
    if connection.is_committed:  # otherwise its row may be rolled back
        connection.owners[owner] = int(row[0])
    return int(row[0])


def all_owners(connection: Connection) -> list[Owner]:
    """Return everybody for whom something was written."""
    every = connection.execute(_QUERIES["owners"], {"tenant": connection.tenant}).fetchall()
    return [Owner(*map(from_column, row)) for row in every]


def add_owner(connection: Connection, owner: Owner) -> int:
    """Return the number of ``owner``, adding one if needed. Other writers of what it has wait from now on."""
    found = find_owner(connection, owner)
    if found is None:
        connection.hold(EVERYBODY)
        found = find_owner(connection, owner)  # another may have added it while this one waited
    if found is not None:
        connection.hold(found)
        return found
    key = _owner_key(connection, owner)
    (number,) = connection.execute(_QUERIES["count_owner"], key).fetchone()
    connection.execute(_QUERIES["add_owner"], key | {"owner": number})
    connection.act_as(int(number))
    return int(number)


def _owner_key(connection: Connection, owner: Owner) -> Key:
    return {
        "tenant": connection.tenant,
        "kind": to_column(owner.kind),
        "name": to_column(owner.name),
        "agent": to_column(owner.agent),
    }


class Counter:
    """Gives numbers that are unique within an owner and grow, within one transaction; ``size`` are taken at once."""

    __slots__ = ("_connection", "_key", "_last", "_next")

    def __init__(self, connection: Connection, owner: int, size: int) -> None:
        self._connection = connection
        self._key = {"tenant": connection.tenant, "owner": owner, "size": size}
        self._next, self._last = 1, 0

    def next(self) -> int:
        """Return the next number."""
        if self._next > self._last:
            (self._last,) = self._connection.execute(_QUERIES["count"], self._key).fetchone()
            self._next = self._last - self._key["size"] + 1
        number = self._next
        self._next += 1
        return number


class OwnedRows:
    """Access to the rows of one owner: each query gets the key of that owner."""

    _queries: ClassVar[Mapping[str, Query]]

    def __init__(self, database: Database, owner: Owner) -> None:
        self._database = database
        self._owner = owner

    def _read(self, work: Callable[[Connection, Key], Result]) -> Result:
        """Run ``work``, which reads from one snapshot, with the key of the owner."""

        def read(connection: Connection) -> Result:
            owner = find_owner(connection, self._owner)
            return work(connection, {"tenant": connection.tenant, "owner": NOBODY if owner is None else owner})

        return self._database.read(read)

    def _rows(self, query: str, values: Mapping[str, Any] | None = None) -> list[Row]:
        return self._read(
            lambda connection, owner: connection.execute(self._queries[query], owner | dict(values or {})).fetchall()
        )

    def _changed(self, query: str, values: Mapping[str, Any]) -> bool:
        """Run a statement, and return whether it changed a row."""
        return self._write(
            lambda connection, owner: connection.execute(self._queries[query], owner | dict(values)).rowcount > 0
        )

    def _write(
        self,
        work: Callable[[Connection, Key], Result],
        *,
        after_commit: Callable[[Result], object] = lambda _: None,
    ) -> Result:
        """Run ``work`` with the key of the owner, atomically."""

        def write(connection: Connection) -> Result:
            return work(connection, {"tenant": connection.tenant, "owner": add_owner(connection, self._owner)})

        return self._database.write(write, after_commit=after_commit)
