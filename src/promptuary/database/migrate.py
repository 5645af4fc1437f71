"""Migrates a database to the schema that this version knows, step by step.

A step is a script; step N turns version N-1 into version N. The version is in the database's own header, so that a step
and its record are one transaction, which the caller opens and ends. Steps are only ever added at the end. Knows neither
the meaning of the tables nor files.
"""

from collections.abc import Sequence
from typing import Final

from promptuary.base.errors import UnknownFormatError
from promptuary.database.errors import damaged
from promptuary.database.port import Connection
from promptuary.database.queries import statements

APPLICATION: Final = 0x50524D31
"""Marks a database as ours ("PRM1")."""

BEFORE: Final = 0x50524D54
"""The mark of databases with the tables of earlier versions ("PRMT"), which this one restores from backups only."""


def version(connection: Connection) -> int:
    """Return how many steps the database has taken; 0 for a new one."""
    return _number(connection, "PRAGMA user_version")


def check(connection: Connection, name: str, steps: Sequence[str]) -> int:
    """Return the version; raise an error if the database is not ours or a newer version made it. Changes nothing."""
    found = version(connection)
    filled = found or _number(connection, "SELECT EXISTS (SELECT 1 FROM sqlite_master)")
    mark = _number(connection, "PRAGMA application_id") if filled else APPLICATION
    if mark == BEFORE:
        raise UnknownFormatError(
            f"{name} was written by a version before this one; it was not changed. Make a backup with that version "
            "(`promptuary backup FILE`), move this file away, and run `promptuary restore FILE` with this version."
        )
    if mark != APPLICATION:
        raise UnknownFormatError(f"{name} is a database of another program; it was not changed. Move it elsewhere.")
    if found > len(steps):
        raise UnknownFormatError(
            f"{name} was written by a newer Promptuary (format {found}, this one knows {len(steps)}); "
            "it was not changed. Upgrade Promptuary."
        )
    return found


def check_again(connection: Connection, name: str, steps: Sequence[str]) -> None:
    """Do the same for a database that was checked when it was opened: only its version may have changed since."""
    if version(connection) != len(steps):
        check(connection, name, steps)


def advance(connection: Connection, name: str, steps: Sequence[str]) -> None:
    """Run the missing steps inside the caller's transaction; another process may have run them already."""
    taken = check(connection, name, steps)
    for number, step in enumerate(steps[taken:], taken + 1):
        for statement in statements(step):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
    if taken < len(steps) and connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise damaged(name, "rows refer to others that do not exist")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")


def _number(connection: Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])
