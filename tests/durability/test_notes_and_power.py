"""Notes survive a power cut: whatever was acknowledged is on the disk, not in the memory of the system.

A workspace and the home of its person lie on a file system in a file. In the middle of a write that file is copied,
which is what a disk would have had when the current went: everything that nobody had synced is missing in it. The copy
is mounted, its journal is replayed as after a real cut, and another process opens the memory.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.conftest import Figure
from tests.durability.note_worker import Ack, Work, start, tell, told, work_for_ever
from tests.durability.test_notes_survive import problems

ROUND = 20
"""After so many cuts there is a new disk: histories grow, and each is read whole after every cut."""
SIZE = 96 << 20


class Disk:
    """A file system in a file, mounted at ``place``."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "disk"
        self._image, self._cut = folder / "image", folder / "cut"
        self.place.mkdir(parents=True)

    def make(self) -> None:
        """Begin with an empty file system."""
        self.remove()
        with self._image.open("wb") as image:
            image.truncate(SIZE)
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(self._image))
        run("mount", "-o", "loop", str(self._image), str(self.place))
        for name in ("work", "home"):
            (self.place / name).mkdir()
        os.sync()

    def cut(self, pid: int) -> None:
        """Keep what the disk has now, end the process, and mount that."""
        shutil.copyfile(self._image, self._cut)
        os.kill(pid, signal.SIGKILL)

    def restart(self) -> None:
        """Mount what the disk had when it was cut."""
        run("umount", str(self.place))
        self._cut.replace(self._image)
        run("mount", "-o", "loop", str(self._image), str(self.place))

    def remove(self) -> None:
        if self.place.is_mount():
            run("umount", str(self.place))


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def can_mount() -> bool:
    """Return whether this process may mount a file system that lies in a file."""
    return os.geteuid() == 0 and shutil.which("mkfs.ext4") is not None and Path("/dev/loop-control").exists()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk(tmp_path)
    try:
        made.make()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no file system can be mounted here: {error.stderr!r}")
    monkeypatch.setenv("HOME", str(made.place / "home"))
    yield made
    made.remove()


def cut_off(disk: Disk, work: Work, seed: int, after: float) -> list[Ack]:
    """Have a process write, cut the power, and return what it had acknowledged by then."""
    process, hears = start(work, disk.place / "work", seed)
    assert hears.poll(60)
    time.sleep(after)
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    acks: list[Ack] = []
    while hears.poll(0):
        acks.append(told(hears))
    disk.cut(pid)
    process.join()
    hears.close()
    assert process.exitcode == -signal.SIGKILL, "the writer ended by itself"
    disk.restart()
    return acks


def write_carelessly(workspace: Path, tells: Connection, _: int, __: int) -> None:
    """Write files as many programs do: a temporary file that is renamed and never synced."""
    for number in range(10**6):
        (workspace / f"{number}.tmp").write_text("what is known")
        (workspace / f"{number}.tmp").rename(workspace / f"{number}.md")
        tell(tells, Ack("create", str(number), ""))
        time.sleep(0.001)


needs_mounts = pytest.mark.skipif(not can_mount(), reason="needs root, mkfs.ext4 and loop devices")


@needs_mounts
def test_a_cut_takes_what_nobody_synced(disk: Disk) -> None:
    """The control: the simulation notices a program that acknowledges too early.

    Any other process may sync the whole system in between and save what this one neglected, so it gets a few chances.
    """

    def something_is_lost() -> bool:
        acks = cut_off(disk, write_carelessly, 0, 0.1)
        files = [disk.place / "work" / f"{ack.note}.md" for ack in acks]
        return any(not file.exists() or file.read_text() != "what is known" for file in files)

    assert any(something_is_lost() for _ in range(5))


@needs_mounts
@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_no_acknowledged_note_is_lost_in_a_power_cut(disk: Disk, figure: Figure) -> None:
    chance, cuts = random.Random(13), figure(3, 200)
    done: Counter[str] = Counter()
    acks: list[Ack] = []
    for cut in range(cuts):
        if cut and cut % ROUND == 0:
            disk.make()
            acks = []
        new = cut_off(disk, work_for_ever, cut, chance.uniform(0, 1.0))
        acks += new
        done.update(ack.operation for ack in new)
        assert list(problems(disk.place / "work", acks)) == []
    print(f"{cuts} power cuts: {done.total():,} writes of notes acknowledged, 0 lost ({dict(sorted(done.items()))})")

    assert done.total() >= cuts
