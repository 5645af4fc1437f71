"""The adapter to the OpenAI Agents SDK, in the real framework."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from promptuary import PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer, Says
from promptuary.testing.loopback import Loopback, Step, answer
from tests.conftest import Files
from tests.integrations.scenario import TOOL_SAYS, TURNS, check, run, run_hostile, run_with_loop, whole

pytest.importorskip("agents")

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    Session,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from promptuary.integrations.openai_agents import PromptuarySession

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


def test_no_file_and_no_note_breaks_out_of_its_block(files: Files) -> None:
    run_hostile(files, Ten)


def responses(*outputs: list[dict[str, Any]]) -> Loopback:
    """Return a service that speaks OpenAI's Responses, which the SDK uses unless told otherwise."""
    waiting = list(outputs)

    def respond() -> Iterator[Step]:
        usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}  # type: ignore[dict-item]
        body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": "completed"}
        body |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage}
        yield answer(json.dumps(body | {"output": waiting.pop(0)}), "application/json")

    return Loopback({"/v1/responses": respond})


def says(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


@pytest.mark.filterwarnings("ignore:asynchronous generator:ResourceWarning")  # of run_sync itself, at its second run
def test_the_example_of_the_documents_has_ten_lines_and_works(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with responses([says("It is fine.")], [says("That it is fine.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url("/v1"))
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        run_with_loop("openai-agents-sdk", files, monkeypatch)

    assert capsys.readouterr().out == "It is fine.\nThat it is fine.\n"
    first, second = map(json.loads, server.bodies)
    assert "x = 1" in first["instructions"]
    assert "It is fine." in str(second["input"])


def test_what_only_the_provider_reads_is_sent_back_within_the_turn(p: Promptuary) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "lookup", "arguments": '{"word": "a"}'}
    session = PromptuarySession(p)

    async def ask(url: str) -> list[str]:
        async with AsyncOpenAI(base_url=url, api_key="any") as client:
            agent = Agent("a", model=OpenAIResponsesModel("gpt-5", client), tools=[lookup])
            return [
                str((await Runner.run(agent, text, **session.options())).final_output) for text in ("Look", "And now?")
            ]

    with responses([thought, call], [says("Done.")], [says("Yes.")]) as server:
        assert asyncio.run(ask(server.url("/v1"))) == ["Done.", "Yes."]

    _, second, third = (json.loads(body)["input"] for body in server.bodies)
    assert [one.get("type", one.get("role")) for one in second] == [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert "reasoning" not in str(third), "the history keeps words and calls"
    assert [turn.status for turn in p.threads.turns()] == ["continued", "finished", "finished"]


@pytest.mark.parametrize("asked", ["Read @file:c.md", "Ask the helper"])
def test_what_one_agent_asks_another_is_not_expanded_and_no_part_of_the_thread(p: Promptuary, asked: str) -> None:
    given = json.dumps({"input": asked})
    script = [Says("", calls=[ToolCall("c1", "helper", given)]), Says("Read."), Says("Done.")]

    async def ask(server: ChatServer) -> str:
        session = PromptuarySession(p)
        async with model(server) as chat:
            agent = Agent("outer", model=chat, tools=[Agent("inner", model=chat).as_tool("helper", "Helps.")])
            return str((await Runner.run(agent, "Ask the helper", **session.options())).final_output)

    with ChatServer(script) as server:
        assert asyncio.run(ask(server)) == "Done."

    assert whole(server.asked[1]) == asked
    assert [turn.status for turn in p.threads.turns()] == ["continued", "finished"]


def test_an_agent_that_takes_over_goes_on_with_the_turn(p: Promptuary) -> None:
    script = [Says("", calls=[ToolCall("c1", "transfer_to_second", "{}")]), Says("41, says the second.")]

    async def ask(server: ChatServer) -> str:
        session = PromptuarySession(p)
        async with model(server) as chat:
            second = Agent("second", model=chat, instructions="You are the second.")
            agent = Agent("outer", model=chat, handoffs=[second])
            return str((await Runner.run(agent, TURNS[0], **session.options())).final_output)

    with ChatServer(script) as server:
        assert asyncio.run(ask(server)) == "41, says the second."

    assert "LIMIT = 41" in whole(server.asked[1])
    assert "You are the second." in whole(server.asked[1])
    assert [turn.status for turn in p.threads.turns()] == ["continued", "finished"]


def test_a_streamed_run_is_recorded(p: Promptuary) -> None:
    async def ask(server: ChatServer) -> str:
        session = PromptuarySession(p)
        async with model(server) as chat:
            running = Runner.run_streamed(Agent("a", model=chat), TURNS[0], **session.options())
            _ = [event async for event in running.stream_events()]
            return str(running.final_output)

    with ChatServer([Says("The limit is forty-one.")]) as server:
        assert asyncio.run(ask(server)) == "The limit is forty-one."

    assert [item.content for item in p.threads.history()][-1] == "The limit is forty-one."


def test_a_run_that_ends_with_the_result_of_a_tool_is_recorded(p: Promptuary) -> None:
    async def ask(server: ChatServer) -> str:
        session = PromptuarySession(p)
        async with model(server) as chat:
            agent = Agent("a", model=chat, tools=[lookup], tool_use_behavior="stop_on_first_tool")
            return str((await Runner.run(agent, "Look", **session.options())).final_output)

    with ChatServer([Says("", calls=[ToolCall("c1", "lookup", '{"word": "a"}')])]) as server:
        assert asyncio.run(ask(server)) == TOOL_SAYS

    assert [item.role for item in p.threads.history()] == ["user", "assistant", "tool"]


def test_a_run_without_the_hooks_is_told_what_is_missing(p: Promptuary) -> None:
    async def ask(server: ChatServer) -> None:
        options = PromptuarySession(p).options()
        async with model(server) as chat:
            agent = Agent("a", model=chat, tools=[lookup])
            await Runner.run(agent, "Look", run_config=options["run_config"])

    script = [Says("", calls=[ToolCall("c1", "lookup", '{"word": "a"}')]), Says("Done.")]
    with ChatServer(script) as server, pytest.raises(PromptuaryError, match=r"\*\*session\.options\(\)"):
        asyncio.run(ask(server))


def test_several_messages_and_instructions_among_them_are_taken_apart(p: Promptuary) -> None:
    asked: list[Any] = [
        {"role": "developer", "content": "Obey @file:c.md"},
        {"role": "user", "content": "First, look at @file:a.py"},
        {"role": "user", "content": [{"type": "input_text", "text": "Then answer."}]},
    ]

    async def ask(server: ChatServer) -> str:
        session = PromptuarySession(p)
        async with model(server) as chat:
            return str((await Runner.run(Agent("a", model=chat), asked, **session.options())).final_output)

    with ChatServer([Says("Done.")]) as server:
        assert asyncio.run(ask(server)) == "Done."

    assert [one["role"] for one in server.asked[0]["messages"]] == ["system", "user"]
    assert "LIMIT = 41" in whole(server.asked[0])
    assert "Nobody asked" not in whole(server.asked[0])
    assert p.threads.turns()[0].text == "First, look at @file:a.py\n\nThen answer."


def test_the_session_is_the_thread(p: Promptuary) -> None:
    async def use() -> None:
        session = PromptuarySession(p, "talk")
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        for asked, answered in (("Hello", "Good day"), ("What now?", "Nothing.")):
            p.threads.finish(p.threads.prepare(asked, thread="talk"), answered)

        assert await session.get_items() == [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Good day"},
            {"role": "user", "content": "What now?"},
            {"role": "assistant", "content": "Nothing."},
        ]
        assert await session.get_items(1) == [{"role": "assistant", "content": "Nothing."}]
        assert await session.get_items(0) == []
        assert len(await session.get_items(99)) == 4
        await session.clear_session()
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(use())


def test_popping_items_takes_a_turn_back(p: Promptuary) -> None:
    async def use(server: ChatServer) -> list[Any]:
        session = PromptuarySession(p, "talk")
        async with model(server) as chat:
            agent = Agent("a", model=chat, tools=[lookup])
            await Runner.run(agent, "Hello", **session.options())
            await Runner.run(agent, "What is the limitt?", **session.options())
            popped = [await session.pop_item() for _ in range(4)]
            assert [one["content"] for one in await session.get_items()] == ["Hello", "Good day."]  # type: ignore[typeddict-item]
            await Runner.run(agent, "What is the limit?", **session.options())
            return popped

    look = Says("", calls=[ToolCall("c1", "lookup", '{"word": "limitt"}')])
    with ChatServer([Says("Good day."), look, Says("What is a limitt?"), Says("41.")]) as server:
        answer, result, call, asked = asyncio.run(use(server))

    assert (answer["content"], asked["content"]) == ("What is a limitt?", "What is the limitt?")
    assert (result["type"], call["name"]) == ("function_call_output", "lookup")
    assert "limitt" not in whole(server.asked[-1])
    assert [turn.status for turn in p.threads.turns(thread="talk")] == ["finished", "continued", "undone", "finished"]


def test_a_thread_begins_with_items_from_elsewhere_and_takes_none_later(p: Promptuary) -> None:
    said: list[Any] = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]

    async def use(server: ChatServer) -> None:
        session = PromptuarySession(p, "talk")
        await session.add_items(said)
        assert await session.get_items() == said
        with pytest.raises(PromptuaryError, match=r"\*\*session\.options\(\)"):
            await session.add_items(said)
        with pytest.raises(PromptuaryError, match="nothing to undo"):
            await session.pop_item()
        async with model(server) as chat:
            await Runner.run(Agent("a", model=chat), "And now?", **session.options())

    with ChatServer([Says("Done.")]) as server:
        asyncio.run(use(server))
    assert "Good day" in whole(server.asked[0])


def test_a_run_with_the_session_alone_is_refused_before_the_model_is_asked(p: Promptuary) -> None:
    async def ask(server: ChatServer) -> None:
        async with model(server) as chat:
            await Runner.run(Agent("a", model=chat), "Look at @file:a.py", session=PromptuarySession(p))

    with ChatServer([Says("Done.")]) as server, pytest.raises(PromptuaryError, match=r"\*\*session\.options\(\)"):
        asyncio.run(ask(server))
    assert server.asked == []
    assert not p.threads.list()
