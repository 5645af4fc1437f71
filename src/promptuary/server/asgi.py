"""The shapes of ASGI, and how a whole body is read or an answer sent. Knows nothing of tokens or routes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping, Sequence
from typing import Any, Final

from promptuary.server.errors import Refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]

MAX_BODY: Final = 64 << 20
"""The most bytes of a body: a million tokens and images."""
_IDLE_SECONDS: Final = 30.0
"""How long the next part of a body may take."""
_BODY_SECONDS: Final = 300.0
"""How long a whole body may take to come: 64 MiB over 2 Mbit/s."""


class ClientGone(Exception):  # noqa: N818  (not an error of anybody)
    """The client has closed the connection."""


def values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Return every value of a header; ``name`` is in lower case, as ASGI has all of them."""
    return [value for header, value in headers if header == name]


def find_session(headers: Headers, name: str) -> str:
    """Return the session that the cookie of the page names; the one function that reads cookies."""
    parts = (part.strip().partition(b"=") for value in values(headers, b"cookie") for part in value.split(b";"))
    found = [value.decode("latin-1") for key, _, value in parts if key == name.encode()]
    return found[0] if len(found) == 1 else ""


async def read_body(
    scope: Scope,
    receive: Receive,
    *,
    most: int = MAX_BODY,
    idle: float = _IDLE_SECONDS,
    seconds: float = _BODY_SECONDS,
) -> bytes:
    """Return the whole body of a request.

    Raises ``Refusal`` if it is too long (also while it comes), compressed or too slow, ``ClientGone`` if it ends early.
    """
    if any(value.strip().lower() not in (b"", b"identity") for value in values(scope["headers"], b"content-encoding")):
        raise Refusal(415, "send the body uncompressed, without Content-Encoding")
    announced = values(scope["headers"], b"content-length")
    if announced and announced[0].isdigit() and int(announced[0][:20]) > most:
        raise _too_long(most)
    parts: list[bytes] = []
    length, end = 0, asyncio.get_running_loop().time() + seconds
    while True:
        try:
            message = await asyncio.wait_for(receive(), min(idle, end - asyncio.get_running_loop().time()))
        except TimeoutError as error:
            reason = f"nothing of the body came for {idle:.0f} seconds, or not all of it in {seconds:.0f}"
            raise Refusal(408, reason) from error
        if message["type"] != "http.request":
            raise ClientGone
        part = message.get("body", b"")
        length += len(part)
        if length > most:
            raise _too_long(most)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _too_long(most: int) -> Refusal:
    return Refusal(413, f"the body has more than {most >> 20} MiB")


async def until_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do some work, which ends when the client goes away: then raises ``ClientGone``."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_wait_until_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        task.result()
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_answer(
    send: Send, status: int, body: bytes, content_type: bytes = b"application/json", more: Headers = ()
) -> None:
    """Send a whole answer."""
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
