"""A thread gets another name on the command line, and keeps all that it has."""

import json
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.core.errors import ConflictError, PromptuaryError
from tests.interaction.conftest import Run


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
    assert [one["id"] for one in json.loads(run("thread", "list", "--json")[1])] == ["new"]
    attached = json.loads(run("context", "list", "-t", "new", "--json")[1])
    assert [one["path"] for one in attached["tracked"]] == ["a.py"]
    assert attached["queued"] == ["@status"]
    assert json.loads(run("thread", "show", "1", "-t", "new", "--json")[1])["receipt"]["thread"] == "new"
    assert run("reply", "-t", "new", "Answered.")[1] == "recorded the reply to turn 2 of thread new\n"
    assert "new" in run("session", "audit", "a.py")[1]


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
    assert len(json.loads(run("thread", "list", "--json")[1])) == 2


def test_a_word_that_is_no_number_of_a_turn_is_not_taken_for_one(run: Run) -> None:
    run("expand", "-t", "t", "Hello")

    assert "use --thread NAME for the thread" in run("thread", "show", "t")[2]
    assert "use --thread NAME for the thread" in run("thread", "history", "t")[2]
    assert "use --thread NAME for the thread" in run("thread", "replay", "1", "t")[2]
    assert "promptuary thread export --thread t [FILE]" in run("thread", "export", "t")[2]


def test_a_session_goes_with_its_thread(run: Run, tmp_path: Path) -> None:
    run("session", "create", "narrow", "--root", "a.py")
    run("session", "create", "other")
    run("expand", "-t", "narrow", "Hello")
    assert run("thread", "rename", "narrow", "wide")[0] == 0

    (tmp_path / "b.py").write_text("b = 2\n", encoding="utf-8")
    assert "outside of the session" in run("expand", "-t", "wide", "@file:b.py")[2]
    code, _, err = run("thread", "rename", "wide", "other")
    assert (code, "A session has a thread 'other'" in err) == (1, True)
    assert [one["id"] for one in json.loads(run("thread", "list", "--json")[1])] == ["wide"]


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
