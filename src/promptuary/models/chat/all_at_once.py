"""Adapts a model that answers in one piece to the port for streaming models. It calls no tools."""

from collections.abc import AsyncIterator

from promptuary.models.chat_model import ChatEvent, ChatRequest, Stopped, TextPiece
from promptuary.models.protocols import ChatModel


class AllAtOnce:
    """A ``StreamingModel`` that yields each answer of ``model`` in one piece."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """Yield the answer to ``request``, and its end."""
        yield TextPiece(await self._model.complete(request.prompt.messages, max_tokens=request.max_tokens))
        yield Stopped("end")
