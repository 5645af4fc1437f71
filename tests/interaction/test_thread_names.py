"""A thread gets another name on the command line, and keeps all that it has."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from promptuary import engine
from promptuary.base.errors import ConflictError, PromptuaryError
from promptuary.base.messages import Item
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.commands.run import run_command
from promptuary.config.gateways import NamedGateway
from promptuary.gateways.people import thread_of
from promptuary.gateways.port import Inbound
from promptuary.integrations.conversation import Conversation
from promptuary.mcp.tools import CALLS, ToolRequest
from promptuary.models.chat.scripted_replies import ScriptedReplies
from promptuary.present.plain_text import plain_text
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from promptuary.threads.values import thread_name
from tests.interaction.conftest import Run

ODD: Final = (
    *("$(touch${IFS}PWNED)", "`id`", "a;b", "a|b", "a&b", "<(x)", "a>b", "{a,b}", "*"),
    *("a?", "[x]", "it's", '"x', "a\\b", "!x", "~", "#1", "^x"),
)


def test_a_thread_keeps_its_history_turns_attachments_and_waiting_turn_under_another_name(run: Run) -> None:
    run("expand", "-t", "old", "What is in @file:a.py?")
    run("reply", "-t", "old", "A number.")
    run("context", "add", "a.py", "-t", "old")
    run("context", "add", "@status", "-t", "old")
    history = run("thread", "history", "-t", "old")[1]
    run("expand", "-t", "old", "Second question")
    run("context", "add", "@status", "-t", "old")

    assert run("thread", "rename", "old", "new") == (0, "renamed thread old to new\n", "")
    assert run("thread", "history", "-t", "new")[1] == history
    assert [one["id"] for one in json.loads(run("thread", "list", "--json")[1])["threads"]] == ["new"]
    attached = json.loads(run("context", "list", "-t", "new", "--json")[1])
    assert [one["path"] for one in attached["tracked"]] == ["a.py"]
    assert attached["queued"] == ["@status"]
    assert json.loads(run("thread", "show", "1", "-t", "new", "--json")[1])["receipt"]["thread"] == "new"
    assert run("reply", "-t", "new", "Answered.")[1] == "recorded the reply to turn 2 of thread new\n"
    assert "new" in run("thread", "audit", "a.py")[1]


def test_the_old_name_may_follow_the_flag_of_the_thread(run: Run) -> None:
    run("expand", "-t", "old", "Hello")

    assert json.loads(run("thread", "rename", "new", "-t", "old", "--json")[1]) == {"thread": "new", "before": "old"}


def test_a_name_that_is_taken_or_missing_or_empty_is_refused_in_words(run: Run) -> None:
    for name in ("one", "two"):
        run("expand", "-t", name, f"Hello {name}")

    code, _, err = run("thread", "rename", "one", "two")
    assert (code, "There is a thread 'two' already" in err) == (1, True)
    code, _, err = run("thread", "rename", "three", "four")
    assert (code, "There is no thread 'three'" in err) == (1, True)
    for words in (["one"], [], ["one", "two", "three"]):
        code, _, err = run("thread", "rename", *words)
        assert (code, "thread rename OLD NEW" in err) == (2, True)
    assert run("thread", "rename", "one", "")[0] == 2
    assert len(json.loads(run("thread", "list", "--json")[1])["threads"]) == 2


def test_a_word_that_is_no_number_of_a_turn_is_not_taken_for_one(run: Run) -> None:
    run("expand", "-t", "t", "Hello")

    assert "use --thread NAME for the thread" in run("thread", "show", "t")[2]
    assert "use --thread NAME for the thread" in run("thread", "history", "t")[2]
    assert "use --thread NAME for the thread" in run("thread", "replay", "1", "t")[2]
    assert "promptuary thread export --thread t [FILE]" in run("thread", "export", "t")[2]


def test_a_session_goes_with_its_thread(run: Run, tmp_path: Path) -> None:
    run("thread", "create", "narrow", "--root", "a.py")
    run("thread", "create", "other")
    run("expand", "-t", "narrow", "Hello")
    assert run("thread", "rename", "narrow", "wide")[0] == 0

    (tmp_path / "b.py").write_text("b = 2\n", encoding="utf-8")
    assert "outside of the session" in run("expand", "-t", "wide", "@file:b.py")[2]
    code, _, err = run("thread", "rename", "wide", "other")
    assert (code, "A session has a thread 'other'" in err) == (1, True)
    assert [one["id"] for one in json.loads(run("thread", "list", "--json")[1])["threads"]] == ["wide"]


def test_notes_that_are_kept_by_thread_keep_a_thread_from_being_renamed(tmp_path: Path) -> None:
    with Promptuary.open(tmp_path, memory_folder="{thread}") as p:
        p.threads.finish(p.threads.prepare("Hello", thread="old"), "Hi.")
        with pytest.raises(PromptuaryError, match="notes are kept by thread"):
            p.threads.rename(thread="old", name="new")


def test_a_turn_of_before_cannot_be_finished_into_a_thread_of_the_old_name(tmp_path: Path) -> None:
    with Promptuary.open(tmp_path) as p:
        turn = p.threads.prepare("Hello", thread="old")
        p.threads.rename(thread="old", name="new")
        with pytest.raises(ConflictError):
            p.threads.finish(turn, "Hi.")
        assert [one.id for one in p.threads.list()] == ["new"]
        waiting = p.threads.pending(thread="new")
        assert waiting is not None
        p.threads.finish(waiting, "Hi.")
        assert [one.content for one in p.threads.history(thread="new")] == ["Hello", "Hi."]


Made = Callable[[Promptuary, str], object]
_EXPORT: Final = {"format": "promptuary-thread", "version": 1, "items": [], "tracked": [], "turns": []}
_LIBRARY: Final[dict[str, Made]] = {
    "prepare": lambda p, name: p.threads.prepare("Hello", thread=name),
    "run": lambda p, name: p.threads.run("Hello", ScriptedReplies(["Hi."]), thread=name),
    "preview": lambda p, name: p.threads.preview("Hello", thread=name),
    "attach": lambda p, name: p.threads.attach("a.py", thread=name),
    "attach_document": lambda p, name: p.threads.attach_document("a.txt", b"text", thread=name),
    "rename": lambda p, name: p.threads.rename(thread="main", name=name),
    "import": lambda p, name: p.threads.import_(json.dumps({**_EXPORT, "thread": name})),
    "import as": lambda p, name: p.threads.import_(json.dumps({**_EXPORT, "thread": "x"}), thread=name),
    "session": lambda p, name: p.sessions.create(name),
    "session of a thread": lambda p, name: p.sessions.create("plan", thread=name),
    "framework": lambda p, name: Conversation(p, thread=name).request("Hello", []),
}


@pytest.mark.parametrize("door", _LIBRARY)
def test_no_door_of_the_library_makes_a_thread_whose_name_a_shell_would_read(tmp_path: Path, door: str) -> None:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    with Promptuary.open(tmp_path, embedder="none") as p:
        p.threads.finish(p.threads.prepare("Hello"), "Hi.")
        for name in ODD:
            with pytest.raises(PromptuaryError, match="because shells give a meaning to"):
                _LIBRARY[door](p, name)
        assert [one.id for one in p.threads.list()] == ["main"]
        assert p.sessions.list() == []


@pytest.mark.parametrize("name", ODD)
def test_no_command_makes_a_thread_whose_name_a_shell_would_read(run: Run, name: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps({**_EXPORT, "thread": name}), encoding="utf-8")
    run("expand", "-t", "main", "Hello")
    for words in (
        ("expand", "-t", name, "Hello"),
        ("ask", "-t", name, "Hello", "--model", "none"),
        ("context", "add", "a.py", "-t", name),
        ("thread", "rename", "main", name),
        ("thread", "import", "t.json"),
        ("thread", "create", name),
        ("thread", "create", "--thread", name),
    ):
        code, _, err = run(*words)
        assert (code != 0, "because shells give a meaning to" in err) == (True, True), (words, err)
    assert [one["id"] for one in json.loads(run("thread", "list", "--json")[1])["threads"]] == ["main"]


def test_neither_chat_nor_mcp_nor_gateway_makes_such_a_thread(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")

    async def tried() -> None:
        async with engine.Promptuary.open(tmp_path, embedder="none") as p:
            for name in ODD:
                said = plain_text(await run_command(p, f"/thread {name}"))
                assert "because shells give a meaning to" in said
                for tool, given in (("expand_references", {"text": "Hello"}), ("track_file", {"path": "a.py"})):
                    request = ToolRequest(tool, p, {**given, "thread": name}, None, None)  # type: ignore[arg-type]
                    with pytest.raises(PromptuaryError, match="because shells give a meaning to"):
                        await CALLS[tool](request)
            assert await p.threads.list() == ()

    asyncio.run(tried())
    for chat, thread in (("-100123", ""), ("C0A1", "1700000000.000100"), ("42", "7")):
        message = Inbound(chat, "1", "u", "Hi", thread)
        for gateway in ("telegram", "my-bot.2"):
            thread_name(thread_of(NamedGateway(gateway, "slack"), message))


def test_a_thread_that_an_earlier_version_made_is_read_used_renamed_and_removed(run: Run, tmp_path: Path) -> None:
    run("expand", "-t", "main", "Hello")
    with closing(StateDatabase(tmp_path / ".promptuary" / "state.db")) as state:
        for number, name in enumerate(ODD):
            state.threads(LOCAL).apply(ThreadChange(name, items=[Item(f"i{number}", "user", "Once said")]))

    assert set(run("thread", "list", "-q")[1].splitlines()) == {"main", *ODD}
    for number, name in enumerate(ODD):
        assert "Once said" in run("thread", "history", "-t", name)[1]
        assert run("expand", "-t", name, "Hello")[0] == 0
        assert run("thread", "export", "-t", name)[0] == 0
        assert run("thread", "rename", name, f"new {number}")[0] == 0 if number % 2 else True
        left = f"new {number}" if number % 2 else name
        assert run("thread", "rm", "-t", left, "--yes")[0] == 0
    assert run("thread", "list", "-q")[1] == "main\n"
