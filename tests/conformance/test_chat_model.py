"""Every chat model keeps the same contract; ``promptuary.testing.suites.chat_model`` is the contract."""

import json
from collections.abc import Iterator, Sequence

import pytest

from promptuary.models.chat.openai_chat import EndpointChatModel
from promptuary.models.chat.scripted_replies import ScriptedReplies
from promptuary.models.protocols import ChatModel, JsonChatModel
from promptuary.testing.loopback import Loopback, Step, answer
from promptuary.testing.scripted import ScriptedModel
from promptuary.testing.suites.chat_model import ChatModelConformance, JsonChatModelConformance

YES = '{"answer": "yes"}'


class TestScriptedModel(ChatModelConformance, JsonChatModelConformance):
    @pytest.fixture
    def model(self) -> JsonChatModel:
        return ScriptedModel(lambda _: YES)


class TestScriptedReplies(ChatModelConformance):
    @pytest.fixture
    def model(self) -> ChatModel:
        return ScriptedReplies([YES])


class TestEndpoint(ChatModelConformance, JsonChatModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[JsonChatModel]:
        with Loopback({"/v1/chat/completions": said(YES)}) as server:
            yield EndpointChatModel(server.url("/v1"), "small")


class TestEndpointThatKnowsNoSchema(ChatModelConformance, JsonChatModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[JsonChatModel]:
        with Loopback() as server:

            def steps() -> Sequence[Step]:
                if "response_format" in json.loads(server.bodies[-1]):
                    return [answer('{"error": "unknown field response_format"}', status=400)]
                return [said(f"Sure:\n```json\n{YES}\n```")]

            server.routes["/v1/chat/completions"] = steps
            yield EndpointChatModel(server.url("/v1"), "small")


def said(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return answer(json.dumps({"choices": [{"index": 0, "message": message}]}), "application/json")
