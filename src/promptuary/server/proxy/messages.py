"""The protocol of Anthropic's clients: ``/v1/messages`` and ``/v1/messages/count_tokens``. Pure."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from promptuary.base.messages import Message, WireToolCall
from promptuary.models.chat.anthropic_stream import message_usage
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

_MARK: Final = b'"cache_control":{"type":"ephemeral"}'
_MARKABLE: Final = frozenset({"text", "image", "document", "tool_result"})
_MAX_BLOCKS: Final = 4096
"""The most blocks of an answer; what follows is not recorded."""


def parse(body: bytes) -> Request:
    """Take a request apart. Raises ``WireError`` if it cannot be read."""
    fields, wire = take_apart(body, "messages")
    said = [*_system(value_of(fields.get("system")))]
    contents = [mapping(value_of(raw)) for raw in wire]
    for place, content in enumerate(contents):
        said += _said(content, place)
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
        tools=tools_text(fields.get("tools")),
        is_probe=is_small(fields, "max_tokens"),
        is_task=is_task(fields),
        is_aside=is_aside(said),
        from_hook=from_hook,
        names=named_ids(
            contents, {"container": value_of(fields.get("container")), "tools": value_of(fields.get("tools"))}
        ),
    )


def _system(value: object) -> Iterator[Said]:
    texts = [value] if isinstance(value, str) else [mapping(block).get("text") for block in sequence(value)]
    if words := "\n\n".join(filter(None, map(string, texts))):
        yield Said({"role": "system", "content": words}, -1)


def _said(message: Mapping[str, Any], place: int) -> list[Said]:
    """Return one message as ours: the results of tools are messages of their own, and come first."""
    role, content = message.get("role"), message.get("content")
    blocks = [*map(mapping, sequence(content))]
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
    if role == "assistant":
        return [Said(assistant_message(blocks), place)]
    if role == "system":
        words = "\n\n".join(filter(None, map(_words, blocks)))
        return [Said({"role": "system", "content": words}, place)]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    others = [block for block in blocks if block.get("type") != "tool_result"]
    said = [Said(_result(block), place) for block in results]
    if others or not results:
        words = "\n\n".join(filter(None, map(_words, others)))
        texts = [string(block.get("text")) for block in others if block.get("type") == "text"]
        # Nobody types in a role that is unknown.
        said.append(Said({"role": "user", "content": words}, place, texts if role == "user" else ()))
    return said


def _result(block: Mapping[str, Any]) -> Message:
    content = block.get("content")
    words = string(content) or "\n".join(filter(None, map(_words, map(mapping, sequence(content)))))
    message: Message = {"role": "tool", "content": words, "tool_call_id": string(block.get("tool_use_id"))}
    if block.get("is_error") is True:
        message["is_error"] = True
    return message


def _words(block: Mapping[str, Any]) -> str:
    kind = string(block.get("type"))
    if kind == "text":
        return string(block.get("text"))
    source = mapping(block.get("source"))
    if kind in ("image", "document"):
        data = source.get("data") or source.get("url") or source.get("file_id") or compact_json(source.get("content"))
        return described(kind, source.get("media_type"), data)
    return "" if kind in ("", "thinking", "redacted_thinking") else f"[{kind[:80]}]"


def assistant_message(blocks: list[Mapping[str, Any]]) -> Message:
    """Return what the model said and called. Adjacent words are one text: a provider cuts it where it cites."""
    text, calls, is_apart = "", list[WireToolCall](), False
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            words = string(block.get("text"))
            text += ("\n\n" if is_apart and text and words else "") + words
            is_apart = False
        elif kind == "tool_use":
            arguments = compact_json(block.get("input", {}))
            calls.append({"id": string(block.get("id")), "name": string(block.get("name")), "arguments": arguments})
            is_apart = True
    message: Message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    return message


def insert(request: Request, added: Mapping[int, str], live: str, *, mark: bool = False) -> bytes:
    """Return the body with what is added to it: a block at the end of each message, and the live block last."""
    fields = dict(request.fields)
    if not request.wire:
        return put_together(fields)
    texts, roles = texts_by_place(request, added), request.roles
    wire = [bytes(raw) for raw in request.wire]
    end = end_of_input(roles)
    if mark and not any(b'"cache_control"' in bytes(raw) for raw in fields.values()):
        _set_marks(fields, wire, roles)
    new = list[bytes]()
    for place, message in enumerate(wire):
        new.append(message)
        more = [*texts.get(place, ()), *([live] if live and place == end - 1 else ())]
        # As the client sent it, not as it is with a mark: the place must be the same in every later request.
        content = raw_field(bytes(request.wire[place]), "content") if more and roles[place] == "user" else b""
        if place in texts and content[:1] == b'"' and content != b'""':
            # Claude Code sends the same message as a block while it is the last one, and as a text ever after.
            new[-1], content = replaced(new[-1], "content", _as_blocks), b"["
        is_open = content[:1] == b"["
        for text in more:
            if is_open:
                new[-1] = replaced(new[-1], "content", partial(appended, element=_block(text)))
            else:
                new.append(b'{"role":"user","content":[' + _block(text) + b"]}")
            is_open = True
    fields["messages"] = put_list(new)
    return put_together(fields)


def _block(text: str) -> bytes:
    return b'{"type":"text","text":' + encoded(text) + b"}"


def _as_blocks(content: bytes) -> bytes:
    return b'[{"type":"text","text":' + content + b"}]" if content[:1] == b'"' else content


def _set_marks(fields: dict[str, Raw], wire: list[bytes], roles: list[str]) -> None:
    """Mark the end of the instructions and the end of what the client sends, for the service's cache."""
    if system := fields.get("system"):
        fields["system"] = Raw(_marked(bytes(system)))
    last = next((place for place in range(len(wire) - 1, -1, -1) if roles[place] == "user"), None)
    if last is not None and raw_field(wire[last], "content"):
        wire[last] = replaced(wire[last], "content", _marked)


