"""The one place that starts threads.

``run`` awaits a blocking function, ``iterate`` a blocking generator, ``held`` a lock. ``begin`` starts a function
and returns its ``Task``, ``run_each`` maps over many values, ``start_daemon`` starts a loop that runs for long.
Background work yields to the ``foreground``, for which a person waits.

The threads of ``run`` and ``begin`` are daemons. The standard executor's are joined at exit: after Ctrl-C a slow server
or disk would delay the end of the program. If no thread is idle, one more is started. An idle thread is reused for a
while, since starting one costs more than most of the work.

Only ``run`` is limited: a thousand calls at once would be slower in a thousand threads. Work within work never waits,
and neither does a call while nothing at all gets done, since what runs may be waiting for it.
"""

import contextvars
import importlib
import os
import queue
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio

Value = TypeVar("Value")
Result = TypeVar("Result")


class Task(Generic[Result]):
    """A function that runs in another thread. Several threads may wait for it, each as often as it likes."""

    def __init__(self, function: Callable[[], Result]) -> None:
        self._function: Callable[[], Result] | None = function
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._ended = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the function has ended, at most ``timeout`` seconds; return whether it has."""
        return self._ended.wait(timeout)

    def result(self) -> Result:
        """Wait for the function, and return what it returned or raise what it raised."""
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def execute(self) -> None:
        """Run the function; only the thread that was started for it calls this, and then ``end``."""
        function, self._function = self._function, None
        if function is None:
            raise AssertionError("a task runs once")
        try:
            # A separate context: the next task in this thread must not see what this one sets.
            self._results.append(contextvars.Context().run(function))
        except BaseException as error:  # noqa: BLE001  (raised where the result is asked for)
            self._error = error

    def end(self) -> None:
        """Wake all waiting threads."""
        self._ended.set()


async def run(function: Callable[[], Result]) -> Result:
    """Run ``function`` in a thread, without blocking the event loop, and return its result or raise its error.

    While ``MAX_AT_ONCE`` others run, it waits for its turn.
    """
    if getattr(_this_thread, "is_ours", False):
        return await _run(function)
    await _room.enter()

    def leaving() -> Result:
        try:
            return function()
        finally:
            _room.leave()

    return await _run(leaving, _room.leave)


async def _run(function: Callable[[], Result], not_started: Callable[[], object] = lambda: None) -> Result:
    """Run ``function`` in a thread at once."""
    import asyncio  # noqa: PLC0415  (loaded already where this is awaited; the rest of the program can do without)

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    task = Task(function)

    def wake() -> None:
        task.end()
        if not ended.done():
            ended.set_result(None)

    try:
        _pool.begin(task.execute, lambda: loop.call_soon_threadsafe(wake))
    except RuntimeError:  # the system allows no more threads
        not_started()
        raise
    await ended
    return task.result()


async def shielded(work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of ``work``, which is not interrupted: a cancelled caller waits for it first."""
    import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.cancelled():
            await asyncio.wait([task])
        raise


@asynccontextmanager
async def held(lock: Callable[[], AbstractContextManager[object]]) -> AsyncIterator[None]:
    """Hold a lock that is created, acquired and released in another thread: each may block."""
    stack = ExitStack()
    try:
        # Without a limit: those who wait for a lock must not keep its holder from going on.
        await shielded(_run(lambda: stack.enter_context(lock())))
        yield
    finally:
        await shielded(_run(stack.close))


async def iterate(values: Generator[Value, None, None], stop: Callable[[], object]) -> AsyncIterator[Value]:
    """Yield what a blocking generator yields, without blocking the event loop.

    ``stop`` is called at the end, or when the caller wants no more: it must wake a waiting generator, in any thread.
    """
    try:
        while found := await _run(lambda: list(islice(values, 1))):
            yield found[0]
    finally:
        stop()
        begin(lambda: _close(values))


def _close(values: Generator[Value, None, None]) -> None:
    with suppress(ValueError):  # another thread is running it, was woken, and ends it
        values.close()


