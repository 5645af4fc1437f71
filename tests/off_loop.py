"""A wrapper that forbids calls of a store on an event loop: for tests that no caller blocks the loop.

Wraps any implementation of a port, without knowing which: every call through the wrapper is checked.
"""

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Store = TypeVar("Store")


class CalledOnLoopError(AssertionError):
    """A store was called in a thread whose event loop is running: the loop is blocked until the call returns."""


_STORES = tuple(
    f"promptuary.{room}"
    for room in (
        "state",
        "database",
        "threads.store",
        "memory.store",
        "memory.writeback.store",
        "experiences.store",
        "sessions.store",
    )
)


def off_loop(store: Store) -> Store:
    """Return ``store`` with every method raising ``CalledOnLoopError`` if an event loop runs in the calling thread.

    Stores that it returns or has as attributes are wrapped as well.
    """
    return cast("Store", _OffLoop(store))


class _OffLoop:
    def __init__(self, store: object) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return _guarded(found, f"{type(self._store).__name__}.{name}") if callable(found) else _wrapped(found)


def _guarded(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _wrapped(method(*arguments, **options))
        raise CalledOnLoopError(f"{name} was called on a running event loop")

    return call


def _wrapped(value: object) -> object:
    return _OffLoop(value) if type(value).__module__.startswith(_STORES) else value
