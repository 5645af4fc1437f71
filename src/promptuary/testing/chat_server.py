"""A scripted chat service on loopback: for tests of agents, ours and yours.

It speaks the wire formats of OpenAI and Anthropic, streamed or not; the official clients talk to it.

    with ChatServer([Says("Let me look.", calls=[ToolCall("c1", "read", "{}")]), Says("Done.")]) as server:
        OpenAI(base_url=server.openai_url, api_key="any")
        Anthropic(base_url=server.anthropic_url, api_key="any")

It can also refuse, break off, send garbage or stay silent. ``asked`` has every request.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol, Self

from msgspec import Struct

from promptuary.base.messages import ToolCall
from promptuary.testing.loopback import RESET, Loopback, Step, answer

_PIECE: Final = 12
"""The number of characters in a streamed piece."""


class Says(Struct, frozen=True):
    """An answer: text, tool calls, or both; ``pause`` is the seconds before each streamed piece.

    ``usage`` is the token counts that the service reports: input, output, and input from the cache. ``stop`` is
    OpenAI's finish reason; by default the one that fits.
    """

    text: str = ""
    calls: Sequence[ToolCall] = ()
    pause: float = 0.0
    usage: tuple[int, int, int] = (100, 10, 0)
    stop: str = ""


class Refuses(Struct, frozen=True):
    """An answer with an error status, and optionally the seconds after which to retry."""

    status: int
    message: str = "no"
    retry_after: int | None = None


class BreaksOff(Struct, frozen=True):
    """Some text, and then the connection ends: by a reset, or as if the answer were complete."""

    text: str = ""
    reset: bool = True


class Garbles(Struct, frozen=True):
    """Some text, and then a piece that is not JSON."""

    text: str = ""


class Fails(Struct, frozen=True):
    """Some text, and then an error inside the stream."""

    text: str = ""
    message: str = "overloaded"


class Silent(Struct, frozen=True):
    """Nothing, for some seconds, and then the end of the connection."""

    seconds: float = 60.0


Reply = Says | Refuses | BreaksOff | Garbles | Fails | Silent
"""What the service does in reply to a request."""

ReplyScript = Iterable[Reply] | Callable[[Mapping[str, Any]], Reply]
"""The replies in order, of which the last is repeated; or a function of the request."""


class ChatServer:
    """The service. It listens from construction until the end of its ``with`` block."""

    def __init__(self, script: ReplyScript) -> None:
        self.asked: list[dict[str, Any]] = []
        self._reply = script if callable(script) else _in_order(script)
        self._loopback = Loopback()
        self._loopback.routes["/v1/chat/completions"] = lambda: self._steps(CompletionsWire())
        self._loopback.routes["/v1/messages"] = lambda: self._steps(MessagesWire())

    @property
    def openai_url(self) -> str:
        """The base URL for clients of OpenAI."""
        return self._loopback.url("/v1")

    @property
    def anthropic_url(self) -> str:
        """The base URL for clients of Anthropic."""
        return self._loopback.url("").rstrip("/")

    @property
    def heads(self) -> list[str]:
        """The head of each request: its path and headers."""
        return self._loopback.requests

    def close(self) -> None:
        """Stop at once."""
        self._loopback.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _steps(self, wire: "Wire") -> Iterator[Step]:
        request = json.loads(self._loopback.bodies[-1])
        self.asked.append(request)
        reply = self._reply(request)
        if isinstance(reply, Silent):
            yield float(reply.seconds)
        elif isinstance(reply, Refuses):
            wanted = {} if reply.retry_after is None else {"Retry-After": str(reply.retry_after)}
            body = json.dumps({"type": "error", "error": {"type": "error", "message": reply.message}})
            yield answer(body, "application/json", status=reply.status, headers=wanted)
        elif isinstance(reply, Says) and not request.get("stream"):
            yield answer(json.dumps(wire.whole(reply)), "application/json")
        else:
            yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            yield from stream_steps(wire, reply)


def stream_steps(wire: "Wire", reply: "Says | BreaksOff | Garbles | Fails") -> Iterator[Step]:
    """Yield the events of ``reply``, without the head of an answer."""
    yield from wire.opening(reply.usage if isinstance(reply, Says) else (100, 10, 0))
    pause = reply.pause if isinstance(reply, Says) else 0.0
    for start in range(0, len(reply.text), _PIECE):
        if pause:
            yield pause
        yield wire.piece(reply.text[start : start + _PIECE])
    match reply:
        case Says():
            yield from wire.closing(reply)
        case BreaksOff(reset=True):
            yield 0.05  # a reset can discard what was sent just before it
            yield RESET
        case Garbles():
            yield wire.garbled()
        case Fails(message=message):
            yield event("error", {"type": "error", "error": {"type": "overloaded_error", "message": message}})
        case _:
            return


class Wire(Protocol):
    """How a service writes its answers: whole, or as events."""

    def whole(self, reply: Says) -> dict[str, Any]:
        """Return the answer as one object."""
        ...

    def opening(self, usage: tuple[int, int, int]) -> Iterator[bytes]:
        """Yield the events before the first piece of text."""
        ...

    def piece(self, text: str) -> bytes:
        """Return the event of a piece of text."""
        ...

    def garbled(self) -> bytes:
        """Return an event that is not JSON."""
        ...

    def closing(self, reply: Says) -> Iterator[bytes]:
        """Yield the events after the last piece of text."""
        ...


class CompletionsWire:
    """The wire format of OpenAI's chat completions."""

    def whole(self, reply: Says) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [self._call(one) for one in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": self._reason(reply), "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(reply.usage)}

    def opening(self, usage: tuple[int, int, int]) -> Iterator[bytes]:
        del usage
        yield self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str) -> bytes:
        return self._chunk({"content": text})

    def garbled(self) -> bytes:
        return b"data: {not json\n\n"

    def closing(self, reply: Says) -> Iterator[bytes]:
        for index, call in enumerate(reply.calls):
            begun = {**self._call(call), "index": index}
            begun["function"] = {"name": call.name, "arguments": ""}
            yield self._chunk({"tool_calls": [begun]})
            for start in range(0, len(call.arguments), _PIECE):
                part = {"index": index, "function": {"arguments": call.arguments[start : start + _PIECE]}}
                yield self._chunk({"tool_calls": [part]})
        yield self._chunk({}, self._reason(reply))
        last = {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(reply.usage)}
        yield data_line(last)
        yield b"data: [DONE]\n\n"

    def _chunk(self, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return data_line({**self._head("chat.completion.chunk"), "choices": [choice]})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "scripted"}

    def _call(self, call: ToolCall) -> dict[str, Any]:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}

    def _reason(self, reply: Says) -> str:
        return reply.stop or ("tool_calls" if reply.calls else "stop")

    def _usage(self, usage: tuple[int, int, int]) -> dict[str, Any]:
        read, written, cached = usage
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


