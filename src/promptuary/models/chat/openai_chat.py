"""Chat models with an API like OpenAI's ``/v1/chat/completions``, on this machine or elsewhere.

The same client returns whole answers (``complete``), JSON (``complete_json``) and streams (``stream``).

The address is the person's own and must never come from a workspace: texts and a key are sent there.
``models.http`` connects and retries; this module speaks the protocol and validates every answer. Services differ
in what they accept: after the first refusal of one form the other is used, also for later requests.
"""

from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError, ServiceRefusedError
from promptuary.base.messages import SPEAKERS, Message, Prompt
from promptuary.base.text import valid_unicode
from promptuary.config.api_keys import NO_KEY, KeyPlace, redacted
from promptuary.models.chat.event_stream import json_events
from promptuary.models.chat.openai_stream import chat_events
from promptuary.models.http import Credential, Line, PostPolicy, post_for_stream, post_json, service_name
from promptuary.models.json_answers import instruction
from promptuary.models.render import openai_chat

if TYPE_CHECKING:
    from promptuary.models.chat_model import ChatEvent, ChatRequest, Retrying, ToolSpec
    from promptuary.workspace.web.http import CancelToken

_OTHER_LENGTH: Final = "max_completion_tokens"
_WRONG_FORM: Final = frozenset({400, 404, 415, 422, 501})
"""How services reject an unknown field. An unknown model is a 404, too: then the second attempt also fails."""


_Begun = Generator["Retrying", None, Iterator[bytes]]
"""Yields each wait for a busy service, and returns the bytes of its answer."""


class EndpointChatModel:
    """A ``JsonChatModel`` and ``StreamingModel`` at ``base_url``, to which ``/chat/completions`` is appended.

    ``key`` says where its key is. ``max_tokens`` replaces the length that a caller requests. A cancelled call stops
    waiting; a streamed one also closes its connection.
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
        self._url = base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self._service = service_name(self._url)
        self._model = model
        self._key = key
        self._max_tokens = max_tokens
        self._policy = policy or PostPolicy()
        self._length_field = "max_tokens"
        self._takes_schema = True
        self._streaming_forms = [_with_usage, _without_usage, _plain]

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the model's answer as text. Raises ``PromptuaryError`` if the service fails."""
        return await concurrency.run(lambda: self._text(self._posted(messages, max_tokens)))

    async def complete_json(self, messages: Sequence[Message], schema: Mapping[str, object], *, max_tokens: int) -> str:
        """Return an answer in JSON: the service enforces ``schema``; if it cannot, the prompt asks for it."""
        return await concurrency.run(lambda: self._text(self._posted_with_schema(messages, schema, max_tokens)))

    def stream(self, request: "ChatRequest") -> "AsyncIterator[ChatEvent]":
        """Return the answer to ``request`` as it arrives."""
        from promptuary.workspace.web.http import CancelToken  # noqa: PLC0415  (90 ms)

        cancel_token = CancelToken()
        return concurrency.iterate(self._events(request, cancel_token), cancel_token.cancel)

    def _events(self, request: "ChatRequest", cancel_token: "CancelToken") -> "Generator[ChatEvent, None, None]":
        credential = Credential(self._key.read("chat"), advice=self._key.advice)
        with redacted(credential.key), ExitStack() as connection:
            chunks = yield from self._begun(request, Line(credential, cancel_token, connection))
            yield from chat_events(json_events(chunks, self._service), self._service)

    def _begun(self, request: "ChatRequest", line: Line) -> _Begun:
        """Return the bytes of an answer to the first form of ``request`` that the service accepts."""
        first: ServiceRefusedError | None = None
        for form in list(self._streaming_forms):
            body = {"model": self._model, "stream": True, **form(request)}
            try:
                chunks = yield from self._with_length(body, request.max_tokens, line)
            except ServiceRefusedError as error:
                if error.status not in _WRONG_FORM:
                    raise
                first = first or error
            else:
                self._streaming_forms = [form]
                return chunks
        raise first or AssertionError("there is a form")

    def _with_length(self, body: Mapping[str, object], max_tokens: int, line: Line) -> _Begun:
        length = self._max_tokens or max_tokens
        try:
            return (yield from post_for_stream(self._url, {**body, self._length_field: length}, self._policy, line))
        except ServiceRefusedError as error:
            if self._length_field != "max_tokens" or not _wants_other_length(error):
                raise
        chunks = yield from post_for_stream(self._url, {**body, _OTHER_LENGTH: length}, self._policy, line)
        self._length_field = _OTHER_LENGTH
        return chunks

    def _posted_with_schema(self, messages: Sequence[Message], schema: Mapping[str, object], max_tokens: int) -> object:
        if self._takes_schema:
            form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
            try:
                return self._posted(messages, max_tokens, {"response_format": form})
            except ServiceRefusedError as error:
                if error.status not in _WRONG_FORM:
                    raise
        answer = self._posted([*messages, instruction(schema)], max_tokens)
        self._takes_schema = False  # only now: any other problem would have been refused again
        return answer

    def _posted(self, messages: Sequence[Message], max_tokens: int, more: Mapping[str, object] | None = None) -> object:
        request: dict[str, object] = {"model": self._model, "messages": _on_the_wire(messages), **(more or {})}
        request["stream"] = False
        length = self._max_tokens or max_tokens
        credential = Credential(self._key.read("chat"), advice=self._key.advice)
        try:
            return post_json(self._url, {**request, self._length_field: length}, self._policy, credential)
        except ServiceRefusedError as error:
            if self._length_field != "max_tokens" or not _wants_other_length(error):
                raise
        self._length_field = _OTHER_LENGTH
        return post_json(self._url, {**request, self._length_field: length}, self._policy, credential)

    def _text(self, answer: object) -> str:
        message = self._first_message(answer)
        content = message.get("content")
        if isinstance(content, list):
            parts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "".join(part for part in parts if isinstance(part, str))
        if not isinstance(content, str):
            why = "a refusal" if message.get("refusal") else "an answer without text"
            raise self._bad(f"{why}, and no content")
        return valid_unicode(content)

    def _first_message(self, answer: object) -> Mapping[str, Any]:
        choices = answer.get("choices") if isinstance(answer, dict) else None
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(message, dict):
            raise self._bad("an answer without a message")
        return message

    def _bad(self, what: str) -> PromptuaryError:
        return PromptuaryError(f"{self._service} sends {what}: check its address and the name of the model.")


