"""The ASGI application: every request is admitted, answered, counted and written down in one place.

Behind it, each area has an ASGI application: the proxy, the API, MCP. In the scope, it finds a ``Token`` as
"promptuary.token" and a ``Request`` as "promptuary.request", whose ``thread`` and ``turn`` it sets for the audit trail.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, Protocol

from msgspec import Struct

from promptuary.api.problems import CONTENT_TYPE as CONTENT_TYPE_OF_PROBLEMS
from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.server.asgi import ClientGone, Receive, Scope, Send, send_answer, values
from promptuary.server.audit import Audit, Entry
from promptuary.server.errors import NOT_FOUND, Refusal, error_body
from promptuary.server.guard import Doors, KnownTokens, admit, check_form, check_sender
from promptuary.server.matches import Area, Match
from promptuary.server.metrics import CONTENT_TYPE, Metrics
from promptuary.server.page.page import forward_page, keep_form, refusal_page, with_headers
from promptuary.server.routes import find_protocol
from promptuary.server.running import Running
from promptuary.server.tokens import Token, TokenStore
from promptuary.server.workspaces import Workspaces

logger = logging.getLogger(__name__)

_WATCH_SECONDS: Final = 1.0
"""How often tokens that were revoked are looked for."""
_PURGE_SECONDS: Final = 24 * 3600.0
"""How often conversations are removed that are old enough."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Request(Struct):
    """What the guard found out about a request, and what is written down of it at its end."""

    match: Match
    workspace: str
    own_key: bool
    """The client sends its own key for the upstream."""
    thread: str = ""
    turn: str = ""


class AreaApp(Protocol):
    """The application of an area: answers requests, and finishes at the end what it still does."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    async def shutdown(self) -> None: ...


class Application:
    """Answers every request of a server. ``keep`` is told the address of a connection that has shown a token."""

    def __init__(
        self,
        doors: Doors,
        store: TokenStore,
        workspaces: Workspaces,
        *,
        metrics: Metrics,
        audit: Audit,
        areas: Mapping[Area, AreaApp] | None = None,
        keep: Callable[[Any], None] = lambda _: None,
    ) -> None:
        self.doors, self.workspaces, self.metrics, self.areas = doors, workspaces, metrics, dict(areas or {})
        self.running = Running()
        self._store, self._audit, self._keep = store, audit, keep
        self._tokens = KnownTokens(store)
        self._failure = ""
        self._tasks: list[asyncio.Task[None]] = []
        metrics.gauges |= {
            "running_requests": lambda: len(self.running),
            "open_principals": lambda: len(workspaces),
            "workspaces": lambda: len(workspaces.names),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or start and end with the server."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._audit.start()
        # Opened beside the first requests: the server listens before that.
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._open())]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for area in self.areas.values():
            await area.shutdown()
        await self.workspaces.close()
        await concurrency.run(self._audit.close)
        await concurrency.run(self._store.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self) -> None:
        try:
            await self.workspaces.open_all()
            await self.workspaces.warm_up()
        except PromptuaryError as error:
            self._failure = one_line(str(error))
            logger.warning("a workspace cannot be opened: %s", self._failure)
        while True:
            try:
                await self.workspaces.purge_recorded()
            except PromptuaryError as error:
                logger.warning("old conversations were not removed: %s", one_line(str(error)))
            await asyncio.sleep(_PURGE_SECONDS)

    async def _watch(self) -> None:
        """End what runs with a token that was revoked or has expired."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            try:
                ended = await self._tokens.drop_ended(self.running.token_ids)
            except PromptuaryError as error:  # the database is locked or damaged: nobody new gets in either
                logger.warning("the tokens cannot be read: %s", one_line(str(error)))
                continue
            self.metrics.add("revoked_requests", self.running.end(ended))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()
        scope["headers"] = tuple(scope["headers"])  # trailers of the body must not become headers after the check
        if scope["raw_path"] == b"/healthz" and scope["method"] in ("GET", "HEAD"):
            await send_answer(send, 200, b"" if scope["method"] == "HEAD" else b"ok\n", b"text/plain")
            return
        answer = _Answer(send, self.metrics)
        try:
            await self._route(scope, receive, answer)
        except Refusal as refusal:
            await self._keep_typed(scope, receive, refusal)
            await answer.refuse(scope, refusal)
        except ClientGone:
            self.metrics.add("client_gone")
        except asyncio.CancelledError:
            # Its token was revoked, or the server stops. uvicorn closes the connection, since the answer has no end.
            await answer.refuse(scope, Refusal(503, "the request was ended by the server"))
        except Exception as error:
            # The message of an error may hold anything of the request.
            logger.warning("a request failed: %s", type(error).__name__, exc_info=logger.isEnabledFor(logging.DEBUG))
            await answer.refuse(scope, Refusal(500, "the server failed; its log says how"))
        finally:
            self._write_down(scope, answer.status, time.monotonic() - began)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        match, workspace, own_key = await admit(
            scope, self.doors, self._tokens, self.workspaces.names, lambda _: self._keep(scope.get("client"))
        )
        scope["promptuary.request"] = Request(match, workspace, own_key)
        token: Token | None = scope.get("promptuary.token")
        if token is None:  # what needs none: to sign in, and files
            if (open_area := self.areas.get(match.route.area)) is None:
                raise Refusal(404, NOT_FOUND)
            await open_area(scope, self._counted(receive), send)
            return
        with self.running.of(token.id):
            if match.route.area != "server":
                area = self.areas.get(match.route.area)
                if area is None:
                    raise Refusal(404, NOT_FOUND)
                await area(scope, self._counted(receive), send)
            elif match.route.path == "/metrics":
                await send_answer(send, 200, self.metrics.text(), CONTENT_TYPE)
            elif match.route.path == "/readyz":
                await self._send_readiness(send)
            else:
                await send_answer(send, 200, b"", b"text/plain")

    async def _keep_typed(self, scope: Scope, receive: Receive, refusal: Refusal) -> None:
        """Read a form of our page whose session has ended meanwhile, so that nobody types it again."""
        if refusal.status == 401 and scope.get("promptuary.page") and scope["method"] == "POST":
            with suppress(Refusal, ClientGone):
                check_sender(scope, self.doors)
                check_form(scope)
                await keep_form(scope, self._counted(receive))

    def _counted(self, receive: Receive) -> Receive:
        async def receive_next() -> MutableMapping[str, Any]:
            message = await receive()
            if body := message.get("body"):
                self.metrics.add("received_bytes", len(body))
            return message

        return receive_next

    async def _send_readiness(self, send: Send) -> None:
        if self._failure:
            raise Refusal(503, "a workspace cannot be opened; the log says why")
        if not self.workspaces.are_open:
            raise Refusal(503, "workspaces are being opened")
        await send_answer(send, 200, b'{"ready":true}')

    def _write_down(self, scope: Scope, status: int, seconds: float) -> None:
        token: Token | None = scope.get("promptuary.token")
        request: Request | None = scope.get("promptuary.request")
        # An unknown path or method is somebody's text: what is not in our tables is not written.
        route = request.match.route.path if request else "-"
        method = scope["method"] if scope["method"] in _METHODS else "-"
        if request:
            self.metrics.observe(route, status, seconds)
        else:
            self.metrics.add("refused", status=str(status))
        thread, turn = (request.thread, request.turn) if request else ("", "")
        self._audit.add(Entry(method, route, status, seconds * 1000, token, thread, turn))


