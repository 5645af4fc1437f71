"""The adapters to LangChain and LangGraph, in the real frameworks."""

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from promptuary import Principal, PromptuaryError
from promptuary.base.messages import ToolCall
from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer, Refuses, Says
from tests.conftest import Figure, Files
from tests.integrations.scenario import FILES, TOOL_SAYS, TURNS, check, opened, run, run_example, run_hostile, whole

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import InjectedToolCallId
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from openai import BadRequestError, OpenAI

from promptuary.integrations.langchain import PromptuaryMiddleware
from promptuary.integrations.langgraph_store import PromptuaryStore


class Chat(BaseChatModel):
    """A chat model over OpenAI's client, as the packages for providers have them."""

    url: str

    @property
    def _llm_type(self) -> str:
        return "loopback"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools])

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


def said(messages: Sequence[Any]) -> Any:
    """Return what an agent is invoked with."""
    return {"messages": list(messages)}


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
        done = self.agent.invoke(said([("user", text)]), {"configurable": {"thread_id": thread}})
        return str(done["messages"][-1].content)


def test_ten_turns_with_references_tools_memory_and_a_restart(files: Files) -> None:
    server, root = run(files, Ten)

    check(server, root)
    assert all("You are an agent." in whole(one) for one in server.asked)


def test_no_file_and_no_note_breaks_out_of_its_block(files: Files) -> None:
    run_hostile(files, Ten)


