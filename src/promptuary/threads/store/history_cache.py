"""A cache of histories, so that a turn reads only what is new in its thread.

An item changes only when something in it is forgotten, and then its checksum changes, too. Which items are in a
history, with which checksums, and which are pinned, is queried every time. One thread at a time, within one
transaction.
"""

from typing import Final

from msgspec.structs import replace

from promptuary.base.messages import Item
from promptuary.database.columns import history_checksum, to_column
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.threads.store import rows

_QUERIES = queries(__package__, "threads.sql")

_KEPT_CHARACTERS: Final = 16 * 1024 * 1024
_EACH: Final = 1024
"""The overhead of an item besides its words, in characters: many short items take far more than their words."""


class Histories:
    """The items of a database as they were read, by owner and number, up to a number of characters."""

    __slots__ = ("_known", "_size")

    def __init__(self) -> None:
        self._known: dict[int, dict[int, tuple[Item, int]]] = {}
        """Each item with its checksum."""
        self._size = 0

    def read(self, connection: Connection, owner: int, thread: str) -> tuple[Item, ...]:
        """Return the history of ``thread`` as it is now, in order."""
        key = {"tenant": connection.tenant, "owner": owner, "name": to_column(thread)}
        found = connection.execute(_QUERIES["standing"], key).fetchall()
        standing = [row[:3] for row in found if row[0] is not None]
        if found and found[0][3] != history_checksum(standing):
            raise ValueError("a history is not what was written")
        known = self._known.setdefault(owner, {})
        # Looked up once: another thread, which reads an older state, may put its own item into the cache meanwhile.
        cached = ((number, known.get(number), checksum) for number, _, checksum in standing)
        items = {number: one[0] for number, one, checksum in cached if one is not None and one[1] == checksum}
        new = [number for number, *_ in standing if number not in items]
        if new:
            checksums = {number: checksum for number, _, checksum in standing}
            for number, *row in connection.execute(_QUERIES["history"], key | {"first": min(new)}):
                item = rows.to_item(tuple(row))
                if number not in known:
                    self._size += len(item.content) + _EACH
                items[number] = item
                known[number] = item, checksums[number]
        for number, pinned, checksum in standing:
            if items[number].pinned is not bool(pinned):
                items[number] = replace(items[number], pinned=bool(pinned))
                known[number] = items[number], checksum
        if self._size > _KEPT_CHARACTERS:
            self._known, self._size = {}, 0
        return tuple(items[number] for number, *_ in standing)
