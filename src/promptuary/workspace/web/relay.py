"""Brings requests to a model service on an event loop, and its answers back, byte for byte as they come.

For a server that stands between a client and a service: it waits for many answers at once, knows nothing of what it
carries, and stores nothing. ``services`` says which addresses may be called; redirects are not followed, nothing is
taken from the environment, and no compression is asked for (an answer that is compressed all the same has its header).

An answer is complete, or ``RelayError`` is raised: by ``open`` before the first byte, by ``chunks`` after it. A
connection stays open for the next request; one whose answer was not read to its end is closed at once. Nobody reads
ahead of a slow reader by more than ``_MAX_WAITING`` bytes.
"""

import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import cached_property
from ipaddress import ip_address
from ssl import SSLContext, SSLError
from typing import Final, cast

import httptools
from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.errors import NotReachedError, PromptuaryError, RelayError, SourceError
from promptuary.workspace.web.addresses import Target
from promptuary.workspace.web.deadline import Deadline
from promptuary.workspace.web.refusals import seconds_to_wait
from promptuary.workspace.web.services import service_addresses, service_target

__all__ = ["HOP_HEADER", "Answer", "Headers", "Relay", "RelayError", "RelayLimits"]

Headers = list[tuple[bytes, bytes]]
"""Names, in lower case, and values."""

HOP_HEADER: Final = b"x-promptuary-hop"
"""Names every server that has carried a request, so that none carries it twice."""
_MAX_HOPS: Final = 4
_RETRY_STATUSES: Final = frozenset({502, 503, 504, 529})
_RETRY_PAUSE: Final = 0.5
_MAX_RETRY_AFTER: Final = 2.0
"""A service that asks to wait for longer than these seconds is not asked again: its answer tells the client."""
_MAX_WAITING: Final = 256 * 1024
"""Bytes of an answer that may wait for their reader before no more are taken from the connection."""
_OURS: Final = frozenset(
    b"accept-encoding connection content-length expect host keep-alive proxy-authenticate proxy-authorization "
    b"proxy-connection te trailer transfer-encoding upgrade".split()
)
"""Headers that belong to one connection, not to a request or an answer that is carried over two."""


class RelayLimits(Struct, frozen=True):
    """Seconds to wait for a connection, for the first byte of an answer, and between two pieces of it; and sizes.

    ``connections`` and ``idle_connections`` are for each service. Who has to wait for one of them waits for ``turn``.
    """

    connect: float = 15.0
    first_byte: float = 600.0
    between: float = 300.0
    turn: float = 30.0
    keep_alive: float = 30.0
    connections: int = 512
    idle_connections: int = 32
    head_bytes: int = 128 * 1024
    headers: int = 200


_LIMITS: Final = RelayLimits()


class Answer:
    """The answer of a service. Whoever has it calls ``aclose``, also after an error and when nobody reads on."""

    def __init__(self, connection: "_Connection", service: "_Service") -> None:
        self.status = connection.status
        self.headers: Headers = connection.headers
        self.chunks: AsyncIterator[bytes] = self._chunks()
        self._connection, self._service, self._closed = connection, service, False

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            # After it was released, the connection may carry the answer to somebody else.
            while not self._closed and (data := await self._connection.read(self._service.limits.between)):
                yield data
        finally:
            self._release()

    async def aclose(self) -> None:
        """Close the connection at once, unless the answer is complete: then it is kept for the next request."""
        self._release()

    def _release(self) -> None:
        if not self._closed:
            self._closed = True
            self._service.release(self._connection)


