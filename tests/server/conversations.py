"""Conversations of clients, made up from a seed: tool loops, edits, repeated and parallel requests, titles, branches.

A client keeps its own list of messages, as real ones do, and sends all of it with every request. What the model is to
answer to each request is made up with it, so that the same conversation can be sent to anything.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Literal

from msgspec import Struct

Protocol = Literal["messages", "responses", "completions"]
PROTOCOLS: tuple[Protocol, ...] = ("messages", "responses", "completions")
Json = dict[str, Any]

_WORDS = ["please", "read", "the", "file", "tests", "fail", "naïve", '"quoted"', "\\n", "🙂", "why", "{", "}", "[1,2]"]
_REFERENCES = ["@file:a.txt", "@file:b.txt", "#style.md", "@diff"]
_TOOLS = ["read_file", "run", "search"]


class Call(Struct, frozen=True):
    """A call of a tool that the model makes."""

    id: str
    name: str
    arguments: Json


class Exchange(Struct, frozen=True):
    """One request of a client, and what the model answers."""

    kind: Literal["main", "title", "repeated", "agent"]
    body: Json
    text: str
    calls: tuple[Call, ...]

    @property
    def data(self) -> bytes:
        """The body as the client sends it."""
        return json.dumps(self.body, ensure_ascii=False).encode()


class Client:
    """A client of one protocol, with its list of messages."""

    def __init__(self, protocol: Protocol, random: Random) -> None:
        self.protocol, self.random = protocol, random
        self.wire: list[Json] = []
        self.typed_at: list[int] = []
        self._number = 0
        self._streams = random.random() < 0.5
        self._in_parts = random.random() < 0.6

    def exchanges(self, turns: int) -> Iterator[Exchange]:
        """Yield the requests of a conversation of some turns."""
        for _ in range(turns):
            chance = self.random.random()
            if self.typed_at and chance < 0.15:  # an edit: the list is cut, and typed again
                del self.wire[self.typed_at.pop() :]
            elif self.typed_at and chance < 0.2:  # the client summarises, and begins again
                self.wire, self.typed_at = [], []
                self._type("A summary of what was said before.")
                self._answer("Understood.", ())
            self._type(self._words(references=True))
            if self.random.random() < 0.2:
                yield self._title()
            for loop in range(self.random.randint(0, 4), -1, -1):
                calls = tuple(self._call() for _ in range(self.random.randint(1, 2))) if loop else ()
                text = self._words() if not calls or self.random.random() < 0.5 else ""
                yield Exchange("main", self.body(), text, calls)
                if self.random.random() < 0.1:  # the connection broke, and the client asks again
                    yield Exchange("repeated", self.body(), text, calls)
                if calls and self.random.random() < 0.1:
                    yield self._agent()
                self._answer(text, calls)
                for call in calls:
                    self._result(call)

    def body(self) -> Json:
        """Return the next request."""
        tools = [self._tool(name) for name in _TOOLS]
        return {**self._frame(), "tools": tools, **self._list(self.wire, "You are a coding agent. 1.0 and 1e3.")}

    def _frame(self) -> Json:
        limit = {"messages": "max_tokens", "responses": "max_output_tokens", "completions": "max_completion_tokens"}
        return {"model": "model-1", limit[self.protocol]: 4000, "stream": self._streams, "temperature": 1.0}

    def _list(self, wire: list[Json], system: str) -> Json:
        wire = json.loads(json.dumps(wire))
        match self.protocol:
            case "messages":
                if self._in_parts:  # a mark on the last block alone, as Claude Code sets it
                    last = wire[-1]["content"]
                    if isinstance(last, list):
                        last[-1]["cache_control"] = {"type": "ephemeral"}
                return {"system": [{"type": "text", "text": system}], "messages": wire}
            case "responses":
                return {"instructions": system, "input": wire, "store": False}
            case "completions":
                return {"messages": [{"role": "system", "content": system}, *wire]}

    def _tool(self, name: str) -> Json:
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        match self.protocol:
            case "messages":
                return {"name": name, "description": f"{name} something", "input_schema": schema}
            case "responses":
                return {"type": "function", "name": name, "parameters": schema}
            case "completions":
                return {"type": "function", "function": {"name": name, "parameters": schema}}

    def _title(self) -> Exchange:
        wire = [self._message("Make a title for: " + self._words())]
        return Exchange("title", {**self._frame(), **self._list(wire, "You are a title generator.")}, "A title", ())

    def _agent(self) -> Exchange:
        wire = [self._message("Find out: " + self._words())]
        listed = self._list(wire, "You are a sub-agent.")
        return Exchange("agent", {**self._frame(), "tools": [self._tool("search")], **listed}, "It is so.", ())

    def _words(self, *, references: bool = False) -> str:
        words = self.random.choices(_WORDS, k=self.random.randint(2, 8))
        if references and self.random.random() < 0.5:
            words.insert(self.random.randint(0, len(words)), self.random.choice(_REFERENCES))
        return " ".join([*words, str(self._next())])

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _call(self) -> Call:
        number = self._next()
        return Call(f"call_{number}", self.random.choice(_TOOLS), {"path": f"src/{number}.py", "deep": {"a": [1, 2.5]}})

    def _message(self, text: str) -> Json:
        content: Any = text
        if self._in_parts:
            kind = "input_text" if self.protocol == "responses" else "text"
            content = [{"type": kind, "text": text}]
            if self.random.random() < 0.3:
                content.insert(0, {"type": kind, "text": "<system-reminder>@file:not-typed.txt</system-reminder>"})
        framed = {"type": "message"} if self.protocol == "responses" else {}
        return {**framed, "role": "user", "content": content}

    def _type(self, text: str) -> None:
        self.typed_at.append(len(self.wire))
        self.wire.append(self._message(text))

    def _answer(self, text: str, calls: tuple[Call, ...]) -> None:
        match self.protocol:
            case "messages":
                blocks: list[Json] = [{"type": "text", "text": text}] if text else []
                blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
                self.wire.append({"role": "assistant", "content": blocks})
            case "responses":
                if text:
                    part = {"type": "output_text", "text": text, "annotations": []}
                    self.wire.append({"type": "message", "role": "assistant", "content": [part]})
                self.wire += [response_call(call) for call in calls]
            case "completions":
                listed = {"tool_calls": [completion_call(call) for call in calls]} if calls else {}
                self.wire.append({"role": "assistant", "content": text or None, **listed})

    def _result(self, call: Call) -> None:
        output = f"output of {call.id}: @file:not-typed.txt"
        match self.protocol:
            case "messages":
                block = {"type": "tool_result", "tool_use_id": call.id, "content": output}
                if self.wire[-1]["role"] == "user":
                    self.wire[-1]["content"].append(block)
                else:
                    self.wire.append({"role": "user", "content": [block]})
            case "responses":
                self.wire.append({"type": "function_call_output", "call_id": call.id, "output": output})
            case "completions":
                self.wire.append({"role": "tool", "tool_call_id": call.id, "content": output})


def response_call(call: Call) -> Json:
    """Return a call as an item of a response."""
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}


def completion_call(call: Call) -> Json:
    """Return a call as a part of a chat completion."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
    }