def test_the_example_of_the_documents_has_ten_lines_and_works(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer([Says("It is fine.")]) as server:
        # The package langchain-openai would talk to the same service.
        monkeypatch.setattr(
            "langchain.agents.factory.init_chat_model", {"openai:gpt-5": Chat(url=server.openai_url)}.get
        )
        run_example("langchain-and-langgraph", files, monkeypatch)

    assert capsys.readouterr().out == "It is fine.\n"
    assert "x = 1" in whole(server.asked[0])


@pytest.mark.parametrize(("given", "thread"), [(0, "0"), (None, "main"), ("", "main")])
def test_the_id_of_a_thread_may_be_a_number(p: Promptuary, given: object, thread: str) -> None:
    with ChatServer([Says("Fine.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), [lookup], middleware=[PromptuaryMiddleware(p)])
        agent.invoke(said([("user", "How are you?")]), {"configurable": {"thread_id": given}})

    assert [one.id for one in p.threads.list()] == [thread]


def test_runs_with_async_are_turns_too(p: Promptuary) -> None:
    async def ask(server: ChatServer) -> str:
        agent = create_agent(Chat(url=server.openai_url), [lookup], middleware=[PromptuaryMiddleware(p, "talk")])
        done = await agent.ainvoke(said([("user", TURNS[0])]))
        return str(done["messages"][-1].content)

    note = '{"type": "project", "title": "Day", "content": "Mondays."}'
    calls = [ToolCall("c1", "lookup", '{"word": "a"}'), ToolCall("c2", "write_memory", note)]
    with ChatServer([Says("", calls=calls), Says("41.")]) as server:
        assert asyncio.run(ask(server)) == "41."

    assert "LIMIT = 41" in whole(server.asked[0])
    assert [turn.status for turn in p.threads.turns(thread="talk")] == ["continued", "finished"]
    assert [header.title for header in p.memory.list()] == ["Day"]


def test_messages_in_the_state_stay_as_the_framework_has_them(p: Promptuary) -> None:
    with ChatServer([Says("41.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), middleware=[PromptuaryMiddleware(p)])
        done = agent.invoke(said([("user", TURNS[0])]))

    assert [one.content for one in done["messages"]] == [TURNS[0], "41."]


def test_a_run_that_waits_for_an_approval_goes_on_after_a_restart(files: Files) -> None:
    root, saver, config = files(FILES), InMemorySaver(), {"configurable": {"thread_id": "talk"}}

    with ChatServer([Says("", calls=[ToolCall("c1", "lookup", '{"word": "a"}')]), Says("Done.")]) as server:

        def agent(p: Promptuary) -> Any:
            asks: list[Any] = [HumanInTheLoopMiddleware(interrupt_on={"lookup": True})]
            return create_agent(
                Chat(url=server.openai_url),
                [lookup],
                middleware=[PromptuaryMiddleware(p), *asks],
                checkpointer=saver,
            )

        with opened(root) as p:
            asked = agent(p).invoke(said([("user", TURNS[0])]), config)
            assert "__interrupt__" in asked
        with opened(root) as p:
            done = agent(p).invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)

            assert done["messages"][-1].content == "Done."
            assert [turn.status for turn in p.threads.turns(thread="talk")] == ["continued", "finished"]
    assert "LIMIT = 41" in whole(server.asked[1])


def test_a_message_that_a_tool_adds_is_not_expanded(p: Promptuary) -> None:
    def show(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Show something."""
        shown = ToolMessage("Shown.", tool_call_id=tool_call_id)
        return Command(update={"messages": [shown, HumanMessage("Now read @file:c.md")]})

    with ChatServer([Says("", calls=[ToolCall("c1", "show", "{}")]), Says("Done.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), [show], middleware=[PromptuaryMiddleware(p)])
        agent.invoke(said([("user", "Show me")]))

    assert "Now read @file:c.md" in whole(server.asked[1])
    assert "Nobody asked" not in whole(server.asked[1])
    assert [turn.status for turn in p.threads.turns()] == ["continued", "finished"]


def test_several_messages_in_a_row_are_one(p: Promptuary) -> None:
    with ChatServer([Says("Done.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), middleware=[PromptuaryMiddleware(p)])
        agent.invoke(said([("user", "See @file:a.py"), ("user", "Then answer.")]))

    assert p.threads.turns()[0].text == "See @file:a.py\n\nThen answer."
    assert "LIMIT = 41" in whole(server.asked[0])


def test_pictures_and_blocks_of_instructions_stay(p: Promptuary) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}}
    system = SystemMessage(content=[{"type": "text", "text": "You are an agent."}])
    with ChatServer([Says("A cat.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), system_prompt=system, middleware=[PromptuaryMiddleware(p)])
        agent.invoke(said([HumanMessage([{"type": "text", "text": "What is it? @file:a.py"}, picture])]))

    told, asked = server.asked[0]["messages"]
    assert [part["type"] for part in asked["content"]] == ["text", "image_url"]
    assert "LIMIT = 41" in asked["content"][0]["text"]
    assert told["content"].startswith("You are an agent.")
    assert "Answer in one sentence." in told["content"]


def test_a_request_whose_message_is_gone_is_sent_as_it_is_and_the_logger_warns(
    p: Promptuary, caplog: pytest.LogCaptureFixture
) -> None:
    class Forgets(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            gone = [RemoveMessage(id=one.id) for one in state["messages"]]
            summary = HumanMessage("They said: @file:c.md", additional_kwargs={"lc_source": "summarization"})
            return {"messages": [*gone, summary]}

    with ChatServer([Says("Done.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), middleware=[PromptuaryMiddleware(p), Forgets()])
        agent.invoke(said([("user", TURNS[0])]))

    assert whole(server.asked[0]) == "They said: @file:c.md"
    assert "not in the state any more" in caplog.text


def test_a_failure_of_the_model_ends_the_run_and_the_next_one_begins_anew(p: Promptuary) -> None:
    with ChatServer([Refuses(400), Says("Done.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), middleware=[PromptuaryMiddleware(p)])
        with pytest.raises(BadRequestError):
            agent.invoke(said([("user", "Do it")]))
        agent.invoke(said([("user", "Do it")]))

    assert [turn.status for turn in p.threads.turns()] == ["abandoned", "finished"]


def test_threads_beyond_what_a_middleware_remembers_lose_nothing(
    p: Promptuary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.integrations.langchain._MOST_THREADS", 1)
    with ChatServer([Says("Done.")]) as server:
        agent = create_agent(Chat(url=server.openai_url), middleware=[PromptuaryMiddleware(p)])
        for thread in ("one", "two", "one"):
            agent.invoke(said([("user", "Do it")]), {"configurable": {"thread_id": thread}})

    assert {one.id: one.turns for one in p.threads.list()} == {"one": 2, "two": 1}


def test_the_store_keeps_what_it_is_given_as_notes(p: Promptuary) -> None:
    store = PromptuaryStore(p)
    store.put(("users", "ada/b"), "likes", {"content": "Likes tabs."})
    store.put(("users", "ada/b"), "  odd key", {"lines": 3, "text": "spaces"})
    store.put(("team",), "likes", {"content": "Likes tabs."})

    assert store.get(("users", "ada/b"), "likes").value == {"content": "Likes tabs."}  # type: ignore[union-attr]
    assert store.get(("users", "ada/b"), "  odd key").value == {"lines": 3, "text": "spaces"}  # type: ignore[union-attr]
    assert store.get(("users",), "likes") is None
    assert [item.key for item in store.search(("users",))] == ["  odd key", "likes"]
    assert {item.namespace for item in store.search((), query="tabs", limit=2)} == {("users", "ada/b"), ("team",)}
    assert [item.key for item in store.search(("users",), filter={"lines": {"$gte": 3}})] == ["  odd key"]
    assert store.search(("users",), filter={"text": "tabs"}) == []
    assert store.list_namespaces() == [("team",), ("users", "ada/b")]
    assert store.list_namespaces(prefix=("users", "*"), max_depth=1) == [("users",)]
    assert store.list_namespaces(suffix=("b",)) == []
    assert "Likes tabs." in p.expand("@memory:tabs").messages[-1]["content"]
    assert {header.trust for header in p.memory.list()} == {"external"}


def test_the_store_gives_every_text_back_as_it_was(p: Promptuary) -> None:
    store = PromptuaryStore(p)

    for text in ("a\r\nb", "a\rb", "  indented", "end\n", "", "```json\n{}\n```", "half \ud83d", "a\n\n b"):
        store.put(("texts",), "one", {"content": text})

        assert store.get(("texts",), "one").value == {"content": text}  # type: ignore[union-attr]


@pytest.mark.torture
def test_the_store_answers_as_the_store_in_memory_of_langgraph(p: Promptuary, figure: Figure) -> None:
    chance = random.Random(18)
    ours, theirs = PromptuaryStore(p), InMemoryStore()
    labels, keys = ["a", "b", "a/b", "ünder score", "%2F"], ["k", " k", "K", "k/k", "日本"]
    values: list[dict[str, Any]] = [
        {"content": "Tabs."},
        {"content": " odd\n"},
        {"n": 3, "meta": {"a": 1, "b": [1, {"c": None}]}},
        {"n": "4", "tags": ["x", "y"]},
        {},
    ]
    filters: list[dict[str, Any] | None] = [
        None,
        {"content": "Tabs."},
        {"n": {"$gte": 3, "$lt": 9}},
        {"n": {"$ne": 3}},
        {"meta": {"a": 1}},
        {"tags": ["x", {"$eq": "y"}]},
        {"meta": {"b": [1, {"c": None}]}},
    ]

    def namespace(least: int = 1) -> tuple[str, ...]:
        return tuple(chance.choices(labels, k=chance.randint(least, 2)))

    def plain(found: Any) -> Any:
        if isinstance(found, list):
            return sorted((plain(one) for one in found), key=repr)
        return (found.namespace, found.key, found.value) if isinstance(found, Item) else found

    for number in range(figure(80, 2_000)):
        place, key = namespace(), chance.choice(keys)
        offset, limit = (0, 100) if chance.random() < 0.7 else (chance.randint(0, 3), chance.randint(1, 3))
        op: Any = chance.choice(
            [
                PutOp(place, key, chance.choice(values)),
                PutOp(place, key, chance.choice(values)),
                PutOp(place, key, None),
                GetOp(place, key),
                SearchOp(namespace(0), None if number < 20 else chance.choice(filters), limit=1_000),
                ListNamespacesOp(
                    (MatchCondition("prefix", ("*", *namespace(0)[:1])),), chance.choice([None, 1]), 1_000
                ),
                ListNamespacesOp((MatchCondition("suffix", namespace(0)[:1]),), None, limit, offset),
            ]
        )
        if isinstance(op, SearchOp) and op.filter and "$gte" in str(op.filter):
            # The store in memory fails on what is no number.
            assert {one.value["n"] for one in ours.batch([op])[0]} <= {3, "4"}  # type: ignore[union-attr]
            continue
        (found,), (expected,) = ours.batch([op]), theirs.batch([op])
        for empty in [name for name, items in theirs._data.items() if not items]:
            del theirs._data[empty]  # it lists namespaces that hold nothing, and such that were only asked for
        assert plain(found) == plain(expected), op
    assert set(ours.list_namespaces(limit=100)) == {one.namespace for one in theirs.search((), limit=1_000)}


def test_the_store_does_a_batch_in_order_also_with_async(p: Promptuary) -> None:
    store = PromptuaryStore(p)
    ops: list[Any] = [PutOp(("a",), "k", {"n": 1}), GetOp(("a",), "k"), PutOp(("a",), "k", None), GetOp(("a",), "k")]

    async def use() -> None:
        put, got, removed, gone = await store.abatch(ops)
        assert (put, got.value, removed, gone) == (None, {"n": 1}, None, None)  # type: ignore[union-attr]
        await store.aput(("a",), "one", {"content": "Likes tabs."})
        await store.aput(("b",), "two", {"content": "Likes tabs, too."})
        assert [one.key for one in await store.asearch((), query="tabs", limit=1, offset=1)] in (["one"], ["two"])
        assert [one.key for one in await store.asearch(("a",))] == ["one"]
        assert await store.alist_namespaces() == [("a",), ("b",)]
        await store.adelete(("a",), "one")
        assert await store.aget(("a",), "one") is None
        with pytest.raises(NotImplementedError, match="TTL"):
            await store.aput(("a",), "k", {"n": 1}, ttl=1)
        with pytest.raises(ValueError, match="operator"):
            await store.asearch((), filter={"content": {"$near": 1}})

    asyncio.run(use())


def test_principals_have_items_of_their_own(files: Files) -> None:
    root = files(FILES)
    for name, key in (("ada", "a"), ("bob", "b")):
        with Promptuary.open(root, exact=True, embedder="none", principal=Principal(name)) as p:
            store = PromptuaryStore(p)
            store.put(("users",), key, {"content": f"{name} likes tabs."})
            assert [one.key for one in store.search(())] == [key]
            assert [one.key for one in store.search((), query="tabs")] == [key]
            assert store.get(("users",), "a" if key == "b" else "b") is None


def test_the_store_changes_and_removes_items(p: Promptuary) -> None:
    store = PromptuaryStore(p)
    store.put(("a",), "k", {"content": "One."})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"content": "Two."})
    assert store.get(("a",), "k").value == {"content": "Two."}  # type: ignore[union-attr]
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == []
    store.put(("a",), "k", {"content": "One."})

    assert asyncio.run(store.aget(("a",), "k")).value == first.value  # type: ignore[union-attr]
    assert p.memory.list().total == 1


def test_a_note_that_a_person_changed_is_read_by_the_store_and_never_written(p: Promptuary) -> None:
    store = PromptuaryStore(p)
    store.put(("a",), "k", {"content": "The agent's."})
    (header,) = p.memory.list()
    p.memory.write("The person's.", id=header.id)

    assert store.get(("a",), "k").value == {"content": "The person's."}  # type: ignore[union-attr]
    with pytest.raises(PromptuaryError, match="the person's"):
        store.put(("a",), "k", {"content": "Mine again."})
    with pytest.raises(PromptuaryError, match="the person's"):
        store.delete(("a",), "k")
    assert p.memory.get(header.id).body.strip() == "The person's."  # type: ignore[union-attr]