def begin(function: Callable[[], Result], *, daemon: bool = True, name: str = "promptuary-task") -> Task[Result]:
    """Start ``function`` in another thread, and return at once.

    Unless ``daemon``, it gets a separate thread called ``name``, and the program does not end before it: a native
    library that is being loaded in a daemon thread while the interpreter ends can crash the process.
    """
    task = Task(function)
    if daemon:
        _pool.begin(task.execute, task.end)
    else:

        def work() -> None:
            task.execute()
            task.end()

        threading.Thread(target=work, name=name, daemon=False).start()
    return task


def run_each(function: Callable[[Value], Result], values: Sequence[Value], *, threads: int, name: str) -> list[Result]:
    """Return ``function(value)`` for each value in order, computed by at most ``threads`` threads at once.

    An error or Ctrl-C drops the values that are not started, and waits for those that are.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (few commands need it)

    pool = ThreadPoolExecutor(min(threads, len(values)), thread_name_prefix=name)
    try:
        return list(pool.map(function, values))
    finally:
        pool.shutdown(cancel_futures=True)


def share_heaps() -> None:
    """Let the threads of a process that runs for long share two heaps.

    The C library gives each of the first threads one of its own, and keeps there what was freed: a server took twice as
    much, and more every minute. Other C libraries do not, and have no such setting.
    """
    import ctypes  # noqa: PLC0415  (3 ms, and only servers need it)

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def start_daemon(function: Callable[[], object], *, name: str) -> threading.Thread:
    """Start ``function``, which runs for long, in a separate thread that does not keep the program from ending."""

    def work() -> None:
        _this_thread.is_ours = True
        function()

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


_this_thread: Final = threading.local()
_M_ARENA_MAX: Final = -8
"""Its number in malloc.h of glibc."""
"""``is_ours`` is set in threads that this module started."""


def load_native(name: str) -> ModuleType:
    """Import a package that is, or loads, numpy; one thread at a time.

    Numpy breaks if it is imported while the native code of another package, in another thread, asks for a part of it.
    """
    with _native:
        return importlib.import_module(name)


_native: Final = threading.Lock()


class Debounce:
    """Recurring activity in any thread; work that can wait waits until it pauses.

    It has paused when nothing happened for ``pause`` seconds. A wait takes at most ``most`` seconds.
    """

    def __init__(self, pause: float, most: float) -> None:
        self._pause, self._most = pause, most
        self._last = time.monotonic()

    def touch(self) -> None:
        """Record that it happens now."""
        self._last = time.monotonic()

    def wait_for_a_pause(self, hurry: threading.Event) -> None:
        """Wait until it pauses, for at least a whole pause, or until ``hurry`` is set."""
        now = began = time.monotonic()
        while (left := min(max(self._last, began) + self._pause, began + self._most) - now) > 0:
            if hurry.wait(left):
                return
            now = time.monotonic()


class Foreground:
    """Work that a person waits for. Threads share one interpreter, so long background work yields to it.

    In a ``with`` block, a thread works in the foreground. What follows, such as drawing the result, gets ``after``
    seconds more. Background work yields for at most ``most`` seconds at a time, so that it makes progress.
    """

    def __init__(self, after: float, most: float) -> None:
        self._after, self._most = after, most
        self._threads: set[int] = set()
        self._until = 0.0

    def __enter__(self) -> None:
        """Enter the foreground; not reentrant within a thread."""
        self._threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        """Leave the foreground."""
        self._threads.discard(threading.get_ident())
        self._until = time.monotonic() + self._after

    def give_way(self) -> None:
        """Wait while a person waits for another thread. Costs almost nothing if nobody does."""
        now = time.monotonic()
        if (not self._threads and now >= self._until) or threading.get_ident() in self._threads:
            return
        latest = now + self._most
        while now < latest and (self._threads or now < self._until):
            time.sleep(_NAP)
            now = time.monotonic()

    def yielding(self, values: Iterable[Value], every: int = 500) -> Iterator[Value]:
        """Yield ``values``, and let the foreground run after each ``every`` of them."""
        for number, value in enumerate(values):
            if number % every == 0:
                self.give_way()
            yield value


_NAP: Final = 0.002
"""Seconds between two checks of a thread that yields."""

foreground: Final = Foreground(after=0.02, most=0.2)
"""The foreground of this process."""


_Work = tuple[Callable[[], object], Callable[[], object]]
"""The work, and how to announce its end."""


class _Pool:
    """A pool of daemon threads. One that is idle for ``idle_seconds`` ends."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        # The inboxes of the idle threads, the last used last. Operations on lists are atomic: no lock is needed.
        self.idle: list[queue.SimpleQueue[_Work]] = []

    def begin(self, work: Callable[[], object], announce: Callable[[], object]) -> None:
        """Run ``work`` in an idle thread and then ``announce`` it."""
        try:
            inbox = self.idle.pop()
        except IndexError:
            inbox = queue.SimpleQueue()
            start_daemon(lambda: self._serve(inbox), name="promptuary-background")
        inbox.put((work, announce))

    def _serve(self, inbox: queue.SimpleQueue[_Work]) -> None:
        while taken := self._next(inbox):
            work, announce = taken
            work()
            self.idle.append(inbox)  # before it is announced: the caller may have more work at once
            with suppress(RuntimeError):  # the event loop is closed: nobody waits any more
                announce()
            del taken, work, announce  # and what they reference: the thread may be idle for long

    def _next(self, inbox: queue.SimpleQueue[_Work]) -> _Work | None:
        try:
            return inbox.get(timeout=self._idle_seconds)
        except queue.Empty:
            try:
                self.idle.remove(inbox)
            except ValueError:  # this thread has just been chosen: its work is coming
                return inbox.get()
            return None