def _wants_other_length(error: ServiceRefusedError) -> bool:
    """Return whether a service asks for the other field: only the text of the error of newer OpenAI models says so."""
    return _OTHER_LENGTH in str(error)


def _on_the_wire(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as services accept them. All know the role ``system``; only OpenAI's own know ``developer``."""
    known: list[Message] = [
        {
            **message,
            "role": "system" if message["role"] == "developer" else message["role"],
            "content": valid_unicode(message["content"]),
        }
        for message in messages
    ]
    return openai_chat(Prompt((), known[:-1], (), known[-1]))


def _with_usage(request: "ChatRequest") -> dict[str, Any]:
    return {**_without_usage(request), "stream_options": {"include_usage": True}}


def _without_usage(request: "ChatRequest") -> dict[str, Any]:
    return {"messages": _on_the_wire(request.prompt.messages), **_tools(request.tools)}


def _plain(request: "ChatRequest") -> dict[str, Any]:
    """Return the form for models whose template allows only one system message, at the beginning."""
    prompt = request.prompt
    standing: list[Message] = [
        {"role": "system", "content": "\n\n".join(message["content"] for message in prompt.stable)}
    ]
    live, loop = (list(map(_as_said, messages)) for messages in (prompt.live, prompt.loop))
    said = [*(standing if prompt.stable else []), *prompt.history, *live, prompt.message, *loop]
    return {"messages": _on_the_wire(said), **_tools(request.tools)}


def _as_said(message: Message) -> Message:
    """Return a message with instructions as one of the user, and every other message unchanged."""
    return message if message["role"] in SPEAKERS else {**message, "role": "user"}


def _tools(tools: "Sequence[ToolSpec]") -> dict[str, Any]:
    if not tools:
        return {}
    return {
        "tools": [
            {
                "type": "function",
                "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
            }
            for one in tools
        ]
    }
