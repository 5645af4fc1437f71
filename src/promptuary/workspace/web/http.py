"""One HTTP request to a server whose addresses were already checked.

The only importer of the HTTP library; imported only when something is fetched. Knows no policy and follows no
redirects: it connects to exactly the given addresses, whatever the name, applies the deadline to every read and write,
and checks sizes before it stores bytes.
"""

import socket
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import httpcore2
from msgspec import Struct

from promptuary._version import __version__
from promptuary.base.errors import Code, SourceError

if TYPE_CHECKING:
    from ssl import SSLContext

    from promptuary.workspace.web.addresses import Target
    from promptuary.workspace.web.deadline import Deadline

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_HEADERS = 200
_HEAD_ROOM = 128 * 1024  # bytes on the wire in addition to the body: the headers and the framing of chunks
_ENCODINGS = {"": 0, "identity": 0, "gzip": 31, "x-gzip": 31, "deflate": 15}
_HEADERS = (
    ("User-Agent", f"promptuary/{__version__}"),
    ("Accept", "text/html, text/markdown, text/plain, application/json, application/pdf, */*;q=0.5"),
    ("Accept-Encoding", "gzip, deflate"),
    ("Connection", "close"),
)


class HttpResponse(Struct, frozen=True):
    """A response with its body, decompressed; or with the URL of its ``redirect`` and no body."""

    headers: dict[str, str]
    body: bytes
    redirect: str | None = None


def get(target: "Target", addresses: Sequence[str], *, max_bytes: int, deadline: "Deadline") -> HttpResponse:
    """Send a GET request to one of ``addresses``. Raises ``SourceError`` for all but a success or a redirect."""
    backend = _PinnedBackend(addresses, deadline, max_bytes + _HEAD_ROOM)
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    headers = [("Host", target.authority), *_HEADERS]
    with (
        _translate_errors(target.host, deadline),
        httpcore2.ConnectionPool(network_backend=backend) as pool,
        pool.stream("GET", url, headers=headers) as response,
    ):
        answer = _read_response(target.host, response, max_bytes, deadline)
    return answer if answer.redirect is not None else _decompress(target.host, answer, max_bytes)


class HttpStream(Struct, frozen=True):
    """A response whose body is streamed, or that leads to the URL of its ``redirect``."""

    status: int
    headers: dict[str, str]
    chunks: Iterator[bytes]
    redirect: str | None = None


class CancelToken:
    """Ends a connection from another thread, at any time: before it is made, while it waits, while it is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._ended = threading.Event()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for ``seconds``, or until the connection is ended; return whether it is."""
        return self._ended.wait(seconds)

    def cancel(self) -> None:
        """End the connection: a thread that waits for it gets an error at once."""
        with self._lock:
            self._ended.set()
            while self._sockets:
                with suppress(OSError):
                    self._sockets.pop().shutdown(socket.SHUT_RDWR)

    def watch(self, stream: httpcore2.NetworkStream) -> None:
        """Register ``stream``, so that ``cancel`` ends it, too."""
        found = stream.get_extra_info("socket")
        if isinstance(found, socket.socket):
            with self._lock:
                self._sockets.append(found)
        if self.ended:
            self.cancel()


@contextmanager
def stream(
    target: "Target",
    addresses: Sequence[str],
    headers: Iterable[tuple[str, str]],
    *,
    max_bytes: int,
    deadline: "Deadline",
    body: bytes | None = None,
    cancel_token: CancelToken | None = None,
) -> Iterator[HttpStream]:
    """Send a request to one of ``addresses``, and yield the response, whatever its status, uncompressed.

    It is a POST request if there is a ``body``, else a GET request. ``cancel_token`` can end it from another thread.
    """
    backend = _PinnedBackend(addresses, deadline, max_bytes + _HEAD_ROOM, cancel_token)
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    plain = [("Host", target.authority), _HEADERS[0], ("Accept-Encoding", "identity"), _HEADERS[3], *headers]
    plain += [] if body is None else [("Content-Length", str(len(body)))]
    method = "GET" if body is None else "POST"
    with (
        _translate_errors(target.host, deadline),
        httpcore2.ConnectionPool(network_backend=backend) as pool,
        pool.stream(method, url, headers=plain, content=body) as response,
    ):
        found = _headers(target.host, response)
        if found.get("content-encoding", "identity") != "identity":
            raise SourceError(Code.UNSUPPORTED_TYPE, f"{target.host} uses a compression that was not requested.")
        redirect = found.get("location") if response.status in _REDIRECTS else None
        yield HttpStream(response.status, found, iter(cast("Iterable[bytes]", response.stream)), redirect)


def post(
    target: "Target",
    addresses: Sequence[str],
    body: bytes,
    headers: Iterable[tuple[str, str]],
    *,
    max_bytes: int,
    deadline: "Deadline",
) -> tuple[int, HttpResponse]:
    """Send a POST request to one of ``addresses``; return the status, whatever it is, and the response."""
    backend = _PinnedBackend(addresses, deadline, max_bytes + _HEAD_ROOM)
    url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
    sent = [("Host", target.authority), _HEADERS[0], *_HEADERS[2:], *headers, ("Content-Length", str(len(body)))]
    with (
        _translate_errors(target.host, deadline),
        httpcore2.ConnectionPool(network_backend=backend) as pool,
        pool.stream("POST", url, headers=sent, content=body) as response,
    ):
        received = _headers(target.host, response)
        answer = HttpResponse(received, _body(target.host, response, received, max_bytes, deadline))
    return response.status, _decompress(target.host, answer, max_bytes)


