"""The protocol of OpenAI's chat completions, which most other services speak, too: ``/v1/chat/completions``. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from promptuary.base.messages import Message, Role, WireToolCall
from promptuary.models.chat.openai_stream import chat_usage, error_text
from promptuary.models.chat_model import ModelUsage
from promptuary.server.errors import error_body
from promptuary.server.proxy.wire import (
    Dialect,
    Reply,
    Request,
    Said,
    appended,
    compact_json,
    count_of,
    described,
    encoded,
    end_of_input,
    find_typed,
    is_aside,
    is_small,
    is_task,
    lengthened,
    mapping,
    named_ids,
    put_list,
    put_together,
    raw_field,
    replaced,
    sequence,
    string,
    take_apart,
    texts_by_place,
    tools_text,
    upstream_id,
    value_of,
)

_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "developer": "developer",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MAX_CALLS: Final = 1024


def parse(body: bytes) -> Request:
    """Take a request apart. Raises ``WireError`` if it cannot be read."""
    fields, wire = take_apart(body, "messages")
    contents = [mapping(value_of(raw)) for raw in wire]
    said = [_said(content, place) for place, content in enumerate(contents)]
    typed_at, typed, from_hook = find_typed(said)
    return Request(
        fields,
        wire,
        [one.message for one in said],
        [one.place for one in said],
        [string(content.get("role")) for content in contents],
        typed_at,
        typed,
        model=string(value_of(fields.get("model"))),
        stream=value_of(fields.get("stream")) is True,
        tools=tools_text(fields.get("tools"), fields.get("functions")),
        is_probe=is_small(fields, "max_completion_tokens", "max_tokens"),
        is_task=is_task(fields),
        is_aside=is_aside(said),
        from_hook=from_hook,
        names=named_ids(contents, value_of(fields.get("tools"))),
        choices=count_of(fields.get("n")),
    )


def _said(message: Mapping[str, Any], place: int) -> Said:
    role, content = message.get("role"), message.get("content")
    if role == "assistant":
        return Said(assistant_message(message), place)
    parts = [*map(mapping, content)] if isinstance(content, list) else []
    words = "\n\n".join(filter(None, map(_words, parts))) or string(content)
    ours: Message = {"role": _ROLES.get(string(role), "user"), "content": words}
    if ours["role"] == "tool":
        ours["tool_call_id"] = string(message.get("tool_call_id")) or string(message.get("name"))
    if role != "user":  # nobody types in a role that is unknown
        return Said(ours, place)
    texts = [words] if isinstance(content, str) else [string(part.get("text")) for part in parts if "text" in part]
    return Said(ours, place, texts)


def _words(part: Mapping[str, Any]) -> str:
    kind = string(part.get("type"))
    value = mapping(part.get(kind))
    match kind:
        case "text" | "refusal":
            return string(part.get(kind))
        case "image_url":
            return described("image", "", value.get("url") or part.get("image_url"))
        case "input_audio":
            return described("audio", value.get("format"), value.get("data"))
        case "file":
            return described("file", value.get("filename"), value.get("file_data") or value.get("file_id"))
        case _:
            return f"[{kind[:80]}]" if kind else ""


def assistant_message(message: Mapping[str, Any]) -> Message:
    """Return what the model said and called."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part for part in map(mapping, content) if part.get("type") in ("text", "refusal"))
        content = "".join(map(_words, parts))
    ours: Message = {"role": "assistant", "content": string(content) or string(message.get("refusal"))}
    if calls := [*_calls(message)]:
        ours["tool_calls"] = calls
    return ours


def _calls(message: Mapping[str, Any]) -> Iterator[WireToolCall]:
    for call in map(mapping, sequence(message.get("tool_calls"))):
        function = mapping(call.get("function")) or mapping(call.get("custom"))
        arguments = function.get("arguments", function.get("input"))
        text = arguments if isinstance(arguments, str) else compact_json(arguments or {})
        yield {"id": string(call.get("id")), "name": string(function.get("name")), "arguments": string(text)}
    if function := mapping(message.get("function_call")):
        name = string(function.get("name"))
        yield {"id": name, "name": name, "arguments": string(function.get("arguments"))}


