"""What every driver does in the same way: the feed of changes, and the tokens of locks."""

from collections.abc import Mapping
from typing import Any, Final

from promptuary.base.clock import now
from promptuary.base.errors import ConflictError
from promptuary.database.columns import to_column
from promptuary.database.port import ChangeFields, Connection
from promptuary.database.queries import queries

QUERIES: Final = queries(__package__, "shared.sql")

MAX_CHANGES: Final = 5_000
"""How many changes the feed of an owner keeps; it has up to twice as many before the oldest are dropped."""


def add_change(connection: Connection, owner: int, noun: str, key: str, what: Mapping[str, Any]) -> int:
    """Append to the feed of changes of an owner, within a write, and return the number of the change."""
    connection.hold(owner)
    own = {"tenant": connection.tenant, "owner": owner, "noun": noun, "id": to_column(key), "at": now()}
    own |= dict.fromkeys(ChangeFields.__annotations__, "")
    own |= {name: to_column(str(value)) for name, value in what.items()}
    (seq,) = connection.execute(QUERIES["add_change"], own).fetchone()
    if seq % MAX_CHANGES == 0:
        connection.execute(QUERIES["drop_changes"], own | {"seq": seq - MAX_CHANGES})
    return int(seq)


def check_token(connection: Connection, key: str, token: int | None, name: str) -> None:
    """Raise ``ConflictError`` if a lock was taken with ``token``, and somebody else took it since."""
    if token is None:
        return
    row = connection.execute(QUERIES["token"], {"tenant": connection.tenant, "key": to_column(key)}).fetchone()
    if row is None or row[0] != token:
        raise ConflictError(
            f"{name}: another process took over while this one worked, so this step is not stored; repeat it."
        )
