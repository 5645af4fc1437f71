"""Watching folders: what happens is hinted, and nothing that happens meanwhile is lost."""

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptuary.workspace.changes import mounts
from promptuary.workspace.changes.event_log import MAX_BATCH_SECONDS, MAX_PATHS, EventBatch, EventLog, PossibleChanges
from promptuary.workspace.changes.mounts import read_table, remote_type
from promptuary.workspace.changes.watcher import Watcher, is_worth_checking
from promptuary.workspace.disk.protected_folders import ProtectedFolders
from tests.conftest import Figure, Files

PATIENCE = 30.0
A, B = Path("/a"), Path("/b")


class Follower:
    """Remembers what was hinted, as somebody who keeps an index would."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.generation = 0
        self.everything = 0
        self.marks = 0
        self.paths: set[str] = set()

    def until(self, done: Callable[[], bool]) -> bool:
        """Take up hints until ``done`` holds; false if it never does."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > deadline:
                return False
            self.watcher.wait(self.generation, 0.2)
            self.take()
        return True

    def take(self) -> PossibleChanges:
        hints = self.watcher.changed_since(self.generation)
        self.generation = hints.generation
        if hints.paths is None:
            self.everything += 1
        else:
            self.paths |= {path for _, path in hints.paths}
        return hints

    def sees(self, *paths: str) -> bool:
        """Wait until each path is hinted, or a folder above it."""
        return self.until(lambda: all(self.covers(path) for path in paths))

    def forget(self, folder: Path) -> None:
        """Forget what was hinted, once nothing more can come of what was done so far."""
        self.marks += 1
        (folder / f"mark{self.marks}").write_text("")
        assert self.sees(f"mark{self.marks}")
        self.paths.clear()

    def covers(self, path: str) -> bool:
        while path and path not in self.paths:
            path = path.rpartition("/")[0]
        return bool(path)


@pytest.fixture
def watching(workspace: Path) -> Iterator[Follower]:
    with Watcher([workspace], debounce=0.05) as watcher:
        yield settled(watcher)


def settled(watcher: Watcher) -> Follower:
    """Return a follower once the watcher is at work: arming tells that anything may have changed, twice."""
    follower = Follower(watcher)
    assert follower.until(lambda: follower.generation >= 2)
    return follower


def test_a_generation_loses_nothing_that_comes_between_two_looks() -> None:
    events = EventLog()
    events.add([(A, "one")])
    seen = events.since(0)
    events.add([(A, "two")])
    events.add([(B, "three")])

    assert seen == PossibleChanges(1, frozenset({(A, "one")}))
    assert events.since(seen.generation) == PossibleChanges(3, frozenset({(A, "two"), (B, "three")}))
    assert events.since(0) == PossibleChanges(3, frozenset({(A, "one"), (A, "two"), (B, "three")}))
    assert events.since(3) == PossibleChanges(3, frozenset())


def test_too_many_paths_are_anything_and_so_is_what_is_long_ago() -> None:
    events = EventLog(most=3)
    events.add([(A, name) for name in "abc"])
    assert events.since(0).paths is not None
    events.add([(A, "d")])

    assert events.since(0) == PossibleChanges(2, None)
    assert events.since(1) == PossibleChanges(2, frozenset({(A, "d")}))
    events.add([(A, name) for name in "efgh"])
    assert events.since(2) == PossibleChanges(3, None)
    assert events.since(3) == PossibleChanges(3, frozenset())


def test_anything_is_remembered_for_those_who_looked_before_it_only() -> None:
    events = EventLog()
    events.add(None)
    events.add([(A, "a")])

    assert events.since(0) == PossibleChanges(2, None)
    assert events.since(1) == PossibleChanges(2, frozenset({(A, "a")}))


def test_a_generation_of_another_watcher_is_not_believed() -> None:
    assert EventLog().since(7) == PossibleChanges(0, None)


