"""The connected client: what it can do, and how it is asked something.

Up to the protocol of 2025 a server sends requests to its client. From 2026-07-28 on it may not: it answers a call with
its questions, and the client repeats the call with the answers (``elicitation``). This module hides the difference.
Only the event loop that serves the client runs any of this; other threads use ``ClientModel``.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from promptuary.base.errors import PromptuaryError
from promptuary.base.messages import Message

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
"""What the MCP package passes with a request."""

ROOTS_SECONDS: Final = 10.0
SAMPLE_SECONDS: Final = 120.0
_ROOTS_LAST: Final = 60.0
"""Seconds for which roots are cached if the client does not report changes."""
_MAX_QUESTIONS: Final = 16
_CANNOT: Final = frozenset({types.METHOD_NOT_FOUND, types.INVALID_REQUEST})
"""The answer of a client without roots: up to version 1.6, the MCP package declared roots for every client."""


class Question:
    """A question to the client, and its answer once there is one."""

    def __init__(self, request: types.CreateMessageRequest | types.ListRootsRequest) -> None:
        self.request = request
        self.answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()


class Client:
    """One client: over standard streams the only one, over HTTP the client of one session.

    ``lasting`` says whether its later requests can be distinguished from those of others; if not, nothing is stored.
    """

    def __init__(self, *, lasting: bool) -> None:
        self.lasting = lasting
        self.loop = asyncio.get_running_loop()
        self.questions: dict[str, Question] = {}
        """Questions to send with the next answer, by name (protocol of 2026)."""
        self.asked = asyncio.Event()
        """Set while some questions have not been sent to the client."""
        self._context: Context | None = None
        self._roots: tuple[float, list[str] | None] | None = None
        self._number = 0

    def meet(self, context: Context) -> None:
        """Store a request: what the client declares in it is valid until the next one."""
        self._context = context

    def take_over(self, other: "Client") -> None:
        """Take the latest request from another object for the same client, which could not be recognized."""
        self._context = other._context  # noqa: SLF001  (of the same class)

    @property
    def request(self) -> Any:
        """The request with which it came, as the transport knows it: over HTTP that of Starlette."""
        return None if self._context is None else self._context.request

    @property
    def is_modern(self) -> bool:
        """Whether the client speaks the protocol of 2026, and cannot be sent requests."""
        return self._context is not None and self._context.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def has_model(self) -> bool:
        """Whether the client offers its own model, and it can be reached again."""
        return self.lasting and self._declared is not None and self._declared.sampling is not None

    @property
    def has_roots(self) -> bool:
        """Whether the client names folders."""
        return self._declared is not None and self._declared.roots is not None

    @property
    def _declared(self) -> types.ClientCapabilities | None:
        return None if self._context is None else self._context.session.client_capabilities

    @property
    def knows_roots(self) -> bool:
        """Whether the client's roots are cached and still valid."""
        if self._roots is None:
            return False
        return not self.is_modern or time.monotonic() - self._roots[0] < _ROOTS_LAST

    def forget_roots(self) -> None:
        """Drop the cached roots, because they have changed."""
        self._roots = None

    async def roots(self) -> list[str] | None:
        """Return the URIs of the client's roots; ``None`` if it has none, or does not support them.

        Raises ``PromptuaryError`` if it declares roots and does not name them: then no folder can be used.
        """
        if not self.has_roots:
            return None
        if self._roots is not None and self.knows_roots:
            return self._roots[1]
        try:
            answer = await asyncio.wait_for(self._ask(types.ListRootsRequest(), types.ListRootsResult), ROOTS_SECONDS)
            found: list[str] | None = [str(root.uri) for root in answer.roots]
        except (MCPError, TimeoutError, ValueError) as error:
            if not isinstance(error, MCPError) or error.code not in _CANNOT:
                raise PromptuaryError("the client has roots but did not name them, so no folder can be used") from error
            found = None
        self._roots = (time.monotonic(), found)
        return found

    async def sample(self, messages: Sequence[Message], max_tokens: int) -> str:
        """Return the answer of the client's model. Raises ``PromptuaryError`` if there is none."""
        try:
            request = _sampling(messages, max_tokens)
            answer = await asyncio.wait_for(self._ask(request, types.CreateMessageResult), SAMPLE_SECONDS)
        except (MCPError, TimeoutError, ValueError) as error:
            raise PromptuaryError(f"the client's model did not answer: {str(error)[:200]}") from error
        content: Any = answer.content
        if getattr(content, "type", "") != "text":
            raise PromptuaryError("the client's model did not answer with text")
        return str(content.text)

    async def _ask(self, request: types.CreateMessageRequest | types.ListRootsRequest, kind: Any) -> Any:
        if self._context is None:
            raise PromptuaryError("no client is connected")
        if not self.is_modern:
            about = ServerMessageMetadata(related_request_id=self._context.request_id)
            return await self._context.session.send_request(request, kind, metadata=about)
        if len(self.questions) >= _MAX_QUESTIONS:
            raise PromptuaryError("too many questions wait for the client")
        self._number += 1
        name, question = f"q{self._number}", Question(request)
        self.questions[name] = question
        self.asked.set()
        try:
            answer: Any = await question.answer
        finally:
            self.questions.pop(name, None)
        if isinstance(answer, kind):
            return answer
        # The package parses a sampling answer as the first of two types that fits.
        return kind.model_validate(answer.model_dump(by_alias=True, mode="json", exclude_none=True))

    def take_answers(self, answers: dict[str, Any]) -> None:
        """Take the client's answers; unknown names are ignored."""
        for name, answer in answers.items():
            question = self.questions.get(name)
            if question is not None and not question.answer.done():
                question.answer.set_result(answer)


class ClientModel:
    """The client's model as a ``ChatModel``: usable from any thread, on any event loop."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the answer of the client's model."""
        asked = self._client.sample(messages, max_tokens)
        if asyncio.get_running_loop() is self._client.loop:
            return await asked
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._client.loop))


def _sampling(messages: Sequence[Message], max_tokens: int) -> types.CreateMessageRequest:
    """Return the sampling request for messages. The protocol has a system prompt and two roles."""
    system = "\n\n".join(
        str(message.get("content") or "") for message in messages if message["role"] in {"system", "developer"}
    )
    said = [
        types.SamplingMessage(
            role="assistant" if message["role"] == "assistant" else "user",
            content=types.TextContent(type="text", text=str(message.get("content") or "")),
        )
        for message in messages
        if message["role"] not in {"system", "developer"}
    ]
    params = types.CreateMessageRequestParams(
        messages=said, system_prompt=system or None, max_tokens=max_tokens, temperature=0.0
    )
    return types.CreateMessageRequest(params=params)
