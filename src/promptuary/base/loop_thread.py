"""An event loop in a thread of its own, for work of threads that have none."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event
    from collections.abc import Coroutine
    from concurrent.futures import Future

Result = TypeVar("Result")


class LoopThread:
    """An event loop in a daemon thread: work that hangs in it does not keep the program from ending."""

    _loop: AbstractEventLoop
    _stop: Event

    def __init__(self, name: str) -> None:
        import asyncio  # noqa: PLC0415  (most calls need none)

        self._asyncio = asyncio
        running = threading.Event()
        self._error: BaseException | None = None

        def serve() -> None:
            try:
                asyncio.run(self._serve(running))
            except BaseException as error:  # noqa: BLE001  (raised below, where somebody waits for it)
                self._error = error
                running.set()

        self.thread = concurrency.start_daemon(serve, name=name)
        running.wait()
        if self._error is not None:
            raise PromptuaryError(f"the event loop could not be started: {self._error}") from self._error

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start ``work``."""
        return self._asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel everything, and end the thread."""
        with suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._stop.set)

    def end(self, timeout: float | None = None) -> None:
        """Cancel everything, and wait for the thread."""
        self.stop()
        if self.thread is not threading.current_thread():
            self.thread.join(timeout)

    async def _serve(self, running: threading.Event) -> None:
        self._loop = self._asyncio.get_running_loop()
        self._stop = self._asyncio.Event()
        running.set()
        await self._stop.wait()
