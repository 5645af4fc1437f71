"""One way to write a file: whole, surviving, never through a link; and one lock around changing it."""

import errno
import gc
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from promptuary.base import durable
from promptuary.base.errors import LockTimeoutError
from tests.waiting import wait_until

OLD, NEW = b"old " * 3_000, b"new " * 5_000
STEPS = ("open", "stat", "fchmod", "write", "fsync", "close", "rename", "link", "unlink")


class Steps:
    """Wraps the functions of ``os`` that write files, and does something before or after the chosen call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        self._monkeypatch = monkeypatch

    def watch(self, at: Callable[[int, str], None]) -> None:
        for name in STEPS:
            self._monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name), at))

    def _wrapped(self, name: str, real: Callable[..., Any], at: Callable[[int, str], None]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            self.seen.append(name)
            try:
                at(len(self.seen) - 1, name)
            except BaseException:
                if name == "close":
                    real(*arguments, **options)  # a descriptor is closed even if that reports an error
                raise
            return real(*arguments, **options)

        return step


def steps_of(write: Callable[[], object]) -> list[str]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        steps = Steps(monkeypatch)
        steps.watch(lambda _, __: None)
        write()
    return steps.seen


@contextmanager
def failing(at: int, error: BaseException) -> Iterator[None]:
    def fail(number: int, _: str) -> None:
        if number == at:
            raise error

    with pytest.MonkeyPatch.context() as monkeypatch:
        Steps(monkeypatch).watch(fail)
        yield


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def is_locked(path: Path, timeout: float = 0) -> bool:
    try:
        with durable.locked(path, timeout=timeout):
            return False
    except LockTimeoutError as error:
        return str(error) == f"{path.name} is locked by another process; try again."


def opened_here(path: Path) -> int:
    """Return how many descriptors of this process lead to a file."""
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += descriptor.readlink() == path
    return found


# Replacing


def test_a_file_is_created_or_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    durable.replace(path, OLD)
    assert (path.read_bytes(), mode(path)) == (OLD, 0o600)
    durable.replace(str(path), NEW)

    assert path.read_bytes() == NEW
    assert names(tmp_path) == ["note.md"]


def test_an_empty_file_and_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    durable.replace(path, b"")
    durable.replace(path, b"")

    assert path.read_bytes() == b""


def test_a_name_without_a_folder_is_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    durable.replace("note.md", NEW)

    assert (tmp_path / "note.md").read_bytes() == NEW


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o644, 0o444, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path, permissions: int) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    path.chmod(permissions)
    durable.replace(path, NEW)

    assert (path.read_bytes(), mode(path)) == (NEW, permissions)


def test_a_program_that_runs_as_its_owner_does_not_stay_one(tmp_path: Path) -> None:
    path = tmp_path / "tool"
    path.write_bytes(OLD)
    path.chmod(0o4755)
    durable.replace(path, NEW)

    assert mode(path) == 0o755


def test_permissions_that_are_named_are_those_that_the_file_gets(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    path.chmod(0o666)
    durable.replace(path, NEW, mode=0o600)

    assert mode(path) == 0o600


def test_the_file_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_bytes(OLD)
    seen = steps_of(lambda: durable.replace(tmp_path / "note.md", NEW))

    assert [step for step in seen if step in {"write", "fsync", "rename"}] == ["write", "fsync", "rename", "fsync"]
    assert "fsync" not in steps_of(lambda: durable.replace(tmp_path / "note.md", NEW, sync=False))


def test_a_file_that_is_written_in_a_block_is_synced_before_it_gets_its_name_and_the_folder_after(
    tmp_path: Path,
) -> None:
    def write() -> None:
        with durable.written(tmp_path / "backup") as file:
            file.write(NEW)

    seen = steps_of(write)

    assert [step for step in seen if step in {"fsync", "rename"}] == ["fsync", "rename", "fsync"]
    assert (tmp_path / "backup").read_bytes() == NEW


def test_a_write_that_the_system_does_in_parts_is_still_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: real(descriptor, bytes(content[:999])))
    durable.replace(tmp_path / "note.md", NEW)

    assert (tmp_path / "note.md").read_bytes() == NEW


# Failing


def writers(folder: Path) -> dict[str, Callable[[], object]]:
    return {
        "replace": lambda: durable.replace(folder / "note.md", NEW),
        "replace without sync": lambda: durable.replace(folder / "note.md", NEW, sync=False),
        "create": lambda: durable.create(folder / "other.md", NEW),
    }


@pytest.mark.parametrize("kind", ["replace", "replace without sync", "create"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=type)
def test_a_failure_at_any_step_leaves_the_old_content_and_no_temporary_file(
    tmp_path: Path, kind: str, error: BaseException
) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    path.chmod(0o640)
    gc.collect()  # what other tests left open is not closed in between
    before = set(Path("/proc/self/fd").iterdir())
    steps = steps_of(writers(tmp_path / ".")[kind])
    named = next(number for number, step in enumerate(steps) if step in {"rename", "link"})
    assert named > 4
    for at in range(len(steps)):
        path.write_bytes(OLD)
        (tmp_path / "other.md").unlink(missing_ok=True)
        written = path if kind.startswith("replace") else tmp_path / "other.md"
        with failing(at, error):
            try:
                writers(tmp_path)[kind]()
            except type(error):
                raised = True
            else:
                raised = False
        # Removing a name that is gone already is the one step whose failure means nothing.
        assert raised or steps[at] == "unlink", (at, steps)
        now = written.read_bytes() if written.exists() else None
        assert now == (NEW if at > named else OLD if written == path else None), (at, steps)
        assert path.read_bytes() == OLD or written == path
        left = [name for name in names(tmp_path) if name.endswith(".tmp")]
        assert not left or (kind, steps[at]) == ("create", "unlink"), (at, steps)
        for name in left:
            (tmp_path / name).unlink()
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_a_folder_in_the_place_of_the_file_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "note.md").mkdir()
    with pytest.raises(IsADirectoryError):
        durable.replace(tmp_path / "note.md", NEW)

    assert names(tmp_path) == ["note.md"]


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        durable.replace(tmp_path / "missing" / "note.md", NEW)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_a_file_system_that_cannot_sync_folders_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    durable.replace(tmp_path / "note.md", NEW)
    durable.sync_folder(tmp_path)

    assert (tmp_path / "note.md").read_bytes() == NEW


# Being killed

KILLED = """
import os, signal, sys
from pathlib import Path
from promptuary.base import durable