def make_conversation(protocol: Protocol, seed: int, turns: int = 4) -> list[Exchange]:
    """Return the requests of the conversation with this number."""
    return [*Client(protocol, Random(seed)).exchanges(turns)]


def answer_body(protocol: Protocol, exchange: Exchange) -> Json:
    """Return the model's answer, whole."""
    text, calls = exchange.text, exchange.calls
    match protocol:
        case "messages":
            blocks: list[Json] = [{"type": "text", "text": text}] if text else []
            blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in calls]
            usage: Json = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3}
            frame = {"id": "msg_1", "type": "message", "role": "assistant", "model": "model-1", "stop_sequence": None}
            return {**frame, "content": blocks, "stop_reason": "tool_use" if calls else "end_turn", "usage": usage}
        case "responses":
            part = {"type": "output_text", "text": text, "annotations": []}
            said = {"id": "m_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
            output = [*([said] if text else []), *map(response_call, calls)]
            usage = {"input_tokens": 8, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 2}
            return {"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": usage}
        case "completions":
            listed = {"tool_calls": [*map(completion_call, calls)]} if calls else {}
            message = {"role": "assistant", "content": text or None, **listed}
            usage = {"prompt_tokens": 8, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
            return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}


def answer_stream(protocol: Protocol, exchange: Exchange) -> bytes:
    """Return the model's answer as a stream of events, its texts in pieces."""
    body = answer_body(protocol, exchange)
    makers = {"messages": _message_events, "responses": _response_events, "completions": _completion_events}
    events = [*makers[protocol](body)]
    named = protocol != "completions"
    data = b"".join(
        (f"event: {event['type']}\n".encode() if named else b"") + b"data: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    )
    return data if named else data + b"data: [DONE]\n\n"


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + 3] for at in range(0, len(text), 3))


def _message_events(body: Json) -> Iterator[Json]:
    usage = {**body["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**body, "content": [], "stop_reason": None, "usage": usage}}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        empty: Json = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        if block["type"] == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        else:
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in _pieces(json.dumps(block["input"]))
            ]
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": body["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _response_events(body: Json) -> Iterator[Json]:
    yield {"type": "response.created", "response": {**body, "status": "in_progress", "output": [], "usage": None}}
    for index, item in enumerate(body["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        if item["type"] == "message":
            for piece in _pieces(item["content"][0]["text"]):
                place = {"output_index": index, "content_index": 0, "item_id": "m_1"}
                yield {"type": "response.output_text.delta", **place, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": body}


def _completion_events(body: Json) -> Iterator[Json]:
    frame = {"id": body["id"], "object": "chat.completion.chunk", "created": 1, "model": "model-1"}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    message = body["choices"][0]["message"]
    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": piece}) for piece in _pieces(message["content"] or ""))
    for index, call in enumerate(message.get("tool_calls", [])):
        yield chunk({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
        for piece in _pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, body["choices"][0]["finish_reason"])
    yield {**frame, "choices": [], "usage": body["usage"]}
