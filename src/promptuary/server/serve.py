"""Runs the server: uvicorn, its limits, and which connections it keeps. Of requests it knows nothing.

Whoever has not shown a token keeps a connection for some seconds, and no place of somebody who has.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import uvicorn
import uvloop
from msgspec import Struct
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.config.settings import SettingsOptions
from promptuary.hooks.hook_server import serve_hooks
from promptuary.server.api import Api
from promptuary.server.application import Application
from promptuary.server.audit import Audit, LogFormat
from promptuary.server.clients import Clients
from promptuary.server.guard import Doors, accepted_hosts, read_networks
from promptuary.server.mcp import Mcp
from promptuary.server.metrics import Metrics
from promptuary.server.page.page import PageArea
from promptuary.server.proxy.proxy import Proxy
from promptuary.server.runs import Runs
from promptuary.server.tokens import TokenStore
from promptuary.server.workspaces import Workspaces

MAX_NEWCOMERS: Final = 256
"""The most connections that have not shown a token; one more closes the oldest of them."""
TOKEN_SECONDS: Final = 5.0
MAX_CONNECTIONS: Final = 2048
MAX_HEAD: Final = 64 << 10
"""The most bytes of the first line and the headers of a request."""
_STOP_SECONDS: Final = 10
"""How long answers that are being streamed may go on when the server stops."""
_KEEP_ALIVE_SECONDS: Final = 30


class Options(Struct, frozen=True, kw_only=True):
    """What the person says about a server: its workspaces by name, for whom it listens, and what it logs."""

    folders: Mapping[str, Path]
    host: str = "127.0.0.1"
    names: Collection[str] = ()
    proxies: Collection[str] = ()
    certificate: str = ""
    key: str = ""
    log: LogFormat = "text"
    settings: SettingsOptions = {}


class Newcomers:
    """The connections that have not shown a token yet, the oldest first: few, and none of them for long."""

    def __init__(self, *, most: int = MAX_NEWCOMERS, seconds: float = TOKEN_SECONDS) -> None:
        self._most, self._seconds = most, seconds
        self._waiting: dict[Any, asyncio.Transport] = {}

    def add(self, client: Any, transport: asyncio.Transport) -> None:
        """Let a connection wait for its first request."""
        self._waiting[client] = transport
        asyncio.get_running_loop().call_later(self._seconds, self._close, client, transport)
        if len(self._waiting) > self._most:
            self._close(*next(iter(self._waiting.items())))

    def keep(self, client: Any) -> None:
        """Keep a connection, because a request on it has shown a token; or forget it, because it is closed."""
        self._waiting.pop(client, None)

    def _close(self, client: Any, transport: asyncio.Transport) -> None:
        if self._waiting.get(client) is transport:
            del self._waiting[client]
            transport.abort()

    def connections(self) -> type[HttpToolsProtocol]:
        """Return the class of the server's connections."""
        newcomers = self

        class Connection(HttpToolsProtocol):
            _head = 0
            _in_head = True
            _got_on = False
            _length_of_headers = 0

            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                newcomers.add(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                newcomers.keep(self.client)
                super().connection_lost(exc)

            def data_received(self, data: bytes) -> None:
                self._got_on = False
                super().data_received(data)
                # The parser itself collects the parts of a header without a limit. What ends a head or a request may
                # be mostly a body.
                self._head += len(data) if self._in_head and not self._got_on else 0
                if self._head > MAX_HEAD and self._in_head:
                    self.transport.abort()

            def on_message_begin(self) -> None:
                self._in_head, self._head = True, 0
                super().on_message_begin()

            def on_header(self, name: bytes, value: bytes) -> None:
                self._length_of_headers += len(name) + len(value)
                if self._length_of_headers > MAX_HEAD:
                    raise ValueError("the headers are too long")  # the parser answers 400
                super().on_header(name, value)

            def on_url(self, url: bytes) -> None:
                self._length_of_headers = len(self.url) + len(url)
                super().on_url(url)

            def on_headers_complete(self) -> None:
                self._in_head, self._got_on = False, True
                # A whole URL as the target names a host of its own; of it, only the path would be left.
                self.scope["promptuary.absolute"] = not self.url.startswith(b"/")  # type: ignore[typeddict-unknown-key]
                super().on_headers_complete()

            def on_message_complete(self) -> None:
                self._in_head, self._head, self._got_on = True, 0, True
                super().on_message_complete()

        return Connection


def build_server(listening: Any, store: TokenStore, options: Options, *, newcomers: Newcomers) -> uvicorn.Server:
    """Return a server for a listening socket. Raises ``PromptuaryError`` if its certificate cannot be used."""
    scheme = "https" if options.certificate else "http"
    port = listening.getsockname()[1]
    metrics, workspaces, clients = Metrics(), Workspaces(options.folders, options.settings), Clients()
    hosts = accepted_hosts(options.host, port, options.names, scheme=scheme)
    doors = Doors(hosts, scheme, read_networks(options.proxies), port)
    runs = Runs(store)
    application = Application(
        doors,
        store,
        workspaces,
        metrics=metrics,
        audit=Audit(store, metrics, options.log),
        areas={
            "proxy": Proxy(workspaces, store, metrics, clients, listening=[listening.getsockname()[:2]]),
            "api": Api(workspaces, store, runs),
            "mcp": Mcp(workspaces),
            "page": PageArea(workspaces, store, runs, clients, doors.cookie, is_secure=doors.is_secure),
        },
        keep=newcomers.keep,
    )
    config = uvicorn.Config(
        application,
        http=newcomers.connections(),
        ws="none",
        loop="uvloop",
        lifespan="on",
        proxy_headers=False,  # a header of a request must not change who sends it
        server_header=False,
        log_config=None,
        access_log=False,
        backlog=MAX_CONNECTIONS,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ssl_certfile=options.certificate or None,
        ssl_keyfile=options.key or None,
    )
    # It logs a request that was cut as an error, with a traceback; what failed is logged by the application.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    try:
        config.load()
    except OSError as error:  # also what ssl raises
        raise PromptuaryError(f"the certificate or its key cannot be used: {error}") from error
    server = uvicorn.Server(config)
    metrics.gauges["open_connections"] = lambda: len(server.server_state.connections)
    return server


def run(listening: Any, store: TokenStore, options: Options) -> None:
    """Serve until the process is asked to end."""
    concurrency.share_heaps()
    try:
        server = build_server(listening, store, options, newcomers=Newcomers())
    except PromptuaryError:
        store.close()
        raise

    async def serve() -> None:
        async with serve_hooks(options.folders.values()):
            await server.serve(sockets=[listening])

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
