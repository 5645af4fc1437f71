"""The private folder of a workspace: made once, safely, and never against its owner."""

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError
from promptuary.workspace.data_folder.notes_folders import person_notes, workspace_notes
from promptuary.workspace.data_folder.private_folder import private_folder, unignore
from tests.conftest import git


def test_the_folder_is_for_its_user_alone(workspace: Path) -> None:
    folder = private_folder(workspace)

    assert folder == workspace / ".promptuary"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == [".gitignore"]


INSIDE = (
    "state.db",
    "state.db-wal",
    "index/chunks",
    "notes.db",
    "config.toml",
    "memory/x.tmp",
    "memory/agents/default/private/user/x.md",
    "memory/agents/default/private/MEMORY.md",
    "memory/agents/default/thread/private/user/x.md",
    "memory/agents/default/shared/project/x.md",
)


def written(folder: Path) -> None:
    for name in INSIDE:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def untracked(repository: Path) -> list[str]:
    listed = git(repository, "status", "--porcelain", "--untracked-files=all").splitlines()
    return [line.removeprefix("?? .promptuary/") for line in listed]


def test_git_sees_shared_notes_and_the_configuration_and_nothing_else(repository: Path) -> None:
    folder = private_folder(repository)
    assert untracked(repository) == []
    written(folder)

    assert untracked(repository) == ["config.toml", "memory/agents/default/shared/project/x.md"]
    unignore(repository)
    assert untracked(repository) == [".gitignore", "config.toml", "memory/agents/default/shared/project/x.md"]
    unignore(repository)
    private_folder(repository)
    git(repository, "add", "-A")
    assert git(repository, "ls-files").splitlines() == [
        ".promptuary/.gitignore",
        ".promptuary/config.toml",
        ".promptuary/memory/agents/default/shared/project/x.md",
    ]


@pytest.mark.parametrize("change", [lambda text: text + "mine\n", lambda text: text[:-1], lambda _: ""])
def test_an_ignore_file_that_a_person_edited_is_not_changed(workspace: Path, change: Callable[[str], str]) -> None:
    file = private_folder(workspace) / ".gitignore"
    text = change(file.read_text())
    file.write_text(text)
    unignore(workspace)

    assert private_folder(workspace) == file.parent
    assert file.read_text() == text


def test_the_folders_of_notes_are_for_their_user_alone(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(workspace / "deep" / "data"))
    old = os.umask(0)
    try:
        folders = workspace_notes(workspace), person_notes()
    finally:
        os.umask(old)

    assert folders == (workspace / ".promptuary/memory", workspace / "deep/data/promptuary/memory")
    assert folders == (workspace_notes(workspace), person_notes())
    modes = [stat.S_IMODE(path.stat().st_mode) for folder in folders for path in (folder, folder.parent)]
    assert modes == [0o700] * 4


def test_a_folder_of_notes_that_is_a_link_or_for_everybody_is_not_used(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(workspace / "data"))
    (workspace / "elsewhere").mkdir()
    for folder, asked in ((workspace_notes(workspace), workspace_notes), (person_notes(), lambda _: person_notes())):
        folder.rmdir()
        folder.symlink_to(workspace / "elsewhere")
        with pytest.raises(ConfigError):
            asked(workspace)
    (workspace / "data/promptuary/memory").unlink()
    (workspace / "data/promptuary/memory").mkdir()
    (workspace / "data/promptuary/memory").chmod(0o777)
    with pytest.raises(ConfigError, match="others may write it"):
        person_notes()


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
    with pytest.raises(ConfigError, match="the disk is full"):
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
        if target == ".gitignore":
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
