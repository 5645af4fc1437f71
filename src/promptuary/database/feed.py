"""Follows the feed of changes from where it was read last. What is written to it is told with ``Database.notify``.

The numbers in the list of an owner grow in the order of the commits, so whoever has read up to a number has missed
nothing before it, however transactions overlap. Knows nothing of what changed.
"""

import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from promptuary.base.principals import Owner
from promptuary.database.columns import from_column
from promptuary.database.errors import sound
from promptuary.database.owners import EVERYBODY, NOBODY, find_owner
from promptuary.database.port import Connection, Database, Row
from promptuary.database.queries import queries

if TYPE_CHECKING:
    from collections.abc import Sequence

_QUERIES: Final = queries(__package__, "feed.sql")

_NONE: Final = "00000000"
_MOST: Final = 500
"""The most changes that are read one by one."""


class Mark(NamedTuple):
    """A place in one list of changes: right after the change with this number.

    The checksum is that of the change: in a database that was restored or made anew, the same number is another one.
    Without a checksum it is before the oldest change that is kept, or was when it was made.
    """

    seq: int = 0
    check: str = _NONE

    @property
    def is_beginning(self) -> bool:
        """Whether it is before the oldest change that was kept."""
        return self.check == _NONE


def mark_of(seq: int, key: str, at: str) -> Mark:
    """Return the place right after a change."""
    return Mark(seq, f"{zlib.crc32(f'{key} {at}'.encode('utf-8', 'surrogatepass')):08x}")


def last_mark(connection: Connection, owner: int) -> Mark:
    """Return the place after the last change in the list of an owner."""
    values = {"tenant": connection.tenant, "owner": owner}
    row = connection.execute(_QUERIES["last"], values).fetchone()
    return Mark() if row is None else _mark(row)


def _mark(row: Row) -> Mark:
    return mark_of(row[0], from_column(row[1]), row[2])


class Follower:
    """Reads what has happened to things of one ``noun``, in ``place``, that an owner or everybody sees.

    A change of the plural names a place where anything may have changed. Not for several threads at once.
    """

    def __init__(self, database: Database, owner: Owner, noun: str, place: str = "") -> None:
        self._database, self._owner = database, owner
        self._noun, self._place = noun, place
        self._marks: Sequence[Mark] | None = None

    def news(self) -> set[str] | None:
        """Return the ids of what has changed since the last call; ``None`` if it may be anything.

        It may the first time, if there was too much, and in a database that was restored.
        """
        with sound(self._database.name):
            found = self._database.read(self._read)
            marks, self._marks = self._marks, tuple(_mark(rows[-1]) if rows else Mark() for rows in found)
            if marks is None or not all(_is_whole(rows, mark) for rows, mark in zip(found, marks, strict=True)):
                return None
            pairs = zip(found, marks, strict=True)
            return self._ids([row for rows, mark in pairs for row in rows if row[0] > mark.seq])

    def _read(self, connection: Connection) -> tuple[list[Row], list[Row]]:
        """Return the changes in both lists, from the marks on; without marks, the last ones."""
        number = find_owner(connection, self._owner)
        owner = NOBODY if number is None else number
        seqs: list[int | None] = [None, None] if self._marks is None else [mark.seq for mark in self._marks]
        values: dict[str, int | None] = {"tenant": connection.tenant, "owner": owner, "everybody": EVERYBODY}
        values |= {"own": seqs[0], "everybodys": seqs[1], "limit": _MOST}
        rows = connection.execute(_QUERIES["news"], values).fetchall()
        return [row[1:] for row in rows if row[0] == owner], [row[1:] for row in rows if row[0] == EVERYBODY]

    def _ids(self, rows: list[Row]) -> set[str] | None:
        ids: set[str] = set()
        for _, key, _, noun, place in rows:
            if noun == self._noun and from_column(place) == self._place:
                ids.update(from_column(key).split("\n"))
            elif noun == f"{self._noun}s" and from_column(key) == self._place:
                return None
        return None if "" in ids else ids


def _is_whole(rows: list[Row], mark: Mark) -> bool:
    """Return whether these are all changes from a mark on, the one that it was made after included."""
    if len(rows) == _MOST:
        return False
    if mark.is_beginning:
        return not rows or rows[0][0] == mark.seq + 1
    return bool(rows) and _mark(rows[0]) == mark
