"""How a call of the public interface runs: ``AsyncCalls`` for ``engine``, ``BlockingCalls`` for ``blocking``.

Both have the same methods, so that one of the two halves can be generated from the other. With ``async``, what blocks
runs in a bounded pool of threads. Without, it runs in the caller's thread; turns need an event loop, since layers are
asynchronous: it runs in a separate thread and starts with the first call that needs it.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptuary.base import concurrency
from promptuary.base.errors import CLOSED, PromptuaryError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event
    from collections.abc import Awaitable, Callable, Coroutine
    from concurrent.futures import Future

    from promptuary.app import App
    from promptuary.base.messages import ToolCall
    from promptuary.threads.run_values import Confirm, OnEvent, RunEvent

Service = TypeVar("Service")
Result = TypeVar("Result")

_INTERRUPTED: Final = "This Promptuary was closed while it was at work."
_CLOSING_TIMEOUT: Final = 5.0
"""Seconds that ``close`` waits for calls in other threads to end."""


class AsyncCalls:
    """Calls that are awaited: what blocks runs in a thread, what is asynchronous on the caller's loop."""

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in a thread, and return its result."""
        return await concurrency.run(work)

    async def wait_for(
        self, opened: Callable[[], Service], work: Callable[[Service], Coroutine[Any, Any, Result]]
    ) -> Result:
        """Return the result of the coroutine that ``work`` returns for the service that ``opened`` opens."""
        return await work(await concurrency.run(opened))

    async def listen(
        self,
        opened: Callable[[], Service],
        work: Callable[[Service, OnEvent | None, Confirm | None], Coroutine[Any, Any, Result]],
        on_event: OnEvent | None,
        confirm: Confirm | None,
    ) -> Result:
        """Like ``wait_for``, for work with callbacks, which are called on the caller's loop."""
        return await work(await concurrency.run(opened), on_event, confirm)

    async def close(self, app: App) -> None:
        """Close ``app``."""
        await app.dispose()
        await concurrency.run(app.close)


class BlockingCalls:
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

    def wait_for(self, opened: Callable[[], Service], work: Callable[[Service], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of the coroutine that ``work`` returns, run by the loop."""
        return self.run(lambda: _result(self._submit(work(opened()))))

    def listen(
        self,
        opened: Callable[[], Service],
        work: Callable[[Service, OnEvent | None, Confirm | None], Coroutine[Any, Any, Result]],
        on_event: OnEvent | None,
        confirm: Confirm | None,
    ) -> Result:
        """Return the result of the coroutine, and meanwhile call the callbacks in this thread.

        So ``on_event`` may print and ``confirm`` may ask at a terminal. An interruption, such as Ctrl-C, cancels the
        coroutine and waits until it has cleaned up.
        """
        bridge = CallbackBridge(on_event, confirm)
        ended = threading.Event()

        async def announced(service: Service) -> Result:
            try:
                return await work(service, bridge.on_event, bridge.confirm)
            finally:
                ended.set()
                bridge.inbox.put(None)

        def submitted() -> Result:
            future = self._submit(announced(opened()))
            try:
                while (act := bridge.inbox.get()) is not None:
                    act()
            except BaseException as error:
                future.cancel()
                ended.wait(_CLOSING_TIMEOUT)
                if isinstance(error, KeyboardInterrupt):
                    bridge.call_the_rest()
                raise
            return _result(future)

        return self.run(submitted)

    def close(self, app: App) -> None:
        """Refuse new calls, cancel running ones, and close ``app``."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            app.stopping.set()
        try:
            if app.uses_layers:
                _result(self._started_loop().submit(app.dispose()))
        finally:
            if self._loop is not None:
                _end(self._loop)
            with self._changed:
                self._changed.wait_for(lambda: self._running == 0, _CLOSING_TIMEOUT)
            app.close()

    def _submit(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        # Submitted under the lock: whatever is submitted before a close is cancelled by it.
        with self._changed, ExitStack() as unless_submitted:
            unless_submitted.callback(coroutine.close)
            if self._closed:
                raise PromptuaryError(CLOSED)
            loop = self._started_loop()
            unless_submitted.pop_all()
            return loop.submit(coroutine)

    def _started_loop(self) -> _Loop:
        if self._loop is None:
            self._loop = _Loop()
            # For one that is forgotten without being closed.
            weakref.finalize(self, _end, self._loop).atexit = False
        return self._loop


class CallbackBridge:
    """The callbacks of a run; ``inbox`` holds the calls for the thread that waits for it."""

    def __init__(self, on_event: OnEvent | None, confirm: Confirm | None) -> None:
        self.inbox: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._on_event, self._confirm = on_event, confirm
        self.on_event: OnEvent | None = self._tell if on_event else None
        self.confirm: Confirm | None = self._ask if confirm else None

    def call_the_rest(self) -> None:
        """Run what is still in ``inbox``."""
        while not self.inbox.empty():
            act = self.inbox.get()
            if act is not None:
                act()

    def _tell(self, event: RunEvent) -> None:
        told = self._on_event
        if told is not None:
            self.inbox.put(lambda: _plain(told(event), "on_event"))

    async def _ask(self, call: ToolCall) -> bool:
        import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def ask() -> None:
            agreed = bool(self._confirm and _plain(self._confirm(call), "confirm"))
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(agreed))

        self.inbox.put(ask)
        return await answer


def _plain(given: object | Awaitable[object], name: str) -> object:
    """Return the result of a function, which must not be awaitable."""
    if isinstance(given, CoroutineType):
        given.close()
        raise PromptuaryError(f"{name} must be a plain function here: nobody awaits what it returns")
    return given


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


def _end(loop: _Loop) -> None:
    """Cancel everything in ``loop``, and wait for its thread."""
    loop.stop()
    if loop.thread is not threading.current_thread():
        loop.thread.join()


def _result(future: Future[Result]) -> Result:
    """Wait for ``future``; an interruption, such as Ctrl-C, cancels it."""
    from concurrent.futures import CancelledError  # noqa: PLC0415  (loaded with the loop)

    try:
        return future.result()
    except CancelledError as error:
        raise PromptuaryError(_INTERRUPTED) from error
    finally:
        future.cancel()
