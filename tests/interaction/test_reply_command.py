"""A thread on the command line remembers: a turn gets its reply, or is ended without one."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from tests.interaction.conftest import Run


def messages(run: Run, *words: str) -> list[dict[str, Any]]:
    code, out, err = run("expand", "--json", *words)
    assert code == 0, err
    return [one for one in json.loads(out)["messages"] if one["role"] != "developer"]


def test_the_next_turn_of_a_thread_has_what_was_asked_and_answered(run: Run) -> None:
    run("expand", "-t", "t", "What is in @file:a.py?")
    code, out, _ = run("reply", "-t", "t", "A number.")

    assert (code, out) == (0, "recorded the reply to turn 1 of thread t\n")
    first, second, third = messages(run, "-t", "t", "Sure?")
    assert "a = 1" in first["content"]
    assert second == {"role": "assistant", "content": "A number."}
    assert third["content"] == "Sure?"


@pytest.mark.parametrize("words", [("-",), ()])
def test_the_answer_may_be_piped_in(run: Run, words: tuple[str, ...]) -> None:
    run("expand", "-t", "main", "Hello")

    assert run("reply", *words, piped="Hi.\n")[0] == 0
    assert messages(run, "-t", "main", "And?")[1]["content"] == "Hi.\n"


def test_what_another_process_prepared_is_finished_with_all_that_was_attached(run: Run, tmp_path: Path) -> None:
    run("expand", "-t", "t", "What is in @file:a.py?")
    run("reply", "-t", "t", "A number.")

    with Promptuary.open(tmp_path, exact=True) as promptuary:
        asked, _ = promptuary.threads.history(thread="t")
    assert asked.words == "What is in @file:a.py?"
    [attached] = asked.attachments
    assert (attached.source, asked.content[attached.start : attached.end]) == ("file:a.py", "a = 1\n")


def test_the_response_of_an_api_is_recorded_with_its_tool_calls(run: Run) -> None:
    run("expand", "-t", "t", "Read it.")
    call = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.py"}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a = 1"}]}
    answer = [{"role": "assistant", "content": [call]}, result, {"role": "assistant", "content": "It is 1."}]
    code, out, _ = run("reply", "-t", "t", "--response", "--json", "--cost", "0.5", piped=json.dumps(answer))

    told = json.loads(out)
    assert (code, told["thread"], told["turn"], told["status"]) == (0, "t", 1, "finished")
    assert told["receipt"]["thread"] == "t"
    assert [one["role"] for one in messages(run, "-t", "t", "And?")] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nothing", "--response needs the JSON response"),
        ("[" * 100_000, "nested too deeply"),
        ('{"text": "x"}', "a dict with 'text'"),
        ('{"choices": []}', "0 choices"),
    ],
)
def test_what_is_no_response_is_refused_and_the_turn_still_waits(run: Run, given: str, told: str) -> None:
    run("expand", "-t", "t", "Hello")
    code, _, err = run("reply", "-t", "t", "--response", piped=given)

    assert code != 0
    assert told in err
    assert run("reply", "-t", "t", "Hi.")[0] == 0


def test_an_empty_reply_is_refused(run: Run) -> None:
    run("expand", "-t", "t", "Hello")
    code, _, err = run("reply", "-t", "t", piped="\n")

    assert code != 0
    assert "the reply is empty" in err


def test_what_you_state_is_proposed_when_the_reply_is_recorded(run: Run) -> None:
    run("expand", "-t", "t", "Always use tabs in this project.")
    assert run("memory", "proposals")[0] == 1
    code, _, err = run("reply", "-t", "t", "I will.")

    assert code == 0
    assert "proposed: " in err
    assert "promptuary memory accept " in err
    assert run("memory", "proposals")[0] == 0


def test_a_turn_can_be_ended_without_a_reply(run: Run) -> None:
    run("expand", "-t", "t", "Hello")
    assert run("thread", "abandon", "-t", "t")[:2] == (0, "abandoned turn 1 of thread t\n")
    assert [one["content"] for one in messages(run, "-t", "t", "Again")] == ["Again"]
    code, out, _ = run("thread", "abandon", "-t", "t", "--json")
    assert (code, json.loads(out)) == (0, {"thread": "t", "turn": 2, "status": "abandoned"})


def test_what_an_abandoned_message_named_is_no_longer_in_view(run: Run) -> None:
    run("expand", "-t", "t", "See #a.py")
    assert "a.py" in run("context", "list", "-t", "t")[1]
    run("thread", "abandon", "-t", "t")

    assert "a.py" not in run("context", "list", "-t", "t")[1]


@pytest.mark.parametrize("command", [("reply", "Hi."), ("thread", "abandon")])
def test_where_no_turn_waits_the_command_says_why(run: Run, command: tuple[str, ...]) -> None:
    assert run(*command)[::2] == (
        1,
        "promptuary: there is no thread main; promptuary expand --thread NAME TEXT starts one\n",
    )
    run("expand", "-t", "t", "Hello")
    assert "there is no thread x; existing threads: t" in run(*command, "-t", "x")[2]
    run("reply", "-t", "t", "Hi.")
    code, out, err = run(*command, "-t", "t")
    assert (code, out) == (1, "")
    assert "thread t has no pending turn: turn 1 is finished" in err


def test_expanding_again_abandons_the_turn_that_waited_and_says_so(run: Run) -> None:
    run("expand", "-t", "t", "First")
    _, _, err = run("expand", "-t", "t", "Second")
    assert "note: turn 1 got no reply and was abandoned" in err
    run("reply", "-t", "t", "Answered.")

    assert [one["content"] for one in messages(run, "-t", "t", "Third")] == ["Second", "Answered.", "Third"]


def test_a_thread_is_removed_for_good_and_the_others_stay(run: Run, tmp_path: Path) -> None:
    for name in ("t", "other"):
        run("expand", "-t", name, f"Hello {name}, xyzzy-{name}")
        run("reply", "-t", name, "Hi.")
    code, _, err = run("thread", "rm", "-t", "t")
    assert (code, "add --yes to confirm" in err) == (1, True)
    code, out, _ = run("thread", "rm", "-t", "t", "--yes")

    assert (code, out) == (0, "removed thread t: 1 turn, 2 messages\n")
    assert [one["id"] for one in json.loads(run("thread", "list", "--json")[1])["threads"]] == ["other"]
    stored = b"".join(one.read_bytes() for one in (tmp_path / ".promptuary").glob("state.db*"))
    assert b"xyzzy-t" not in stored
    assert [one["content"] for one in messages(run, "-t", "t", "Again")] == ["Again"]
    assert len(messages(run, "-t", "other", "Again")) == 3


def test_removing_needs_the_name_of_a_thread_that_is_there(run: Run) -> None:
    assert "thread rm needs a thread" in run("thread", "rm", "--yes")[2]
    code, _, err = run("thread", "rm", "-t", "x", "--yes")
    assert code != 0
    assert "there is no thread x" in err
