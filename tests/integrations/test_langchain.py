"""The adapters to LangChain and LangGraph, in the real frameworks."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer
from tests.conftest import Files
from tests.integrations.scenario import TOOL_SAYS, check, run, whole

pytestmark = pytest.mark.xdist_group("langchain")
pytest.importorskip("langchain")

from langchain.agents import create_agent  # noqa: E402
from langchain_core.language_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.runnables import Runnable  # noqa: E402
from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from openai import OpenAI  # noqa: E402

from promptuary.integrations.langchain import PromptuaryMiddleware  # noqa: E402


class Chat(BaseChatModel):
    """A chat model over OpenAI's client, as the packages for providers have them."""

    url: str

    @property
    def _llm_type(self) -> str:
        return "loopback"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools])  # type: ignore[return-value]

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        sent: Any = convert_to_openai_messages(messages)
        tools = {"tools": options["tools"]} if options.get("tools") else {}
        with OpenAI(base_url=self.url, api_key="any") as client:
            done = client.chat.completions.create(model="gpt-5", messages=sent, **tools)
        said = done.choices[0].message
        calls = [
            {"id": one.id, "name": one.function.name, "args": json.loads(one.function.arguments)}
            for one in said.tool_calls or ()
            if one.type == "function"
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said.content or "", tool_calls=calls))])


def lookup(word: str) -> str:
    """Look a word up."""
    return TOOL_SAYS


@dataclass
class Ten:
    promptuary: Promptuary
    server: ChatServer

    def __post_init__(self) -> None:
        self.agent = create_agent(
            Chat(url=self.server.openai_url),
            [lookup],
            system_prompt="You are an agent.",
            middleware=[PromptuaryMiddleware(self.promptuary)],
            checkpointer=InMemorySaver(),
        )

    def ask(self, text: str, thread: str) -> str:
        done = self.agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})
        return str(done["messages"][-1].content)


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten)

    check(server, root)
    assert all("You are an agent." in whole(one) for one in server.asked)
