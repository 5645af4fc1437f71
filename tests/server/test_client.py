"""The client: what it has besides the methods of ``Promptuary``, and what it cannot do.

That the methods themselves do the same is held by the tests in over_a_server.txt, which run on a folder and through it.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from promptuary import Promptuary
from promptuary.api.values import CallAnswer
from promptuary.base.errors import ConfigError, NotReachedError, PromptuaryError, RunFailedError
from promptuary.base.messages import ToolCall
from promptuary.base.principals import Principal
from promptuary.client import BlockingClient, Client
from promptuary.models.chat_model import TextPiece, ToolSpec
from promptuary.server.tokens import Limits
from promptuary.testing.chat_server import ChatServer, Refuses, Says
from promptuary.threads.run_values import RunEnded, RunEvent, Tool
from tests.conftest import OVER_A_SERVER, Files
from tests.served import RunningServer
from tests.server.conftest import StartServer
from tests.waiting import wait_until


def test_every_test_that_runs_over_a_server_exists() -> None:
    root = Path(__file__).parents[2]
    for name in OVER_A_SERVER:
        file, _, function = name.partition("::")
        assert f"def {function}(" in (root / file).read_text("utf-8"), name


async def remember(p: Promptuary) -> str:
    """Do something with a workspace, wherever it is."""
    return (await p.memory.remember("We deploy on Fridays")).body.strip()


def test_a_client_is_a_promptuary(server: RunningServer) -> None:
    async def work() -> None:
        async with Client(server.base, token=server.create()) as p:
            assert await remember(p) == "We deploy on Fridays"
            assert (await p.status()).workspace == "app"

    asyncio.run(work())


def test_a_client_acts_as_whom_its_token_stands_for(server: RunningServer) -> None:
    with BlockingClient(server.base, token=server.create(principal=Principal("ada"))) as p:
        assert p.principal == Principal("ada")


@pytest.mark.parametrize("what", ["backup", "examine", "migrate", "purge"])
def test_what_needs_the_machine_says_so(server: RunningServer, what: str) -> None:
    with BlockingClient(server.base, token=server.create()) as p, pytest.raises(PromptuaryError, match="server's mach"):
        getattr(p, what)()


def test_what_is_no_token_is_refused_before_it_is_sent(server: RunningServer) -> None:
    with pytest.raises(ConfigError, match="promptuary token create"):
        BlockingClient(server.base, token="sk-another")


def test_a_wrong_token_is_told_as_such(server: RunningServer) -> None:
    with (
        BlockingClient(server.base, token="pt_000000000000_" + "0" * 48) as p,
        pytest.raises(PromptuaryError, match="a token of this server is needed"),
    ):
        p.status()


def test_a_server_that_is_not_there_is_told_as_such() -> None:
    with BlockingClient("http://127.0.0.1:9", token="pt_x") as p, pytest.raises(NotReachedError, match="serve running"):
        p.status()


def test_a_token_is_not_sent_unencrypted_to_another_machine() -> None:
    with BlockingClient("http://192.0.2.1", token="pt_x") as p, pytest.raises(PromptuaryError, match="use https"):
        p.status()


CALL = ToolCall("c1", "weather", '{"city": "Paris"}')
WRITES = ToolCall("c2", "write_memory", '{"content": "We deploy on Fridays", "title": "deploys", "type": "project"}')


@pytest.fixture
def at_model(
    start_server: StartServer, files: Files, monkeypatch: pytest.MonkeyPatch, model: ChatServer
) -> RunningServer:
    """Return a server whose model is ``model``."""
    files({"a.txt": "the text of a\n"})
    monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
    return start_server(settings={"answer_model": "gpt-5-mini"})


@pytest.fixture
def model() -> Iterator[ChatServer]:
    says = [Says("Let me look.", calls=[CALL]), Says("And I note it.", calls=[WRITES]), Says("It rains in Paris.")]
    with ChatServer(says) as server:
        yield server


def weather(given: Mapping[str, object]) -> str:
    return f"rain in {given['city']}"


TOOL = Tool(ToolSpec("weather", "Tells the weather.", {"type": "object"}), weather)


def test_a_run_tells_its_events_calls_tools_on_both_sides_and_asks_for_consent(at_model: RunningServer) -> None:
    async def work() -> None:
        told: list[RunEvent] = []
        asked: list[str] = []

        async def confirm(call: ToolCall) -> bool:
            asked.append(call.name)
            return True

        async with Client(at_model.base, token=at_model.create()) as p:
            tools = [TOOL, *await p.threads.tools()]
            result = await p.threads.run("How is it? @file:a.txt", tools=tools, on_event=told.append, confirm=confirm)
            notes = await p.memory.list()
            history = await p.threads.history()

        assert (result.reply, result.requests) == ("It rains in Paris.", 3)
        assert asked == ["write_memory"]
        assert [note.title for note in notes] == ["deploys"]
        assert "rain in Paris" in {item.content for item in history}
        assert "".join(event.text for event in told if isinstance(event, TextPiece)).endswith("It rains in Paris.")
        assert isinstance(told[-1], RunEnded)

    asyncio.run(work())


def test_without_consent_nothing_is_written(at_model: RunningServer) -> None:
    with BlockingClient(at_model.base, token=at_model.create()) as p:
        result = p.threads.run("How is it?", tools=[TOOL, *p.threads.tools()], confirm=lambda _: False)

        assert result.reply == "It rains in Paris."
        assert len(p.memory.list()) == 0


def test_a_token_without_the_model_of_the_server_gets_no_answer(at_model: RunningServer) -> None:
    with (
        BlockingClient(at_model.base, token=at_model.create(models=("another",))) as p,
        pytest.raises(PromptuaryError, match="may not use that model"),
    ):
        p.threads.run("hello")


def test_what_a_run_uses_counts_for_its_token(at_model: RunningServer) -> None:
    secret = at_model.create(limits=Limits(requests=1))
    with BlockingClient(at_model.base, token=secret) as p:
        p.threads.run("hello", tools=[TOOL])
        with pytest.raises(PromptuaryError, match="requests of today"):
            p.threads.run("hello again")


def test_a_run_that_is_cancelled_ends_at_the_server(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with ChatServer([Says("a long story " * 50, pause=0.2)]) as model:
            monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
            monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
            server = start_server(settings={"answer_model": "gpt-5-mini"})
            begun = asyncio.Event()
            async with Client(server.base, token=server.create()) as p:
                task = asyncio.create_task(p.threads.run("tell", on_event=lambda _: begun.set()))
                await asyncio.wait_for(begun.wait(), 20)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.to_thread(wait_until, lambda: len(server.application.running) == 0)

    asyncio.run(work())


def test_a_call_of_somebody_elses_run_cannot_be_answered(server: RunningServer) -> None:
    with BlockingClient(server.base, token=server.create()) as p, pytest.raises(PromptuaryError, match="nothing at"):
        p._remote.answer_call("a-run", "a-call", CallAnswer())


def test_a_model_that_fails_is_told_as_where_the_files_are(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer([Refuses(400, "no such thing")]) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-server")
        server = start_server(settings={"answer_model": "gpt-5-mini"})
        with BlockingClient(server.base, token=server.create()) as p, pytest.raises(RunFailedError, match="no such"):
            p.threads.run("hello")