def _marked(content: bytes) -> bytes:
    """Return text or a list of blocks with a mark on its last block, if that may have one."""
    if content[:1] == b'"':
        return content if content == b'""' else b'[{"type":"text","text":' + content + b"," + _MARK + b"}]"
    if content[:1] != b"[":
        return content
    blocks = msgspec.json.decode(content, type=list[Raw])
    last = mapping(value_of(blocks[-1])) if blocks else {}
    if last.get("type") not in _MARKABLE or (last["type"] == "text" and not last.get("text")):
        return content
    block = bytes(blocks[-1])
    at = content.rindex(block)
    return content[:at] + block[:-1].rstrip() + b"," + _MARK + b"}" + content[at + len(block) :]


class MessageReading:
    """An answer while it arrives."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._usage = ModelUsage()
        self._id = self._finish = self._error = ""
        self._is_complete = False

    def take_event(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                message = mapping(event.get("message"))
                self._id = upstream_id(message.get("id"))
                self._usage = message_usage(mapping(message.get("usage")))
            case "content_block_start" if len(self._blocks) < _MAX_BLOCKS:
                index = counted(event.get("index"))
                self._blocks[index] = dict(mapping(event.get("content_block")))
                self._pieces[index] = []
            case "content_block_delta":
                delta = mapping(event.get("delta"))
                piece = delta.get("text") or delta.get("partial_json")
                if isinstance(piece, str) and (pieces := self._pieces.get(counted(event.get("index")))) is not None:
                    pieces.append(piece)
            case "message_delta":
                self._finish = string(mapping(event.get("delta")).get("stop_reason")) or self._finish
                self._usage = message_usage(mapping(event.get("usage")), self._usage)
            case "message_stop":
                self._is_complete = True
            case "error":
                self._error = error_text(event.get("error"))
            case _:  # pings, and what later versions add
                pass

    def take_body(self, body: Mapping[str, Any]) -> None:
        if body.get("type") == "error" or "content" not in body:
            self._error = error_text(body.get("error"))
            return
        self._blocks = dict(enumerate(map(dict, map(mapping, sequence(body["content"])))))
        self._id, self._finish = upstream_id(body.get("id")), string(body.get("stop_reason"))
        self._usage, self._is_complete = message_usage(mapping(body.get("usage"))), True

    def end(self) -> None:
        """Nothing: the last event of this protocol is one of its own."""

    def reply(self) -> Reply:
        blocks = [self._whole(index) for index in sorted(self._blocks)]
        message = assistant_message(blocks)
        said = (message,) if message["content"] or "tool_calls" in message else ()
        ids = (self._id,) if self._id else ()
        return Reply(said, self._usage, ids, self._finish, self._error, self._is_complete)

    def _whole(self, index: int) -> Mapping[str, Any]:
        block, pieces = self._blocks[index], "".join(self._pieces.get(index, ()))
        if block.get("type") == "text":
            return {**block, "text": string(block.get("text")) + pieces}
        if block.get("type") == "tool_use" and pieces:
            try:
                return {**block, "input": msgspec.json.decode(pieces)}
            except (ValueError, RecursionError):  # broken off
                return {**block, "input": {"arguments": pieces}}
        return block


def error_event(status: int, message: str, code: str = "") -> bytes:
    """Return an error of ours as an event of a stream that has begun."""
    return b"event: error\ndata: " + error_body("messages", status, message, code=code) + b"\n\n"


MESSAGES: Final = Dialect(
    "messages",
    parse,
    insert,
    MessageReading,
    error_event,
    keep_alive=b'event: ping\ndata: {"type": "ping"}\n\n',
)
