"""Snapshots of what is on disk."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.base.files import Stamp
from promptuary.workspace.access import Access
from promptuary.workspace.changes.current_files import MAX_GIT_PATHS
from promptuary.workspace.changes.snapshot import Snapshot, is_ignore_file, snapshot, snapshot_of
from promptuary.workspace.disk.root import Root
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files, git


@pytest.fixture(params=["in git", "outside git"])
def opened(request: pytest.FixtureRequest, workspace: Path) -> Iterator[Workspace]:
    if request.param == "in git":
        git(workspace, "init", "-q")
    with Root(workspace) as root:
        yield Workspace(root)


@pytest.fixture
def in_git(repository: Path) -> Iterator[Workspace]:
    with Root(repository) as root:
        yield Workspace(root)


def names(taken: Snapshot) -> list[str]:
    assert taken.alive
    return sorted(taken.files)


def test_a_file_is_there_as_soon_as_it_is_written_and_gone_as_soon_as_it_is_not(
    opened: Workspace, files: Files
) -> None:
    for number in range(5):
        folder = files({"notes/a.md": "one", f"notes/{number}.md": "two"})

        assert names(snapshot(opened)) == [f"notes/{number}.md", "notes/a.md"]
        (folder / f"notes/{number}.md").unlink()
        assert names(snapshot(opened)) == ["notes/a.md"]


def test_a_stamp_is_what_the_file_system_says(opened: Workspace, files: Files) -> None:
    status = (files({"a.md": "four"}) / "a.md").stat()

    expected = Stamp(4, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert snapshot(opened).files == {"a.md": expected}


def test_an_edit_that_keeps_size_and_time_is_seen(opened: Workspace, files: Files) -> None:
    path = files({"a.md": "one"}) / "a.md"
    before, status = snapshot(opened).files["a.md"], path.stat()
    path.write_text("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    after = snapshot(opened).files["a.md"]
    assert (after.size, after.modified) == (before.size, before.modified)
    assert after != before


def test_what_may_not_be_read_is_left_out(opened: Workspace, files: Files) -> None:
    files({"a.md": "", ".env": "", "id_rsa": "", "photo.jpg": "", ".ssh/config": "", "big.md": "x" * 2_000_000})
    files({"back\\slash.md": "", "line\nend.md": ""})

    assert names(snapshot(opened)) == ["a.md"]
    assert snapshot_of(opened, [".env", "photo.jpg", "big.md", ".ssh", "back\\slash.md"]) == {
        ".env": None,
        "photo.jpg": None,
        "big.md": None,
        ".ssh": None,
        "back\\slash.md": None,
    }


def test_what_a_person_opened_on_purpose_is_in_it(workspace: Path, files: Files) -> None:
    files({".env": "", "data.bin": ""})
    with Root(workspace) as root:
        policy = Access(also=frozenset({".bin"}), allow_sensitive=frozenset({".env"}))

        assert names(snapshot(Workspace(root, policy))) == [".env", "data.bin"]


def test_nothing_of_our_own_folder_is_in_it(opened: Workspace, files: Files) -> None:
    files({f".promptuary/{name}": "" for name in ("config.toml", "notes.md", "memory/a.md", "memory/deep/b.md")})

    assert names(snapshot(opened)) == []
    assert snapshot_of(opened, [".promptuary", ".promptuary/memory/a.md"]) == {
        ".promptuary": None,
        ".promptuary/memory/a.md": None,
    }


def test_links_are_left_out_whatever_they_lead_to(opened: Workspace, files: Files) -> None:
    folder = files({"real/a.md": ""})
    (folder / "link.md").symlink_to("real/a.md")
    (folder / "folder").symlink_to("real")
    (folder / "nowhere.md").symlink_to("nowhere")

    assert names(snapshot(opened)) == ["real/a.md"]
    assert snapshot_of(opened, ["link.md", "folder", "folder/a.md"]) == {
        "link.md": None,
        "folder": None,
        "folder/a.md": None,
    }


def test_a_known_file_below_what_is_now_a_link_is_gone(opened: Workspace, files: Files) -> None:
    folder = files({"a/x.md": "", "b/x.md": ""})
    known = snapshot(opened).files
    shutil.rmtree(folder / "a")
    (folder / "a").symlink_to("b")

    assert snapshot_of(opened, ["a/x.md"], known=known) == {"a/x.md": None}


def test_a_folder_is_answered_with_everything_below_it(opened: Workspace, files: Files) -> None:
    files({"a/b/c.md": "", "a/d.md": "", "ab.md": "", "x/y.md": ""})

    taken = snapshot_of(opened, ["a", "gone", "x/y.md"])

    whole = snapshot(opened).files
    assert taken == {"a": None, "gone": None} | {name: whole[name] for name in ("a/b/c.md", "a/d.md", "x/y.md")}


def test_the_workspace_itself_may_be_asked_for(opened: Workspace, files: Files) -> None:
    files({"a/b.md": "", "c.md": ""})

    assert snapshot_of(opened, [""]) == {"": None} | dict(snapshot(opened).files)


@pytest.mark.parametrize("path", ["../a.md", "/etc/passwd", "a//b.md", "./a.md", "a/", "a\0b"])
def test_a_path_that_could_not_be_one_is_no_file(opened: Workspace, files: Files, path: str) -> None:
    files({"a.md": "", "a/b.md": ""})

    assert snapshot_of(opened, [path]) == {path: None}


def test_a_name_in_a_hostile_index_leads_nowhere(in_git: Workspace, files: Files, tmp_path: Path) -> None:
    folder = files({"aa/outside.md": ""})
    (tmp_path / "outside.md").write_text("theirs")
    git(folder, "add", "aa/outside.md")
    index = folder / ".git" / "index"
    forged = index.read_bytes()[:-20].replace(b"aa/outside.md", b"../outside.md")
    index.write_bytes(forged + hashlib.sha1(forged, usedforsecurity=False).digest())

    assert not [name for name in snapshot(in_git).files if ".." in name]


def test_a_file_that_git_tracks_though_it_ignores_it_is_in_it(in_git: Workspace, files: Files) -> None:
    folder = files({".gitignore": "*.log\n", "kept.log": "", "other.log": ""})
    git(folder, "add", "-f", "kept.log")

    assert names(snapshot(in_git)) == [".gitignore", "kept.log"]
    assert snapshot_of(in_git, ["kept.log", "other.log"])["kept.log"] is not None
    assert snapshot_of(in_git, ["other.log"]) == {"other.log": None}


def test_so_many_paths_may_be_asked_for_that_git_is_asked_for_all(in_git: Workspace, files: Files) -> None:
    many = [f"n{number}.md" for number in range(MAX_GIT_PATHS + 10)]
    files({"other.md": "", ".gitignore": "n1.md"} | dict.fromkeys(many, ""))

    taken = snapshot_of(in_git, many)

    assert list(taken) == many
    assert [name for name in many if taken[name] is None] == ["n1.md"]


def test_a_folder_that_is_ignored_by_the_repository_around_it_is_walked(in_git: Workspace, files: Files) -> None:
    folder = files({".gitignore": "notes/\n", "notes/a.md": "", "notes/.venv/b.md": ""})
    with Root(folder / "notes") as root:
        inner = Workspace(root)

        assert names(snapshot(inner)) == ["a.md"]
        assert snapshot_of(inner, ["a.md", ".venv/b.md"]) == {"a.md": snapshot(inner).files["a.md"], ".venv/b.md": None}


def test_an_empty_folder_is_alive_and_a_missing_one_is_not(opened: Workspace, files: Files) -> None:
    folder = files({"a.md": ""})
    (folder / "a.md").unlink()

    assert names(snapshot(opened)) == []
    folder.rename(folder.parent / "elsewhere")
    taken = snapshot(opened)
    assert (taken.alive, taken.files) == (False, {})
    assert "is not there" in taken.reason
    assert snapshot_of(opened, ["a.md"]) == {}


def test_another_folder_in_its_place_is_not_taken_for_it(opened: Workspace, files: Files) -> None:
    folder = files({"a.md": ""})
    folder.rename(folder.parent / "elsewhere")
    folder.mkdir()

    taken = snapshot(opened)

    assert (taken.alive, taken.files) == (False, {})
    assert "another folder" in taken.reason


def test_a_file_in_its_place_is_no_folder(opened: Workspace, workspace: Path) -> None:
    workspace.rename(workspace.parent / "elsewhere")
    workspace.write_text("")

    assert "not a folder" in snapshot(opened).reason


def test_a_closed_workspace_is_not_an_empty_one(workspace: Path) -> None:
    opened = Workspace(Root(workspace))
    opened.close()

    assert not snapshot(opened).alive


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_cannot_be_looked_into_is_counted(opened: Workspace, files: Files) -> None:
    folder = files({"a.md": "", "closed/b.md": ""})
    (folder / "closed").chmod(0)
    try:
        taken = snapshot(opened)
    finally:
        (folder / "closed").chmod(0o700)

    assert (names(taken), taken.unreadable) == (["a.md"], 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_files_deep_in_a_closed_folder_are_not_taken_for_deleted(
    opened: Workspace, files: Files, repository: Path
) -> None:
    folder = files({"a.md": "", "closed/inner/b.md": ""})
    git(repository, "add", ".")
    (folder / "closed").chmod(0)
    try:
        taken = snapshot(opened)
    finally:
        (folder / "closed").chmod(0o700)

    assert names(taken) == ["a.md"]
    assert taken.unreadable > 0


def test_what_decides_about_others_is_told_apart() -> None:
    assert is_ignore_file(".gitignore")
    assert is_ignore_file("a/b/.promptuaryignore")
    assert is_ignore_file("a/.ignore")
    assert not is_ignore_file("a/gitignore")
