"""A real server in a thread of its own, and ``Promptuary.open`` as a client of one.

A test with the mark ``over_a_server`` runs twice: on its folder, and as a client of a server of that folder. So what it
says holds for the engine and for the client.
"""

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import uvloop

from promptuary import blocking, engine
from promptuary.base.principals import LOCAL, Principal
from promptuary.client import BlockingClient, Client
from promptuary.server.serve import Newcomers, Options, build_server
from promptuary.server.tokens import SCOPES, Token, TokenStore
from promptuary.workspace.programs.agents.sockets import listening_port


class Answer:
    """The answer to a request: its status, headers in lower case, and whole body."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()


class RunningServer:
    """A server that answers on ``base``; the ``areas`` of its application may be replaced."""

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

    def open_get(self, path: str, headers: str = "") -> socket.socket:
        """Send a GET request over a connection of its own, and return the connection."""
        connection = socket.create_connection(("127.0.0.1", self.port), 20)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{headers}\r\n".encode())
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


@contextmanager
def opened_at_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let ``Promptuary.open`` of both interfaces start a server of the folder, and return a client of it.

    A folder that is opened again, with the same settings, is at the same server.
    """
    servers: dict[object, RunningServer] = {}
    in_folder = engine.Promptuary.open

    with ExitStack() as stack:

        def connect(client: Callable[..., Any], path: str | Path, principal: Principal, options: Any) -> Any:
            options.pop("exact", None)
            in_process = [name for name in ("layers", "chat_model", "access", "current_folder") if options.pop(name, 0)]
            assert not in_process, "this needs the process itself"
            key = (Path(path), repr(sorted(options.items())))
            if key not in servers:
                served = Options(folders={"app": Path(path)}, log="off", settings=options)
                servers[key] = stack.enter_context(running(TokenStore.open(), served))
            found = client(servers[key].base, token=servers[key].create(principal=principal))
            stack.callback(found._remote.connection.close)
            return found

        def open_async(path: str | Path = ".", *, principal: Principal = LOCAL, **options: Any) -> Any:
            if options.get("served"):  # this is the server itself
                return in_folder(path, principal=principal, **options)
            return connect(Client, path, principal, options)

        def open_blocking(path: str | Path = ".", *, principal: Principal = LOCAL, **options: Any) -> Any:
            return connect(BlockingClient, path, principal, options)

        monkeypatch.setattr(engine.Promptuary, "open", open_async)
        monkeypatch.setattr(blocking.Promptuary, "open", open_blocking)
        yield
