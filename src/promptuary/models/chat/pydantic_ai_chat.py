"""Chat models of every provider that pydantic-ai supports (the extra ``pydantic-ai``), by its names for them.

pydantic-ai finds keys and addresses itself: it reads the provider's environment variables.
"""

from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from promptuary.base.errors import ConfigError, PromptuaryError, how_to_install
from promptuary.base.messages import Message, Prompt, ToolCall
from promptuary.base.text import one_line, valid_unicode
from promptuary.config.api_keys import without_keys
from promptuary.models.chat_model import ChatEvent, ChatRequest, ModelUsage, Stopped, StopReason, TextPiece
from promptuary.models.json_answers import instruction

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

_REASONS: Final[Mapping[str, StopReason]] = {"length": "length", "content_filter": "refused"}


class PydanticAiModel:
    """A ``JsonChatModel`` and ``StreamingModel``: ``model`` is a name such as ``mistral:mistral-large-latest``.

    Programs may pass a model object of pydantic-ai. ``max_tokens`` replaces the length that a caller requests;
    ``timeout`` is in seconds, and zero leaves it to pydantic-ai.
    """

    def __init__(self, model: "str | Model", *, max_tokens: int = 0, timeout: float = 0.0) -> None:
        self._model, self._max_tokens, self._timeout = model, max_tokens, timeout
        self._name = one_line(model if isinstance(model, str) else model.model_name)

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the model's answer as text. Raises ``PromptuaryError`` if the service fails."""
        request = ChatRequest(Prompt((), messages[:-1], (), messages[-1]), max_tokens=max_tokens)
        return "".join([event.text async for event in self.stream(request) if isinstance(event, TextPiece)])

    async def complete_json(self, messages: Sequence[Message], schema: Mapping[str, object], *, max_tokens: int) -> str:
        """Return an answer that should fit ``schema``; the prompt asks for that."""
        return await self.complete([*messages, instruction(schema)], max_tokens=max_tokens)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Yield the answer to ``request`` as it arrives."""
        try:
            from pydantic_ai.direct import model_request_stream  # noqa: PLC0415  (an extra, and slow)
            from pydantic_ai.settings import ModelSettings  # noqa: PLC0415
        except ImportError:
            raise ConfigError(
                f"Models of pydantic-ai need the 'pydantic-ai' extra: {how_to_install('pydantic-ai')}."
            ) from None
        settings = ModelSettings(max_tokens=self._max_tokens or request.max_tokens)
        if self._timeout:
            settings["timeout"] = self._timeout
        try:
            async with model_request_stream(
                self._model,
                _messages(request.prompt),
                model_settings=settings,
                model_request_parameters=_parameters(request),
            ) as response:
                async for event in _events(response):
                    yield event
        except PromptuaryError:
            raise
        except Exception as error:  # noqa: BLE001
            # Each provider's client has its own errors, whose text may contain the key.
            why = f"{type(error).__name__}: {without_keys(one_line(str(error)))[:200]}"
            raise PromptuaryError(f"{self._name} of pydantic-ai cannot answer: {why}") from None


async def _events(response: "StreamedResponse") -> AsyncIterator[ChatEvent]:
    from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta  # noqa: PLC0415
    from pydantic_ai.messages import ToolCallPart as Called  # noqa: PLC0415

    async for event in response:
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                if text:
                    yield TextPiece(valid_unicode(text))
            case _:
                pass
    whole = response.get()
    calls = [part for part in whole.parts if isinstance(part, Called)]
    for part in calls:
        yield ToolCall(part.tool_call_id, part.tool_name, valid_unicode(part.args_as_json_str()))
    usage = whole.usage
    yield ModelUsage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    yield Stopped("tools" if calls else _REASONS.get(whole.finish_reason or "", "end"))


def _parameters(request: ChatRequest) -> "ModelRequestParameters":
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

    tools = [
        ToolDefinition(name=one.name, description=one.description, parameters_json_schema=dict(one.parameters))
        for one in request.tools
    ]
    return ModelRequestParameters(function_tools=tools)


def _messages(prompt: Prompt) -> "list[ModelMessage]":
    from pydantic_ai.messages import ModelRequest, ModelResponse  # noqa: PLC0415

    names = {call["id"]: call["name"] for one in prompt.messages for call in one.get("tool_calls", ())}
    made: list[ModelMessage] = []
    for message in prompt.messages:
        if message["role"] == "assistant":
            made.append(ModelResponse(parts=_answered(message)))
            continue
        part = _said(message, names)
        last = made[-1] if made else None
        if isinstance(last, ModelRequest):
            made[-1] = ModelRequest(parts=[*last.parts, part])
        else:
            made.append(ModelRequest(parts=[part]))
    return made


def _said(message: Message, names: Mapping[str, str]) -> Any:
    from pydantic_ai.messages import BinaryContent, SystemPromptPart, ToolReturnPart, UserPromptPart  # noqa: PLC0415

    content = valid_unicode(message["content"])
    match message["role"]:
        case "tool":
            call = message.get("tool_call_id", "")
            return ToolReturnPart(names.get(call, "tool"), content, call)
        case "user":
            images = [one for one in message.get("images", ()) if "data" in one]
            shown = [BinaryContent(b64decode(one["data"]), media_type=one["media_type"]) for one in images]
            return UserPromptPart([*shown, content] if shown else content)
        case _:
            return SystemPromptPart(content)


def _answered(message: Message) -> list[Any]:
    from pydantic_ai.messages import TextPart, ToolCallPart  # noqa: PLC0415

    text = [TextPart(valid_unicode(message["content"]))] if message["content"] else []
    calls = [ToolCallPart(one["name"], one["arguments"], one["id"]) for one in message.get("tool_calls", ())]
    return [*text, *calls]