def insert(request: Request, added: Mapping[int, str], live: str, *, mark: bool = False) -> bytes:
    """Return the body with what is added to it: text at the end of messages, and the live block as a last message."""
    del mark  # this protocol has none
    fields = dict(request.fields)
    if not request.wire:
        return put_together(fields)
    texts = texts_by_place(request, added)
    wire = [bytes(raw) for raw in request.wire]
    for place, more in texts.items():
        for text in more:
            wire[place] = _with_text(wire[place], text)
    if live:
        wire.insert(end_of_input(request.roles), b'{"role":"user","content":' + encoded(live) + b"}")
    fields["messages"] = put_list(wire)
    return put_together(fields)


def _with_text(message: bytes, text: str) -> bytes:
    content = raw_field(message, "content")
    if content[:1] == b"[":
        part = b'{"type":"text","text":' + encoded(text) + b"}"
        return replaced(message, "content", lambda parts: appended(parts, part))
    if content[:1] == b'"':
        return replaced(message, "content", lambda words: lengthened(words, text))
    return message


class _Call(Struct):
    """A call while its pieces arrive."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)


class CompletionReading:
    """An answer while it arrives; of several choices the first."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._message: Message | None = None
        self._usage = ModelUsage()
        self._id = self._finish = self._error = ""
        self._is_complete = False

    def take_event(self, event: Mapping[str, Any]) -> None:
        self._take_frame(event)
        choice = _first(event)
        delta = mapping(choice.get("delta"))
        for key in ("content", "refusal"):
            if isinstance(piece := delta.get(key), str):
                self._texts.append(piece)
        for call in map(mapping, sequence(delta.get("tool_calls"))):
            self._take_call(call)
        if function := mapping(delta.get("function_call")):
            self._take_call({"index": 0, "id": function.get("name"), "function": function})
        if finish := string(choice.get("finish_reason")):
            self._finish, self._is_complete = finish, True

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        index = piece.get("index")
        index = index if isinstance(index, int) else len(self._calls)  # a service without numbers sends whole calls
        if index not in self._calls and len(self._calls) >= _MAX_CALLS:
            return
        call = self._calls.setdefault(index, _Call())
        function = mapping(piece.get("function")) or mapping(piece.get("custom"))
        call.id = call.id or string(piece.get("id"))
        call.name = call.name or string(function.get("name"))
        if isinstance(part := function.get("arguments", function.get("input")), str):
            call.pieces.append(part)

    def take_body(self, body: Mapping[str, Any]) -> None:
        self._take_frame(body)
        choice = _first(body)
        message = mapping(choice.get("message"))
        if message:
            self._message = assistant_message(message)
        self._finish, self._is_complete = string(choice.get("finish_reason")), bool(message)

    def _take_frame(self, body: Mapping[str, Any]) -> None:
        self._id = self._id or upstream_id(body.get("id"))
        if usage := mapping(body.get("usage")):
            self._usage = chat_usage(usage)
        if error := body.get("error"):
            self._error = error_text(error)

    def end(self) -> None:
        """Take ``[DONE]``: for some services it is the only end."""
        self._is_complete = not self._error

    def reply(self) -> Reply:
        message = self._message or self._streamed()
        said = (message,) if message["content"] or "tool_calls" in message else ()
        ids = (self._id,) if self._id else ()
        return Reply(said, self._usage, ids, self._finish, self._error, self._is_complete)

    def _streamed(self) -> Message:
        message: Message = {"role": "assistant", "content": string("".join(self._texts))}
        if self._calls:
            message["tool_calls"] = [
                {"id": call.id, "name": call.name, "arguments": string("".join(call.pieces))}
                for _, call in sorted(self._calls.items())
            ]
        return message


def _first(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = map(mapping, sequence(body.get("choices")))
    return next((choice for choice in choices if not choice.get("index")), {})


def error_event(status: int, message: str, code: str = "") -> bytes:
    """Return an error of ours as an event of a stream that has begun."""
    return b"data: " + error_body("chat", status, message, code=code) + b"\n\n"


COMPLETIONS: Final = Dialect("chat", parse, insert, CompletionReading, error_event)
