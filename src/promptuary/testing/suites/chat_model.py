"""The contract of every chat model: subclass ``ChatModelConformance`` and add a ``model`` fixture.

    class TestMyModel(ChatModelConformance):
        @pytest.fixture
        def model(self):
            ...     # one that answers {"answer": "yes"} to everything

``JsonChatModelConformance`` adds the contract of a model that can enforce a JSON schema.
"""
# ruff: noqa: S101 - tests that ship with the package; their names are their sentences

import asyncio
from collections.abc import Sequence
from typing import Final

from promptuary.base.messages import Message
from promptuary.models.json_answers import complete_json
from promptuary.models.protocols import ChatModel, JsonChatModel
from promptuary.testing.embedder_conformance import STRANGE

QUESTION: Final[Sequence[Message]] = (
    {"role": "system", "content": "Answer shortly."},
    {"role": "user", "content": "Is it so?"},
)
SCHEMA: Final = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


class ChatModelConformance:
    """The contract of a ``ChatModel``."""

    def test_it_answers_with_text(self, model: ChatModel) -> None:
        assert "yes" in asyncio.run(model.complete(QUESTION, max_tokens=50))

    def test_it_takes_any_text(self, model: ChatModel) -> None:
        async def ask_all() -> list[str]:
            said: list[Sequence[Message]] = [[{"role": "user", "content": text}] for text in STRANGE]
            return [await model.complete(messages, max_tokens=50) for messages in said]

        assert all(isinstance(answer, str) for answer in asyncio.run(ask_all()))

    def test_it_answers_several_questions_at_once(self, model: ChatModel) -> None:
        async def ask_together() -> list[str]:
            return await asyncio.gather(*(model.complete(QUESTION, max_tokens=50) for _ in range(8)))

        assert ["yes" in answer for answer in asyncio.run(ask_together())] == [True] * 8

    def test_json_can_be_had_of_it(self, model: ChatModel) -> None:
        assert asyncio.run(complete_json(model, QUESTION, SCHEMA, max_tokens=50)) == {"answer": "yes"}

    def test_it_leaves_the_messages_alone(self, model: ChatModel) -> None:
        messages: list[Message] = [{"role": "user", "content": "Is it so?"}]
        asyncio.run(complete_json(model, messages, SCHEMA, max_tokens=50))

        assert messages == [{"role": "user", "content": "Is it so?"}]


class JsonChatModelConformance:
    """What a ``JsonChatModel`` promises in addition."""

    def test_held_to_a_schema_it_answers_with_text(self, model: JsonChatModel) -> None:
        assert isinstance(asyncio.run(model.complete_json(QUESTION, SCHEMA, max_tokens=50)), str)