class Relay:
    """Connections to every service that was asked. Belongs to one event loop.

    ``allow_hosts`` may be called with plain http. ``listening`` are the addresses of this server itself, which are
    refused: a request would come back for ever.
    """

    def __init__(
        self,
        allow_hosts: Iterable[str] = (),
        *,
        listening: Iterable[tuple[str, int]] = (),
        limits: RelayLimits = _LIMITS,
    ) -> None:
        self.allow_hosts, self.listening, self.limits = frozenset(allow_hosts), tuple(listening), limits
        self._services: dict[tuple[str, str, int], _Service] = {}
        self._name = secrets.token_hex(8).encode()
        self._closed = False

    @cached_property
    def tls(self) -> SSLContext:
        """How certificates are checked: as everywhere else."""
        from httpcore2 import default_ssl_context  # noqa: PLC0415  (slow to import, and not for a service on this machine)

        context = default_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def open(self, method: str, url: str, headers: Iterable[tuple[bytes, bytes]], body: bytes = b"") -> Answer:
        """Send a request, and return the answer when it begins, whatever its status. Raises ``RelayError``.

        If the service cannot be reached or is overloaded, it is asked once more, unless the client counts its own
        retries: it would ask again, too.
        """
        if self._closed:
            raise RelayError(503, "The server is stopping.")
        try:
            target = service_target(url)
        except PromptuaryError as error:
            raise RelayError(502, str(error)) from None
        head, may_retry = self._head(method, target, headers, body)
        key = (target.scheme, target.host, target.port)
        service = self._services.get(key)
        if service is None:
            service = self._services[key] = _Service(self, target)
        return await _with_retry(service, _Request(method, head, body), may_retry=may_retry)

    async def aclose(self) -> None:
        """Close every connection at once, whatever it is doing."""
        self._closed = True
        for service in self._services.values():
            service.close()

    def _head(
        self, method: str, target: Target, headers: Iterable[tuple[bytes, bytes]], body: bytes
    ) -> tuple[bytes, bool]:
        """Return the head of the request, and whether it may be retried."""
        lines = [b"%b %b HTTP/1.1" % (method.encode(), target.path.encode()), b"host: " + target.authority.encode()]
        hops, retries = b"", b""
        for name, value in headers:
            lowered = name.lower()
            if lowered == HOP_HEADER:
                hops = value
            elif lowered not in _OURS:
                lines.append(b"%b: %b" % (name, value))
                retries = value if lowered == b"x-stainless-retry-count" else retries
        passed = [hop.strip() for hop in hops.split(b",") if hop.strip()]
        if self._name in passed or len(passed) >= _MAX_HOPS:
            raise RelayError(508, f"{target.authority} leads back to this server; configure the address of a service.")
        lines.append(b"%b: %b" % (HOP_HEADER, b", ".join([*passed, self._name])))
        lines.append(b"accept-encoding: identity")
        if body or method in {"POST", "PUT", "PATCH"}:
            lines.append(b"content-length: %d" % len(body))
        if any(b"\r" in line or b"\n" in line or b"\0" in line for line in lines):
            raise RelayError(400, "A header contains a line break.")
        return b"\r\n".join([*lines, b"", b""]), retries.strip() in {b"", b"0"}


class _Request(Struct, frozen=True):
    method: str
    head: bytes
    body: bytes

    def __repr__(self) -> str:
        return f"_Request({self.method!r})"


async def _with_retry(service: "_Service", request: _Request, *, may_retry: bool) -> Answer:
    wait = 0.0
    try:
        answer = await service.ask(request)
    except NotReachedError:
        if not may_retry:
            raise
    else:
        if not may_retry or answer.status not in _RETRY_STATUSES:
            return answer
        wait = seconds_to_wait({name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers})
        if wait > _MAX_RETRY_AFTER:
            return answer
        await answer.aclose()
    # A random part, so that many do not come again at the same time.
    await asyncio.sleep(max(wait, random.uniform(_RETRY_PAUSE / 2, _RETRY_PAUSE)))  # noqa: S311
    return await service.ask(request)


