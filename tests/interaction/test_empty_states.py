"""What commands answer when there is nothing yet, or when what is named does not exist."""

import json

import pytest

from tests.interaction.conftest import Run


@pytest.mark.parametrize("flags", [(), ("--dry-run",), ("--yes",)])
def test_a_purge_of_nothing_prints_json_for_programs(run: Run, flags: tuple[str, ...]) -> None:
    code, out, _ = run("purge", "--json", *flags)

    assert (code, json.loads(out)["files"]) == (0, [])


def test_the_history_of_an_unknown_thread_is_not_called_empty(run: Run) -> None:
    assert run("thread", "history")[::2] == (
        1,
        "promptuary: there is no thread main; promptuary expand --thread NAME TEXT starts one\n",
    )
    run("expand", "-t", "known", "Hello")

    assert run("thread", "history", "-t", "knwon")[::2] == (
        1,
        "promptuary: there is no thread knwon; existing threads: known\n",
    )
    assert run("thread", "history", "-t", "known") == (1, "", "this thread has no messages yet\n")


@pytest.mark.parametrize(("typed", "code"), [(("thread", "export"), 2), (("thread", "prune", "--older-than", "1d"), 1)])
def test_a_mistyped_thread_is_answered_with_the_existing_ones(run: Run, typed: tuple[str, ...], code: int) -> None:
    run("expand", "-t", "known", "Hello")

    told = "promptuary: there is no thread knwon; existing threads: known\n"
    assert run(*typed, "-t", "knwon") == (code, "", told)


def test_a_list_without_active_notes_says_how_to_list_the_archived_ones(run: Run) -> None:
    note = run("remember", "We deploy on Fridays.")[1].split()[0]
    run("memory", "archive", note)

    told = "no active notes; promptuary memory list --status all lists the others\n"
    assert run("memory", "list") == (1, "", told)
    assert run("memory", "search", "--lexical", "deploy") == (1, "", told)


def test_an_unknown_note_is_reported_before_a_missing_terminal(run: Run) -> None:
    code, _, err = run("memory", "edit", "zzzz")

    assert (code, "there is no note 'zzzz'" in err, "needs a terminal" in err) == (1, True, False)


def test_an_unknown_experience_is_reported_before_a_missing_confirmation(run: Run) -> None:
    code, _, err = run("experience", "forget", "zzzz")

    assert (code, "there is no experience 'zzzz'" in err, "--yes" in err) == (1, True, False)


@pytest.mark.parametrize(
    ("typed", "usage"),
    [
        (("doctor", "extra"), "promptuary doctor [options]"),
        (("expand", "--unknown", "x"), "promptuary expand [options] [TEXT ...]"),
        (("thread", "list", "extra"), "promptuary thread list [options]"),
    ],
)
def test_an_unknown_argument_is_answered_with_the_usage_of_the_command(
    run: Run, typed: tuple[str, ...], usage: str
) -> None:
    code, _, err = run(*typed)

    assert (code, err.splitlines()[0]) == (2, f"usage: {usage}")
    assert "unrecognized arguments" in err
