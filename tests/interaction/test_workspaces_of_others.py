"""A workspace that cannot be written, or that belongs to somebody else: its files are read, ours are kept elsewhere."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.workspace.data_folder.data_path import data_path, person_place
from promptuary.workspace.data_folder.private_folder import private_folder

NOBODY = 65534

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """Make a folder with files, of another user."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "deploy.md").write_text("# Deploying\n\nWe deploy on Mondays with the blue script.\n")
    for path in (folder, folder / "deploy.md"):
        os.chown(path, NOBODY, NOBODY)
    return folder


@pytest.fixture
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder in which the system lets nobody write, as on a disk that is mounted for reading only."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    (folder / "deploy.md").write_text("# Deploying\n\nWe deploy on Mondays with the blue script.\n")
    access = os.access

    def refused(path: os.PathLike[str], mode: int, **options: bool) -> bool:
        return not (mode & os.W_OK and Path(path).is_relative_to(folder)) and access(path, mode, **options)

    monkeypatch.setattr(os, "access", refused)
    yield folder
    assert [one.name for one in folder.iterdir()] == ["deploy.md"]


def ours(root: Path) -> list[str]:
    return sorted(one.name for one in person_place(root).iterdir())


@only_root
def test_a_folder_of_somebody_else_is_searched_and_has_threads(
    others: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--workspace", str(others), "--embedder", "none"]
    assert main(["index", *where, str(others)]) == 0
    assert main(["search", *where, "when do we deploy?"]) == 0
    assert "deploy.md" in capsys.readouterr().out
    assert main(["expand", *where, "--thread", "t", "Sum up #deploy.md"]) == 0
    assert main(["thread", "list", "--workspace", str(others)]) == 0
    assert "t " in capsys.readouterr().out
    assert main(["remember", "--workspace", str(others), "The blue script is old."]) == 0
    assert main(["memory", "list", "--workspace", str(others)]) == 0
    assert "blue script" in capsys.readouterr().out
    assert [one.name for one in others.iterdir()] == ["deploy.md"]
    assert {"index", "memory", "state.db"} <= set(ours(others))
    assert person_place(others).stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_searched_and_has_threads(sealed: Path) -> None:
    with Promptuary.open(sealed, embedder="none") as promptuary:
        promptuary.search.index(["."])
        assert [hit.path for hit in promptuary.search.find("blue script").hits] == ["deploy.md"]
        turn = promptuary.threads.prepare("What about #deploy.md?", thread="t")
        promptuary.threads.finish(turn, "Mondays.")
    with Promptuary.open(sealed, embedder="none") as promptuary:
        assert [one.id for one in promptuary.threads.list()] == ["t"]
    assert {"index", "state.db"} <= set(ours(sealed))


def test_a_disk_that_is_mounted_for_reading_only_is_no_place_for_state(tmp_path: Path) -> None:
    """By the real error of the system, where this process may mount."""
    target = tmp_path / "mounted"
    target.mkdir()
    (target / "a.md").write_text("hello")
    tries = (
        f"mount --bind {target} {target} && mount -o remount,bind,ro {target} && "
        f"python3 -c 'import os; print(os.access(\"{target}\", os.W_OK, effective_ids=True))'"
    )
    unshare = shutil.which("unshare")
    done = unshare and subprocess.run([unshare, "-m", "sh", "-c", tries], capture_output=True, text=True, check=False)
    if not done or done.returncode:
        pytest.skip("this process may not mount")
    assert done.stdout.strip() == "False"


def test_a_workspace_that_can_no_longer_be_written_does_not_begin_its_threads_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "deploy.md").write_text("We deploy on Mondays.\n")
    where = ["--workspace", str(folder), "--embedder", "none"]
    assert main(["expand", *where, "--thread", "t", "Hello"]) == 0
    assert main(["reply", "--workspace", str(folder), "--thread", "t", "Hi."]) == 0
    assert main(["remember", "--workspace", str(folder), "The blue script is old."]) == 0
    access = os.access
    with monkeypatch.context() as readonly:
        readonly.setattr(os, "access", lambda path, mode, **more: not mode & os.W_OK and access(path, mode, **more))
        for command in (
            ["expand", *where, "--thread", "t", "Again"],
            ["thread", "list", "--workspace", str(folder)],
            ["memory", "list", "--workspace", str(folder)],
            ["remember", "--workspace", str(folder), "Another one."],
            ["thread", "limits", "--workspace", str(folder)],
            ["experience", "list", "--workspace", str(folder)],
        ):
            capsys.readouterr()
            assert main(command) == 2, command
            assert "cannot be written now; make it writable again" in capsys.readouterr().err
        assert main(["expand", *where, "@file:deploy.md"]) == 0
        assert main(["index", *where, str(folder)]) == 0
        assert main(["search", *where, "when do we deploy?"]) == 0
        assert ours(folder) == ["index"]
    assert main(["thread", "list", "--workspace", str(folder)]) == 0
    assert "t           1         2" in capsys.readouterr().out


def test_on_a_disk_that_was_mounted_for_reading_only_threads_are_not_begun_anew(tmp_path: Path) -> None:
    """By the real error of the system, where this process may mount."""
    target, unshare = tmp_path / "mounted", shutil.which("unshare")
    target.mkdir()
    promptuary = f"{sys.executable} -m promptuary expand --workspace {target} --thread t Hello"
    subprocess.run(promptuary.split(), check=True, capture_output=True)
    tries = f"mount --bind {target} {target} && mount -o remount,bind,ro {target} || exit 77; {promptuary}"
    done = unshare and subprocess.run([unshare, "-m", "sh", "-c", tries], capture_output=True, text=True, check=False)
    if not done or done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this process may not mount")
    assert done.returncode == 2
    assert "cannot be written now; make it writable again" in done.stderr


@only_root
def test_what_somebody_else_put_into_their_folder_is_not_taken_for_ours(others: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (others / ".promptuary").symlink_to(trap)
    assert private_folder(others, "index") == person_place(others) / "index"
    (others / ".promptuary").unlink()
    (others / ".promptuary").mkdir()
    os.chown(others / ".promptuary", NOBODY, NOBODY)
    assert private_folder(others) == person_place(others)
    assert list(trap.iterdir()) == []
    assert list((others / ".promptuary").iterdir()) == []


def test_a_place_that_was_used_is_used_on_when_the_folder_can_be_written_again(tmp_path: Path) -> None:
    used = tmp_path / "used"
    used.mkdir()
    person_place(used).mkdir(parents=True)
    assert data_path(used).folder == person_place(used)
    person_place(used).rmdir()
    assert data_path(used).inside


def test_a_link_in_the_place_of_our_own_folder_is_still_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / ".promptuary").symlink_to(tmp_path)
    assert data_path(mine).inside
