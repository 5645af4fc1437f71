"""A real server in a thread of its own, for a workspace, with tokens."""

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
import uvloop

from promptuary.server.serve import Newcomers, Options, build_server
from promptuary.server.tokens import SCOPES, Token, TokenStore
from promptuary.workspace.programs.agents.sockets import listening_port
from tests.conftest import Files
from tests.server.upstream import Upstream

if TYPE_CHECKING:
    from tests.server.clients import Clients


class Answer:
    """The answer to a request: its status, headers in lower case, and whole body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()


class RunningServer:
    """A server that answers on ``base``; the ``proxy`` of its application may be replaced."""

    def __init__(self, server: uvicorn.Server, store: TokenStore, port: int) -> None:
        self.server, self.store, self.port = server, store, port
        self.base = f"http://127.0.0.1:{port}"
        self.application: Any = server.config.app
        """The ``Application``."""

    def create(self, **about: Any) -> str:
        """Create a token, by default one that may do everything, and return its secret."""
        return self.store.create(Token("", **{"name": "test", "scopes": frozenset(SCOPES)} | about))[1]

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """Send a request with exactly these headers, besides Host and Content-Length."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, dict(headers or {}))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def open_stream(self, path: str, body: bytes, headers: str = "") -> socket.socket:
        """Send a request over a connection of its own, with a new token, and return the connection."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.create()}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        connection = socket.create_connection(("127.0.0.1", self.port), 20)
        connection.sendall(head.encode() + body)
        return connection

    def stop(self) -> None:
        """Ask the server to end, as a signal does."""
        self.server.should_exit = True


@contextmanager
def running(store: TokenStore, options: Options, newcomers: Newcomers | None = None) -> Iterator[RunningServer]:
    """Run a server in a thread until the end of the block."""
    listening = listening_port(0, backlog=1024)
    server = build_server(listening, store, options, newcomers=newcomers or Newcomers())

    def work() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(server.serve(sockets=[listening]))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    try:
        yield RunningServer(server, store, listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


StartServer = Callable[..., RunningServer]


@pytest.fixture
def start_server(workspace: Path) -> Iterator[StartServer]:
    """Start servers: ``start_server()`` for ``workspace`` as ``app``, or with ``folders`` and other ``Options``."""
    with ExitStack() as stack:

        def start(folders: Mapping[str, Path] | None = None, newcomers: Newcomers | None = None, **more: Any) -> Any:
            options = Options(**{"folders": folders or {"app": workspace}, "log": "off"} | more)
            return stack.enter_context(running(TokenStore.open(), options, newcomers))

        yield start


@pytest.fixture
def server(start_server: StartServer) -> RunningServer:
    """Return a server of the workspace ``app``."""
    return start_server()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as service:
        yield service


@pytest.fixture
def proxied(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, files: Files, start_server: StartServer
) -> RunningServer:
    """Return a server whose services are ``upstream``, with the server's keys for them."""
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.openai_url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-server")
    files({"a.txt": "the text of a\n", "style.md": "# Style\nshort words\n"})
    return start_server()


@pytest.fixture
def clients(proxied: RunningServer) -> Iterator["Clients"]:
    """Return the official clients, with a token that may do everything."""
    from tests.server.clients import Clients

    made = Clients(proxied, proxied.create())
    yield made
    made.close()