class _Service:
    """The connections to one service."""

    def __init__(self, relay: Relay, target: Target) -> None:
        self.limits = relay.limits
        self._relay, self._target = relay, target
        self._idle: list[_Connection] = []
        self._busy: set[_Connection] = set()
        self._turns = asyncio.Semaphore(relay.limits.connections)

    async def ask(self, request: _Request) -> Answer:
        """Return the answer when its head is complete."""
        await self._wait_for_turn()
        connection = None
        try:
            if self._idle:
                connection = self._idle.pop()
                connection.wake_up()
                if await self._send(connection, request, is_fresh=False):
                    return Answer(connection, self)
                connection = None
            connection = await self._connect()
            await self._send(connection, request, is_fresh=True)
            return Answer(connection, self)
        except BaseException:
            if connection is not None:
                self.release(connection)
            else:
                self._turns.release()
            raise

    async def _send(self, connection: "_Connection", request: _Request, *, is_fresh: bool) -> bool:
        """Send the request and wait for the head of the answer.

        Returns ``False`` if a connection that was idle turns out to be closed before it brought a byte.
        """
        self._busy.add(connection)
        try:
            await connection.ask(request, self.limits.first_byte)
        except NotReachedError as error:
            if is_fresh:
                raise RelayError(error.status, str(error)) from None  # it may have begun to work on it
            self._busy.discard(connection)
            connection.close()
            return False
        return True

    def release(self, connection: "_Connection") -> None:
        """Keep the connection if the answer is complete, else close it."""
        self._turns.release()
        self._busy.discard(connection)
        if connection.is_reusable and len(self._idle) < self.limits.idle_connections:
            self._idle.append(connection)
            connection.rest(self.limits.keep_alive, self._forget)
        else:
            connection.close()

    def close(self) -> None:
        for connection in [*self._idle, *self._busy]:
            connection.close()
        self._idle.clear()

    def _forget(self, connection: "_Connection") -> None:
        with suppress(ValueError):
            self._idle.remove(connection)

    async def _wait_for_turn(self) -> None:
        if not self._turns.locked():
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(self.limits.turn):
                await self._turns.acquire()
        except TimeoutError:
            count = self.limits.connections
            raise RelayError(503, f"{count} requests to {self._target.authority} are open; try again later.") from None

    async def _connect(self) -> "_Connection":
        """Connect to one of the addresses, each of which gets an equal share of the time."""
        name, ends = self._target.authority, time.monotonic() + self.limits.connect
        try:
            addresses = await self._addresses()
        except SourceError as error:
            raise NotReachedError(502, error.reason) from None
        except PromptuaryError as error:
            raise RelayError(502, str(error)) from None
        if any(self._is_own(address) for address in addresses):
            raise RelayError(508, f"{name} is this server itself; configure the address of a service.")
        failure: RelayError = NotReachedError(502, f"{name} refuses the connection or cannot be reached.")
        loop, tls = asyncio.get_running_loop(), self._relay.tls if self._target.scheme == "https" else None
        for tried, address in enumerate(addresses):
            try:
                async with asyncio.timeout((ends - time.monotonic()) / (len(addresses) - tried)):
                    _, connection = await loop.create_connection(
                        lambda: _Connection(name, self.limits),
                        address,
                        self._target.port,
                        ssl=tls,
                        server_hostname=self._target.host if tls else None,
                    )
            except SSLError:
                failure = RelayError(502, f"{name} has no valid certificate (TLS).")
            except TimeoutError:
                failure = NotReachedError(
                    504, f"{name} did not accept a connection within {self.limits.connect:g} seconds."
                )
            except OSError:
                continue
            else:
                return connection
        raise failure

    async def _addresses(self) -> tuple[str, ...]:
        target, allowed = self._target, self._relay.allow_hosts
        deadline = Deadline(target.host, self.limits.connect, time.monotonic() + self.limits.connect)
        if target.address is not None:
            return service_addresses(target, allowed, deadline)
        return await concurrency.run(lambda: service_addresses(target, allowed, deadline))

    def _is_own(self, address: str) -> bool:
        """Whether this server listens at ``address``. One that listens everywhere also notices it by its own header."""
        found = ip_address(address)
        for host, port in self._relay.listening:
            with suppress(ValueError):
                own = ip_address("127.0.0.1" if host == "localhost" else host)
                if port == self._target.port and (found == own or (own.is_unspecified and found.is_loopback)):
                    return True
        return False


