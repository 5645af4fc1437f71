"""Wakes those who wait for changes: one thread for all of them, which runs while somebody waits.

It asks each database a few times a second whether anything was committed, by this process or another, which costs
microseconds: a server is not asked, its notices are counted. Only then it compares the last numbers of the lists that
are waited for. So a thousand who wait cost one thread, and a change wakes those whom it is for. Knows nothing of what
changed.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.database.feed import last_mark
from promptuary.database.owners import EVERYBODY, NOBODY, find_owner

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from promptuary.base.principals import Owner
    from promptuary.database.port import Connection, Database

_PAUSE: Final = 0.1
"""Seconds between two looks at the databases."""
_SHARE: Final = 20
"""A pause is at least this many times as long as a look takes."""
_LONGEST: Final = 2.0
"""No pause is longer, in seconds: a database that was slow once is not left alone for a minute."""
_LOOKS: Final = 10
"""After how many looks it is checked whether databases have appeared or were replaced."""


class Followed(NamedTuple):
    """A database in which the list of an owner and that of everybody are followed; ``seen`` are the last numbers."""

    database: Database
    owner: Owner
    seen: tuple[int, ...]


class _Waiting:
    """Somebody who waits, on an event loop."""

    __slots__ = ("_future", "_loop", "followed", "is_new", "is_stale")

    def __init__(
        self, followed: Sequence[Followed], is_stale: Callable[[], bool], future: asyncio.Future[None]
    ) -> None:
        self.followed, self.is_stale = followed, is_stale
        self.is_new = True
        """Whether nobody has looked for it yet: what it waits for may be committed already."""
        self._loop, self._future = future.get_loop(), future

    def wake(self) -> None:
        with suppress(RuntimeError):  # its loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


class Followers:
    """Those who wait for changes in the databases of one workspace and its principals."""

    def __init__(self) -> None:
        self._waiting: set[_Waiting] = set()
        self._lock = threading.Lock()
        self._is_looking = False

    async def wait(self, followed: Sequence[Followed], is_stale: Callable[[], bool], timeout: float) -> None:
        """Wait until something followed has changed or ``is_stale``, at most ``timeout`` seconds. It may end early."""
        import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

        future = asyncio.get_running_loop().create_future()
        own = _Waiting(followed, is_stale, future)
        with self._lock:
            self._waiting.add(own)
            if not self._is_looking:
                self._is_looking = True
                concurrency.start_daemon(self._look_on, name="promptuary-changes")
        try:
            await asyncio.wait([future], timeout=timeout)
        finally:
            with self._lock:
                self._waiting.discard(own)

    def wake(self) -> None:
        """Wake everybody."""
        with self._lock:
            waiting = tuple(self._waiting)
        for one in waiting:
            one.wake()

    def _look_on(self) -> None:
        versions: dict[Database, int] = {}
        for look in count(1):
            with self._lock:
                waiting = tuple(self._waiting)
                if not waiting:
                    self._is_looking = False
                    return
            began = time.monotonic()
            versions = _look(waiting, versions)
            if look % _LOOKS == 0:
                _wake(one for one in waiting if one.is_stale())
            time.sleep(min(_LONGEST, max(_PAUSE, _SHARE * (time.monotonic() - began))))


def _look(waiting: Sequence[_Waiting], versions: dict[Database, int]) -> dict[Database, int]:
    """Wake those for whom there is something, and return the versions of the databases."""
    by_database: dict[Database, list[tuple[_Waiting, Followed]]] = {}
    for one in waiting:
        for followed in one.followed:
            by_database.setdefault(followed.database, []).append((one, followed))
    found = {}
    for database, group in by_database.items():
        try:
            found[database] = database.version()
            if found[database] != versions.get(database) or any(one.is_new for one, _ in group):
                last = database.read(partial(_last_numbers, {followed.owner for _, followed in group}))
                _wake(one for one, followed in group if last[followed.owner] != followed.seen)
        except PromptuaryError:  # closed, or damaged: they find out themselves
            _wake(one for one, _ in group)
    for one in waiting:
        one.is_new = False
    return found


def _last_numbers(owners: Iterable[Owner], connection: Connection) -> dict[Owner, tuple[int, ...]]:
    """Return the last number of each owner's list, and that of everybody's."""
    everybodys = last_mark(connection, EVERYBODY).seq
    return {owner: (_last_number(connection, find_owner(connection, owner)), everybodys) for owner in owners}


def _last_number(connection: Connection, owner: int | None) -> int:
    return last_mark(connection, NOBODY if owner is None else owner).seq


def _wake(waiting: Iterable[_Waiting]) -> None:
    for one in waiting:
        one.wake()
