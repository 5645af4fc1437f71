"""Threads with limits, as a person uses it."""

import json
from pathlib import Path

import pytest

from promptuary.cli.main import main
from tests.conftest import Files


@pytest.fixture
def project(files: Files, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    folder = files({"src/app.py": "port = 80\n", "docs/a.md": "hidden\n", "AGENTS.md": "Be brief.\n"})
    monkeypatch.chdir(folder)
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_where_there_is_no_session_the_way_to_make_one_is_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "thread", "limits") == (
        1,
        "",
        "no thread has limits: promptuary thread create NAME creates one\n",
    )
    code, out, _ = run(capsys, "thread", "limits", "--json")
    assert (code, json.loads(out)) == (1, {"sessions": []})
    code, _, err = run(capsys, "thread", "limits", "release")
    assert (code, "there are none yet" in err) == (1, True)


def test_a_session_is_made_shown_pinned_again_and_put_away(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "thread", "create", "release", "--root", "src")
    assert code == 0
    assert "files: 1 in src" in out
    run(capsys, "expand", "--thread", "release", "look at @src/app.py")
    (project / "src/new.py").write_text("x = 1\n")

    code, out, err = run(capsys, "thread", "limits", "release")
    assert code == 0
    assert "thread release (active)\n" in out
    assert "used: 1 turn, 0 messages" in out
    assert "since then: 1 file added: src/new.py" in out
    assert "window of turn 1 (prepared" in out
    assert "\x1b" not in out
    assert "promptuary thread refresh release" in err
    assert "before: 1 file added: src/new.py" in run(capsys, "thread", "refresh", "release")[1]
    assert "since then: nothing has changed" in run(capsys, "thread", "limits", "release")[1]
    code, out, _ = run(capsys, "thread", "limits")
    assert (code, out.splitlines()[1].split()[:5]) == (0, ["release", "active", "2", "0", "1"])
    assert "▁" in out or "█" in out
    assert run(capsys, "thread", "archive", "release")[1] == "release is archived\n"
    assert run(capsys, "expand", "--thread", "release", "hi")[0] == 2
    assert run(capsys, "thread", "archive", "--undo", "release")[1] == "release is active\n"
    assert run(capsys, "expand", "--thread", "release", "hi")[0] == 0


def test_a_session_is_removed_with_its_thread_after_a_yes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "thread", "create", "release", "--root", "src")
    run(capsys, "thread", "create", "unused")
    run(capsys, "expand", "--thread", "release", "look at @src/app.py")

    code, out, err = run(capsys, "thread", "rm", "release")
    assert (code, out, "add --yes to confirm" in err) == (1, "", True)
    assert run(capsys, "thread", "rm", "release", "--yes")[:2] == (
        0,
        "removed thread release: 1 turn, 0 messages, its limits\n",
    )
    assert json.loads(run(capsys, "thread", "rm", "unused", "--yes", "--json")[1])["turns"] == 0
    assert run(capsys, "thread", "limits")[0] == 1
    assert run(capsys, "thread", "list")[0] == 1
    code, _, err = run(capsys, "thread", "rm", "release", "--yes")
    assert (code, "there is no thread release" in err) == (2, True)
    assert run(capsys, "thread", "create", "release")[0] == 0


def test_programs_get_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(run(capsys, "thread", "create", "t", "--no-memory", "--json")[1])
    assert (made["name"], made["thread"], made["memory"], made["counts"]["files"]) == ("t", "t", False, 3)
    run(capsys, "expand", "--thread", "t", "hello")

    shown = json.loads(run(capsys, "thread", "limits", "t", "--json")[1])
    assert shown["current"]
    assert shown["since"]["files"] == {"added": [], "changed": [], "gone": []}
    assert (shown["window"]["turn"], shown["totals"]["turns"]) == (1, 1)
    assert shown["window"]["layers"]["instructions"] > 0
    assert json.loads(run(capsys, "thread", "refresh", "t", "--json")[1])["session"]["version"] == 2
    (listed,) = json.loads(run(capsys, "thread", "limits", "--json")[1])["sessions"]
    assert (listed["version"], listed["totals"]["recent"]) == (2, [shown["window"]["tokens"]])


def test_a_slip_says_what_to_do(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "thread", "create", "release")

    assert "is it src?" in run(capsys, "thread", "create", "t", "--root", "srx")[2]
    assert "there is a session 'release' already" in run(capsys, "thread", "create", "release")[2]
    code, _, err = run(capsys, "thread", "create", "t", "--note", "none")
    assert (code, "there is no note 'none'" in err) == (1, True)
    code, _, err = run(capsys, "thread", "limits", "relase")
    assert (code, "is it release?" in err) == (1, True)
    code, _, err = run(capsys, "thread", "create", "t", "--note", "a", "--no-notes")
    assert (code, "not allowed with argument --note" in err) == (2, True)


def test_a_command_that_is_suggested_can_be_pasted_whatever_the_session_is_called(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "my plan"
    assert f"--thread '{name}' TEXT" in run(capsys, "thread", "create", name)[2]
    assert f"thread refresh '{name}'`" in run(capsys, "thread", "create", name)[2]
    (project / "src/app.py").write_text("port = 81\n")
    assert f"thread refresh '{name}' pins" in run(capsys, "thread", "limits", name)[2]
    assert f"thread archive '{name}' --undo undoes" in run(capsys, "thread", "archive", name)[2]
    assert f"thread archive --undo '{name}'` brings" in run(capsys, "expand", "--thread", name, "hi")[2]


def test_a_thread_is_removed_by_its_own_name_and_never_another_that_was_called_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "thread", "create", "rel", "--root", "src")
    run(capsys, "expand", "--thread", "rel", "one")
    run(capsys, "reply", "--thread", "rel", "first")
    run(capsys, "thread", "rename", "rel", "old")
    run(capsys, "expand", "--thread", "rel", "two")
    run(capsys, "reply", "--thread", "rel", "second")

    for action in ("archive", "refresh", "limits"):
        code, _, err = run(capsys, "thread", action, "rel")
        assert (code, "thread 'rel' has no limits" in err) == (1, True)
    assert run(capsys, "thread", "rm", "rel", "--yes")[0] == 0
    threads = json.loads(run(capsys, "thread", "list", "--json")[1])["threads"]
    assert [thread["id"] for thread in threads] == ["old"]


def test_an_empty_root_opens_no_workspace(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "thread", "create", "rel", "--root", "")

    assert (code, "a root is empty" in err) == (2, True)
    assert run(capsys, "thread", "limits")[0] == 1
