"""Every streaming model keeps the same contract; ``promptuary.testing.suites.streaming_model`` is the contract."""

from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from promptuary.base.messages import ToolCall
from promptuary.models.chat.anthropic_chat import AnthropicChatModel
from promptuary.models.chat.openai_chat import EndpointChatModel
from promptuary.models.chat.pydantic_ai_chat import PydanticAiModel
from promptuary.models.chat_model import StreamingModel
from promptuary.testing.chat_server import ChatServer, Refuses, Says
from promptuary.testing.scripted import ScriptedStream
from promptuary.testing.suites.streaming_model import StreamingModelConformance

REPLY = Says("Let me look.", [ToolCall("c1", "look", '{"path": "a.py"}')])


class TestScriptedStream(StreamingModelConformance):
    @pytest.fixture
    def model(self) -> StreamingModel:
        return ScriptedStream(lambda _: ("Let me look.", ToolCall("c1", "look", '{"path": "a.py"}')))


class TestOpenAi(StreamingModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[StreamingModel]:
        with ChatServer([REPLY]) as server:
            yield EndpointChatModel(server.openai_url, "small")


class TestServiceThatKnowsOneSystemMessage(StreamingModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[StreamingModel]:
        def reply(body: object) -> Says | Refuses:
            assert isinstance(body, dict)
            later = [one for one in body["messages"][1:] if one["role"] == "system"]
            return Refuses(400, "system message must be at the beginning") if later else REPLY

        with ChatServer(reply) as server:
            yield EndpointChatModel(server.openai_url, "small")


class TestPydanticAi(StreamingModelConformance):
    @pytest.fixture
    def model(self) -> StreamingModel:
        async def said(messages: object, info: object) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
            yield "Let me "
            yield "look."
            yield {0: DeltaToolCall(name="look", json_args='{"path": ', tool_call_id="c1")}
            yield {0: DeltaToolCall(json_args='"a.py"}')}

        return PydanticAiModel(FunctionModel(stream_function=said))


class TestAnthropic(StreamingModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[StreamingModel]:
        with ChatServer([REPLY]) as server:
            yield AnthropicChatModel(server.anthropic_url, "small")
