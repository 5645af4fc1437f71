"""What a person reads in ``@diff``, ``@status``, ``@git:N`` and ``@commit:X``."""

from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from tests.conftest import Files, git


def sent(workspace: Path, text: str) -> str:
    with Promptuary.open(workspace) as promptuary:
        content: str = promptuary.expand(text).messages[-1]["content"]
        return content


def commit(folder: Path, message: str) -> str:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def headings(content: str) -> list[str]:
    return [line for line in content.splitlines() if line.startswith("## ") and "main" not in line]


@pytest.mark.parametrize("configured", ["true", "false", None])
def test_names_are_shown_in_their_own_letters(files: Files, repository: Path, configured: str | None) -> None:
    if configured:
        git(repository, "config", "core.quotePath", configured)
    commit(files({"größe.txt": "a\n", "日本/メモ.md": "a\n"}), "first")
    files({"größe.txt": "b\n", "日本/メモ.md": "b\n", "über.txt": "new\n", "staged-é.txt": "new\n"})
    git(repository, "add", "staged-é.txt")

    content = sent(repository, "@diff @status @staged @git:1")

    assert "diff --git a/größe.txt b/größe.txt" in content
    assert "+++ b/日本/メモ.md" in content
    assert "+++ b/über.txt" in content
    assert "\n?? über.txt" in content
    assert "\nA  staged-é.txt" in content
    assert "\\3" not in content


@pytest.fixture
def outer(files: Files, repository: Path, tmp_path: Path) -> Path:
    """Make a repository with a submodule that has a second commit, which the outer one does not name."""
    commit(files({"lib.py": "x = 1\n"}), "library")
    outer = tmp_path / "outer"
    (outer / "docs").mkdir(parents=True)
    (outer / "docs/promptuary.toml").touch()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "docs/sub")
    commit(outer, "outer")
    (outer / "docs/sub/lib.py").write_text("x = 2\n")
    commit(outer / "docs/sub", "second")
    return outer


def test_a_staged_submodule_is_in_the_status(outer: Path) -> None:
    git(outer, "add", "docs/sub")
    assert "\nM  docs/sub" in sent(outer, "@status")


@pytest.mark.parametrize("below", ["", "docs"])
def test_a_submodule_at_another_commit_is_in_the_diff_and_the_status(outer: Path, below: str) -> None:
    content = sent(outer / below, "@diff @status")
    assert f"+Subproject commit {git(outer / 'docs/sub', 'rev-parse', 'HEAD').strip()}" in content
    assert "\n M " in content


def test_a_submodules_forged_pointer_tells_nothing_of_another_repository(outer: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    secret = commit(other, "secret")
    (outer / "docs/sub/.git").write_text(f"gitdir: {other}/.git\n")
    assert f"+Subproject commit {secret}" in git(outer, "diff", "--ignore-submodules=dirty")

    assert secret not in sent(outer, "@diff @status")


@pytest.mark.parametrize(
    ("asked", "heading"),
    [("@git:1", "## the last commit"), ("@git:2", "## the last 2 commits"), ("@git:3", "## the last 3 commits"),
     ("@git:5", "## all 3 commits")],
)  # fmt: skip
def test_the_heading_counts_the_commits_that_are_there(repository: Path, asked: str, heading: str) -> None:
    for message in ("first", "second", "third"):
        commit(repository, message)
    assert headings(sent(repository, asked)) == [heading]


def test_the_only_commit_is_called_so(repository: Path) -> None:
    commit(repository, "first")
    assert headings(sent(repository, "@git:5")) == ["## the only commit"]


def test_a_shallow_clone_does_not_claim_to_have_all_commits(repository: Path, tmp_path: Path) -> None:
    for message in ("first", "second", "third"):
        commit(repository, message)
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{repository}", "clone")

    assert headings(sent(tmp_path / "clone", "@git:5")) == ["## the last 2 commits"]


def test_a_folder_of_a_repository_shows_the_commits_that_touch_it(files: Files, repository: Path) -> None:
    commit(files({"sub/a.txt": "a\n", "sub/promptuary.toml": ""}), "one in the folder")
    commit(files({"sub/a.txt": "b\n"}), "two in the folder")
    commit(files({"b.txt": "b\n"}), "elsewhere")

    assert headings(sent(repository / "sub", "@git:1")) == ["## the last commit that touches this folder"]
    assert headings(sent(repository / "sub", "@git:2")) == ["## the last 2 commits that touch this folder"]
    assert headings(sent(repository / "sub", "@git:9")) == ["## all 2 commits that touch this folder"]


def test_a_merge_is_shown_against_its_first_parent(files: Files, repository: Path) -> None:
    commit(files({"a.txt": "a\n"}), "first")
    git(repository, "checkout", "-qb", "side")
    commit(files({"side.txt": "from the side\n"}), "side")
    git(repository, "checkout", "-q", "main")
    commit(files({"main.txt": "main\n"}), "main")
    git(repository, "merge", "-q", "--no-ff", "side", "-m", "merge")

    content = sent(repository, "@commit:HEAD")

    assert "+from the side" in content
    assert "+main" not in content
    assert "a merge, shown against its first parent" in content
    assert "shown against" not in sent(repository, "@commit:HEAD~1")
