"""A few threads for work that may block. They are daemons: work that hangs never keeps the program from ending."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

Result = TypeVar("Result")


class Workers:
    """At most ``count`` calls at a time; each may be given up on, and then ends in its own time."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = 0

    async def call(self, function: Callable[[], Result], timeout: float) -> Result:
        """Return what ``function`` returns in a thread; ``TimeoutError`` if that takes too long."""
        future: Future[Result] = Future()

        def job() -> None:
            if future.set_running_or_notify_cancel():
                _fulfil(future, function)

        self._jobs.put(job)
        if self._threads < self._count:
            self._threads += 1
            threading.Thread(target=self._work, name="promptuary-worker", daemon=True).start()
        async with asyncio.timeout(timeout):
            return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let idle threads end."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while job := self._jobs.get():
            job()


def _fulfil(future: Future[Result], function: Callable[[], Result]) -> None:
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  (carried over to whoever waits, as the standard executor does)
        future.set_exception(error)
    else:
        future.set_result(result)
