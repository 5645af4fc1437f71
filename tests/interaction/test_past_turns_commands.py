"""``promptuary thread`` on the command line: what answers were based on, what was sent, and what is removed."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from tests.conftest import Files


@pytest.fixture
def project(files: Files, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = files({"src/app.py": "x = 1\n" * 30, "docs/style.md": "Be brief.\n"})
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.chdir(folder)
    with Promptuary.open(folder, exact=True) as promptuary:
        for number in range(3):
            turn = promptuary.threads.prepare(f"Turn {number}: @file:src/app.py", thread="review")
            promptuary.threads.finish(turn, "Fine. " * 40)
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_an_audit_prints_the_turns_of_a_file_and_the_files_of_a_turn(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "docs").joinpath("style.md").write_text("Be long.\n")
    code, out, _ = run(capsys, "thread", "audit", "src/app.py")
    lines = [line.split()[:2] + line.split()[4:6] for line in out.splitlines()[1:] if line.startswith("review")]
    assert code == 0
    assert lines[:2] == [["review", "3", "direct", "references"], ["review", "3", "history", "references"]]
    assert "unchanged" in out
    assert out.splitlines()[1].endswith("Turn 2: @file:src/app.py")

    found = run_json(capsys, "thread", "audit", "src/app.py", "--limit", "1")
    assert (found["sources"], found["more"], len(found["turns"])) == (["file:src/app.py"], True, 1)
    rows = run_json(capsys, "thread", "audit", "--turn", "1", "-t", "review")["sources"]
    assert [(row["source"], row["how"], row["current"]) for row in rows] == [("file:src/app.py", "direct", True)]


def test_a_slip_in_an_audit_names_what_comes_nearest(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "thread", "audit", "src/ap.py") == (
        1,
        "",
        "promptuary: 'src/ap.py' was in no prompt of yours; near names: src/app.py\n",
    )
    code, _, err = run(capsys, "thread", "audit", "--turn", "9", "-t", "review")
    assert (code, "numbered from 1 to 3" in err) == (1, True)
    code, _, err = run(capsys, "thread", "audit")
    assert (code, "thread audit needs a source, or --turn N" in err) == (2, True)


def test_a_replay_prints_what_was_sent_and_names_what_has_changed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = run_json(capsys, "thread", "replay", "2", "-t", "review")["messages"]
    (project / "src/app.py").write_text("y = 2\n")
    code, out, err = run(capsys, "thread", "replay", "2", "-t", "review")

    assert (code, err) == (0, "since then: src/app.py has changed\n")
    assert all(message["content"] in out for message in sent)
    assert run(capsys, "thread", "replay", "7", "-t", "review")[0] == 1


@pytest.mark.parametrize(
    "words", [("thread", "replay", "3", "-t", "review"), ("thread", "-t", "review", "replay", "3")]
)
def test_a_turn_is_run_again_with_another_window_or_model(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    words: tuple[str, ...],
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "promptuary").mkdir()
    (home / "promptuary" / "config.toml").write_text('[models.fast]\nscripted = ["It is better now."]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    code, out, _ = run(capsys, *words, "--window", "600")
    assert code == 0
    assert "of 600" in out
    assert "history" in out
    assert run(capsys, *words, "--model", "fast")[:2] == (0, "It is better now.\n")
    both = run_json(capsys, *words, "--window", "600", "--model", "fast")
    assert (both["answer"], both["receipt"]["window"]) == ("It is better now.", 600)
    code, _, err = run(capsys, *words, "--model", "slow")
    assert (code, "no chat model is called 'slow'" in err) == (2, True)
    with Promptuary.open(project, exact=True) as promptuary:
        assert len(promptuary.threads.turns(thread="review")) == 3


def backdate(folder: Path, days: int) -> None:
    """Make every turn and thread of the workspace older."""
    with closing(sqlite3.connect(folder / ".promptuary" / "state.db")) as raw:
        for table, column in (("turn", "created"), ("thread", "created"), ("thread", "updated")):
            older = f"strftime('%Y-%m-%dT%H:%M:%S+00:00', {column}, '-{days} days')"
            raw.execute(f"UPDATE {table} SET {column} = {older}")
        raw.commit()


def holding(folder: Path, secret: str) -> list[str]:
    """Return the files of Promptuary that hold a text as it is: what is short is not packed."""
    every = (path for path in (folder / ".promptuary").rglob("*") if path.is_file())
    return [path.name for path in every if secret.encode() in path.read_bytes()]


def test_old_turns_are_removed_from_every_byte_and_a_thread_in_use_goes_on(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "nonce-4f1c8a"
    with Promptuary.open(project, exact=True) as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare(secret, thread="gone"), "Yes.")
        promptuary.threads.abandon(promptuary.threads.prepare(f"{secret} again", thread="review"))
    backdate(project, 100)
    with Promptuary.open(project, exact=True) as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare("Still there?", thread="review"), "Yes.")
        history = promptuary.threads.history(thread="review")
    assert "state.db" in holding(project, secret)
    size = (project / ".promptuary" / "state.db").stat().st_size
    assert run(capsys, "thread", "prune", "--older-than", "1y")[:2] == (1, "no turns are that old\n")
    code, out, _ = run(capsys, "thread", "prune", "--older-than", "90d", "--dry-run")
    assert (code, out.startswith("would remove 5 turns, 1 complete thread")) == (0, True)
    assert "state.db" in holding(project, secret)
    done = run_json(capsys, "thread", "prune", "--older-than", "90d")

    assert (done["turns"], done["threads"], done["done"]) == (5, 1, True)
    assert holding(project, secret) == []
    assert (project / ".promptuary" / "state.db").stat().st_size < size
    with Promptuary.open(project, exact=True) as promptuary:
        assert [one.id for one in promptuary.threads.list()] == ["review"]
        assert promptuary.threads.history(thread="review") == history
        assert promptuary.threads.prepare("And now?", thread="review").number == 6
        assert promptuary.examine().is_well
    assert run(capsys, "thread", "prune", "--older-than", "soon")[0] == 2


def test_the_doctor_says_what_each_thread_takes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "doctor")
    found = json.loads(run(capsys, "doctor", "--json")[1])["threads"]

    assert (code, "review" in err, [one["thread"] for one in found]) == (0, True, ["review"])
    assert found[0]["turns"] == 3
    assert found[0]["bytes"] > 0


def test_a_file_is_forgotten_after_a_yes_and_a_replay_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "thread", "forget", "src/app.py")
    assert (code, "--yes" in err) == (2, True)
    turns = "review  turn 3\nreview  turn 2\nreview  turn 1\n"
    code, out, err = run(capsys, "thread", "forget", "src/app.py", "--dry-run")
    assert (code, out, "would remove" in err) == (0, turns, True)
    assert "x = 1" in run(capsys, "thread", "replay", "1", "-t", "review")[1]

    code, out, err = run(capsys, "thread", "forget", "src/app.py", "--yes")
    assert (code, out, "removed file:src/app.py" in err) == (0, turns, True)
    _, out, err = run(capsys, "thread", "replay", "3", "-t", "review")
    assert "x = 1" not in out
    assert out.count("[forgotten: file:src/app.py]") == 3
    assert "forgotten" in err
    assert run(capsys, "thread", "forget", "src/other.py", "--yes")[0] == 1
    assert "a pending turn" not in err


def test_who_forgets_a_file_of_a_turn_without_an_answer_is_told_to_do_it_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "a pending turn" not in run(capsys, "thread", "forget", "src/app.py", "--dry-run")[2]
    run(capsys, "expand", "--thread", "review", "And @docs/style.md?")

    assert "a pending turn" in run(capsys, "thread", "forget", "docs/style.md", "--yes")[2]
