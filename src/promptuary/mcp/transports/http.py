"""The server over streamable HTTP, on loopback alone: a token for every request, ``Host`` and ``Origin`` checked.

A page in a browser of this machine can send requests to loopback, too. It knows no token, and its origin gives it away;
a name that leads here by DNS is no host that is answered.
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
from promptuary.mcp.workspaces import Workspaces

PATH: Final = "/mcp"
LARGEST_BODY: Final = 4 << 20
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class TokenRequired:
    """Lets requests through that carry the token, and answers all others with 401, whatever they ask for."""

    def __init__(self, app: App, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and not self._is_known(scope):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"the token of promptuary mcp is needed\n"})
            return
        await self._app(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


def application(server: PromptuaryServer, token: str) -> App:
    """Return the application that answers HTTP."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in _NAMES],
        allowed_origins=[f"http://{name}:*" for name in _NAMES],
    )
    app = server.protocol.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, max_request_body_size=LARGEST_BODY
    )
    return TokenRequired(app, token)


async def serve(listening: Any, token: str, allowed: list[Path], options: SettingsOptions) -> None:
    """Serve on a socket that listens, until the process is asked to end."""
    server = PromptuaryServer(workspaces := Workspaces(allowed, options), one_client=False)
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


def run(listening: Any, token: str, allowed: list[Path], options: SettingsOptions) -> None:
    """Serve until the process is asked to end."""
    asyncio.run(serve(listening, token, allowed, options))