class _Connection(asyncio.Protocol):
    """One connection: a request, its answer, and then the next. Parses what comes, and never trusts it."""

    def __init__(self, name: str, limits: RelayLimits) -> None:
        self._name, self._limits = name, limits
        self._transport: asyncio.Transport | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._forget: Callable[[_Connection], None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._reset("")
        self._is_complete = True

    def _reset(self, method: str) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._is_to_head = method == "HEAD"
        self.status, self.headers = 0, Headers()
        self._pieces: list[bytes] = []
        self._waiting, self._head_bytes = 0, 0
        self._has_head = self._has_length = self._keeps_alive = self._is_complete = self._is_paused = False
        self._failure: RelayError | None = None

    # What the service and the relay ask for

    async def ask(self, request: _Request, seconds: float) -> None:
        """Send the request, and wait until the head of the answer is complete."""
        if self._transport is None or self._transport.is_closing():
            raise self._lost()
        self._reset(request.method)
        self._transport.write(request.head + request.body if len(request.body) < 65_536 else request.head)
        if len(request.body) >= 65_536:
            self._transport.write(request.body)
        while not self._has_head:
            await self._wait(seconds, f"{self._name} did not begin to answer within {seconds:g} seconds.")
        if self._failure is not None and not self._pieces:
            raise self._failure

    async def read(self, seconds: float) -> bytes:
        """Return what has come since the last time, as soon as there is something; empty at the end."""
        while not self._pieces:
            if self._is_complete:
                return b""
            await self._wait(seconds, f"{self._name} sent nothing for {seconds:g} seconds.")
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        if self._is_paused and self._transport is not None and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
        return data

    @property
    def is_reusable(self) -> bool:
        return (
            self._is_complete
            and self._has_head
            and self._failure is None
            and self._transport is not None
            and not self._transport.is_closing()
            and self._keeps_alive
            and not self._transport.get_write_buffer_size()
        )

    def rest(self, seconds: float, forget: "Callable[[_Connection], None]") -> None:
        """Wait for the next request, for some seconds."""
        self._forget = forget
        self._pieces.clear()
        if self._is_paused and self._transport is not None:
            self._transport.resume_reading()
        self._expiry = asyncio.get_running_loop().call_later(seconds, self.close)

    def wake_up(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def close(self) -> None:
        """Close at once: what was not sent or read is dropped."""
        self._stop_resting()
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, seconds: float, too_late: str) -> None:
        """Wait until something happens to the answer. Raises ``RelayError`` if that is its end."""
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        self._waiter, self._due = loop.create_future(), loop.time() + seconds
        if self._clock is None:
            self._clock = loop.call_at(self._due, self._look_at_clock)
        try:
            await self._waiter
        except TimeoutError:
            raise RelayError(504, too_late) from None
        finally:
            self._waiter = None

    def _look_at_clock(self) -> None:
        """Wake whoever waits for too long. One timer serves all the waits of an answer: most of them are short."""
        self._clock = None
        loop = asyncio.get_running_loop()
        if self._waiter is not None and loop.time() < self._due:
            self._clock = loop.call_at(self._due, self._look_at_clock)
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(TimeoutError())

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: RelayError) -> None:
        if self._failure is None and not self._is_complete:
            self._failure = error
        self.close()
        self._wake()

    def _lost(self) -> RelayError:
        kind = RelayError if self._head_bytes else NotReachedError
        return kind(502, f"{self._name} closed the connection early.")

    def _stop_resting(self) -> None:
        if self._expiry is not None and self._forget is not None:
            self.wake_up()
            self._forget(self)

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_resting()
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        until_end = self._has_head and not self._has_length and exc is None
        if until_end and self._failure is None:
            self._is_complete = True
        self._fail(self._lost())

    def data_received(self, data: bytes) -> None:
        if self._is_complete or self._failure is not None:
            self.close()  # nobody asked
            return
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(RelayError(502, f"{self._name} does not answer in valid HTTP."))
            return
        if not self._has_head and self._head_bytes > self._limits.head_bytes:
            self._fail(RelayError(502, f"{self._name} sends more than {self._limits.head_bytes} bytes of headers."))
        elif self._waiting > _MAX_WAITING and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    # What the parser calls

    def on_message_begin(self) -> None:
        if self._is_complete:
            self.close()  # more than one answer: whose is the second?

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_complete or self._has_head:  # trailers say nothing to a client that was not told of them
            return
        lowered = name.lower()
        self._has_length = self._has_length or lowered in {b"content-length", b"transfer-encoding"}
        if lowered not in _OURS or lowered == b"content-length":
            self.headers.append((lowered, value))
        if len(self.headers) > self._limits.headers and self._failure is None:
            self._fail(RelayError(502, f"{self._name} sends more than {self._limits.headers} headers."))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._is_complete or status < 200:
            self.headers.clear()  # an answer that only says that one is on its way
            self._has_length = False
            return
        if self._failure is not None:
            return
        self.status, self._has_head, self._keeps_alive = status, True, self._parser.should_keep_alive()
        if self._is_to_head or status in {204, 304}:
            self._has_length = self._is_complete = True

    def on_body(self, body: bytes) -> None:
        if not self._is_complete:
            self._pieces.append(body)
            self._waiting += len(body)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_complete = True
