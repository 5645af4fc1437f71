"""Connections of an event loop to one service of the person, for a client library that brings its own HTTP.

Like ``connection``, which is for threads: the address is looked up once and checked by ``services``, a redirect is
followed nowhere, and what the library asks for at another address is refused. Imported only with an extra that has the
asynchronous half of the HTTP package.
"""

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import suppress
from ssl import SSLContext
from typing import Final, cast

import httpcore2
from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, RelayError, SourceError
from promptuary.workspace.web.deadline import Deadline
from promptuary.workspace.web.services import service_addresses, service_target

_CONNECT_SECONDS: Final = 10.0
_MAX_CONNECTIONS: Final = 8
_IDLE_SECONDS: Final = 20.0


class PoolAnswer(Struct, frozen=True):
    """An answer whose body is still coming: reading more of it than allowed raises ``RelayError``."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    body: AsyncIterator[bytes]
    opened: httpcore2.Response

    async def aclose(self) -> None:
        """Close the connection, unless the answer is complete."""
        await self.opened.aclose()


class ServicePool:
    """The connections to one service."""

    def __init__(self, url: str, *, allow_hosts: Iterable[str] = (), longest: int) -> None:
        self._target, self._longest = service_target(url), longest
        self._allow_hosts = frozenset(allow_hosts)
        self._pool: httpcore2.AsyncConnectionPool | None = None

    async def request(
        self, method: str, url: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, *, seconds: float
    ) -> PoolAnswer:
        """Send a request, once, and return the answer when its body begins. Raises ``RelayError``."""
        target = service_target(url)
        if (target.scheme, target.authority) != (self._target.scheme, self._target.authority):
            raise RelayError(502, f"{self._target.authority} sends its clients to {target.authority}, which is refused")
        pool = await self._connections()
        limits = {"connect": _CONNECT_SECONDS, "read": seconds, "write": seconds, "pool": seconds}
        where = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        request = httpcore2.Request(method, where, headers=headers, content=body, extensions={"timeout": limits})
        try:
            answer = await pool.handle_async_request(request)
        except httpcore2.TimeoutException as error:
            raise RelayError(504, f"{target.authority} does not answer in time") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            why = "has no valid certificate (TLS)" if "SSL" in str(error) else "refuses the connection or ends it"
            raise RelayError(502, f"{target.authority} {why}") from error
        return PoolAnswer(answer.status, answer.headers, self._bounded(answer), answer)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._pool is not None:
            await self._pool.aclose()
            self._pool = None

    async def _bounded(self, answer: httpcore2.Response) -> AsyncIterator[bytes]:
        length = 0
        try:
            async for part in cast("AsyncIterable[bytes]", answer.stream):
                length += len(part)
                if length > self._longest:
                    raise RelayError(502, f"{self._target.authority} answers with more than {self._longest:,} bytes")
                yield part
        except httpcore2.TimeoutException as error:
            raise RelayError(504, f"{self._target.authority} stopped in the middle of an answer") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise RelayError(502, f"{self._target.authority} broke off an answer") from error

    async def _connections(self) -> httpcore2.AsyncConnectionPool:
        if self._pool is None:
            deadline = Deadline(self._target.host, _CONNECT_SECONDS, time.monotonic() + _CONNECT_SECONDS)
            try:
                addresses = await concurrency.run(lambda: service_addresses(self._target, self._allow_hosts, deadline))
            except SourceError as error:
                raise RelayError(502, error.reason) from None
            except PromptuaryError as error:
                raise RelayError(502, str(error)) from None
            self._pool = httpcore2.AsyncConnectionPool(
                max_connections=_MAX_CONNECTIONS,
                keepalive_expiry=_IDLE_SECONDS,
                network_backend=_Pinned(addresses),
            )
        return self._pool


class _Pinned(httpcore2.AsyncNetworkBackend):
    """Connects to the addresses that were looked up and checked, whatever the name."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = tuple(addresses)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        del local_address, socket_options
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in self._addresses:
            try:
                async with asyncio.timeout(timeout):
                    return _Stream(*await asyncio.open_connection(address, port))
            except TimeoutError as error:
                failure = httpcore2.ConnectTimeout(str(error))
            except OSError as error:
                failure = httpcore2.ConnectError(str(error))
        raise failure

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection of asyncio. The package's own opens one in a task of its own, where nobody sees who asked for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                return await self._reader.read(max_bytes)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except TimeoutError as error:
            raise httpcore2.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore2.ConnectError(f"SSL: {error}") from error
        return self

    def get_extra_info(self, info: str) -> object:
        if info == "is_readable":  # whether an idle connection was closed at the other end
            return self._reader.at_eof()
        return self._writer.get_extra_info({"ssl_object": "ssl_object", "socket": "socket"}.get(info, info))