@contextmanager
def _translate_errors(host: str, deadline: "Deadline") -> Iterator[None]:
    """Translate the errors of the HTTP library into ``SourceError``."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise deadline.timeout_error() from error
    except httpcore2.ConnectError as error:
        tls = "SSL" in str(error)
        why = "has no valid certificate (TLS)" if tls else "refuses the connection or cannot be reached"
        raise _failure(f"{host} {why}.") from error
    except httpcore2.NetworkError as error:
        raise _failure(f"{host} closed the connection early.") from error
    except httpcore2.ProtocolError as error:
        is_lost = "closed connection" in str(error) or "disconnected" in str(error)
        why = "closed the connection early" if is_lost else "does not answer in valid HTTP"
        raise _failure(f"{host} {why}.") from error


def _read_response(host: str, response: httpcore2.Response, max_bytes: int, deadline: "Deadline") -> HttpResponse:
    headers = _headers(host, response)
    if response.status in _REDIRECTS and "location" in headers:
        return HttpResponse(headers, b"", headers["location"])
    if not 200 <= response.status < 300:
        raise _failure(f"{host} answers with HTTP status {response.status}.")
    return HttpResponse(headers, _body(host, response, headers, max_bytes, deadline))


def _headers(host: str, response: httpcore2.Response) -> dict[str, str]:
    if len(response.headers) > _MAX_HEADERS:
        raise _failure(f"{host} sends more than {_MAX_HEADERS} headers.")
    return {name.decode("latin-1").lower(): value.decode("utf-8", "replace") for name, value in response.headers}


def _body(
    host: str, response: httpcore2.Response, headers: dict[str, str], max_bytes: int, deadline: "Deadline"
) -> bytes:
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large(host, max_bytes)
    body = bytearray()
    for chunk in cast("Iterable[bytes]", response.stream):
        deadline.remaining()
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(host, max_bytes)
    return bytes(body)


def _decompress(host: str, answer: HttpResponse, max_bytes: int) -> HttpResponse:
    """Decompress the body, to at most one byte more than the limit."""
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    window = _ENCODINGS.get(encoding)
    if window is None:
        raise SourceError(Code.UNSUPPORTED_TYPE, f"{host} uses a compression that was not requested.")
    if not window or not answer.body:
        return answer
    # Servers send both kinds of "deflate": with the header that the standard requires, and without.
    bare = encoding == "deflate" and (answer.body[0] & 15 != 8 or int.from_bytes(answer.body[:2], "big") % 31)
    decompressor = zlib.decompressobj(-15 if bare else window)
    try:
        body = decompressor.decompress(answer.body, max_bytes + 1)
    except zlib.error as error:
        raise _failure(f"{host} sends a body that cannot be decompressed.") from error
    if len(body) > max_bytes:
        raise _too_large(host, max_bytes)
    if not decompressor.eof or decompressor.unused_data:
        raise _failure(f"{host} sends an incomplete compressed body.")
    return HttpResponse(answer.headers, body)


class _PinnedBackend(httpcore2.NetworkBackend):
    """Connects to the addresses that were checked, whatever the name: there is no second lookup."""

    def __init__(
        self, addresses: Sequence[str], deadline: "Deadline", budget: int, cancel_token: CancelToken | None = None
    ) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._budget = budget
        self._cancel_token = cancel_token

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002  (ours is what is left)
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for tried, address in enumerate(self._addresses):
            # Each address gets an equal share of the time, so that one that drops packets leaves time for the next.
            share = self._deadline.remaining() / (len(self._addresses) - tried)
            try:
                stream = httpcore2.SyncBackend().connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                if self._cancel_token:
                    self._cancel_token.watch(stream)
                return _GuardedStream(stream, self._deadline, self._budget)
        raise failure


class _GuardedStream(httpcore2.NetworkStream):
    """A connection that applies the deadline to each read and write, and limits the bytes that are read."""

    def __init__(self, inner: httpcore2.NetworkStream, deadline: "Deadline", budget: int) -> None:
        self._inner = inner
        self._deadline = deadline
        self._budget = budget

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        data = self._inner.read(max_bytes, self._deadline.remaining())
        self._budget -= len(data)
        if self._budget < 0:
            raise SourceError(Code.RESPONSE_TOO_LARGE, f"{self._deadline.host} sends more than the limit for a page.")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._inner.write(buffer, self._deadline.remaining())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: "SSLContext",
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        try:
            secured = self._inner.start_tls(ssl_context, server_hostname, self._deadline.remaining())
        except BaseException:
            self._inner.close()  # past the deadline the library does not do this
            raise
        return _GuardedStream(secured, self._deadline, self._budget)

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


def _too_large(host: str, max_bytes: int) -> SourceError:
    return SourceError(Code.RESPONSE_TOO_LARGE, f"{host} sends more than {max_bytes} bytes.")


def _failure(reason: str) -> SourceError:
    return SourceError(Code.FETCH_FAILED, reason)