def test_a_batch_is_over_when_it_is_quiet() -> None:
    batch = EventBatch(quiet=0.2)
    batch.add([(A, "a")], now=10.0)
    batch.add([(A, "b")], now=10.1)

    assert batch.take(now=10.25) == set()
    assert batch.take(now=10.31) == {(A, "a"), (A, "b")}
    assert batch.take(now=11.0) == set()


def test_a_file_that_is_written_for_ever_does_not_keep_back_the_others() -> None:
    batch = EventBatch(quiet=0.2)
    batch.add([(A, "other")], now=0.0)
    taken = set()
    for tick in range(1, 30):
        batch.add([(A, "log")], now=tick / 10)
        taken = batch.take(now=tick / 10)
        if taken:
            break

    assert (taken, tick / 10) == ({(A, "other"), (A, "log")}, MAX_BATCH_SECONDS)


def test_who_wants_to_wait_longer_is_not_told_sooner() -> None:
    batch = EventBatch(quiet=2.0)
    batch.add([(A, "a")], now=0.0)

    assert batch.take(now=1.9) == set()
    assert batch.take(now=2.1) == {(A, "a")}


@pytest.mark.parametrize(
    ("path", "hinted"),
    [
        ("a.md", True),
        (".git/index", False),
        ("sub/.git", False),
        ("sub/.hg/store", False),
        (".promptuary", False),
        (".promptuary/state.db-wal", False),
        (".promptuary/memory/a.md", False),
        ("sub/.Promptuary/memory/a.md", False),
        ("my/notes", False),
        ("my/notes/a.md", False),
        ("my/notes.md", True),
        ("x.promptuary/a", True),
    ],
)
def test_only_what_concerns_anybody_is_hinted(path: str, hinted: bool) -> None:
    assert is_worth_checking(path, ProtectedFolders(frozenset({"my/notes"}))) is hinted


