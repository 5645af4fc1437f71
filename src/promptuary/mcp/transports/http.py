"""The server over streamable HTTP, only on loopback. Every request needs a token; ``Host``, ``Origin`` are checked.

A web page in a browser on this machine can also send requests to loopback. It does not know the token, and its origin
reveals it; a host name that DNS resolves to loopback is not an accepted ``Host``.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from promptuary.config.settings import SettingsOptions
from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.transports.answering import answering_hooks
from promptuary.mcp.transports.messages import refusal
from promptuary.mcp.transports.standard_streams import LARGEST
from promptuary.mcp.workspaces import Workspaces

PATH: Final = "/mcp"
_HOSTS: Final = frozenset({b"host", b"origin"})
"""Headers that name a host."""
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class TokenRequired:
    """Passes on requests that carry the token, and answers all others with 401, whatever they ask for."""

    def __init__(self, app: App, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and not self._is_known(scope):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"the token of promptuary mcp is needed\n"})
            return
        await self._app(_in_lower_case(scope), receive, send)

    def _is_known(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        # Names of schemes are case-insensitive.
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _in_lower_case(scope: Scope) -> Scope:
    """Return a request with ``Host`` and ``Origin`` in lower case: host names are case-insensitive."""
    headers = scope.get("headers", [])
    return {**scope, "headers": [(name, value.lower() if name.lower() in _HOSTS else value) for name, value in headers]}


class MessagesAlone:
    """Refuses invalid messages as the standard streams do, and passes on all others."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        body, received = bytearray(), []
        while len(body) <= LARGEST:
            received.append(await receive())
            body += received[-1].get("body", b"")
            if not received[-1].get("more_body"):
                break
        problem = refusal(bytes(body)) if len(body) <= LARGEST and received[-1]["type"] == "http.request" else None
        if problem is None:
            await self._app(scope, _again(received, receive), send)
            return
        said = problem.model_dump_json(by_alias=True, exclude_unset=True).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": said})


def _again(received: "list[MutableMapping[str, Any]]", receive: Receive) -> Receive:
    """Return a ``receive`` that first repeats the messages that were already read."""
    waiting = iter(received)

    async def next_one() -> MutableMapping[str, Any]:
        for one in waiting:
            return one
        return await receive()

    return next_one


def application(server: PromptuaryServer, token: str) -> App:
    """Return the ASGI application."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*_NAMES, *(f"{name}:*" for name in _NAMES)],
        allowed_origins=[f"http://{name}{port}" for name in _NAMES for port in ("", ":*")],
    )
    app = server.protocol.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=LARGEST
    )
    return TokenRequired(MessagesAlone(app), token)


async def serve(listening: Any, token: str, allowed: list[Path], options: SettingsOptions, *, chosen: bool) -> None:
    """Serve on a listening socket, until the process is asked to end."""
    server = PromptuaryServer(workspaces := Workspaces(allowed, options, chosen=chosen), one_client=False)
    config = uvicorn.Config(
        application(server, token),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=512,
    )
    try:
        async with answering_hooks(workspaces):
            await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        await server.close()


def run(listening: Any, token: str, allowed: list[Path], options: SettingsOptions, *, chosen: bool) -> None:
    """Serve until the process is asked to end. ``chosen``: the person named the folders."""
    asyncio.run(serve(listening, token, allowed, options, chosen=chosen))
