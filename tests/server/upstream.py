"""A model service on loopback, scripted to answer well or badly, that records who asked what and who hung up.

It speaks messages, responses, chat completions and the smaller paths, streamed (in chunks, over connections that stay
open) or not. ``replies`` says what it does: values of ``promptuary.testing.chat_server`` or of this module; the last is
repeated.

    with Upstream([Says("Let me look.", calls=[ToolCall("c1", "read", "{}")]), Says("Done.")]) as upstream:
        Anthropic(base_url=upstream.url, api_key="any")
        OpenAI(base_url=upstream.openai_url, api_key="any")
    assert upstream.asked[0].body == ...
"""

import asyncio
import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from msgspec import Struct

from promptuary.base.messages import ToolCall
from promptuary.testing.chat_server import (
    BreaksOff,
    CompletionsWire,
    Fails,
    Garbles,
    MessagesWire,
    Refuses,
    Reply,
    Says,
    Silent,
    Wire,
    event,
    stream_steps,
)
from promptuary.testing.loopback import RESET, Step

FOREVER: Final = 3600.0
"""Seconds that no test waits: the connection is closed before."""
HELLO: Final = Says("Hello")
_STREAM: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Raw(Struct, frozen=True):
    """Steps that are taken as they are, and then the connection is closed."""

    steps: Sequence[Step]


class Body(Struct, frozen=True):
    """A well-formed answer with this body: text, bytes, or anything else as JSON."""

    value: object
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


class Events(Struct, frozen=True):
    """A well-formed stream of these events, each in a chunk of its own; ``type`` of an event is its name, too."""

    events: Sequence[Mapping[str, Any]]


Deed = Reply | Raw | Body | Events
"""What the service does in reply to a request."""


def stall_before_headers() -> Deed:
    return Silent(FOREVER)


def stall_in_stream(*pieces: bytes) -> Deed:
    return Raw([_STREAM, *(chunk(piece) for piece in pieces or [b": one\n\n"]), FOREVER])


def cut_in_stream(*pieces: bytes) -> Deed:
    """Return what ends the connection in the middle of a stream that says how it ends."""
    return Raw([_STREAM, *(chunk(piece) for piece in pieces or [b": one\n\n"])])


def reset_in_stream(*pieces: bytes) -> Deed:
    return Raw([_STREAM, *(chunk(piece) for piece in pieces or [b": one\n\n"]), 0.05, RESET])


def promise_more_than_comes(body: bytes = b'{"id": "msg_1"') -> Deed:
    return Raw(
        [
            f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body) + 100}\r\n\r\n".encode()
            + body
        ]
    )


