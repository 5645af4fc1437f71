"""Connections to a server of ours that the person named, kept open between requests: for the client of the API.

The address is looked up once; plain http is used only where ``services`` allows it, and no redirect is followed, since
the token is sent with every request. It appears in no error. Blocks.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, cast

import httpcore2
from msgspec import Struct

from promptuary._version import __version__
from promptuary.base.errors import NotReachedError, RelayError
from promptuary.workspace.web.deadline import Deadline
from promptuary.workspace.web.services import service_addresses, service_target

MAX_ANSWER: Final = 256 << 20
_CONNECT_SECONDS: Final = 10.0
_MAX_CONNECTIONS: Final = 32
_IDLE_SECONDS: Final = 20.0
"""Less than the server keeps an idle connection."""


class ServerAnswer(Struct, frozen=True):
    """The answer of a server; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class ServerStream(Struct, frozen=True):
    """An answer whose body is still coming. ``close``, from any thread, ends it."""

    status: int
    headers: dict[str, str]
    chunks: Iterator[bytes]
    close: Callable[[], None]


class ServerConnection:
    """The way to one server. May be used from several threads."""

    def __init__(self, url: str, token: str, *, timeout: float = 120.0, allow_hosts: Iterable[str] = ()) -> None:
        self._target, self._timeout = service_target(url), timeout
        self._allow_hosts = frozenset(allow_hosts)
        self._headers = [
            ("Host", self._target.authority),
            ("User-Agent", f"promptuary/{__version__}"),
            ("Authorization", f"Bearer {token}"),
        ]
        self._lock = threading.Lock()
        self._pool: httpcore2.ConnectionPool | None = None

    @property
    def base(self) -> str:
        """The path of its address, without a slash at the end."""
        return self._target.path.rstrip("/")

    def request(
        self, method: str, path: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None
    ) -> ServerAnswer:
        """Send a request, and return the answer, whatever its status. Raises ``RelayError`` if there is none.

        If an idle connection turns out to be closed, the request is sent again over a new one.
        """
        with self.stream(method, path, headers, body) as answer:
            parts, length = [], 0
            for part in answer.chunks:
                parts.append(part)
                length += len(part)
                if length > MAX_ANSWER:
                    raise RelayError(502, f"the server answers with more than {MAX_ANSWER >> 20} MiB")
            return ServerAnswer(answer.status, answer.headers, b"".join(parts))

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        idle: float | None = None,
    ) -> Iterator[ServerStream]:
        """Send a request, and yield the answer while its body comes; ``idle`` is how long the next part may take."""
        seconds = {"connect": _CONNECT_SECONDS, "read": idle or self._timeout, "write": self._timeout, "pool": 60.0}
        sent = [*self._headers, *headers]
        sent += [] if body is None else [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        target = self._target
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=f"{self.base}{path}")
        with (
            self._translate_errors(),
            self._connections().stream(
                method, url, headers=sent, content=body, extensions={"timeout": seconds}
            ) as answer,
        ):
            found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
            end = partial(_end, answer.extensions.get("network_stream"))
            yield ServerStream(answer.status, found, iter(cast("Iterable[bytes]", answer.stream)), end)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    def _connections(self) -> httpcore2.ConnectionPool:
        with self._lock:
            if self._pool is None:
                deadline = Deadline(self._target.host, _CONNECT_SECONDS, time.monotonic() + _CONNECT_SECONDS)
                addresses = service_addresses(self._target, self._allow_hosts, deadline)
                self._pool = httpcore2.ConnectionPool(
                    max_connections=_MAX_CONNECTIONS,
                    keepalive_expiry=_IDLE_SECONDS,
                    retries=1,
                    network_backend=_Pinned(addresses),
                )
            return self._pool

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        where = self._target.authority
        try:
            yield
        except httpcore2.ConnectError as error:
            why = (
                "has no valid certificate" if "SSL" in str(error) else "cannot be reached; is promptuary serve running?"
            )
            raise NotReachedError(502, f"the server {where} {why}") from error
        except (httpcore2.ConnectTimeout, httpcore2.PoolTimeout) as error:
            raise NotReachedError(504, f"the server {where} cannot be reached in time") from error
        except httpcore2.TimeoutException as error:
            raise RelayError(504, f"the server {where} does not answer in time") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise RelayError(502, f"the server {where} closed the connection before it had answered") from error


def _end(stream: httpcore2.NetworkStream | None) -> None:
    """End a connection: a thread that waits for it gets an error at once."""
    found = stream.get_extra_info("socket") if stream is not None else None
    if isinstance(found, socket.socket):
        with suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)


class _Pinned(httpcore2.SyncBackend):
    """Connects to the addresses that were looked up and checked, whatever the name."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = tuple(addresses)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in self._addresses:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure
