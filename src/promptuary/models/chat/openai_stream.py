"""Turns the stream of a service with OpenAI's protocol into events: text, tool calls, usage, the end. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.base.text import one_line, valid_unicode
from promptuary.models.chat_model import ChatEvent, ModelUsage, Stopped, StopReason, TextPiece

_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refused",
}
_MOST_CALLS: Final = 128


class _Call(Struct):
    """A tool call that arrives in pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


def chat_events(chunks: Iterable[Mapping[str, Any]], service: str) -> Iterator[ChatEvent]:
    """Yield the events of an answer; ``{}`` among the ``chunks`` is the end that the service announces.

    Raises ``PromptuaryError`` if the service reports an error, or if the answer is incomplete. ``service`` is its name.
    """
    calls: dict[int, _Call] = {}
    reason: str | None = None
    announced = False
    for chunk in chunks:
        announced = announced or not chunk
        if error := chunk.get("error"):
            raise PromptuaryError(f"{service} breaks off: {error_text(error)}")
        if isinstance(usage := chunk.get("usage"), Mapping):
            yield chat_usage(usage)
        choice = _first(chunk.get("choices"))
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            yield from _pieces(delta, calls)
        if isinstance(said := choice.get("finish_reason"), str):
            reason = said
    if reason is None and not announced:
        raise PromptuaryError(f"{service} closed the connection before the answer was complete.")
    # Some services name their calls but do not number them.
    yield from (ToolCall(one.id or f"call_{place}", one.name, _joined(one)) for place, one in enumerate(calls.values()))
    yield Stopped("tools" if calls else _REASONS.get(reason or "", "end"))


def error_text(error: object) -> str:
    """Return the error that a service reports, on one line."""
    said = (error.get("message") or error.get("type") or "it does not say why") if isinstance(error, Mapping) else error
    return one_line(str(said))[:300]


def _pieces(delta: Mapping[str, Any], calls: dict[int, _Call]) -> Iterator[ChatEvent]:
    content = delta.get("content")
    if isinstance(content, str) and content:
        yield TextPiece(valid_unicode(content))
    if isinstance(refusal := delta.get("refusal"), str) and refusal:
        yield TextPiece(valid_unicode(refusal))
    pieces = delta.get("tool_calls")
    for piece in pieces if isinstance(pieces, list) else ():
        if isinstance(piece, Mapping):
            _take_call(piece, calls)


def _take_call(piece: Mapping[str, Any], calls: dict[int, _Call]) -> None:
    index = piece.get("index")
    if not isinstance(index, int):
        index = len(calls)  # a service without numbers sends whole calls
    if index not in calls and len(calls) >= _MOST_CALLS:
        raise PromptuaryError(f"The model calls more than {_MOST_CALLS} tools at once.")
    call = calls.setdefault(index, _Call())
    function = piece.get("function")
    function = function if isinstance(function, Mapping) else {}
    if isinstance(piece.get("id"), str):
        call.id = call.id or piece["id"]
    if isinstance(function.get("name"), str):
        call.name = call.name or function["name"]
    if isinstance(function.get("arguments"), str):
        call.arguments.append(function["arguments"])


def _joined(call: _Call) -> str:
    return valid_unicode("".join(call.arguments)) or "{}"


def chat_usage(usage: Mapping[str, Any]) -> ModelUsage:
    """Return the usage as a chat completion reports it."""
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return ModelUsage(counted(usage.get("prompt_tokens")), counted(usage.get("completion_tokens")), counted(cached))


def counted(value: object) -> int:
    """Return a count as a service reports it; zero if it reports none."""
    return value if isinstance(value, int) and value > 0 else 0


def _first(choices: object) -> Mapping[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else {}
