"""Turns the stream of Anthropic's Messages API into events: text, tool calls, usage, the end. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.base.text import valid_unicode
from promptuary.models.chat.openai_stream import counted, error_text
from promptuary.models.chat_model import ChatEvent, ModelUsage, Stopped, StopReason, TextPiece

_REASONS: Final[Mapping[str, StopReason]] = {"max_tokens": "length", "tool_use": "tools", "refusal": "refused"}
_NOTHING: Final = ModelUsage()


class _Call(Struct):
    """A tool call that arrives in pieces; its arguments are JSON."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list)


def message_events(events: Iterable[Mapping[str, Any]], service: str) -> Iterator[ChatEvent]:
    """Yield the events of an answer. ``service`` is the name of the service, for errors.

    Raises ``PromptuaryError`` if the service reports an error, or if the answer is incomplete.
    """
    calls: dict[int, _Call] = {}
    usage, reason = ModelUsage(), ""
    for event in events:
        match event.get("type"):
            case "message_start":
                usage = message_usage(_mapping(_mapping(event.get("message")).get("usage")))
                yield usage
            case "content_block_start":
                yield from _started(event, calls)
            case "content_block_delta":
                yield from _piece(event, calls)
            case "content_block_stop":
                if call := calls.pop(counted(event.get("index")), None):
                    yield ToolCall(call.id, call.name, valid_unicode("".join(call.pieces)) or "{}")
            case "message_delta":
                said = _mapping(event.get("delta")).get("stop_reason")
                reason = said if isinstance(said, str) else reason
                usage = message_usage(_mapping(event.get("usage")), usage)
                yield usage
            case "message_stop":
                yield Stopped(_REASONS.get(reason, "end"))
                return
            case "error":
                raise PromptuaryError(f"{service} breaks off: {error_text(event.get('error'))}")
            case _:  # pings, and events that later versions add
                pass
    raise PromptuaryError(f"{service} closed the connection before the answer was complete.")


def _started(event: Mapping[str, Any], calls: dict[int, _Call]) -> Iterator[ChatEvent]:
    block = _mapping(event.get("content_block"))
    if block.get("type") == "tool_use":
        calls[counted(event.get("index"))] = _Call(str(block.get("id", "")), str(block.get("name", "")))
    elif block.get("type") == "text" and isinstance(text := block.get("text"), str) and text:
        yield TextPiece(valid_unicode(text))


def _piece(event: Mapping[str, Any], calls: dict[int, _Call]) -> Iterator[ChatEvent]:
    delta = _mapping(event.get("delta"))
    if delta.get("type") == "text_delta" and isinstance(text := delta.get("text"), str) and text:
        yield TextPiece(valid_unicode(text))
    call = calls.get(counted(event.get("index")))
    if call and delta.get("type") == "input_json_delta" and isinstance(part := delta.get("partial_json"), str):
        call.pieces.append(part)


def message_usage(usage: Mapping[str, Any], before: ModelUsage = _NOTHING) -> ModelUsage:
    """Return what an event says of the usage, and of what it does not say, what was known ``before``.

    Anthropic does not count cache reads and writes as input.
    """
    cached = counted(usage.get("cache_read_input_tokens"))
    new = counted(usage.get("input_tokens")) + counted(usage.get("cache_creation_input_tokens"))
    written = counted(usage.get("output_tokens")) or before.output_tokens
    if not new + cached:
        return ModelUsage(before.input_tokens, written, before.cached_tokens)
    return ModelUsage(new + cached, written, cached)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
