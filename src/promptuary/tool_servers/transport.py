"""The two ways to a server, in the form that the package of the protocol takes: streams of messages.

The package's own would read a line of any length, and open connections by themselves. Here, what a server may send is
bounded: a message, and all messages between two of our requests. What is no message is skipped.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio
import httpx2
import mcp_types as types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from promptuary.base.errors import PromptuaryError, RelayError
from promptuary.workspace.programs.tool_program import ToolProgram
from promptuary.workspace.web.service_pool import PoolAnswer, ServicePool

if TYPE_CHECKING:
    from pathlib import Path

    from promptuary.config.tool_servers import NamedServer

LONGEST_MESSAGE: Final = 4 << 20
MOST_MESSAGES: Final = 2_000
"""That a server may send between two of our requests."""
MOST_BYTES: Final = 4 * LONGEST_MESSAGE

OnFailure = Callable[[str], object]
"""Is told, in a few words, why a connection broke."""


class Traffic:
    """Counts what a server sends. Raises ``PromptuaryError`` if that is too much."""

    def __init__(self) -> None:
        self._messages = self._bytes = 0

    def asked(self) -> None:
        """Begin anew: we have asked for something."""
        self._messages = self._bytes = 0

    def count(self, length: int) -> None:
        """Count a message."""
        self._messages, self._bytes = self._messages + 1, self._bytes + length
        if self._messages > MOST_MESSAGES:
            raise PromptuaryError(f"it sends more than {MOST_MESSAGES:,} messages that nobody asked for")
        if self._bytes > MOST_BYTES:
            raise PromptuaryError(f"it sends more than {MOST_BYTES:,} bytes that nobody asked for")


@asynccontextmanager
async def to_program(server: "NamedServer", workspace: "Path", failed: OnFailure) -> AsyncIterator[Any]:
    """Start the program of a server, and yield the streams of messages to and from it. Raises ``PromptuaryError``."""
    program = await ToolProgram.start(
        server.command, server.args, server.env, server.cwd, workspace=workspace, longest_line=LONGEST_MESSAGE
    )
    to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    traffic = Traffic()

    async def read() -> None:
        async with to_session:
            try:
                while (line := await program.read_line()) is not None:
                    traffic.count(len(line))
                    try:
                        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:  # what it prints for people
                        continue
                    await to_session.send(SessionMessage(message))
                failed(f"it has ended{': ' if program.last_words else ''}{program.last_words[-300:]}")
            except PromptuaryError as error:
                failed(str(error))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # we are leaving

    async def write() -> None:
        try:
            async with from_session:
                async for message in from_session:
                    traffic.asked()
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await program.write(text.encode("utf-8", "replace") + b"\n")
        except PromptuaryError as error:
            failed(str(error))
            await to_session.aclose()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield read_stream, write_stream
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await program.stop()
            for stream in (to_session, read_stream, write_stream, from_session):
                await stream.aclose()


@asynccontextmanager
async def to_address(server: "NamedServer", allow_hosts: frozenset[str], failed: OnFailure) -> AsyncIterator[Any]:
    """Yield the streams of messages to and from a server at an address."""
    pool = ServicePool(server.url, allow_hosts=allow_hosts, longest=LONGEST_MESSAGE)
    timeout = httpx2.Timeout(server.timeout)
    async with (
        httpx2.AsyncClient(
            transport=_OwnTransport(pool, server.timeout, failed),
            headers={**server.headers, "accept-encoding": "identity"},
            timeout=timeout,
            trust_env=False,
        ) as http,
        streamable_http_client(server.url, http_client=http, max_sse_event_size=LONGEST_MESSAGE) as streams,
    ):
        yield streams


class _OwnTransport(httpx2.AsyncBaseTransport):
    """Lets the package's client send its requests through the door."""

    def __init__(self, pool: ServicePool, seconds: float, failed: OnFailure) -> None:
        self._pool, self._seconds, self._failed = pool, seconds, failed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. The stream for what a server wants to say unasked is never opened."""
        if request.method == "GET":
            return httpx2.Response(405, request=request)
        try:
            body = await request.aread()
            answer = await self._pool.request(
                request.method, str(request.url), request.headers.raw, body, seconds=self._seconds
            )
        except PromptuaryError as error:
            self._failed(str(error))
            raise httpx2.ConnectError(str(error)) from error
        headers = [(name.lower(), value) for name, value in answer.headers]
        if any(name == b"content-encoding" and value.strip().lower() != b"identity" for name, value in headers):
            await answer.aclose()
            raise httpx2.DecodingError("compressed answers were not asked for, and are not read", request=request)
        return httpx2.Response(answer.status, headers=headers, stream=_Body(answer, self._failed), request=request)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: PoolAnswer, failed: OnFailure) -> None:
        self._answer, self._failed = answer, failed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._answer.body:
                yield part
        except RelayError as error:
            self._failed(str(error))
            raise httpx2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        await self._answer.aclose()
