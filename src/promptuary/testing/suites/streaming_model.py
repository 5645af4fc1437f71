"""The contract of every streaming model: subclass ``StreamingModelConformance`` and add a ``model`` fixture.

class TestMyModel(StreamingModelConformance):
@pytest.fixture
def model(self):
...     # one that answers "Let me look." and calls look({"path": "a.py"}), to everything
"""
# ruff: noqa: S101 - tests that ship with the package; their names are their sentences

import asyncio
from typing import Final

from promptuary.base.messages import Prompt, ToolCall
from promptuary.models.chat_model import ChatEvent, ChatRequest, Stopped, StreamingModel, TextPiece, ToolSpec
from promptuary.testing.embedder_conformance import STRANGE

LOOK: Final = ToolSpec("look", "Look at a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def asked(text: str) -> ChatRequest:
    """Return a request with something in every part of the prompt."""
    prompt = Prompt(
        [{"role": "developer", "content": "Be brief."}],
        [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}],
        [{"role": "developer", "content": "It is Monday."}],
        {"role": "user", "content": text},
    )
    return ChatRequest(prompt, [LOOK], max_tokens=50)


async def collected(model: StreamingModel, request: ChatRequest) -> list[ChatEvent]:
    """Return every event of an answer."""
    return [event async for event in model.stream(request)]


class StreamingModelConformance:
    """The contract of a ``StreamingModel``."""

    def test_text_arrives_in_order_and_calls_arrive_whole(self, model: StreamingModel) -> None:
        events = asyncio.run(collected(model, asked("What is in a.py?")))

        assert "".join(one.text for one in events if isinstance(one, TextPiece)) == "Let me look."
        (call,) = [one for one in events if isinstance(one, ToolCall)]
        assert (call.name, call.arguments.replace(" ", "")) == ("look", '{"path":"a.py"}')
        assert call.id

    def test_the_end_is_told_last_and_once(self, model: StreamingModel) -> None:
        events = asyncio.run(collected(model, asked("What is in a.py?")))

        assert [one for one in events if isinstance(one, Stopped)] == [Stopped("tools")]
        assert events[-1] == Stopped("tools")

    def test_it_takes_any_text(self, model: StreamingModel) -> None:
        for text in STRANGE:
            assert asyncio.run(collected(model, asked(text)))[-1] == Stopped("tools")

    def test_several_answers_arrive_at_once(self, model: StreamingModel) -> None:
        async def together() -> list[list[ChatEvent]]:
            return await asyncio.gather(*(collected(model, asked("Again?")) for _ in range(5)))

        assert {events[-1] for events in asyncio.run(together())} == {Stopped("tools")}

    def test_an_answer_that_nobody_wants_more_of_can_be_closed(self, model: StreamingModel) -> None:
        async def first() -> ChatEvent:
            events = model.stream(asked("What is in a.py?"))
            try:
                return await anext(events)
            finally:
                await events.aclose()  # type: ignore[attr-defined]  # every asynchronous generator has it

        assert asyncio.run(first()) is not None