class MessagesWire:
    """The wire format of Anthropic's messages; ``name`` is the id of the answer."""

    _REASONS: Final[Mapping[str, str]] = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}

    def __init__(self, name: str = "msg_1") -> None:
        self._name = name

    def whole(self, reply: Says) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        blocks += [
            {"type": "tool_use", "id": one.id, "name": one.name, "input": json.loads(one.arguments)}
            for one in reply.calls
        ]
        return {**self._message(reply.usage), "content": blocks, "stop_reason": self._reason(reply)}

    def opening(self, usage: tuple[int, int, int]) -> Iterator[bytes]:
        yield event("message_start", {"type": "message_start", "message": self._message(usage)})
        yield self._start(0, {"type": "text", "text": ""})

    def piece(self, text: str) -> bytes:
        return self._delta(0, {"type": "text_delta", "text": text})

    def garbled(self) -> bytes:
        return b"event: content_block_delta\ndata: {not json\n\n"

    def closing(self, reply: Says) -> Iterator[bytes]:
        yield self._stop(0)
        for index, call in enumerate(reply.calls, 1):
            yield self._start(index, {"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
            for start in range(0, len(call.arguments), _PIECE):
                part = call.arguments[start : start + _PIECE]
                yield self._delta(index, {"type": "input_json_delta", "partial_json": part})
            yield self._stop(index)
        ending = {"stop_reason": self._reason(reply), "stop_sequence": None}
        told = {"type": "message_delta", "delta": ending, "usage": {"output_tokens": reply.usage[1]}}
        yield event("message_delta", told)
        yield event("message_stop", {"type": "message_stop"})

    def _message(self, usage: tuple[int, int, int]) -> dict[str, Any]:
        read, written, cached = usage
        return {
            "id": self._name,
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": read - cached,
                "output_tokens": written,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0,
            },
        }

    def _reason(self, reply: Says) -> str:
        return self._REASONS.get(reply.stop, "tool_use" if reply.calls else "end_turn")

    def _start(self, index: int, block: Mapping[str, Any]) -> bytes:
        return event("content_block_start", {"type": "content_block_start", "index": index, "content_block": block})

    def _delta(self, index: int, delta: Mapping[str, Any]) -> bytes:
        return event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})

    def _stop(self, index: int) -> bytes:
        return event("content_block_stop", {"type": "content_block_stop", "index": index})


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """Return a named event of a stream."""
    return f"event: {name}\n".encode() + data_line(data)


def data_line(value: Mapping[str, Any]) -> bytes:
    """Return an event of a stream that has no name."""
    return f"data: {json.dumps(value)}\n\n".encode()


def _in_order(replies: Iterable[Reply]) -> Callable[[Mapping[str, Any]], Reply]:
    waiting = list(replies)

    def following(_: Mapping[str, Any]) -> Reply:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return following