def send_more_than_promised(body: bytes = b'{"id": "msg_1"}', more: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> Deed:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return Raw([head.encode() + body + more, FOREVER])


def bad_chunks(*pieces: bytes) -> Deed:
    return Raw([_STREAM, *(chunk(piece) for piece in pieces), b"zz\r\nthis is no chunk\r\n"])


def huge_event(size: int = 10_000_000) -> Deed:
    """Return one event of ``size`` bytes that never gets to its end."""
    return Raw([_STREAM, *[chunk(b"data: " + b"x" * 65_536)] * (size // 65_536), FOREVER])


def endless_headers(size: int = 10_000_000) -> Deed:
    return Raw([b"HTTP/1.1 200 OK\r\n", *[b"X-Many: " + b"y" * 8_000 + b"\r\n"] * (size // 8_000), FOREVER])


def many_headers(count: int) -> Deed:
    return Body({}, headers={f"X-Header-{number}": "1" for number in range(count)})


def redirect_to(location: str, status: int = 307) -> Deed:
    return Body("", status, "text/plain", {"Location": location})


def gzip_unasked(value: object) -> Deed:
    return Body(gzip.compress(json.dumps(value).encode()), headers={"Content-Encoding": "gzip"})


def html_page(status: int = 200) -> Deed:
    return Body("<html><body>Sign in to the network</body></html>", status, "text/html")


def no_http() -> Deed:
    return Raw([b"SSH-2.0-OpenSSH_9.2\r\n"])


def chunk(data: bytes) -> bytes:
    """Return ``data`` framed as a chunk."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Asked:
    """A request, and how it ended: ``closed`` is when the client hung up before the answer was complete."""

    def __init__(self, connection: int, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes):
        self.connection, self.method, self.target, self.body = connection, method, target, body
        self.path, _, self.query = target.partition("?")
        self.raw_headers = headers
        self.headers = {name.lower(): value for name, value in headers}
        self.at = time.monotonic()
        self.closed: float | None = None
        self.answered: float | None = None
        self.sent = 0
        """Bytes of the answer that the service has handed to the system."""

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def __repr__(self) -> str:
        return f"<{self.method} {self.target} {len(self.body)} bytes>"


class Upstream:
    """The service. It listens from construction until the end of its ``with`` block."""

    def __init__(self, replies: Iterable[Deed] | Deed = HELLO, *, host: str = "127.0.0.1") -> None:
        self.replies: list[Deed] = [replies] if isinstance(replies, Struct) else list(replies)
        self.asked: list[Asked] = []
        self.accepted = 0
        """How many connections there have been."""
        self.open = 0
        """How many connections there are."""
        self._ids = 0
        listener = socket.create_server((host, 0), backlog=256)
        self.host, self.port = host, int(listener.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listener,), name="upstream", daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    @property
    def url(self) -> str:
        """The base URL for clients of Anthropic."""
        return f"http://{self.host}:{self.port}"

    @property
    def openai_url(self) -> str:
        """The base URL for clients of OpenAI."""
        return f"{self.url}/v1"

    @property
    def hung_up(self) -> list[Asked]:
        """The requests whose clients closed the connection before the answer was complete."""
        return [asked for asked in self.asked if asked.closed is not None]

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def next_reply(self) -> Deed:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def _run(self, listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    async def _serve(self, listener: socket.socket) -> None:
        connections: set[_Connection] = set()
        server = await self._loop.create_server(lambda: _Connection(self, connections), sock=listener)
        self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in list(connections):
            connection.transport.abort()
        await asyncio.sleep(0)


class _Connection(asyncio.Protocol):
    """One connection: reads requests one after the other, and notices at once when the client hangs up."""

    transport: asyncio.Transport

    def __init__(self, upstream: Upstream, connections: "set[_Connection]") -> None:
        self._upstream, self._connections = upstream, connections
        self._data = bytearray()
        self._asked: Asked | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._number = 0
        self._needed = 0
        """How many bytes a request has whose head is there: a large one is not looked at with each of its parts."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        # Else each event waits 40 ms for the receipt of the one before. The loop does it for its own listeners only.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections.add(self)
        self._upstream.accepted += 1
        self._upstream.open += 1
        self._number = self._upstream.accepted

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._upstream.open -= 1
        if self._task is not None and not self._task.done():
            self._task.cancel()
            if self._asked is not None and self._asked.answered is None and not self._upstream._stop.is_set():
                self._asked.closed = time.monotonic()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._data += data
        if len(self._data) >= self._needed and (self._task is None or self._task.done()):
            self._begin()

    def _begin(self) -> None:
        asked = self._parse()
        if asked is not None:
            self._asked = asked
            self._upstream.asked.append(asked)
            self._task = asyncio.ensure_future(self._answer(asked))

    def _parse(self) -> Asked | None:
        """Return the request at the beginning of what was received; ``None`` if it is not complete."""
        head, found, rest = bytes(self._data).partition(b"\r\n\r\n")
        if not found:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        names = {name.lower(): value for name, value in headers}
        if names.get("transfer-encoding", "") == "chunked":
            body = _unchunk(rest)
            length = rest.find(b"0\r\n\r\n") + 5
        else:
            length = int(names.get("content-length", "0"))
            self._needed = len(head) + 4 + length
            body = rest[:length] if len(rest) >= length else None
        if body is None:
            return None
        self._needed = 0
        self._data = bytearray(rest[length:])
        return Asked(self._number, method, target, headers, body)

    async def _answer(self, asked: Asked) -> None:
        for step in self._steps(asked):
            if isinstance(step, bytes):
                await self._writable.wait()
                if self.transport.is_closing():  # a write would neither wait nor fail: let connection_lost end this
                    await asyncio.sleep(FOREVER)
                self.transport.write(step)
                asked.sent += len(step)
            elif isinstance(step, float):
                await asyncio.sleep(step)
            elif step == RESET:
                linger = struct.pack("ii", 1, 0)
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                asked.answered = time.monotonic()
                self.transport.abort()
                return
        asked.answered = time.monotonic()
        if self._closes:
            self.transport.close()
        elif self._data:
            self._task = None
            self._begin()

    def _steps(self, asked: Asked) -> Iterator[Step]:
        self._closes = False
        wire = _wire(asked, self._upstream)
        if wire is None:
            found = _small(asked, self._upstream)
            yield _whole(
                Body({"error": {"message": "no such path", "type": "not_found"}}, 404) if found is None else found,
                asked,
            )
            return
        deed = self._upstream.next_reply()
        match deed:
            case Raw(steps=steps):
                self._closes = True
                yield from steps
            case Body():
                yield _whole(deed, asked)
            case Events(events=events):
                yield _STREAM
                yield from (chunk(event(one.get("type", ""), one) if "type" in one else _plain(one)) for one in events)
                yield b"0\r\n\r\n"
            case Silent(seconds=seconds):
                self._closes = True
                yield float(seconds)
            case Refuses(status=status, message=message, retry_after=after):
                error = {"type": "error", "error": {"type": "error", "message": message}, "request_id": "req_1"}
                wanted = {} if after is None else {"Retry-After": str(after)}
                yield _whole(Body(error, status, headers=wanted), asked)
            case Says() if not asked.json.get("stream"):
                yield _whole(Body(wire.whole(deed), headers={"request-id": "req_1", "x-request-id": "req_1"}), asked)
            case Says() | Garbles() | Fails() | BreaksOff():
                yield _STREAM.replace(b"\r\n\r\n", b"\r\nrequest-id: req_1\r\nx-request-id: req_1\r\n\r\n")
                for step in stream_steps(wire, deed):
                    yield chunk(step) if isinstance(step, bytes) else step
                self._closes = isinstance(deed, BreaksOff)
                if not isinstance(deed, BreaksOff):
                    yield b"0\r\n\r\n"


def _wire(asked: Asked, upstream: Upstream) -> Wire | None:
    """Return how to answer a request for a completion; ``None`` for others."""
    if asked.method != "POST":
        return None
    match asked.path:
        case "/v1/messages":
            return MessagesWire(f"msg_{upstream.port}_{upstream.next_id()}")
        case "/v1/chat/completions":
            return CompletionsWire()
        case "/v1/responses":
            return ResponsesWire(str(asked.json.get("model", "")), f"{upstream.port}_{upstream.next_id()}")
        case _:
            return None


def _small(asked: Asked, upstream: Upstream) -> Body | None:  # noqa: C901  (a table)
    """Return the answer of the smaller paths; ``None`` if there is none."""
    made = f"{upstream.port}_{upstream.next_id()}"
    last = asked.path.rpartition("/")[2]
    match asked.method, *asked.path.removeprefix("/v1").strip("/").split("/"):
        case "HEAD", *_:
            return Body("")
        case "POST", "messages", "count_tokens":
            return Body({"input_tokens": 42})
        case "GET", "models":
            both = {
                "id": "scripted",
                "object": "model",
                "type": "model",
                "display_name": "S",
                "created": 1,
                "owned_by": "x",
            }
            page = {"has_more": False, "first_id": "scripted", "last_id": "scripted"}
            return Body({"object": "list", "data": [{**both, "created_at": "2026-01-01T00:00:00Z"}], **page})
        case "POST", "embeddings":
            vector = {"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            return Body({"object": "list", "data": [vector], "model": "scripted", "usage": usage})
        case "POST", "completions":
            choice = {"index": 0, "text": "Hello", "finish_reason": "stop", "logprobs": None}
            return Body(
                {"id": f"cmpl-{made}", "object": "text_completion", "created": 1, "model": "s", "choices": [choice]}
            )
        case "POST", "files":
            return Body(_file(f"file-{made}"))
        case "GET", "files", _:
            return Body(_file(last))
        case "GET", "files", _, "content":
            return Body("content of a file", content_type="text/plain")
        case "DELETE", ("files" | "responses"), _:
            return Body({"id": last, "object": "file", "deleted": True})
        case "GET", "responses", _:
            return Body(ResponsesWire("scripted", last.removeprefix("resp_")).whole(Says("Hello")))
        case "POST", "messages", "batches":
            return Body({"id": f"msgbatch_{made}", "type": "message_batch", "processing_status": "in_progress"})
        case "GET", "messages", "batches", _:
            return Body({"id": last, "type": "message_batch", "processing_status": "in_progress"})
        case _:
            return None


def _file(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "file",
        "bytes": 3,
        "created_at": 1,
        "filename": "a.txt",
        "purpose": "user_data",
        "status": "processed",
    }


def _whole(body: Body, asked: Asked) -> bytes:
    value = body.value
    content = (
        value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else json.dumps(value).encode()
    )
    head = [f"HTTP/1.1 {body.status} Answer", f"Content-Length: {len(content)}", f"Content-Type: {body.content_type}"]
    head += [f"{name}: {value}" for name, value in body.headers.items()]
    return "\r\n".join([*head, "", ""]).encode() + (b"" if asked.method == "HEAD" else content)


def _plain(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _unchunk(data: bytes) -> bytes | None:
    body = b""
    while True:
        size, found, data = data.partition(b"\r\n")
        if not found:
            return None
        length = int(size.partition(b";")[0], 16)
        if len(data) < length + 2:
            return None
        if not length:
            return body
        body, data = body + data[:length], data[length + 2 :]


class ResponsesWire:
    """The wire format of OpenAI's responses."""

    def __init__(self, model: str, made: str) -> None:
        self._model, self._id, self._number, self._text = model, f"resp_{made}", 0, ""

    def whole(self, reply: Says) -> dict[str, Any]:
        items = [self._message(reply.text)] if reply.text else []
        items += [self._call(call) for call in reply.calls]
        return self._response("completed", items, reply.usage)

    def opening(self, usage: tuple[int, int, int]) -> Iterator[bytes]:
        del usage
        yield self._event("response.created", response=self._response("in_progress"))
        item = {**self._message(""), "status": "in_progress", "content": []}
        yield self._event("response.output_item.added", output_index=0, item=item)
        part = {"type": "output_text", "text": "", "annotations": []}
        yield self._event("response.content_part.added", item_id="msg_1", output_index=0, content_index=0, part=part)

    def piece(self, text: str) -> bytes:
        self._text += text
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        return self._event("response.output_text.delta", **place, delta=text, logprobs=[])

    def garbled(self) -> bytes:
        return b"event: response.output_text.delta\ndata: {not json\n\n"

    def closing(self, reply: Says) -> Iterator[bytes]:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        yield self._event("response.output_text.done", **place, text=self._text, logprobs=[])
        part = {"type": "output_text", "text": self._text, "annotations": []}
        yield self._event("response.content_part.done", **place, part=part)
        yield self._event("response.output_item.done", output_index=0, item=self._message(self._text))
        for index, call in enumerate(reply.calls, 1):
            item = self._call(call)
            begun = {**item, "arguments": "", "status": "in_progress"}
            yield self._event("response.output_item.added", output_index=index, item=begun)
            place = {"item_id": item["id"], "output_index": index}
            yield self._event("response.function_call_arguments.delta", **place, delta=call.arguments)
            done = {**place, "name": call.name, "arguments": call.arguments}
            yield self._event("response.function_call_arguments.done", **done)
            yield self._event("response.output_item.done", output_index=index, item=item)
        items = [self._message(self._text), *(self._call(call) for call in reply.calls)]
        yield self._event("response.completed", response=self._response("completed", items, reply.usage))

    def _event(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        return event(kind, {"type": kind, "sequence_number": self._number - 1, **fields})

    def _message(self, text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}

    def _call(self, call: ToolCall) -> dict[str, Any]:
        names = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        return {"type": "function_call", "status": "completed", **names}

    def _response(
        self, status: str, output: Sequence[object] = (), usage: tuple[int, int, int] | None = None
    ) -> dict[str, Any]:
        read, written, cached = usage or (0, 0, 0)
        counted = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        }
        return {
            "id": self._id,
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": self._model,
            "output": list(output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": counted if usage else None,
        }
