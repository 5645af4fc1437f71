"""Converts messages between pydantic-ai's format and ours. Pure.

A response of a model is one message; each part of a request is one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from promptuary.integrations.conversation import Request, assistant, tool_call, tool_result, user

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptuary.base.messages import Message

Piece = ModelResponse | ModelRequestPart
"""What corresponds to one message of ours."""


def pieces_of(messages: Sequence[ModelMessage]) -> Iterator[Piece]:
    """Yield the messages, without instructions."""
    for message in messages:
        if isinstance(message, ModelResponse):
            yield message
        else:
            yield from (part for part in message.parts if not isinstance(part, SystemPromptPart))


def persons_place(pieces: Sequence[Piece], prompt: str | Sequence[UserContent] | None) -> int | None:
    """Return the index of the person's message: the run's prompt, or the last message if the run resumes without one.

    A tool may return text in the role of the user; it follows the tool's result, and is not the person's.
    """
    places = [place for place, one in enumerate(pieces) if isinstance(one, UserPromptPart)]
    given = [place for place in places if prompt is None or pieces[place].content == prompt]  # type: ignore[union-attr]
    alone = [place for place in given if place == 0 or not isinstance(pieces[place - 1], ToolReturnPart)]
    return max(alone or given or places, default=None)


def as_ours(piece: Piece) -> Message:
    match piece:
        case ModelResponse():
            calls = [
                tool_call(one.tool_call_id, one.tool_name, one.args_as_json_str())
                for one in piece.parts
                if isinstance(one, ToolCallPart)
            ]
            return assistant("\n\n".join(one.content for one in piece.parts if isinstance(one, TextPart)), calls)
        case ToolReturnPart():
            failed = piece.outcome != "success"
            return tool_result(piece.tool_call_id, piece.model_response_str(), failed=failed)
        case UserPromptPart(content=str(text)):
            return user(text)
        case UserPromptPart(content=[*parts]):
            texts = [one.content if isinstance(one, TextContent) else one for one in parts]
            return user("\n\n".join(one for one in texts if isinstance(one, str)))
        case _:
            return user("")  # from the framework to the model; it is sent as it is


def sent_messages(
    request: Request, pieces: Sequence[Piece], place: int, own: Sequence[SystemPromptPart]
) -> list[ModelMessage]:
    """Return the prompt in the framework's format: neighbouring parts of requests are one request."""
    names = {call["id"]: call["name"] for one in request.turn.messages for call in one.get("tool_calls", ())}
    before = [*request.messages[:-1]]
    sent: list[Piece] = [*own, *([SystemPromptPart(request.system)] if request.system else [])]
    sent += [_piece(one, names) for one in before]
    content, asked = request.messages[-1]["content"], pieces[place]
    media = [] if not isinstance(asked, UserPromptPart) or isinstance(asked.content, str) else asked.content
    other = [one for one in media if not isinstance(one, str | TextContent)]
    sent.append(UserPromptPart([content, *other] if other else content))
    sent += [pieces[place + 1 + one] if isinstance(one, int) else _piece(one, names) for one in request.loop]
    folded: list[ModelMessage] = []
    for one in sent:
        if isinstance(one, ModelResponse):
            folded.append(one)
        elif folded and isinstance(last := folded[-1], ModelRequest):
            folded[-1] = replace(last, parts=[*last.parts, one])
        else:
            folded.append(ModelRequest([one]))
    return folded


def _piece(message: Message, names: dict[str, str]) -> Piece:
    key = message.get("tool_call_id", "")
    match message["role"]:
        case "assistant":
            calls = [ToolCallPart(one["name"], one["arguments"], one["id"]) for one in message.get("tool_calls", ())]
            return ModelResponse([*([TextPart(message["content"])] if message["content"] else []), *calls])
        case "tool":
            failed = message.get("is_error", False)
            return ToolReturnPart(
                names.get(key, "tool"), message["content"], key, outcome="failed" if failed else "success"
            )
        case _:
            return UserPromptPart(message["content"])
