"""A workspace that was moved keeps the folders that are indexed for it; one that was copied, those inside it."""

import json
import shutil
from pathlib import Path

import pytest

from promptuary.cli.main import main

WORDS = ["--embedder", "none"]


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """Make a workspace with a folder inside it and one outside that are indexed, and with a thread."""
    workspace = tmp_path / "before"
    (workspace / "docs").mkdir(parents=True)
    (workspace / "docs" / "deploy.md").write_text("We deploy with the blue script.\n")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "rollback.md").write_text("We roll back with the red script.\n")
    where = ["--workspace", str(workspace), *WORDS]
    assert main(["index", *where, str(workspace / "docs"), str(tmp_path / "notes"), "--label", "own"]) == 0
    assert main(["expand", *where, "--thread", "t", "hello"]) == 0
    return workspace


def indexed(workspace: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    main(["index", "--list", "--json", "--workspace", str(workspace), *WORDS])
    return [one["path"] for one in json.loads(capsys.readouterr().out)["folders"]]


def found(workspace: Path, words: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(["search", "--workspace", str(workspace), *WORDS, words])
    return capsys.readouterr().out


def test_a_moved_workspace_keeps_its_folders_and_adopts_its_threads(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = before.rename(tmp_path / "after")

    assert indexed(after, capsys) == [str(after / "docs"), str(tmp_path / "notes")]
    assert "deploy.md" in found(after, "blue script", capsys)
    assert main(["thread", "list", "--workspace", str(after)]) == 2
    assert "promptuary doctor --adopt" in capsys.readouterr().err
    assert main(["doctor", "--adopt", "--workspace", str(after)]) == 0
    assert main(["thread", "list", "--workspace", str(after)]) == 0
    again = after.rename(tmp_path / "again")
    assert indexed(again, capsys) == [str(again / "docs"), str(tmp_path / "notes")]


def test_a_copy_gets_the_folders_outside_it_only_when_it_is_adopted(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(before, copy)

    assert indexed(copy, capsys) == [str(copy / "docs")]
    assert "rollback.md" not in found(copy, "red script", capsys)
    assert main(["doctor", "--adopt", "--workspace", str(copy)]) == 0
    assert indexed(copy, capsys) == [str(copy / "docs"), str(tmp_path / "notes")]
    assert indexed(before, capsys) == [str(before / "docs"), str(tmp_path / "notes")]


def test_nobody_else_can_say_that_a_workspace_was_moved(
    before: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = tmp_path / "hostile"
    (hostile / ".promptuary").mkdir(parents=True)
    forged = {"workspace": str(before), "proof": "0" * 64}
    (hostile / ".promptuary" / "place.json").write_text(json.dumps(forged))
    shutil.rmtree(before)

    assert indexed(hostile, capsys) == []
    for odd in ("[]", "{", '{"workspace": 1}', "[" * 9000, '{"workspace": "relative", "proof": ""}'):
        (hostile / ".promptuary" / "place.json").write_text(odd)
        assert indexed(hostile, capsys) == []
