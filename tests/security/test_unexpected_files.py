"""Unexpected things in the place of git's files, and folders that a killed process left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from promptuary.base.errors import SourceError, StorageError
from promptuary.blocking import Promptuary
from promptuary.search.values import IndexUpdate, UpdateFailed
from promptuary.workspace.git.repository import Repository
from tests.conftest import Files, git

HOURS = 3600

Make = Callable[[], object]


def allow_all(path: str) -> SourceError | None:
    return None


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


FILES_OF_GIT = (
    "commondir",
    "gitdir",
    "HEAD",
    "index",
    "packed-refs",
    "config",
    "shallow",
    "info/exclude",
    "FETCH_HEAD",
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the descriptors of a process")
@pytest.mark.parametrize("pointer", ["folder", "file"])
@pytest.mark.parametrize("name", FILES_OF_GIT)
@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_anything_in_the_place_of_gits_files_is_an_answer_and_leaks_no_descriptor(
    repository: Path, tmp_path: Path, name: str, kind: str, pointer: str
) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    own = repository / ".git"
    if pointer == "file":
        own = own.rename(repository / "store")
        (repository / ".git").write_text("gitdir: store\n")
    (own / name).unlink(missing_ok=True)
    make: dict[str, Make] = {
        "folder": (own / name).mkdir,
        "pipe": lambda: os.mkfifo(own / name),
        "link": lambda: (own / name).symlink_to(tmp_path),
    }
    make[kind]()
    before = open_descriptors()

    with suppress(SourceError), Repository.find(repository, allow_all) as door:
        door.status()
    assert open_descriptors() == before


LEFT_BEHIND = """
import sys, time
from pathlib import Path
from promptuary.workspace.git.repository import Repository
door = Repository.find(Path(sys.argv[1]), lambda path: None)
print("open", flush=True)
time.sleep(60)
"""


def test_the_git_folders_of_killed_processes_are_removed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "temporary"
    shared.mkdir()
    monkeypatch.setenv("TMPDIR", str(shared))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with subprocess.Popen([sys.executable, "-c", LEFT_BEHIND, repository], stdout=subprocess.PIPE) as killed:
        assert killed.stdout is not None
        killed.stdout.readline()
        killed.send_signal(signal.SIGKILL)
    (left,) = shared.iterdir()
    other, young = shared / "promptuary-other", shared / "promptuary-git-young"
    for folder in (other, young):
        folder.mkdir()
    for folder in (left, other):
        os.utime(folder, (time.time() - 2 * HOURS,) * 2)

    with Repository.find(repository, allow_all) as door:
        door.status()

    assert sorted(shared.iterdir()) == [young, other]


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_anything_in_the_place_of_the_lock_is_an_error_that_says_what_to_do(files: Files, kind: str) -> None:
    folder = files({"a.md": "# A\n\nSome words.\n"})
    with Promptuary.open(folder) as promptuary:
        promptuary.search.index([str(folder)])
        lock = folder / ".promptuary/index/lock"
        lock.unlink()
        if kind == "link":
            lock.symlink_to(folder / "a.md")
        else:
            lock.mkdir()
        with pytest.raises(StorageError, match=r"index.*remove"):
            promptuary.search.index()
    assert (folder / "a.md").read_text() == "# A\n\nSome words.\n"


def test_a_watch_whose_index_is_removed_says_so_in_plain_words(files: Files) -> None:
    folder = files({"a.md": "# A\n\nSome words.\n"})
    seen: list[IndexUpdate] = []
    with Promptuary.open(folder) as promptuary:
        promptuary.search.index([str(folder)])
        promptuary.search.watch(seen.append)
        (folder / ".promptuary").rename(folder.parent / "gone")
        (folder / "b.md").write_text("# B\n\nOther words.\n")
        until = time.monotonic() + 30
        while time.monotonic() < until and not any(isinstance(update, UpdateFailed) for update in seen):
            time.sleep(0.05)
    failures = [update.reason for update in seen if isinstance(update, UpdateFailed)]

    assert failures
    assert not any("unexpected" in reason for reason in failures)
