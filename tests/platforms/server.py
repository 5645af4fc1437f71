"""The base of all platform fakes: a server on loopback in a thread, the messages sent to it, and its scripted faults.

Everything public may be called from any thread. ``sent`` are the messages of the bot as they look now; ``wait_for``
waits until a condition holds. ``faults`` says how calls of a method fail before they succeed: ``"429"``, ``"500"``,
``"drop"``, which closes the connection without an answer, or ``"lost"``, which executes the call and then closes it.
``"held"`` executes the call, too, and never answers.
"""

import asyncio
import contextlib
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec import Struct, field

from promptuary.base import concurrency

_PATIENCE: Final = 30.0


class BotMessage(Struct):
    """A message that the bot sent: its current text, as Markdown, and how often it was edited.

    ``raw`` is the text as it was sent, with the marks of the platform. ``previews``: its links may be fetched.
    """

    chat: str
    id: str
    text: str
    thread: str = ""
    edits: list[str] = field(default_factory=list)
    file: bytes | None = None
    key: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    raw: str = ""
    previews: bool = False


class PlatformServer:
    """A fake platform. It listens from construction until the end of its ``with`` block."""

    def __init__(self) -> None:
        self.sent: list[BotMessage] = []
        self.calls: list[str] = []
        self.faults: defaultdict[str, deque[str]] = defaultdict(deque)
        self.retry_after = 1
        self.slow: dict[str, float] = {}
        """Seconds before a method is executed."""
        self.late: dict[str, float] = {}
        """Seconds between the execution of a method and its answer."""
        self.sockets: list[web.WebSocketResponse] = []
        self.unanswered = 0
        """How many calls were executed and will never be answered."""
        self._transports: set[asyncio.Transport] = set()
        self._after: dict[asyncio.Task[Any] | None, tuple[str, float]] = {}
        self._changed = threading.Condition()
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self.port = 0
        self._thread = concurrency.start_daemon(lambda: asyncio.run(self._serve()), name="platform")
        self._started.wait(_PATIENCE)

    def routes(self, app: web.Application) -> None:
        """Add the routes of the platform."""
        raise NotImplementedError

    def url(self, path: str = "") -> str:
        """Return an address of the server."""
        return f"http://127.0.0.1:{self.port}{path}"

    def texts(self, chat: str) -> list[str]:
        """Return what the bot has said in a chat, as it looks now."""
        with self._changed:
            return [one.text for one in self.sent if one.chat == chat]

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return sum(not one.is_closing() for one in self._transports)

    def wait_for(self, check: Callable[[], object], timeout: float = _PATIENCE) -> bool:
        """Wait until ``check`` is true, and return whether it became so."""
        until = time.monotonic() + timeout
        with self._changed:
            while not check():
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 0.2))
            return True

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Change something that ``wait_for`` may wait for."""
        with self._changed:
            yield
            self._changed.notify_all()

    async def failed(self, method: str) -> web.StreamResponse | None:
        """Record a call, and return its failure, if it is to fail."""
        with self.changing():
            self.calls.append(method)
            fault = self.faults[method].popleft() if self.faults.get(method) else ""
        if seconds := self.slow.get(method):
            await asyncio.sleep(seconds)
        if fault == "drop":
            raise asyncio.CancelledError  # aiohttp closes the connection without an answer
        if fault in {"lost", "held"} or method in self.late:
            self._after[asyncio.current_task()] = (fault, self.late.get(method, 0.0))
        if fault == "500":
            return web.Response(status=500, text="oops")
        return self.too_many(method) if fault == "429" else None

    def too_many(self, method: str) -> web.Response:
        """Return the platform's answer to too many requests."""
        raise NotImplementedError

    def on_loop(self, work: Callable[[], object]) -> None:
        """Run ``work`` in the thread of the server."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(work)

    def disconnect(self) -> None:
        """Abort every websocket."""

        def drop() -> None:
            for socket in self.sockets:
                if socket._req is not None and socket._req.transport is not None:  # no close frame
                    socket._req.transport.abort()

        self.on_loop(drop)

    def close(self) -> None:
        """Stop at once."""
        if self._stopping is not None:
            self.on_loop(self._stopping.set)
        self._thread.join(_PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @web.middleware
    async def _answer_or_not(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.transport is not None:
            self._transports = {one for one in self._transports if not one.is_closing()} | {request.transport}
        response = await handler(request)
        fault, seconds = self._after.pop(asyncio.current_task(), ("", 0.0))
        await asyncio.sleep(seconds)
        if fault:
            with self.changing():
                self.unanswered += 1
            if fault == "held" and self._stopping is not None:
                await self._stopping.wait()
            raise asyncio.CancelledError
        return response

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self._answer_or_not])
        self.routes(app)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        addresses: Any = runner.addresses
        self.port = int(addresses[0][1])
        self._started.set()
        await self._stopping.wait()
        for socket in list(self.sockets):
            await socket.close()
        await runner.cleanup()