TABLE = """\
/dev/vda / ext4 rw 0 0
server:/x /home/a\\040b nfs4 rw 0 0
host /srv/shared fuse.sshfs rw 0 0
/dev/vdb /home/a\\040b/local ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/work", ""),
        ("/home/a b", "nfs4"),
        ("/home/a b/deep/er", "nfs4"),
        ("/home/a b/local/x", ""),
        ("/home/a", ""),
        ("/srv", "fuse.sshfs"),
        ("/srv/shared2", ""),
    ],
)
def test_the_table_of_mounts_says_what_is_on_another_machine(folder: str, kind: str) -> None:
    assert remote_type(Path(folder), TABLE) == kind


def test_a_later_mount_covers_an_earlier_one() -> None:
    assert remote_type(Path("/x"), "a /x nfs rw 0 0\nb /x ext4 rw 0 0\n") == ""


def test_no_table_of_mounts_is_an_empty_one(tmp_path: Path) -> None:
    assert read_table(tmp_path / "none") == ""


def test_an_editor_that_saves_in_place_is_noticed(watching: Follower, files: Files) -> None:
    folder = files({"a.md": "one"})
    watching.forget(folder)
    files({"a.md": "two"})

    assert watching.sees("a.md")


def test_an_editor_that_renames_a_finished_file_is_noticed(watching: Follower, files: Files) -> None:
    folder = files({"a.md": "one"})
    watching.forget(folder)
    (folder / "a.md.tmp").write_text("two")
    (folder / "a.md.tmp").replace(folder / "a.md")

    assert watching.sees("a.md")


def test_an_editor_that_deletes_and_writes_anew_is_noticed(watching: Follower, files: Files) -> None:
    folder = files({"a.md": "one"})
    watching.forget(folder)
    (folder / "a.md").unlink()
    files({"a.md": "two"})

    assert watching.sees("a.md")


def test_a_folder_that_is_moved_is_hinted_where_it_was_and_where_it_is(watching: Follower, files: Files) -> None:
    folder = files({"a/deep/x.md": ""})
    watching.forget(folder)
    (folder / "a").rename(folder / "b")

    assert watching.sees("a/deep/x.md", "b/deep/x.md")
    files({"b/deep/later.md": ""})
    assert watching.until(lambda: "b/deep/later.md" in watching.paths)


def test_a_folder_that_is_moved_in_is_hinted(watching: Follower, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "outside/deep/x.md").write_text("")
    (tmp_path / "outside").rename(workspace / "inside")

    assert watching.sees("inside/deep/x.md")


def test_a_new_folder_is_hinted_again_after_a_while(watching: Follower, workspace: Path) -> None:
    (workspace / "new").mkdir()
    assert watching.sees("new")
    watching.paths.clear()

    assert watching.sees("new")


def test_our_own_writes_and_those_of_git_wake_nobody(watching: Follower, files: Files) -> None:
    files({".promptuary/state.db": "", ".promptuary/memory/a.md": "", ".git/index": "", "sub/.git/HEAD": ""})
    files({"last.md": ""})

    assert watching.sees("last.md")
    assert not {path for path in watching.paths if ".git" in path or ".promptuary" in path}


def test_reading_is_not_a_change(watching: Follower, files: Files) -> None:
    folder = files({"a.md": "one"})
    watching.forget(folder)
    assert (folder / "a.md").read_text() == "one"
    assert "a.md" in {path.name for path in folder.iterdir()}
    files({"b.md": ""})

    assert watching.sees("b.md")
    assert "a.md" not in watching.paths


def test_several_folders_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with Watcher(folders, debounce=0.05) as watcher:
        follower = Follower(watcher)
        assert follower.until(lambda: follower.generation >= 3)
        (folders[1] / "a.md").write_text("")
        touched: set[tuple[Path, str]] = set()

        assert watcher.wait(follower.generation, PATIENCE)
        touched |= follower.take().paths or set()
    assert touched == {(folders[1], "a.md")}


def test_a_folder_that_is_deleted_and_made_again_is_watched_again(watching: Follower, workspace: Path) -> None:
    before = watching.everything
    shutil.rmtree(workspace)
    assert watching.until(lambda: watching.everything > before and bool(watching.watcher.failure))
    workspace.mkdir()
    again = watching.everything
    assert watching.until(lambda: watching.everything > again)
    assert watching.watcher.failure == ""
    watching.paths.clear()
    (workspace / "a.md").write_text("")

    assert watching.sees("a.md")


def test_a_folder_that_is_replaced_at_once_is_watched_again(watching: Follower, workspace: Path) -> None:
    before = watching.everything
    shutil.rmtree(workspace)
    workspace.mkdir()
    assert watching.until(lambda: watching.everything > before)
    assert watching.until(lambda: not watching.watcher.failure)
    (workspace / "a.md").write_text("")

    assert watching.until(lambda: watching.covers("a.md") or watching.everything > before + 1)


def test_a_folder_that_moves_with_the_one_around_it_is_missed(tmp_path: Path) -> None:
    (tmp_path / "around/inner").mkdir(parents=True)
    with Watcher([tmp_path / "around/inner"], debounce=0.05) as watcher:
        follower = settled(watcher)
        before = follower.everything
        (tmp_path / "around").rename(tmp_path / "elsewhere")

        assert follower.until(lambda: follower.everything > before)
        assert "is not there" in watcher.failure


def test_a_folder_may_come_later(tmp_path: Path) -> None:
    with Watcher([tmp_path / "later"], debounce=0.05) as watcher:
        follower = Follower(watcher)
        assert follower.until(lambda: bool(watcher.failure))
        (tmp_path / "later").mkdir()
        assert follower.until(lambda: not watcher.failure)
        (tmp_path / "later/a.md").write_text("")

        assert follower.sees("a.md")


def test_a_folder_on_another_machine_is_polled(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = f"server:/x {workspace} nfs4 rw 0 0\n"
    monkeypatch.setattr(mounts, "read_table", lambda: table)
    with Watcher([workspace], debounce=0.05, poll=0.05) as watcher:
        follower = Follower(watcher)

        assert follower.until(lambda: follower.everything >= 4)
        assert watcher.mode == "polling"
        assert "nfs4" in watcher.reason


def test_a_watcher_of_a_local_folder_gets_events(watching: Follower) -> None:
    assert (watching.watcher.mode, watching.watcher.reason) == ("events", "")


def test_who_waits_is_let_go_when_the_watcher_is_closed(workspace: Path) -> None:
    watcher = Watcher([workspace]).start()
    follower = settled(watcher)
    told: list[bool] = []
    waiting = threading.Thread(target=lambda: told.append(watcher.wait(follower.generation, PATIENCE)))
    waiting.start()
    watcher.close()
    watcher.close()
    waiting.join(PATIENCE)

    assert told == [False]


def test_a_watcher_may_be_started_again_and_then_anything_may_have_changed(workspace: Path) -> None:
    watcher = Watcher([workspace], debounce=0.05).start()
    follower = settled(watcher)
    watcher.close()
    (workspace / "a.md").write_text("")
    with watcher:
        assert watcher.wait(follower.generation, PATIENCE)
        assert watcher.changed_since(follower.generation).paths is None


PROGRAM = """\
import sys, threading
from pathlib import Path
from promptuary.workspace.changes.watcher import Watcher
watcher = Watcher([Path(sys.argv[1])]).start()
assert watcher.wait(1, 30)
print("ready", flush=True)
if sys.argv[2] == "wait":
    watcher.wait(99, 60)
