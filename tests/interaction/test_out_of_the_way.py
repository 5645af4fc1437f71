"""Promptuary stays out of the way: git sees nothing of it in a repository, a work tree or a submodule."""

import subprocess
from pathlib import Path

import pytest

from promptuary.cli.main import main

COMMANDS = [
    ["expand", "Sum up @file:a.md and @diff"],
    ["expand", "--thread", "t", "Sum up #a.md"],
    ["reply", "--thread", "t", "It is about deploying."],
    ["context", "add", "a.md", "--thread", "t"],
    ["complete", "see @file:a"],
    ["index", "--embedder", "none"],
    ["search", "--embedder", "none", "deploy"],
    ["remember", "We decided to use Postgres."],
    ["memory", "list"],
    ["experience", "add", "Build the docs."],
    ["thread", "create", "s"],
    ["thread", "list"],
    ["doctor"],
    ["config"],
]
"""Every command that keeps something, and some that only read."""


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def repository(folder: Path, ignored: str = "") -> Path:
    folder.mkdir()
    (folder / "a.md").write_text("We deploy with the blue script.\n")
    if ignored:
        (folder / ".gitignore").write_text(ignored)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin")
    return folder


def work_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        code = main([*command, "--workspace", str(folder)])
        assert code in {0, 1}, (command, capsys.readouterr().err)


@pytest.mark.parametrize("ignored", ["", "*\n!*.md\n", "!.promptuary\n!.promptuary/**\n"])
def test_git_sees_nothing_of_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str], ignored: str) -> None:
    folder = repository(tmp_path / "project", ignored)

    work_in(folder, capsys)

    assert git(folder, "status", "--porcelain", "--untracked-files=all") == ""
    capsys.readouterr()
    main(["expand", "Here: @status @diff", "--workspace", str(folder)])
    assert ".promptuary" not in capsys.readouterr().out


def test_git_sees_nothing_in_a_work_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = repository(tmp_path / "project")
    git(folder, "worktree", "add", "-q", "../tree")

    work_in(tmp_path / "tree", capsys)

    assert git(tmp_path / "tree", "status", "--porcelain", "--untracked-files=all") == ""
    assert git(folder, "status", "--porcelain", "--untracked-files=all") == ""


def test_git_sees_nothing_in_a_submodule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner, outer = repository(tmp_path / "inner"), repository(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "part")
    git(outer, "commit", "-qm", "part")

    work_in(outer / "part", capsys)

    assert git(outer, "status", "--porcelain", "--untracked-files=all") == ""
