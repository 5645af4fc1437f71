"""The private folder of a workspace: made once, safely, and never against its owner."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from promptuary.core.errors import ConfigError
from promptuary.workspace.disk.private_folder import private_folder
from tests.conftest import git


def test_the_folder_is_for_its_user_alone(workspace: Path) -> None:
    folder = private_folder(workspace)

    assert folder == workspace / ".promptuary"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == [".gitignore"]


def test_git_leaves_the_databases_out_and_takes_the_memories_in(repository: Path) -> None:
    folder = private_folder(repository)
    for name in ("state.db", "state.db-wal", "index/chunks", "memory/agents/a/note.md", "config.toml"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    git(repository, "add", "-A")

    assert git(repository, "ls-files").splitlines() == [
        ".promptuary/.gitignore",
        ".promptuary/config.toml",
        ".promptuary/memory/agents/a/note.md",
    ]


def test_what_is_there_stays_as_it_is(workspace: Path) -> None:
    folder = workspace / ".promptuary"
    folder.mkdir(mode=0o750)
    (folder / "config.toml").write_text("mine")
    (folder / ".gitignore").write_text("")

    assert private_folder(workspace) == private_folder(workspace) == folder
    assert (folder / ".gitignore").read_text() == ""
    assert (folder / "config.toml").read_text() == "mine"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


def test_a_link_in_its_place_is_refused_and_what_it_points_to_is_untouched(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for target in (outside, tmp_path / "nowhere"):
        (workspace / ".promptuary").symlink_to(target)
        with pytest.raises(ConfigError, match="is a link or not a folder"):
            private_folder(workspace)
        (workspace / ".promptuary").unlink()

    assert list(outside.iterdir()) == []


def test_a_file_in_its_place_is_refused(workspace: Path) -> None:
    (workspace / ".promptuary").write_text("mine")

    with pytest.raises(ConfigError, match="is a link or not a folder"):
        private_folder(workspace)
    assert (workspace / ".promptuary").read_text() == "mine"


def test_a_link_in_the_place_of_the_ignore_file_is_left_alone(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".promptuary").mkdir()
    (workspace / ".promptuary" / ".gitignore").symlink_to(tmp_path / "elsewhere")

    private_folder(workspace)
    assert not (tmp_path / "elsewhere").exists()


def test_a_workspace_that_cannot_be_written_is_said(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left on device"):
        private_folder(workspace)
    with pytest.raises(ConfigError, match="No such file"):
        private_folder(workspace / "missing")


def test_a_write_that_fails_leaves_nothing_and_is_made_good_the_next_time(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / ".promptuary").mkdir()

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(ConfigError, match="Input/output error"):
            private_folder(workspace)
    assert list((workspace / ".promptuary").iterdir()) == []
    private_folder(workspace)
    assert (workspace / ".promptuary" / ".gitignore").exists()


def test_a_file_system_without_hard_links_gets_its_file_too(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    folder = private_folder(workspace)
    assert [path.name for path in folder.iterdir()] == [".gitignore"]


def test_a_file_that_comes_meanwhile_is_not_replaced(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        (workspace / ".promptuary" / target).write_text("mine")
        link(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "link", late)
    folder = private_folder(workspace)
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(".gitignore", "mine")]


def test_many_may_make_it_at_once(workspace: Path) -> None:
    made: list[Path] = []
    workers = [threading.Thread(target=lambda: made.append(private_folder(workspace))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert made == [workspace / ".promptuary"] * 8
    assert [path.name for path in made[0].iterdir()] == [".gitignore"]
