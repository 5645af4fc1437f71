"""Opens the chat models that the settings name."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

from promptuary.base.errors import ConfigError
from promptuary.config.named_models import NamedModel
from promptuary.config.settings import Settings
from promptuary.config.values import cut
from promptuary.models.chat_model import ChatEvent, ChatRequest, Stopped, StreamingModel, TextPiece
from promptuary.models.protocols import ChatModel, JsonChatModel

if TYPE_CHECKING:
    from promptuary.models.chat.anthropic_chat import AnthropicChatModel
    from promptuary.models.chat.openai_chat import EndpointChatModel
    from promptuary.models.chat.pydantic_ai_chat import PydanticAiModel


class AllAtOnce:
    """A ``StreamingModel`` that yields each answer of ``model`` in one piece."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Yield the answer to ``request``, and its end."""
        yield TextPiece(await self._model.complete(request.prompt.messages, max_tokens=request.max_tokens))
        yield Stopped("end")


def chat_model(settings: Settings, name: str) -> ChatModel | JsonChatModel:
    """Return the chat model called ``name``.

    Raises ``ConfigError``, which says how to configure one, if there is none with this name.
    """
    found = settings.chat(name)
    if found.given is not None:
        if not callable(getattr(found.given, "complete", None)):
            raise ConfigError(f"the chat model {cut(name)!r} has no method complete, which is needed here")
        return cast("ChatModel", found.given)
    if found.scripted:
        from promptuary.models.chat.scripted_replies import ScriptedReplies  # noqa: PLC0415  (one of them is needed)

        return ScriptedReplies(found.scripted)
    return _service(settings, found)


def streaming_model(settings: Settings, name: str) -> StreamingModel:
    """Return the chat model called ``name``, for streaming answers.

    Raises ``ConfigError``, which says how to configure one, if there is none with this name.
    """
    found = settings.chat(name)
    if found.given is not None:
        return given_model(cast("StreamingModel | ChatModel", found.given))
    if found.scripted:
        return AllAtOnce(chat_model(settings, name))
    return _service(settings, found)


def given_model(model: StreamingModel | ChatModel) -> StreamingModel:
    """Return a model that a program passed, for streaming answers."""
    if callable(getattr(model, "stream", None)):
        return cast("StreamingModel", model)
    if callable(getattr(model, "complete", None)):
        return AllAtOnce(cast("ChatModel", model))
    raise ConfigError(f"{type(model).__name__} is not a chat model: it has neither a method stream nor complete")


def _service(settings: Settings, found: NamedModel) -> "AnthropicChatModel | EndpointChatModel | PydanticAiModel":
    if found.provider == "pydantic-ai":
        from promptuary.models.chat.pydantic_ai_chat import PydanticAiModel  # noqa: PLC0415  (an extra)

        return PydanticAiModel(found.model, max_tokens=found.max_tokens, timeout=found.timeout)
    from promptuary.models.chat.anthropic_chat import AnthropicChatModel  # noqa: PLC0415
    from promptuary.models.chat.openai_chat import EndpointChatModel  # noqa: PLC0415
    from promptuary.models.http import PostPolicy  # noqa: PLC0415

    hosts = frozenset(host.lower() for host in settings.allow_hosts)
    made = AnthropicChatModel if found.provider == "anthropic" else EndpointChatModel
    return made(
        found.base_url,
        found.model,
        key=found.key,
        max_tokens=found.max_tokens,
        policy=PostPolicy(allow_hosts=hosts, timeout=found.timeout),
    )
