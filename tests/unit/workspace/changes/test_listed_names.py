"""What git listed is reused until something changes that decides it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptuary.workspace.changes.snapshot import snapshot
from promptuary.workspace.disk.root import Root
from promptuary.workspace.git.repository import Repository
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files, git

SETTLED = 0.03


@pytest.fixture
def opened(repository: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr("promptuary.workspace.changes.listed_names._SETTLED_NANOSECONDS", int(SETTLED * 1e9 / 2))
    files({"a.md": "", "docs/b.md": "", "docs/b.log": "", ".gitignore": "*.log\n", "docs/.gitignore": ""})
    (repository / "empty").mkdir()
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "begin")
    time.sleep(SETTLED)
    with Root(repository) as root:
        yield Workspace(root)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the times that git lists."""
    calls: list[str] = []
    names = Repository.names

    def counted(self: Repository, *paths: str) -> tuple[list[str], int]:
        calls.append("names")
        return names(self, *paths)

    monkeypatch.setattr(Repository, "names", counted)
    return calls


def listed(workspace: Workspace) -> list[str]:
    """Return the names, in a process that knows nothing but what is stored."""
    return sorted(snapshot(workspace).files)


def test_git_is_asked_once_while_nothing_changes(opened: Workspace, asked: list[str]) -> None:
    expected = [".gitignore", "a.md", "docs/.gitignore", "docs/b.md"]
    assert [listed(opened) for _ in range(3)] == [expected] * 3
    (opened.root.path / "a.md").write_text("another text")
    assert listed(opened) == expected
    assert snapshot(opened).files["a.md"].size == len("another text")
    assert asked == ["names"]


def test_what_has_just_changed_is_listed_again(
    opened: Workspace, asked: list[str], files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.workspace.changes.listed_names._SETTLED_NANOSECONDS", 10**12)
    files({"new.md": ""})
    assert "new.md" in listed(opened)
    assert "new.md" in listed(opened)
    assert asked == ["names"] * 2


def _allow_logs(folder: Path) -> None:
    (folder / ".gitignore").write_text("# none\n")


def _hide_below(folder: Path) -> None:
    (folder / "docs/.gitignore").write_text("b.md\n")


def _hide_here(folder: Path) -> None:
    (folder / ".git/info/exclude").write_text("a.md\n")


def _track_what_is_ignored(folder: Path) -> None:
    git(folder, "add", "-f", "docs/b.log")


def _write_into_an_empty_folder(folder: Path) -> None:
    (folder / "empty/new.md").write_text("")


def _remove(folder: Path) -> None:
    (folder / "a.md").unlink()


@pytest.mark.parametrize(
    "change",
    [
        _allow_logs,
        _hide_below,
        _hide_here,
        _track_what_is_ignored,
        _write_into_an_empty_folder,
        _remove,
    ],
)
def test_whatever_decides_is_noticed(opened: Workspace, asked: list[str], change: Callable[[Path], None]) -> None:
    git(opened.root.path, "rm", "-q", "--cached", "a.md", "docs/b.md")
    time.sleep(SETTLED)
    before = listed(opened)
    assert listed(opened) == before
    assert asked == ["names"]
    change(opened.root.path)
    assert listed(opened) != before


def test_the_lists_of_the_person_decide_too(
    opened: Workspace, asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(opened.root.path, "rm", "-q", "--cached", "a.md")
    time.sleep(SETTLED)
    assert "a.md" in listed(opened)
    own = tmp_path / "config/git/ignore"
    own.parent.mkdir(parents=True)
    own.write_text("a.md\n")
    assert "a.md" in listed(opened)
    assert asked == ["names"]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert "a.md" not in listed(opened)
    own.write_text("")
    time.sleep(SETTLED)
    assert "a.md" in listed(opened)


def test_what_is_stored_and_cannot_be_read_is_listed_again(opened: Workspace, asked: list[str], tmp_path: Path) -> None:
    before = listed(opened)
    (stored,) = Path.home().glob(".cache/promptuary/listed/*.json")
    stored.write_text("[]")
    assert listed(opened) == before
    assert asked == ["names"] * 2
