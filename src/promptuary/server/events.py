"""Changes as Server-Sent Events: a stream that a client resumes with the id of the last event it has seen.

Knows nothing of routes or tokens: whoever starts ``stream`` cancels it when the client goes away or loses its rights.
"""

import json
from typing import Final

from msgspec import to_builtins

from promptuary.changes.values import START, Change
from promptuary.engine import Promptuary
from promptuary.server.asgi import Send

KEEP_ALIVE: Final = b": keep-alive\n\n"
_RETRY: Final = b"retry: 2000\n\n"
"""Milliseconds after which a client that lost its connection tries again."""
_SILENCE: Final = 15.0
"""Seconds without an event after which a comment is sent: proxies close what is silent for long."""
_HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


def encode_event(name: str, cursor: str, value: object) -> bytes:
    """Return an event with its id. JSON in ASCII has no line feed in it, and can hold any name of a thread."""
    data = json.dumps(value, separators=(",", ":"))
    return f"id: {cursor}\nevent: {name}\ndata: {data}\n\n".encode()


def encode_change(change: Change) -> bytes:
    """Return a change as an event that is named after its kind."""
    return encode_event(change.kind, change.cursor, to_builtins(change))


async def stream(promptuary: Promptuary, after: str, send: Send) -> None:
    """Send the changes after a cursor as they happen, until this is cancelled; without one, those from now on.

    The first event, ``start``, has a cursor too, so that a client that has seen nothing else can resume. An event
    ``missed`` says that changes are not kept any more, or that the cursor is unknown: the client reads anew what it
    shows. It has the cursor ``start``.
    """
    found = await promptuary.changes(after)
    known = after if found.changes else found.cursor
    start = START if found.missed else known
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await _write(send, _RETRY + encode_event("start", start, {"cursor": start}))
    while True:
        parts = [encode_event("missed", START, {"cursor": START})] if found.missed else []
        parts += map(encode_change, found.changes)
        if parts:
            await _write(send, b"".join(parts))
        found = await promptuary.changes(found.cursor, timeout=_SILENCE)
        if not found.changes and not found.missed:
            await _write(send, KEEP_ALIVE)


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
