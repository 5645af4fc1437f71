"""The protocol of OpenAI's responses: ``/v1/responses``. Pure.

What a model said in one answer is several items here: words, calls, thoughts. They are one message of ours.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from promptuary.base.messages import Message, Role
from promptuary.models.chat.openai_stream import counted, error_text
from promptuary.models.chat_model import ModelUsage
from promptuary.server.errors import error_body
from promptuary.server.proxy.wire import (
    Dialect,
    Reply,
    Request,
    Said,
    appended,
    compact_json,
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

_ROLES: Final[Mapping[str, Role]] = {"system": "system", "developer": "developer", "assistant": "assistant"}
_MAX_ITEMS: Final = 4096
"""The most items of an answer; what follows is not recorded."""


def parse(body: bytes) -> Request:
    """Take a request apart. Raises ``WireError`` if it cannot be read."""
    fields, wire = take_apart(body, "input")
    given = fields.get("input")
    if given is not None and bytes(given).startswith(b'"'):
        wire = [Raw(b'{"role":"user","content":' + bytes(given) + b"}")]
    items = [mapping(value_of(raw)) for raw in wire]
    said = [*_instructions(value_of(fields.get("instructions"))), *_said(items)]
    typed_at, typed, from_hook = find_typed(said)
    conversation = value_of(fields.get("conversation"))
    return Request(
        fields,
        wire,
        [one.message for one in said],
        [one.place for one in said],
        [_speaker(item) for item in items],
        typed_at,
        typed,
        model=string(value_of(fields.get("model"))),
        stream=value_of(fields.get("stream")) is True,
        # Codex sends the tools for models that it knows as an item of the list.
        tools=tools_text(
            fields.get("tools"), *(raw for raw, item in zip(wire, items, strict=True) if _has_tools(item))
        ),
        is_probe=is_small(fields, "max_output_tokens"),
        is_task=is_task(fields),
        is_aside=is_aside(said),
        from_hook=from_hook,
        previous=upstream_id(value_of(fields.get("previous_response_id"))),
        names=named_ids(items, mapping(conversation).get("id") or conversation, value_of(fields.get("tools"))),
    )


def _instructions(value: object) -> Iterator[Said]:
    if words := string(value):
        yield Said({"role": "system", "content": words}, -1)


def _has_tools(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "additional_tools"


def _speaker(item: Mapping[str, Any]) -> str:
    """Return who an item is from: the model, a tool, or the role that it names."""
    kind = item.get("type", "message")
    if kind == "message" or _has_tools(item):
        return string(item.get("role"))
    return "tool" if isinstance(kind, str) and kind.endswith("_output") else "model"


def _said(items: list[Mapping[str, Any]]) -> Iterator[Said]:
    group, place = list[Mapping[str, Any]](), -1
    for at, item in enumerate(items):
        speaker = _speaker(item)
        if speaker in ("assistant", "model"):
            group.append(item)
            place = at
            continue
        if group:
            yield from _answer(group, place)
            group = []
        yield _other(item, speaker, at)
    if group:
        yield from _answer(group, place)


def _answer(items: list[Mapping[str, Any]], place: int) -> Iterator[Said]:
    if message := assistant_message(items):
        yield Said(message, place)


def _other(item: Mapping[str, Any], speaker: str, place: int) -> Said:
    if speaker == "tool":
        output = item.get("output")
        words = string(output) or "\n".join(filter(None, map(_words, map(mapping, sequence(output)))))
        return Said({"role": "tool", "content": words, "tool_call_id": string(item.get("call_id"))}, place)
    parts = _parts(item)
    message: Message = {"role": _ROLES.get(speaker, "user"), "content": "\n\n".join(filter(None, map(_words, parts)))}
    if speaker != "user":  # nobody types in a role that is unknown
        return Said(message, place)
    texts = [string(part.get("text")) for part in parts if part.get("type") in ("input_text", "text")]
    return Said(message, place, texts)


def _parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [*map(mapping, sequence(content))]


def _words(part: Mapping[str, Any]) -> str:
    match kind := string(part.get("type")):
        case "input_text" | "output_text" | "text":
            return string(part.get("text"))
        case "refusal":
            return string(part.get("refusal"))
        case "input_image":
            return described("image", "", part.get("image_url") or part.get("file_id"))
        case "input_file":
            data = part.get("file_data") or part.get("file_url") or part.get("file_id")
            return described("file", part.get("filename"), data)
        case "input_audio":
            audio = mapping(part.get("input_audio"))
            return described("audio", audio.get("format"), audio.get("data"))
        case _:
            return f"[{kind[:80]}]" if kind else ""


def assistant_message(items: Iterable[Mapping[str, Any]]) -> Message | None:
    """Return what the model said and called in these items; ``None`` if that is nothing."""
    texts, message = list[str](), Message(role="assistant", content="")
    calls = message.setdefault("tool_calls", [])
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            texts.append("".join(map(_words, _parts(item))))
        elif kind in ("function_call", "custom_tool_call"):
            given = item.get("arguments", item.get("input"))
            arguments = given if isinstance(given, str) else compact_json(given or {})
            name = string(item.get("name"))
            calls.append({"id": string(item.get("call_id")), "name": name, "arguments": string(arguments)})
        elif call := string(item.get("call_id")):  # a tool of the service that the client runs: a shell, a patch
            action = compact_json(item.get("action") or item.get("operation") or {})
            calls.append({"id": call, "name": string(kind).removesuffix("_call"), "arguments": action})
    message["content"] = "\n\n".join(filter(None, texts))
    if not calls:
        del message["tool_calls"]
    return message if calls or message["content"] else None


def insert(request: Request, added: Mapping[int, str], live: str, *, mark: bool = False) -> bytes:
    """Return the body with what is added to it: text at the end of messages, and the live block as a last item."""
    del mark  # this protocol has none
    fields = dict(request.fields)
    texts = texts_by_place(request, added)
    if not request.wire or not (texts or live):
        return put_together(fields)
    wire = [bytes(raw) for raw in request.wire]
    for place, more in texts.items():
        for text in more:
            wire[place] = _with_text(wire[place], text)
    if live:
        wire.insert(end_of_input(request.roles), b'{"type":"message","role":"user","content":[' + _part(live) + b"]}")
    fields["input"] = put_list(wire)
    return put_together(fields)


def _with_text(item: bytes, text: str) -> bytes:
    content = raw_field(item, "content")
    if content[:1] == b"[":
        return replaced(item, "content", lambda parts: appended(parts, _part(text)))
    if content[:1] == b'"':
        return replaced(item, "content", lambda words: lengthened(words, text))
    return item


def _part(text: str) -> bytes:
    return b'{"type":"input_text","text":' + encoded(text) + b"}"


class ResponseReading:
    """An answer while it arrives."""

    def __init__(self) -> None:
        self._items: dict[int, Mapping[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._usage = ModelUsage()
        self._ids: dict[str, None] = {}
        self._finish = self._error = ""
        self._is_complete = False

    def take_event(self, event: Mapping[str, Any]) -> None:
        kind, index = string(event.get("type")), counted(event.get("output_index"))
        match kind:
            case "response.output_text.delta" if len(self._pieces) < _MAX_ITEMS or index in self._pieces:
                self._pieces.setdefault(index, []).append(string(event.get("delta")))
            case "response.output_item.done" if len(self._items) < _MAX_ITEMS:
                self._items[index] = mapping(event.get("item"))
                self._note_ids(self._items[index])
                self._pieces.pop(index, None)
            case "response.created" | "response.completed" | "response.incomplete" | "response.failed":
                self._take_response(mapping(event.get("response")))
            case "error" | "":
                self._error = error_text(event.get("error") or event)
            case _:
                pass

    def take_body(self, body: Mapping[str, Any]) -> None:
        self._take_response(body)

    def _take_response(self, response: Mapping[str, Any]) -> None:
        conversation = mapping(response.get("conversation")).get("id")
        self._note_id(response.get("id"))
        self._note_id(conversation)
        if output := sequence(response.get("output")):
            self._items, self._pieces = dict(enumerate(map(mapping, output[:_MAX_ITEMS]))), {}
            for item in self._items.values():
                self._note_ids(item)
        if usage := mapping(response.get("usage")):
            details = mapping(usage.get("input_tokens_details"))
            counts = (usage.get("input_tokens"), usage.get("output_tokens"), details.get("cached_tokens"))
            self._usage = ModelUsage(*map(counted, counts))
        if error := response.get("error"):
            self._error = error_text(error)
        status = string(response.get("status"))
        if status not in ("", "in_progress", "queued"):
            self._finish, self._is_complete = status, True

    def _note_ids(self, item: Mapping[str, Any]) -> None:
        self._note_id(item.get("id"))
        self._note_id(item.get("container_id"))

    def _note_id(self, value: object) -> None:
        if name := upstream_id(value):
            self._ids[name] = None

    def end(self) -> None:
        """Nothing: the last event of this protocol is one of its own."""

    def reply(self) -> Reply:
        pieces = {
            at: {"type": "message", "content": string("".join(parts))}
            for at, parts in self._pieces.items()
            if at not in self._items
        }
        items = {**self._items, **pieces}
        message = assistant_message(items[at] for at in sorted(items))
        said = (message,) if message else ()
        return Reply(said, self._usage, tuple(self._ids), self._finish, self._error, self._is_complete)


def error_event(status: int, message: str, code: str = "") -> bytes:
    """Return an error of ours as an event of a stream that has begun."""
    error = mapping(msgspec.json.decode(error_body("responses", status, message, code=code)))
    event = {"type": "error", "code": code or None, "message": message, "param": None, **error}
    return b"event: error\ndata: " + encoded(event) + b"\n\n"


RESPONSES: Final = Dialect("responses", parse, insert, ResponseReading, error_event)
