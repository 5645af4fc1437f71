"""A real HTTP server on loopback that can be scripted to misbehave.

A route is a list of steps that are executed as they are: bytes to send, seconds to wait, or ``RESET``. So one line of a
test describes a slow, endless, lying or silent server. Nothing is checked or repaired here; ``answer`` and ``redirect``
return well-formed responses. Every connection is counted, so that a test can prove that there was none.
"""

import contextlib
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Literal, Self

from promptuary.base import concurrency

RESET: Final = "reset"
"""A step that ends the connection with a TCP reset."""

Step = bytes | float | Literal["reset"]
"""Bytes to send, seconds to wait, or ``RESET``."""

Route = bytes | Callable[[], Iterable[Step]]
"""A whole response, or a function that returns the steps of one."""

_HEAD_LIMIT = 65_536
_LENGTH = re.compile(r"^content-length: *([0-9]{1,9})\r$", re.IGNORECASE | re.MULTILINE)


def answer(
    body: bytes | str,
    content_type: str = "text/html; charset=utf-8",
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Return a well-formed response with a correct ``Content-Length``."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Answer", f"Content-Length: {len(content)}"]
    lines += [f"Content-Type: {content_type}"] if content_type else []
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def redirect(location: str, status: int = 302) -> bytes:
    """Return a response that points to ``location``, in UTF-8, unchecked."""
    return f"HTTP/1.1 {status} Elsewhere\r\nContent-Length: 0\r\nLocation: {location}\r\n\r\n".encode()


class Loopback:
    """The server. It listens from construction until the end of its ``with`` block.

    ``routes`` maps a path (without its query) to a route, ``"*"`` is for all others; a path without a route gets status
    404. It can be changed while the server runs. ``accepted`` counts connections, ``requests`` has the head of each
    request, ``bodies`` its body.
    """

    def __init__(
        self,
        routes: Mapping[str, Route] | None = None,
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.routes = dict(routes or {})
        self.accepted = 0
        self.requests: list[str] = []
        self.bodies: list[bytes] = []
        self._tls = tls
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=64)
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def url(self, path: str = "/", host: str | None = None) -> str:
        """Return the URL of ``path`` here, with ``host`` if that name resolves to this server."""
        name = host or (f"[{self.host}]" if ":" in self.host else self.host)
        return f"{'https' if self._tls else 'http'}://{name}:{self.port}{path}"

    def close(self) -> None:
        """Stop at once: waiting steps are cut short and connections closed."""
        self._stopping.set()
        # Closing a socket does not wake a thread that waits on it; shutting it down does.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        self._threads.append(concurrency.start_daemon(lambda: work(*arguments), name="loopback"))

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                self._open.add(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        # In most tests, the peer disconnects in the middle.
        with contextlib.suppress(OSError):
            secured = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            with secured:
                self._respond(secured)
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def _respond(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head and len(head) < _HEAD_LIMIT:
            data = connection.recv(4096)
            if not data:
                return
            head += data
        head, _, body = head.partition(b"\r\n\r\n")
        text = f"{head.decode('latin-1')}\r\n\r\n"
        length = _LENGTH.search(text)
        while length is not None and len(body) < int(length[1]):
            data = connection.recv(65_536)
            if not data:
                return
            body += data
        self.requests.append(text)
        self.bodies.append(body)
        path = text.split(" ", 2)[1].partition("?")[0]
        route = self.routes.get(path, self.routes.get("*", answer("nothing here", "text/plain", status=404)))
        for step in (route,) if isinstance(route, bytes) else route():
            if not self._take(connection, step):
                return

    def _take(self, connection: socket.socket, step: Step) -> bool:
        if self._stopping.is_set():
            return False
        if isinstance(step, bytes):
            connection.sendall(step)
        elif step == RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
            return False
        elif isinstance(step, float):
            return not self._stopping.wait(step)
        return True
