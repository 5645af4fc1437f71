"""The server over streamable HTTP, only on loopback. Every request needs a token; ``Host``, ``Origin`` are checked.

A web page in a browser on this machine can also send requests to loopback. It does not know the token, and its origin
reveals it; a host name that DNS resolves to loopback is not an accepted ``Host``. Whoever has not shown the token keeps
a connection for some seconds, and no place of somebody who has.
"""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any, Final

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from promptuary.config.settings import SettingsOptions
from promptuary.hooks.hook_server import serve_hooks
from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.transports.messages import refusal
from promptuary.mcp.transports.standard_streams import MAX_BYTES
from promptuary.mcp.workspaces import Workspaces

PATH: Final = "/mcp"
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_ORIGIN: Final = re.compile(rb"http://(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_TOKEN_SECONDS: Final = 5.0
_MAX_NEWCOMERS: Final = 256
"""The most connections that have not shown the token; one more closes the oldest of them."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Newcomers:
    """The connections that have not shown the token yet, the oldest first: few, and none of them for long."""

    def __init__(self) -> None:
        self._waiting: dict[Any, asyncio.Transport] = {}

    def add(self, transport: asyncio.Transport) -> None:
        """Let a connection wait for its first request."""
        peer = transport.get_extra_info("peername")
        self._waiting[peer] = transport
        asyncio.get_running_loop().call_later(_TOKEN_SECONDS, self._close, peer, transport)
        if len(self._waiting) > _MAX_NEWCOMERS:
            self._close(*next(iter(self._waiting.items())))

    def keep(self, peer: Any) -> None:
        """Keep a connection, because a request on it has shown the token."""
        self._waiting.pop(peer, None)

    def _close(self, peer: Any, transport: asyncio.Transport) -> None:
        if self._waiting.get(peer) is transport:
            del self._waiting[peer]
            transport.abort()

    def connections(self) -> type[H11Protocol]:
        """Return the class of the server's connections."""
        newcomers = self

        class Connection(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                newcomers.add(transport)

        return Connection


class TokenGuard:
    """Passes on requests that carry the token and are meant for this server, and refuses all others."""

    def __init__(self, app: App, token: str, port: int, newcomers: Newcomers) -> None:
        self._app, self._token, self._newcomers = app, token.encode(), newcomers
        self._hosts = {f"{name}{end}".encode() for name in _NAMES for end in ("", f":{port}")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if (refused := self._refusal(scope)) is not None:
            status, sentence = refused
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the sentence that a request is refused with; ``None`` if it is not."""
        if not self._is_known(_values(scope, b"authorization")):
            return 401, "the token of promptuary mcp is needed"
        self._newcomers.keep(scope["client"])
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "the Host of the request is not that of promptuary mcp"
        if not scope["raw_path"].startswith(b"/"):  # a whole URL, as for a proxy, names a host of its own
            return 400, "the target of the request must be a path"
        if len(origins) > 1 or not all(map(_ORIGIN.fullmatch, origins)):
            return 403, "the Origin of the request is not on this machine"
        if scope["path"] != PATH:
            return 404, f"the address is {PATH}"
        return None

    def _is_known(self, given: "list[bytes]") -> bool:
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        # Names of schemes are case-insensitive.
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _values(scope: Scope, name: bytes) -> "list[bytes]":
    return [value for header, value in scope["headers"] if header.lower() == name]


class MessageFilter:
    """Refuses invalid messages as the standard streams do, and passes on all others."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, received = bytearray(), []
        while len(body) <= MAX_BYTES:
            received.append(await receive())
            body += received[-1].get("body", b"")
            if not received[-1].get("more_body"):
                break
        problem = refusal(bytes(body)) if len(body) <= MAX_BYTES and received[-1]["type"] == "http.request" else None
        if problem is None:
            await self._app(scope, receive_again(received, receive), send)
            return
        said = problem.model_dump_json(by_alias=True, exclude_unset=True).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": said})


def receive_again(received: "Iterable[MutableMapping[str, Any]]", receive: Receive) -> Receive:
    """Return a ``receive`` that first repeats the messages that were already read."""
    waiting = iter(received)

    async def receive_next() -> MutableMapping[str, Any]:
        for message in waiting:
            return message
        return await receive()

    return receive_next


def session_manager(server: PromptuaryServer) -> StreamableHTTPSessionManager:
    """Return the sessions of a server's clients, which answer requests while they ``run``.

    Who sends a request is checked before: of a ``Host``, the package would accept any text after the colon.
    """
    return StreamableHTTPSessionManager(
        server.protocol,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=MAX_BYTES,
    )


async def serve(
    listening: Any, token: str, allowed: list[Path], options: SettingsOptions, *, chosen: bool, **offered: Any
) -> None:
    """Serve on a listening socket, until the process is asked to end."""
    server = PromptuaryServer(workspaces := Workspaces(allowed, options, chosen=chosen), one_client=False, **offered)
    newcomers, sessions = Newcomers(), session_manager(server)
    config = uvicorn.Config(
        TokenGuard(MessageFilter(sessions.handle_request), token, listening.getsockname()[1], newcomers),
        http=newcomers.connections(),
        ws="none",
        lifespan="off",
        proxy_headers=False,  # a header of a request must not change who sends it
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=512,
    )
    try:
        async with serve_hooks(workspaces.allowed), sessions.run():
            await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        await server.close()


def run(
    listening: Any, token: str, allowed: list[Path], options: SettingsOptions, *, chosen: bool, **offered: Any
) -> None:
    """Serve until the process is asked to end. ``chosen``: the person named the folders."""
    asyncio.run(serve(listening, token, allowed, options, chosen=chosen, **offered))
