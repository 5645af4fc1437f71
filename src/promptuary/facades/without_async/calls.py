"""Runs the calls of a facade without ``async``: in the caller's thread, or on an event loop in a separate thread.

Layers are asynchronous, so turns need a loop; it starts with the first call that needs it. Closing cancels running
calls.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptuary import concurrency
from promptuary.core.errors import CLOSED, PromptuaryError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from queue import SimpleQueue

    from promptuary.wiring.core import Core

Result = TypeVar("Result")

_INTERRUPTED: Final = "This Promptuary was closed while it was at work."
_CLOSING_TIMEOUT: Final = 5.0
"""Seconds that ``close`` waits for calls in other threads to end."""


class Calls:
    """The calls that are running, in whichever thread, and the event loop that some of them need."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False
        self._loop: _Loop | None = None

    def run(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in this thread, and return its result."""
        with self._changed:
            if self._closed:
                raise PromptuaryError(CLOSED)
            self._running += 1
        try:
            result = work()
        except Exception as error:
            if self._closed:  # the cause of whatever error this is
                raise PromptuaryError(_INTERRUPTED) from error
            raise
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
        return result

    def wait_for(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of the coroutine that ``work`` returns, run by the loop."""

        def submitted() -> Result:
            with self._changed:
                loop = self._loop = self._loop or _Loop()
            coroutine = work()
            # Submitted under the lock: whatever is submitted before a close is cancelled by it.
            with self._changed:
                if self._closed:
                    coroutine.close()
                    raise PromptuaryError(CLOSED)
                future = loop.submit(coroutine)
            return _result(future)

        return self.run(submitted)

    def listen(
        self, work: Callable[[], Coroutine[Any, Any, Result]], inbox: SimpleQueue[Callable[[], object] | None]
    ) -> Result:
        """Return the result of the coroutine, and meanwhile run the functions from ``inbox`` in this thread.

        An interruption, such as Ctrl-C, cancels the coroutine and waits until it has cleaned up.
        """
        ended = threading.Event()

        async def announced() -> Result:
            try:
                return await work()
            finally:
                ended.set()
                inbox.put(None)

        def submitted() -> Result:
            with self._changed:
                loop = self._loop = self._loop or _Loop()
                if self._closed:
                    raise PromptuaryError(CLOSED)
                future = loop.submit(announced())
            try:
                while (act := inbox.get()) is not None:
                    act()
            except BaseException as error:
                future.cancel()
                ended.wait(_CLOSING_TIMEOUT)
                if isinstance(error, KeyboardInterrupt):
                    _rest(inbox)
                raise
            return _result(future)

        return self.run(submitted)

    def close(self, core: Core) -> None:
        """Refuse new calls, cancel running ones, and close ``core``."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            core.stopping.set()
        try:
            if core.uses_layers:
                loop = self._loop or _Loop()
                self._loop = loop
                _result(loop.submit(core.dispose()))
        finally:
            self.stop_loop()
            with self._changed:
                self._changed.wait_for(lambda: self._running == 0, _CLOSING_TIMEOUT)
            core.close()

    def stop_loop(self) -> None:
        """Cancel everything in the loop, and end its thread."""
        loop = self._loop
        if loop is not None:
            loop.stop()
            if loop.thread is not threading.current_thread():
                loop.thread.join()


class _Loop:
    """An event loop in a daemon thread: work that hangs in it does not keep the program from ending."""

    _loop: AbstractEventLoop
    _stop: Event

    def __init__(self) -> None:
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

        self.thread = concurrency.start_daemon(serve, name="promptuary-blocking")
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

    async def _serve(self, running: threading.Event) -> None:
        self._loop = self._asyncio.get_running_loop()
        self._stop = self._asyncio.Event()
        running.set()
        await self._stop.wait()


def _rest(inbox: SimpleQueue[Callable[[], object] | None]) -> None:
    """Run what is still in ``inbox``."""
    while not inbox.empty():
        act = inbox.get()
        if act is not None:
            act()


def _result(future: Future[Result]) -> Result:
    """Wait for ``future``; an interruption, such as Ctrl-C, cancels it."""
    from concurrent.futures import CancelledError  # noqa: PLC0415  (loaded with the loop)

    try:
        return future.result()
    except CancelledError as error:
        raise PromptuaryError(_INTERRUPTED) from error
    finally:
        future.cancel()
