"""Stores for tests: the threads of the person on this machine, in a file of their own or in memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import force_setattr

from promptuary.base.clock import now
from promptuary.base.messages import Item
from promptuary.base.principals import LOCAL
from promptuary.config.settings import load
from promptuary.database.columns import from_column
from promptuary.database.contents import unpack_bytes
from promptuary.database.port import Connection, Database, Row
from promptuary.database.transfer import tables
from promptuary.layers.layer import LayerState, StateKey
from promptuary.state import StateDatabase, open_state
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.store import ThreadStore
from promptuary.workspace.workspace import open_door


class FileStore(ThreadStore):
    """The threads in the file ``path``, or in memory; it is closed with them."""

    def __init__(self, path: Path | None, *, timeout: float = 30.0, clock: Callable[[], str] = now) -> None:
        self.database = StateDatabase(path, timeout=timeout, clock=clock)
        vars(self).update(vars(self.database.threads(LOCAL)))

    def verify(self) -> None:
        self.database.verify()

    def close(self) -> None:
        self.database.close()


class MemoryStore(FileStore):
    """Threads in memory."""

    def __init__(self, *, clock: Callable[[], str] = now) -> None:
        super().__init__(None, clock=clock)


def forged(thread: str, items: Sequence[Item]) -> ThreadChange:
    """Return a change that appends ``items`` unchecked, as somebody else's program could write them."""
    change = ThreadChange(thread)
    force_setattr(change, "items", items)
    return change


def thread_state(layer: str, name: str, version: int, value: object) -> LayerState:
    """Return the state of a layer in the thread ``name``."""
    return LayerState(StateKey(layer, "thread", name), version, value)


def state_of(store: ThreadStore, layer: str, name: str) -> LayerState | None:
    """Return what is stored for a layer in the thread ``name``."""
    return store.states([StateKey(layer, "thread", name)])[0]


def feed_of(database: Database) -> list[tuple[Any, ...]]:
    """Return the feed of changes of everybody: for each the owner, the number, the noun, the id and the event."""
    query = "SELECT owner, seq, noun, id, event FROM change ORDER BY owner, seq"

    def read(connection: Connection) -> list[Row]:
        connection.act_as(None)
        return connection.execute(query).fetchall()

    rows = database.read(read)
    return [(owner, seq, noun, from_column(key), event) for owner, seq, noun, key, event in rows]


def state_in(folder: Path) -> StateDatabase:
    """Open the state of a workspace, wherever the configuration of this test has it."""
    settings = load(folder)
    return open_state(open_door(folder, settings), settings)


def texts_in(database: Database) -> str:
    """Return everything that is stored for a workspace, in every table, with texts as they were before packing."""

    def read(connection: Connection) -> list[str]:
        connection.act_as(None)
        own, found = {"tenant": connection.tenant}, list[str]()
        for table in tables():
            listed = ", ".join(f'"{column}"' for column in table.columns)
            for row in connection.execute(f"SELECT {listed} FROM {table.name} WHERE tenant = :tenant", own):
                cells = dict(zip(table.columns, row, strict=True))
                if cells.keys() >= {"sha256", "packed", "body"}:
                    cells["body"] = unpack_bytes(cells["sha256"], cells["packed"], cells["body"])
                found += [
                    cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell) for cell in cells.values()
                ]
        return found

    return "\n".join(database.read(read))