MAX_AT_ONCE: Final = 32
"""The most calls of ``run`` from outside that run at the same time."""
_PATIENCE: Final = 1.0
"""Seconds in which something must end; otherwise a call no longer waits."""


class _Room:
    """Room for ``most`` calls at a time, first come, first served, over all event loops."""

    def __init__(self, most: int) -> None:
        self._most, self._inside, self._ended = most, 0, 0
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def enter(self) -> None:
        """Wait for room. Whoever entered calls ``leave``, in any thread."""
        with self._lock:
            if self._inside < self._most:
                self._inside += 1
                return
            import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

            loop = asyncio.get_running_loop()
            own = (loop, loop.create_future())
            self._waiting.append(own)
        try:
            while not own[1].done():
                before = self._ended
                await asyncio.wait([own[1]], timeout=_PATIENCE)
                if before == self._ended and self._gave_up(own):
                    return
        except asyncio.CancelledError:
            if self._gave_up(own):
                with self._lock:
                    self._inside -= 1
            else:  # it had been let in
                self.leave()
            raise

    def leave(self) -> None:
        """Let in whoever waits longest."""
        while True:
            with self._lock:
                self._ended += 1
                if not self._waiting or self._inside > self._most:
                    self._inside -= 1
                    return
                loop, entered = self._waiting.popleft()
            with suppress(RuntimeError):  # that event loop is closed: the next one
                loop.call_soon_threadsafe(_let_in, entered)
                return

    def _gave_up(self, own: "tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]") -> bool:
        """Enter without waiting any longer; return False if it was let in meanwhile."""
        with self._lock:
            if own not in self._waiting:
                return False
            self._waiting.remove(own)
            self._inside += 1
            return True


def _let_in(entered: "asyncio.Future[None]") -> None:
    if not entered.done():
        entered.set_result(None)


_pool = _Pool(idle_seconds=10.0)
_room = _Room(MAX_AT_ONCE)


def _after_fork() -> None:
    """Begin anew: threads do not survive a fork."""
    global _room  # noqa: PLW0603
    _pool.idle.clear()
    _room = _Room(MAX_AT_ONCE)


os.register_at_fork(after_in_child=_after_fork)
