"""Stores for tests: the threads of the person on this machine, in a file of their own or in memory."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import force_setattr

from promptuary.base.clock import now
from promptuary.base.messages import Item
from promptuary.base.principals import LOCAL
from promptuary.layers.layer import LayerState, StateKey
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.store import ThreadStore


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
