"""The adapter to pydantic-ai, in the real framework."""

from dataclasses import dataclass

import pytest

from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer
from tests.conftest import Files
from tests.integrations.scenario import TOOL_SAYS, check, run, whole

pytestmark = pytest.mark.xdist_group("pydantic-ai")
pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402

from promptuary.integrations.pydantic_ai import PromptuaryCapability  # noqa: E402


def model(server: ChatServer) -> OpenAIChatModel:
    return OpenAIChatModel("gpt-5", provider=OpenAIProvider(base_url=server.openai_url, api_key="any"))


def lookup(word: str) -> str:
    """Look a word up."""
    return TOOL_SAYS


@dataclass
class Ten:
    promptuary: Promptuary
    server: ChatServer

    def ask(self, text: str, thread: str) -> str:
        capability = PromptuaryCapability(self.promptuary, thread)
        agent = Agent(model(self.server), instructions="You are an agent.", tools=[lookup], capabilities=[capability])
        return agent.run_sync(text).output


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten)

    check(server, root)
    assert all("You are an agent." in whole(one) for one in server.asked)