"""


def test_a_watcher_that_nobody_closed_does_not_keep_the_process(workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(workspace), "end"], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_ends_who_waits(workspace: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(workspace), "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert b"KeyboardInterrupt" in errors
    assert process.returncode in {1, 130, -signal.SIGINT}


@pytest.mark.torture
def test_files_written_at_once_into_nested_new_folders_are_all_covered(
    watching: Follower, workspace: Path, figure: Figure
) -> None:
    names = [f"p{number}/q/r/n.md" for number in range(figure(200, 2_000))]
    before = watching.everything
    for name in names:
        (workspace / name).parent.mkdir(parents=True)
        (workspace / name).write_text("x")

    assert watching.until(lambda: watching.everything > before or all(watching.covers(name) for name in names))


@pytest.mark.torture
def test_many_files_at_once_are_all_hinted_or_everything_is(
    watching: Follower, workspace: Path, figure: Figure
) -> None:
    names = [f"n{number}.md" for number in range(figure(2_000, MAX_PATHS + 5_000))]
    before = watching.everything
    for name in names:
        (workspace / name).write_text("x")

    assert watching.until(lambda: watching.everything > before or watching.paths.issuperset(names))


def test_where_the_system_refuses_to_watch_there_is_polling(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("watchfiles._rust_notify.RustNotify", refuse)
    with Watcher([files({"a.md": "alpha"})], poll=0.05) as watcher:
        first = watcher.generation
        assert watcher.wait(first, PATIENCE)
        assert watcher.mode == "polling"
        assert "no space left on device" in watcher.reason
        assert watcher.changed_since(first).paths is None


def test_who_cannot_wait_is_told_of_what_has_not_been_gathered_yet(files: Files) -> None:
    workspace = files({"a.md": "alpha"})
    with Watcher([workspace], debounce=60) as watcher:
        assert watcher.wait(0, PATIENCE)
        watcher.flush()
        seen = watcher.generation
        (workspace / "a.md").write_text("beta")
        deadline = time.monotonic() + PATIENCE
        while watcher.generation == seen and time.monotonic() < deadline:
            watcher.flush()

        assert watcher.changed_since(seen).paths == frozenset({(workspace, "a.md")})
    watcher.flush()  # of one that has ended: returns