class _Answer:
    """A ``send`` that knows what was sent. The status is 499 if the client went away before anything was."""

    def __init__(self, send: Send, metrics: Metrics) -> None:
        self._send, self._metrics = send, metrics
        self.status = 499
        self._started = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self._started = message["status"], True
        elif body := message.get("body"):
            self._metrics.add("sent_bytes", len(body))
        await self._send(message)

    async def refuse(self, scope: Scope, refusal: Refusal) -> None:
        """Answer with an error in the shape of the protocol, unless an answer has begun."""
        if self._started:
            return
        if scope.get("promptuary.page") and not scope["raw_path"].endswith(b".json"):
            await self._refuse_page(scope, refusal)
            return
        protocol = "api" if scope.get("promptuary.page") else find_protocol(scope["raw_path"])
        body = error_body(protocol, refusal.status, refusal.message, code=refusal.code)
        kind = CONTENT_TYPE_OF_PROBLEMS if protocol == "api" else b"application/json"
        # What was not read of a body would be read as the next request.
        more = [(b"connection", b"close")]
        more += [(b"www-authenticate", b"Bearer")] if refusal.status == 401 else []
        # Clients ask again for a minute, and the person waits for the sentence; only a limit passes by itself.
        more += [(b"x-should-retry", b"false")] if refusal.status < 500 and refusal.status != 429 else []
        more += [(b"cache-control", b"no-store")] if scope.get("promptuary.page") else []
        send = with_headers(self) if scope.get("promptuary.page") else self
        with suppress(OSError):
            await send_answer(send, refusal.status, b"" if scope["method"] == "HEAD" else body, kind, more)

    async def _refuse_page(self, scope: Scope, refusal: Refusal) -> None:
        """Answer with a page. Who came over a link of another site has sent no cookie, and is led on to do so."""
        is_from_elsewhere = values(scope["headers"], b"sec-fetch-site") == [b"cross-site"]
        is_led_on = refusal.status == 401 and is_from_elsewhere and scope["method"] == "GET"
        body = await concurrency.run(lambda: forward_page(scope) if is_led_on else refusal_page(scope, refusal))
        more = [(b"connection", b"close"), (b"cache-control", b"no-store")]
        with suppress(OSError):
            status = 200 if is_led_on else refusal.status
            await send_answer(with_headers(self), status, body, b"text/html; charset=utf-8", more)
