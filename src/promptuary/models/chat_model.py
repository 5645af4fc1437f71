"""The interface of a conversational model: it streams an answer, which may contain tool calls.

``core.ports.models.ChatModel`` is the smaller port, for models that only score, summarise or select.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from promptuary.base.messages import Prompt, ToolCall

StopReason = Literal["end", "length", "tools", "refused"]
"""Why an answer ended: it was complete, its length was used up, it calls tools, or the model or its service refuses."""


class ToolSpec(Struct, frozen=True):
    """A tool that a model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, object]


class ChatRequest(Struct, frozen=True):
    """A request to a model: the whole prompt, the tools that it may call, and how long its answer may be."""

    prompt: Prompt
    tools: Sequence[ToolSpec] = ()
    max_tokens: int = 4096


class TextPiece(Struct, frozen=True):
    """The next piece of the answer."""

    text: str


class ModelUsage(Struct, frozen=True):
    """The token counts that the service reported, as far as known. Several of these may arrive; the last one counts.

    ``cached_tokens`` is the part of ``input_tokens`` that the service had in its cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def is_known(self) -> bool:
        """Whether the service counted anything."""
        return bool(self.input_tokens or self.output_tokens)


class Retrying(Struct, frozen=True):
    """The service does not answer, and is retried after ``seconds``. Only occurs before any other event.

    ``reason`` says which service it is and what is wrong with it, without a full stop.
    """

    reason: str
    seconds: float


class Stopped(Struct, frozen=True):
    """The end of the answer. Always the last event."""

    reason: StopReason


ChatEvent = TextPiece | ToolCall | ModelUsage | Retrying | Stopped
"""An event of a streamed answer. A tool call arrives whole."""


class StreamingModel(Protocol):
    """A model that streams its answer.

    It raises ``PromptuaryError`` if it cannot answer, or if the answer breaks off. Closing the iterator, or cancelling
    a task that waits for it, closes the connection at once.
    """

    def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Return the answer to ``request`` as it arrives."""
        ...
