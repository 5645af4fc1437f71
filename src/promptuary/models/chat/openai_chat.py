"""Chat models behind a service with an API like OpenAI's ``/v1/chat/completions``, on this machine or elsewhere.

The address is the person's own and must never come from a workspace: texts and a key are sent there.
``workspace.web.post`` connects and retries; this module speaks the protocol and validates every answer. Services differ
in what they accept: the first refusal of a form leads to the other, which is remembered.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from promptuary import concurrency
from promptuary.core.errors import PromptuaryError, ServiceRefusedError
from promptuary.core.messages import Message
from promptuary.core.ports.json_answers import instruction
from promptuary.core.text import valid_unicode
from promptuary.models.openai_embeddings import service_key
from promptuary.workspace.web.post import PostPolicy, post_json

_WRONG_FORM: Final = frozenset({400, 404, 415, 422, 501})
"""How services say that they do not know a field. An unknown model is a 404, too: then the second try fails as well."""


class EndpointChatModel:
    """A ``JsonChatModel`` at ``base_url``, to which ``/chat/completions`` is appended unless it ends so.

    ``key_variable`` names the environment variable that holds the key. ``max_tokens`` replaces the length that a caller
    asks for. A call that is cancelled stops waiting; the request itself ends at the latest with its timeout.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key_variable: str = "",
        max_tokens: int = 0,
        policy: PostPolicy | None = None,
    ) -> None:
        self._url = base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._model = model
        self._key_variable = key_variable
        self._max_tokens = max_tokens
        self._policy = policy or PostPolicy()
        self._length_field = "max_tokens"
        self._takes_schema = True

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the model's answer as text. Raises ``PromptuaryError`` if the service fails."""
        return await concurrency.run(lambda: self._text(self._posted(messages, max_tokens)))

    async def complete_json(self, messages: Sequence[Message], schema: Mapping[str, object], *, max_tokens: int) -> str:
        """Return an answer that is held to ``schema`` by the service, or by instruction if it cannot do that."""
        return await concurrency.run(lambda: self._text(self._posted_with_schema(messages, schema, max_tokens)))

    def _posted_with_schema(self, messages: Sequence[Message], schema: Mapping[str, object], max_tokens: int) -> object:
        if self._takes_schema:
            form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
            try:
                return self._posted(messages, max_tokens, {"response_format": form})
            except ServiceRefusedError as error:
                if error.status not in _WRONG_FORM:
                    raise
        answer = self._posted([*messages, instruction(schema)], max_tokens)
        self._takes_schema = False  # only now: whatever else was wrong would have been refused again
        return answer

    def _posted(self, messages: Sequence[Message], max_tokens: int, more: Mapping[str, object] | None = None) -> object:
        wire = [_on_the_wire(message) for message in messages]
        request: dict[str, object] = {"model": self._model, "messages": wire, "stream": False, **(more or {})}
        length = self._max_tokens or max_tokens
        key = service_key(self._key_variable, "chat")
        try:
            return post_json(self._url, {**request, self._length_field: length}, self._policy, key=key)
        except ServiceRefusedError as error:
            # Newer models of OpenAI know the length by another name, and say so.
            if self._length_field != "max_tokens" or "max_completion_tokens" not in str(error):
                raise
        self._length_field = "max_completion_tokens"
        return post_json(self._url, {**request, self._length_field: length}, self._policy, key=key)

    def _text(self, answer: object) -> str:
        message = _first_message(answer)
        content = message.get("content")
        if isinstance(content, list):
            parts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "".join(part for part in parts if isinstance(part, str))
        if not isinstance(content, str):
            why = "a refusal" if message.get("refusal") else "an answer without text"
            raise _bad(f"{why}, and no content")
        return valid_unicode(content)


def _on_the_wire(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message["role"], "content": valid_unicode(message["content"])}
    if calls := message.get("tool_calls"):
        wire["tool_calls"] = [
            {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
            for one in calls
        ]
    if "tool_call_id" in message:
        wire["tool_call_id"] = message["tool_call_id"]
    return wire


def _first_message(answer: object) -> Mapping[str, Any]:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise _bad("an answer without a message")
    return message


def _bad(what: str) -> PromptuaryError:
    return PromptuaryError(f"The chat service sends {what}: check its address and the name of the model.")
