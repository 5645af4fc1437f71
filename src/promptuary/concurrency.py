"""Blocking work beside an event loop or other work, in a thread that never keeps the program from ending.

The standard executor's threads are waited for at exit: after Ctrl-C a slow server or disk would hold the program up.
These are daemons. Work never waits for other work: if no thread is idle, there is one more. An idle one is used again
for a while, since a turn needs several and starting one costs more than most of what it does.
"""

import contextvars
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

Result = TypeVar("Result")

_Work = Callable[[], Callable[[], object]]
"""Does what is to be done, and returns how to tell of it."""


async def run(function: Callable[[], Result]) -> Result:
    """Return what ``function`` returns, or raise what it raises, without blocking the loop."""
    import asyncio  # noqa: PLC0415  (whoever awaits this has loaded it; who never does need not)

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def tell(done: "_Done[Result]") -> None:
        if future.done():
            return
        if done.error is not None:
            future.set_exception(done.error)
        else:
            future.set_result(done.result())

    def work() -> Callable[[], object]:
        done = _Done(function)
        return lambda: loop.call_soon_threadsafe(tell, done)

    _threads.begin(work)
    return await future


def begin(function: Callable[[], Result]) -> Callable[[], Result]:
    """Begin with ``function``; what is returned waits for it, and returns what it returned or raises what it raised.

    It may be called again, and by several threads.
    """
    told: queue.SimpleQueue[_Done[Result]] = queue.SimpleQueue()

    def work() -> Callable[[], object]:
        done = _Done(function)
        return lambda: told.put(done)

    def result() -> Result:
        done = told.get()
        told.put(done)  # for whoever asks next
        return done.result()

    _threads.begin(work)
    return result


class _Done(Generic[Result]):
    """What came of some work."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._results: list[Result] = []
        self.error: BaseException | None = None
        try:
            # A context of its own: the next work in this thread must not find what this one set.
            self._results.append(contextvars.Context().run(function))
        except BaseException as error:  # noqa: BLE001  (carried over to whoever waits)
            self.error = error

    def result(self) -> Result:
        if self.error is not None:
            raise self.error
        return self._results[0]


class _Threads:
    """The threads that work. ``idle_seconds`` is how long one waits for more before it ends."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        # Where those that wait are told what to do, the last used last. Lists are atomic enough to need no lock.
        self.idle: list[queue.SimpleQueue[_Work]] = []

    def begin(self, work: _Work) -> None:
        """Have ``work`` done by a thread that has nothing else to do."""
        try:
            inbox = self.idle.pop()
        except IndexError:
            inbox = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="promptuary-background", daemon=True).start()
        inbox.put(work)

    def _serve(self, inbox: queue.SimpleQueue[_Work]) -> None:
        while work := self._next(inbox):
            tell = work()
            self.idle.append(inbox)  # before it tells: whoever has waited may have more to do at once
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                tell()
            del work, tell  # and what they hold: the thread may wait for long

    def _next(self, inbox: queue.SimpleQueue[_Work]) -> _Work | None:
        try:
            return inbox.get(timeout=self._idle_seconds)
        except queue.Empty:
            try:
                self.idle.remove(inbox)
            except ValueError:  # somebody has just chosen this thread: the work is on its way
                return inbox.get()
            return None


_threads = _Threads(idle_seconds=10.0)

os.register_at_fork(after_in_child=_threads.idle.clear)  # a child has none of the threads
