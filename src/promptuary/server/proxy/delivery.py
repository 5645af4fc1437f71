"""Brings a request to a model service and its answer to the client, byte for byte, beside whoever reads along.

If the client goes away, the connection to the service is closed at once, whether the answer is streamed or not. Until
the first byte of a stream, the client is kept waiting with what its protocol has for that.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeVar

from promptuary.base.errors import RelayError
from promptuary.server.asgi import ClientGone, Receive, Send, send_answer
from promptuary.server.errors import Protocol, error_body
from promptuary.server.proxy.upstreams import Headers
from promptuary.server.proxy.wire import AnswerReader, Dialect
from promptuary.workspace.web.relay import Answer

KEEP_ALIVE_SECONDS: Final = 15.0
_MAX_HELD: Final = 1024 * 1024
"""A whole answer of at most so many bytes is sent when it is complete: what was made upstream is then known as made."""

Result = TypeVar("Result")


async def while_connected(receive: Receive, work: Awaitable[Result]) -> Result:
    """Return the result of ``work``, which is cancelled if the client goes away: that raises ``ClientGone``."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        # Also if this task itself is cancelled: its token was revoked, or the server stops.
        for other in (task, gone):
            other.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Delivery:
    """One answer on its way. ``read`` is called with each piece of it before the client gets that piece."""

    def __init__(self, send: Send, dialect: Dialect | None, protocol: Protocol, keep_alive: float) -> None:
        self._send, self._dialect, self._protocol, self._keep_alive = send, dialect, protocol, keep_alive
        self._started = self._is_stream = False
        self.status = 0
        self.reader: AnswerReader | None = None
        """What was read of the answer; ``None`` if there is none that could be read."""

    async def bring(
        self,
        opening: Awaitable[Answer],
        headers: Callable[[Answer | None], Headers],
        *,
        streams: bool,
        on_read: Callable[[], None],
    ) -> None:
        """Send the answer to the client.

        ``on_read`` is called when its first piece was read, and when all of it was: each time before the client gets
        that. ``headers`` returns those of the answer; of ``None``, if there is no answer yet. An error of the service
        is sent as such; ``RelayError`` is raised if there is no answer at all, and nothing was sent.
        """
        task = asyncio.ensure_future(opening)
        try:
            answer = await self._wait(task, headers if streams else None)
            await self._pass_on(answer, headers(answer), streams=streams, on_read=on_read)
        except RelayError as error:
            if not self._started:
                raise
            if not self._is_stream:
                raise ClientGone from error  # the connection is closed: what was sent is not the whole
            await self._break_off(error.status, str(error))
        finally:
            if task.done() and not task.cancelled() and task.exception() is None:
                await task.result().aclose()

    async def _wait(self, task: "asyncio.Future[Result]", headers: Callable[[Answer | None], Headers] | None) -> Result:
        """Wait for ``task``; if the client takes a stream, keep it waiting."""
        try:
            while not (await asyncio.wait({task}, timeout=self._keep_alive if headers else None))[0]:
                if headers is not None:
                    if not self._started:
                        await self._start(200, [(b"content-type", b"text/event-stream"), *headers(None)])
                    if self._dialect is not None:
                        await self._say(self._dialect.keep_alive)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _pass_on(self, answer: Answer, headers: Headers, *, streams: bool, on_read: Callable[[], None]) -> None:
        self._is_stream = any(
            name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers
        )
        self.status = answer.status
        if self._dialect is not None:
            self.reader = AnswerReader(self._dialect, streams=self._is_stream)
        if self._started and not (self._is_stream and answer.status == 200):
            # The client already has a stream, because the service took long: its error becomes an event.
            self._read(b"".join([piece async for piece in _bounded(answer.chunks)]))
            await self._break_off(answer.status, _reason(self.reader, answer.status))
        elif self._is_stream:
            if not self._started:
                await self._start(answer.status, headers)
            await self._pass_stream(answer, headers if streams else None, on_read)
        else:
            await self._pass_whole(answer, headers, on_read)

    async def _pass_stream(self, answer: Answer, headers: Headers | None, on_read: Callable[[], None]) -> None:
        pieces = aiter(answer.chunks)
        first = asyncio.ensure_future(_next(pieces))
        piece = await self._wait(first, None if headers is None else lambda _: headers)
        is_first = True
        while piece is not None:
            self._read(piece)
            if is_first:
                on_read()
                is_first = False
            await self._say(piece)
            piece = await _next(pieces)
        on_read()
        await self._end()

    async def _pass_whole(self, answer: Answer, headers: Headers, on_read: Callable[[], None]) -> None:
        held, length = list[bytes](), 0
        async for piece in answer.chunks:
            self._read(piece)
            held.append(piece)
            length += len(piece)
            if length > _MAX_HELD:
                await self._let_go(answer.status, headers, held)
                held, length = [], 0
        on_read()
        await self._let_go(answer.status, headers, held, is_last=True)

    async def _let_go(self, status: int, headers: Headers, held: list[bytes], *, is_last: bool = False) -> None:
        if not self._started:
            length = [(b"content-length", str(sum(map(len, held))).encode())] if is_last else []
            await self._start(status, [*headers, *length])
        await self._send({"type": "http.response.body", "body": b"".join(held), "more_body": not is_last})

    def _read(self, piece: bytes) -> None:
        if self.reader is not None:
            self.reader.feed(piece)

    async def _start(self, status: int, headers: Headers) -> None:
        self._started, self.status = True, status
        self._is_stream = self._is_stream or (b"content-type", b"text/event-stream") in headers
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _say(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _break_off(self, status: int, reason: str) -> None:
        if self._dialect is not None:
            await self._say(self._dialect.error_event(status, reason, ""))
        await self._end()

    async def refuse(self, status: int, reason: str, more: Headers) -> None:
        """Send an error of ours, in the shape of the protocol."""
        self.status = status
        await send_answer(self._send, status, error_body(self._protocol, status, reason), more=more)


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


async def _bounded(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    left = _MAX_HELD
    async for chunk in chunks:
        yield chunk[:left]
        left -= len(chunk)
        if left <= 0:
            return


def _reason(reader: AnswerReader | None, status: int) -> str:
    said = reader.reply().error if reader is not None else ""
    return said or f"The service answered with status {status}."