at, steps = int(sys.argv[2]), 0

def wrapped(real):
    def step(*arguments, **options):
        global steps
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return real(*arguments, **options)
    return step

for name in ("open", "stat", "fchmod", "write", "fsync", "close", "rename", "link", "unlink"):
    setattr(os, name, wrapped(getattr(os, name)))
durable.replace(Path(sys.argv[1]), b"new " * 5_000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_is_killed_between_any_two_steps_leaves_the_whole_old_or_the_whole_new_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(OLD)
    steps = steps_of(lambda: durable.replace(path, NEW))
    renamed = steps.index("rename")
    for at in range(len(steps) + 1):
        path.write_bytes(OLD)
        subprocess.run([sys.executable, "-c", KILLED, str(path), str(at)], check=False)

        assert path.read_bytes() == (NEW if at > renamed else OLD), (at, steps)
        left = [name for name in names(tmp_path) if name != "note.md"]
        assert len(left) <= 1
        durable.remove_leftovers(tmp_path, older_than=0)
        assert names(tmp_path) == ["note.md"]


def test_leftovers_are_removed_when_they_are_old_and_nothing_else_is(tmp_path: Path) -> None:
    for name in (".promptuary-0011223344556677.tmp", "note.tmp", ".promptuary-note.md", "note.md"):
        (tmp_path / name).write_bytes(OLD)
    (tmp_path / ".promptuary-folder.tmp").mkdir()
    durable.remove_leftovers(tmp_path)
    assert len(names(tmp_path)) == 5
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    durable.remove_leftovers(tmp_path)

    assert names(tmp_path) == [".promptuary-folder.tmp", ".promptuary-note.md", "note.md", "note.tmp"]
    durable.remove_leftovers(tmp_path / "missing")


def test_a_reader_sees_a_whole_file_while_it_is_replaced_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    durable.replace(path, OLD)
    done = threading.Event()

    def write() -> None:
        for number in range(300):
            durable.replace(path, NEW if number % 2 else OLD, sync=False)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = {path.read_bytes()}
    while not done.is_set():
        seen.add(path.read_bytes())
    writer.join()

    assert seen <= {OLD, NEW}


# Links


def test_a_link_in_the_place_of_the_file_is_replaced_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(OLD)
    outside.chmod(0o666)
    path = tmp_path / "note.md"
    path.symlink_to(outside)
    durable.replace(path, NEW)

    assert outside.read_bytes() == OLD
    assert not path.is_symlink()
    assert (path.read_bytes(), mode(path)) == (NEW, 0o600)


def test_a_hard_link_elsewhere_keeps_the_old_content(tmp_path: Path) -> None:
    path, other = tmp_path / "note.md", tmp_path / "other"
    path.write_bytes(OLD)
    other.hardlink_to(path)
    durable.replace(path, NEW)

    assert (path.read_bytes(), other.read_bytes()) == (NEW, OLD)


def test_a_folder_that_is_swapped_for_a_link_in_the_middle_gets_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, hostile = tmp_path / "ours", tmp_path / "hostile"
    ours.mkdir()
    hostile.mkdir()
    (hostile / "note.md").write_bytes(OLD)
    real = os.fsync

    def swap(descriptor: int) -> None:
        real(descriptor)
        if not (tmp_path / "moved").exists():
            ours.rename(tmp_path / "moved")
            ours.symlink_to(hostile)

    monkeypatch.setattr(os, "fsync", swap)
    durable.replace(ours / "note.md", NEW)

    assert (tmp_path / "moved" / "note.md").read_bytes() == NEW
    assert (names(hostile), (hostile / "note.md").read_bytes()) == (["note.md"], OLD)


def test_an_open_folder_can_be_given_and_then_the_path_must_be_a_name_in_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        durable.replace("note.md", NEW, dir_fd=folder)
        assert durable.create("other.md", NEW, dir_fd=folder)
        assert durable.make_folder("inner", dir_fd=folder)
        with durable.locked("lock", dir_fd=folder):
            assert is_locked(tmp_path / "lock")
        for path in ("below/note.md", "../note.md", str(tmp_path / "x")):
            with pytest.raises(ValueError, match="is not a name in a folder"):
                durable.replace(path, NEW, dir_fd=folder)
            with pytest.raises(ValueError, match="is not a name in a folder"), durable.locked(path, dir_fd=folder):
                raise AssertionError
    finally:
        os.close(folder)

    assert names(tmp_path) == ["below", "inner", "lock", "note.md", "other.md"]
    assert names(tmp_path / "below") == []


# Creating


def test_a_file_is_created_once_and_what_is_there_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    assert durable.create(path, OLD, mode=0o640)
    assert not durable.create(path, NEW)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert not durable.create(tmp_path / "link", NEW)

    assert (path.read_bytes(), mode(path)) == (OLD, 0o640)
    assert names(tmp_path) == ["link", "note.md"]


def test_of_many_who_create_a_file_at_once_one_does(tmp_path: Path) -> None:
    answers: list[bool] = []
    contents = [bytes([number]) * 10_000 for number in range(8)]
    creators = [
        threading.Thread(target=lambda content=content: answers.append(durable.create(tmp_path / "note.md", content)))
        for content in contents
    ]
    for creator in creators:
        creator.start()
    for creator in creators:
        creator.join()

    assert sorted(answers) == [False] * 7 + [True]
    assert (tmp_path / "note.md").read_bytes() in contents
    assert names(tmp_path) == ["note.md"]


def test_a_folder_is_created_for_its_user_alone_and_once(tmp_path: Path) -> None:
    assert durable.make_folder(tmp_path / "notes")
    (tmp_path / "notes").chmod(0o750)
    assert not durable.make_folder(tmp_path / "notes")
    assert mode(tmp_path / "notes") == 0o750
    assert durable.make_folder(tmp_path / "other")
    assert mode(tmp_path / "other") == 0o700


@pytest.mark.parametrize("name", ["link", "file"])
def test_a_folder_in_an_open_folder_is_opened_only_if_it_is_no_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_bytes(OLD)
    with durable.opened_folder(tmp_path / "link"):
        pass
    with durable.opened_folder(tmp_path) as above:
        with durable.opened_folder("real", dir_fd=above) as folder:
            durable.replace("note.md", NEW, dir_fd=folder)
        with pytest.raises(NotADirectoryError), durable.opened_folder(name, dir_fd=above):
            raise AssertionError
        with pytest.raises(ValueError, match="is not a name"), durable.opened_folder("real/..", dir_fd=above):
            raise AssertionError

    assert (tmp_path / "real" / "note.md").read_bytes() == NEW


# Locking

COUNTER = """
import sys
from pathlib import Path
from promptuary.base import durable

path = Path(sys.argv[1])
for _ in range(100):
    with durable.locked(path.with_suffix(".lock"), timeout=60):
        durable.replace(path, str(int(path.read_text()) + 1).encode(), sync=False)
"""


def test_two_processes_that_change_a_file_under_the_lock_lose_no_change(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    counters = [subprocess.Popen([sys.executable, "-c", COUNTER, str(path)]) for _ in range(2)]

    assert [counter.wait() for counter in counters] == [0, 0]
    assert path.read_text() == "200"
    assert names(tmp_path) == ["count", "count.lock"]


def test_a_lock_that_is_held_is_waited_for_until_the_timeout(tmp_path: Path) -> None:
    with durable.locked(tmp_path / "lock"):
        for timeout in (0, 0.05):
            started = time.monotonic()
            assert is_locked(tmp_path / "lock", timeout)
            assert time.monotonic() - started >= timeout
    assert not is_locked(tmp_path / "lock")


@pytest.mark.parametrize("timeout", [30.0, None])
def test_a_lock_that_is_given_back_goes_to_who_waits(tmp_path: Path, timeout: float | None) -> None:
    order: list[str] = []
    held = threading.Event()

    def hold() -> None:
        with durable.locked(tmp_path / "lock"):
            held.set()
            time.sleep(0.05)
            order.append("first")

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    with durable.locked(tmp_path / "lock", timeout=timeout):
        order.append("second")
    holder.join()

    assert order == ["first", "second"]


def test_an_error_under_the_lock_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), durable.locked(tmp_path / "lock"):
        raise RuntimeError
    assert not is_locked(tmp_path / "lock")


HOLDER = """
import sys, time
from promptuary.base import durable

with durable.locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_process_that_is_killed_gives_its_lock_back(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(tmp_path / "lock")
        holder.kill()
    assert not is_locked(tmp_path / "lock")


FORKER = """
import os, signal, sys, time
from promptuary.base import durable

with durable.locked(sys.argv[1]):
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
try:
    with durable.locked(sys.argv[1], timeout=0):
        pass
finally:
    os.kill(child, signal.SIGKILL)
"""


def test_a_child_that_was_forked_under_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKER, str(tmp_path / "lock")], check=True)


def test_a_lock_file_that_is_removed_while_one_waits_is_not_held_by_two(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    inside: list[int] = []
    waiting = threading.Event()

    def wait() -> None:
        waiting.set()
        with durable.locked(lock, timeout=30):
            inside.append(lock.stat().st_ino)

    with durable.locked(lock):
        waiter = threading.Thread(target=wait)
        waiter.start()
        waiting.wait()
        wait_until(lambda: opened_here(lock) == 2)  # the holder, and who waits for the same file
        lock.unlink()
    waiter.join()

    assert inside == [lock.stat().st_ino]


def test_a_link_in_the_place_of_the_lock_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), durable.locked(tmp_path / "lock"):
        raise AssertionError

    assert not (tmp_path / "elsewhere").exists()
