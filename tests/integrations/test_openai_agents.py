"""The adapter to the OpenAI Agents SDK, in the real framework."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer
from tests.conftest import Files
from tests.integrations.scenario import TOOL_SAYS, check, run, whole

pytestmark = pytest.mark.xdist_group("openai-agents")
pytest.importorskip("agents")

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402

from promptuary.integrations.openai_agents import PromptuarySession  # noqa: E402

set_tracing_disabled(True)  # traces go to a service


@asynccontextmanager
async def model(server: ChatServer) -> AsyncIterator[OpenAIChatCompletionsModel]:
    async with AsyncOpenAI(base_url=server.openai_url, api_key="any") as client:
        yield OpenAIChatCompletionsModel("gpt-5", client)


@function_tool
def lookup(word: str) -> str:
    """Look a word up."""
    return TOOL_SAYS


@dataclass
class Ten:
    promptuary: Promptuary
    server: ChatServer

    def ask(self, text: str, thread: str) -> str:
        return asyncio.run(self.answer(text, thread))

    async def answer(self, text: str, thread: str) -> str:
        session = PromptuarySession(self.promptuary, thread)
        async with model(self.server) as chat:
            agent = Agent("ten", instructions="You are an agent.", model=chat, tools=[lookup, *session.tools()])
            return str((await Runner.run(agent, text, **session.options())).final_output)


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten)

    check(server, root)
    assert all("You are an agent." in whole(one) for one in server.asked)
