"""Chat models with Anthropic's Messages API, with cache breakpoints.

The address is the person's own and must never come from a workspace: texts and a key are sent there.
"""

from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Message, Prompt
from promptuary.base.text import valid_unicode
from promptuary.config.api_keys import NO_KEY, KeyPlace, redacted
from promptuary.models.chat.anthropic_stream import message_events
from promptuary.models.chat.event_stream import json_events
from promptuary.models.chat_model import ChatEvent, ChatRequest, TextPiece
from promptuary.models.http import Credential, Line, PostPolicy, post_for_stream, service_name
from promptuary.models.json_answers import instruction
from promptuary.models.render import anthropic

if TYPE_CHECKING:
    from promptuary.workspace.web.http import CancelToken

_VERSION: Final = ("anthropic-version", "2023-06-01")


class AnthropicChatModel:
    """A ``JsonChatModel`` and ``StreamingModel`` at ``base_url``, to which ``/v1/messages`` is appended.

    ``key`` says where its key is. ``max_tokens`` replaces the length that a caller requests.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: KeyPlace = NO_KEY,
        max_tokens: int = 0,
        policy: PostPolicy | None = None,
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/messages").removesuffix("/v1") + "/v1/messages"
        self._service = service_name(self._url)
        self._model = model
        self._key = key
        self._max_tokens = max_tokens
        self._policy = policy or PostPolicy()

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the model's answer as text. Raises ``PromptuaryError`` if the service fails."""
        standing = [message for message in messages[:-1] if message["role"] in {"system", "developer"}]
        said = [message for message in messages[:-1] if message not in standing]
        request = ChatRequest(Prompt(standing, said, (), messages[-1]), max_tokens=max_tokens)
        pieces = [event.text async for event in self.stream(request) if isinstance(event, TextPiece)]
        if not pieces:
            raise PromptuaryError(f"{self._service} sent an answer without text.")
        return "".join(pieces)

    async def complete_json(self, messages: Sequence[Message], schema: Mapping[str, object], *, max_tokens: int) -> str:
        """Return an answer that should fit ``schema``; the prompt asks for that."""
        return await self.complete([*messages, instruction(schema)], max_tokens=max_tokens)

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Return the answer to ``request`` as it arrives."""
        from promptuary.workspace.web.http import CancelToken  # noqa: PLC0415  (90 ms)

        cancel_token = CancelToken()
        return concurrency.iterate(self._events(request, cancel_token), cancel_token.cancel)

    def _events(self, request: ChatRequest, cancel_token: "CancelToken") -> Generator[ChatEvent, None, None]:
        key = self._key.read("chat")
        credential = Credential(key, "x-api-key", (_VERSION,), self._key.advice)
        body = {
            "model": self._model,
            "max_tokens": self._max_tokens or request.max_tokens,
            "stream": True,
            **_rendered(request.prompt),
            **_tools(request),
        }
        with redacted(key), ExitStack() as connection:
            line = Line(credential, cancel_token, connection)
            chunks = yield from post_for_stream(self._url, body, self._policy, line)
            yield from message_events(json_events(chunks, self._service), self._service)


def _rendered(prompt: Prompt) -> dict[str, Any]:
    (message,) = _valid([prompt.message])
    valid = Prompt(_valid(prompt.stable), _valid(prompt.history), _valid(prompt.live), message, _valid(prompt.loop))
    rendered = anthropic(valid)
    return rendered if rendered["system"] else {"messages": rendered["messages"]}


def _valid(messages: Sequence[Message]) -> list[Message]:
    return [{**message, "content": valid_unicode(message["content"])} for message in messages]


def _tools(request: ChatRequest) -> dict[str, Any]:
    if request.tools:
        described = [
            {"name": one.name, "description": one.description, "input_schema": one.parameters} for one in request.tools
        ]
        return {"tools": described}
    # The service refuses a history with calls of tools that are not described; none may be called now.
    called = {call["name"]: None for one in request.prompt.messages for call in one.get("tool_calls", ())}
    if not called:
        return {}
    named = [{"name": name, "input_schema": {"type": "object"}} for name in called]
    return {"tools": named, "tool_choice": {"type": "none"}}
