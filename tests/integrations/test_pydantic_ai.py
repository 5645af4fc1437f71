"""The adapter to pydantic-ai, in the real framework."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from promptuary import PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import Files
from tests.integrations.scenario import FILES, TOOL_SAYS, TURNS, check, opened, run, run_hostile, run_with_loop, whole

pytest.importorskip("pydantic_ai")

from openai import AsyncOpenAI
from pydantic_ai import (
    Agent,
    AgentRunResult,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    ModelRetry,
    TextOutput,
    Tool,
    ToolReturn,
    UserContent,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from promptuary.integrations.pydantic_ai import PromptuaryCapability, promptuary_toolset


class Limit(BaseModel):
    limit: int


def answered(server: ChatServer, text: str | Sequence[UserContent] | None, **given: Any) -> AgentRunResult[Any]:
    """Run an agent, made of ``given``, once; ``run`` in it is what else the run is given."""

    async def run(*, run: Mapping[str, Any] | None = None, **options: Any) -> AgentRunResult[Any]:
        async with model(server) as chat:
            return await Agent(chat, **options).run(text, **(run or {}))

    return asyncio.run(run(**given))


@asynccontextmanager
async def model(server: ChatServer) -> AsyncIterator[OpenAIChatModel]:
    """Return a model whose connections end with it."""
    async with AsyncOpenAI(base_url=server.openai_url, api_key="any") as client:
        yield OpenAIChatModel("gpt-5", provider=OpenAIProvider(openai_client=client))


def lookup(word: str) -> str:
    """Look a word up."""
    return TOOL_SAYS


@dataclass
class Ten:
    promptuary: Promptuary
    server: ChatServer

    def ask(self, text: str, thread: str) -> str:
        done = answered(
            self.server,
            text,
            instructions="You are an agent.",
            tools=[lookup],
            capabilities=[PromptuaryCapability(self.promptuary, thread)],
        )
        return str(done.output)


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten)

    check(server, root)
    assert all("You are an agent." in whole(one) for one in server.asked)


def test_no_file_and_no_note_breaks_out_of_its_block(files: Files) -> None:
    run_hostile(files, Ten)


def test_the_example_of_the_documents_has_ten_lines_and_works(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer([Says("It is fine."), Says("That it is fine.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        run_with_loop("pydantic-ai", files, monkeypatch)

    assert capsys.readouterr().out == "It is fine.\nThat it is fine.\n"
    assert "x = 1" in whole(server.asked[0])
    assert "It is fine." in whole(server.asked[1])


def test_what_a_tool_returns_in_the_role_of_the_user_is_not_expanded(p: Promptuary) -> None:
    def show() -> ToolReturn[str]:
        """Show something."""
        return ToolReturn("Shown.", content="Now read @file:c.md")

    with ChatServer([Says("", calls=[ToolCall("c1", "show", "{}")]), Says("Done."), Says("Yes.")]) as server:
        given: Mapping[str, Any] = {"tools": [show], "capabilities": [PromptuaryCapability(p)]}
        done = answered(server, "Show me", **given)
        answered(server, "And then?", run={"message_history": done.all_messages()}, **given)

    assert "Now read @file:c.md" in whole(server.asked[1])
    assert not any("Nobody asked" in whole(one) for one in server.asked)


def test_messages_of_the_run_stay_as_the_framework_has_them(p: Promptuary) -> None:
    with ChatServer([Says("41.")]) as server:
        done = answered(server, TURNS[0], capabilities=[PromptuaryCapability(p)])

    assert "LIMIT = 41" in whole(server.asked[0])
    assert "LIMIT = 41" not in str(done.all_messages())


def test_a_run_that_waits_for_an_approval_goes_on_after_a_restart(files: Files) -> None:
    root, history = files(FILES), b""

    def delete(name: str) -> str:
        """Delete a file."""
        return f"{name} is gone"

    with ChatServer([Says("", calls=[ToolCall("c1", "delete", '{"name": "x"}')]), Says("Done.")]) as server:

        def run(p: Promptuary, text: str | None, **run: Any) -> AgentRunResult[Any]:
            tools, output = [Tool(delete, requires_approval=True)], [str, DeferredToolRequests]
            return answered(
                server, text, run=run, output_type=output, tools=tools, capabilities=[PromptuaryCapability(p)]
            )

        with opened(root) as p:
            asked = run(p, "Delete x, see @file:a.py")
            assert isinstance(asked.output, DeferredToolRequests)
            history = asked.all_messages_json()
            assert p.threads.pending() is not None
        with opened(root) as p:
            before = ModelMessagesTypeAdapter.validate_json(history)
            results = DeferredToolResults(approvals={"c1": True})
            done = run(p, None, message_history=before, deferred_tool_results=results)

            assert done.output == "Done."
            assert [turn.status for turn in p.threads.turns()] == ["continued", "finished"]
            assert [item.role for item in p.threads.history()] == ["user", "assistant", "tool", "assistant"]
    assert "LIMIT = 41" in whole(server.asked[1])
    assert "x is gone" in whole(server.asked[1])


def test_a_streamed_answer_is_recorded(p: Promptuary) -> None:
    async def stream(server: ChatServer) -> str:
        async with (
            model(server) as chat,
            Agent(chat, capabilities=[PromptuaryCapability(p)]).run_stream(TURNS[0]) as running,
        ):
            return "".join([piece async for piece in running.stream_text(delta=True)])

    with ChatServer([Says("The limit is forty-one.")]) as server:
        assert asyncio.run(stream(server)) == "The limit is forty-one."

    assert [item.content for item in p.threads.history()][-1] == "The limit is forty-one."


def test_an_answer_with_a_schema_is_recorded(p: Promptuary) -> None:
    with ChatServer([Says("", calls=[ToolCall("c1", "final_result", '{"limit": 41}')])]) as server:
        done = answered(server, TURNS[0], output_type=Limit, capabilities=[PromptuaryCapability(p)])

    assert done.output == Limit(limit=41)
    assert [turn.status for turn in p.threads.turns()] == ["finished"]
    assert [item.role for item in p.threads.history()] == ["user", "assistant", "tool"]


def test_an_answer_that_is_sent_back_reaches_the_model_with_the_reason(p: Promptuary) -> None:
    def digits(text: str) -> str:
        if not text[0].isdigit():
            raise ModelRetry("In digits, as @file:c.md says.")
        return text

    with ChatServer([Says("Forty."), Says("41.")]) as server:
        done = answered(server, TURNS[0], output_type=TextOutput(digits), capabilities=[PromptuaryCapability(p)])

    assert done.output == "41."
    assert "In digits" in whole(server.asked[1])
    assert not any("Nobody asked" in whole(one) for one in server.asked)
    assert [item.content for item in p.threads.history()][1:] == ["Forty.", "41."]


def test_pictures_stay_with_the_message(p: Promptuary) -> None:
    with ChatServer([Says("A cat.")]) as server:
        asked: list[UserContent] = ["What is this? See @file:a.py", BinaryContent(b"GIF89a", media_type="image/gif")]
        answered(server, asked, capabilities=[PromptuaryCapability(p)])

    kinds = [part["type"] for part in server.asked[0]["messages"][-1]["content"]]
    assert kinds == ["text", "image_url"]
    assert "LIMIT = 41" in whole(server.asked[0])


def test_a_message_that_does_not_fit_ends_the_run_before_the_model_is_asked(files: Files) -> None:
    with (
        ChatServer([Says("No.")]) as server,
        Promptuary.open(files(FILES), exact=True, embedder="none", window=1_000) as p,
    ):
        with pytest.raises(PromptuaryError, match="does not fit"):
            answered(server, "word " * 2_000, capabilities=[PromptuaryCapability(p)])

        assert server.asked == []


def test_a_run_without_a_message_is_sent_as_it_is(p: Promptuary) -> None:
    with ChatServer([Says("Hello.")]) as server:
        done = answered(server, None, instructions="Greet.", capabilities=[PromptuaryCapability(p)])

    assert done.output == "Hello."
    assert list(p.threads.turns()) == []


def test_the_toolset_alone_labels_what_is_written(p: Promptuary) -> None:
    note = '{"type": "project", "title": "Day", "content": "Mondays."}'
    with ChatServer([Says("", calls=[ToolCall("c1", "write_memory", note)]), Says("Done.")]) as server:
        answered(server, "Remember it", toolsets=[promptuary_toolset(p)])

    assert [header.trust for header in p.memory.list()] == ["external"]
