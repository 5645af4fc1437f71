"""Owners of what is stored: each has a number in the database, given when something is written for it first."""

import sqlite3

from promptuary.core.principals import Owner
from promptuary.storage.sqlite.columns import to_column
from promptuary.storage.sqlite.queries import queries
from promptuary.storage.sqlite.sql import SQL

_QUERIES = queries(SQL, "thread_queries.sql")


def find_owner(connection: sqlite3.Connection, owner: Owner) -> int | None:
    """Return the number of ``owner``; ``None`` if nothing was written for it yet."""
    row = connection.execute(_QUERIES["find_owner"], _owner_key(owner)).fetchone()
    return None if row is None else int(row[0])


def add_owner(connection: sqlite3.Connection, owner: Owner) -> int:
    """Return the number of ``owner``, which gets one if it has none."""
    connection.execute(_QUERIES["add_owner"], _owner_key(owner))
    (number,) = connection.execute(_QUERIES["find_owner"], _owner_key(owner)).fetchone()
    return int(number)


def _owner_key(owner: Owner) -> dict[str, str | bytes]:
    return {"kind": to_column(owner.kind), "name": to_column(owner.name), "agent": to_column(owner.agent)}
