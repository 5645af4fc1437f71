"""Scripted models: for tests, ours and yours. They use no network.

``ScriptedModel(["80", TimeoutError()])`` returns its answers in order and raises those that are exceptions;
``ScriptedModel(lambda messages: "50")`` computes each from the request. It records every question, and how many were
open at the same time. ``ScriptedStream`` does the same for streaming models: text and tool calls, piece by piece.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from promptuary.base.messages import Message, ToolCall
from promptuary.models.chat_model import ChatEvent, ChatRequest, ModelUsage, Stopped, TextPiece

Prepared = TypeVar("Prepared")
Answer = str | Exception
"""What the model answers, or the error to raise."""

Script = Iterable[Answer] | Callable[[Sequence[Message]], Answer]
"""The answers in order, or a function that returns one for a request."""


class ScriptExhausted(LookupError):  # noqa: N818  (it says what happened, as StopIteration does)
    """The model was called more often than its script has answers."""


class Asked(Struct, frozen=True):
    """One question as it arrived; ``schema`` is the schema of its answer, if JSON was requested."""

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Mapping[str, object] | None = None

    @property
    def text(self) -> str:
        """The text of all messages, in order."""
        return "\n\n".join(message["content"] for message in self.messages)


class ScriptedModel:
    """A ``JsonChatModel`` with scripted answers; ``delay`` is the seconds before each; if infinite, none ever comes."""

    def __init__(self, script: Script, *, delay: float = 0.0) -> None:
        self.asked: list[Asked] = []
        self.busiest = 0
        self._answer = script if callable(script) else _in_order(script)
        self._delay = delay
        self._under_way = 0

    async def complete(self, messages: Sequence[Message], *, max_tokens: int) -> str:
        """Return the next answer of the script, or raise it."""
        return await self._next(Asked(tuple(messages), max_tokens))

    async def complete_json(self, messages: Sequence[Message], schema: Mapping[str, object], *, max_tokens: int) -> str:
        """Return the next answer of the script, or raise it. It is not checked against ``schema``."""
        return await self._next(Asked(tuple(messages), max_tokens, schema))

    async def _next(self, asked: Asked) -> str:
        self.asked.append(asked)
        self._under_way += 1
        self.busiest = max(self.busiest, self._under_way)
        try:
            answer = self._answer(asked.messages)
            await self._wait()
        finally:
            self._under_way -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _wait(self) -> None:
        if self._delay == float("inf"):
            await asyncio.Event().wait()
        await asyncio.sleep(self._delay)


Spoken = Sequence[str | ToolCall | Exception]
"""An answer of a streaming model: pieces of text, tool calls, and errors to raise, in order."""


class ScriptedStream:
    """A ``StreamingModel`` with scripted answers: a list of them, in order, or a function of the request.

    It records every request; ``delay`` is the seconds before each piece. Text arrives line by line.
    """

    def __init__(self, script: Iterable[Spoken] | Callable[[ChatRequest], Spoken], *, delay: float = 0.0) -> None:
        self.asked: list[ChatRequest] = []
        self._answer = script if callable(script) else _in_order(script)
        self._delay = delay

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Yield the next answer of the script, and raise the errors in it."""
        self.asked.append(request)
        called = False
        for part in self._answer(request):
            await asyncio.sleep(self._delay)
            if isinstance(part, Exception):
                raise part
            if isinstance(part, ToolCall):
                called = True
                yield part
                continue
            for line in part.splitlines(keepends=True):
                yield TextPiece(line)
        yield ModelUsage(sum(len(one["content"]) for one in request.prompt.messages) // 4, 1)
        yield Stopped("tools" if called else "end")


class ScriptedReranker:
    """A ``Reranker`` whose scores come from a function of a question and a text; it records every question.

    ``delay`` is the seconds before each answer. An exception of the function is raised.
    """

    def __init__(self, score: Callable[[str, str], float], *, delay: float = 0.0) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._score = score
        self._delay = delay

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return the scores of the function, one for each text."""
        self.asked.append((query, tuple(texts)))
        if self._delay:
            time.sleep(self._delay)
        return [self._score(query, text) for text in texts]


def _in_order(answers: Iterable[Prepared]) -> Callable[[object], Prepared]:
    waiting = iter(answers)

    def following(_: object) -> Prepared:
        for answer in waiting:
            return answer
        raise ScriptExhausted("the script has no more answers; give it as many as there are questions")

    return following
