"""Anthropic's memory tool over notes, with the real client and its tool runner."""

from dataclasses import dataclass

import pytest

from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer
from tests.conftest import Files
from tests.integrations.scenario import CALLS, NOTE, TOOL_SAYS, Model, check, run

pytestmark = pytest.mark.xdist_group("anthropic")
pytest.importorskip("anthropic")

from anthropic import Anthropic, beta_tool  # noqa: E402

from promptuary.integrations.anthropic_memory import PromptuaryMemoryTool, run_turn  # noqa: E402

MEMORY = {
    3: [("memory", {"command": "create", "path": "/memories/release-day.md", "file_text": NOTE})],
    10: [("memory", {"command": "view", "path": "/memories/release-day.md"})],
}


@beta_tool
def lookup(word: str) -> str:
    """Look a word up."""
    return TOOL_SAYS


@dataclass
class Ten:
    promptuary: Promptuary
    server: ChatServer

    def ask(self, text: str, thread: str) -> str:
        with Anthropic(base_url=self.server.anthropic_url, api_key="any") as client:
            tools = [lookup, PromptuaryMemoryTool(self.promptuary)]
            message = run_turn(
                self.promptuary, client, text, thread=thread, tools=tools, model="claude-sonnet-5-5", max_tokens=100
            )
        return "".join(one.text for one in message.content if one.type == "text")


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten, Model({**CALLS, **MEMORY}))

    check(server, root)
