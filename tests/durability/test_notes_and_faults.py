"""Whatever system call of a write fails, or is the last one before the process dies: the note is old or new.

``strace`` makes the n-th call of one kind fail, in the process that works with a note, for every n that there is. It
sees the thread that writes; what follows a write in other threads is killed at random in ``test_notes_survive``.
"""

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final, Literal

import pytest

from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import Note, NoteDraft
from promptuary.memory.memory import Memory
from tests.conftest import Figure
from tests.durability.note_worker import (
    Ack,
    files,
    heard,
    history_problems,
    is_whole,
    opened,
    sealed,
    start,
    tell,
    told,
)
from tests.durability.test_notes_survive import leftovers, page_problems, stray_files

Fault = Literal["KILL", "ENOSPC", "EIO"]

FAULTS: Final[Sequence[Fault]] = ("KILL", "ENOSPC", "EIO")
WRITING: Final = frozenset(
    {
        *("open", "openat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "mkdir", "mkdirat"),
        *("rename", "renameat", "renameat2", "link", "linkat"),
    }
)
READING: Final = frozenset(
    {
        *("read", "pread64", "lseek", "stat", "fstat", "newfstatat", "lstat", "unlink", "unlinkat", "getdents64"),
        *("fcntl", "flock", "fchmod"),
    }
)
CALLS: Final[Mapping[Fault, frozenset[str]]] = {"KILL": WRITING | READING, "ENOSPC": WRITING, "EIO": WRITING | READING}
_CALL: Final = re.compile(r"(?:\d+ +)?(\w+)\(")
_PATIENCE: Final = 30.0
"""Seconds after which an operation hangs."""
_STEP: Final = 61
"""Without torture, one point in so many is tried."""

FIRST, OLD, NEW = (sealed(f"{word}: what is known") for word in ("alpha", "beta", "gamma"))

Act = Callable[[Memory, str], Note]

ACTS: Final[Mapping[str, Act]] = {
    "create": lambda memory, _: memory.put(NoteDraft(content=NEW, kind="project", audience="private")),
    "update": lambda memory, note: memory.put(NoteDraft(id=note, content=NEW)),
    "archive": lambda memory, note: memory.archive(note),
    "undo": lambda memory, note: memory.undo(note),
    "move": lambda memory, note: memory.put(NoteDraft(id=note, audience="shared")),
}


@dataclass(frozen=True, slots=True)
class Point:
    """The ``number``-th system call of a name, and what is done to it."""

    call: str
    number: int
    fault: Fault

    def __str__(self) -> str:
        return f"{self.fault} at {self.call} {self.number}"

    @property
    def injected(self) -> str:
        what = f"signal={self.fault}" if self.fault == "KILL" else f"error={self.fault}"
        return f"inject={self.call}:{what}:when={self.number}"


def act(workspace: Path, tells: Connection, seed: int, _: int) -> None:
    """Open, wait until somebody watches, act, and say how it ended."""
    with opened(workspace) as memory:
        memory.refresh(wait=True)
        memory.settle()
        note = memory.list().headers[0].id
        tell(tells, Ack("ready", note, ""))
        with (workspace / "go").open("rb", buffering=0) as go:
            go.read(2)
        name = list(ACTS)[seed]
        os.access("/begin", os.F_OK)
        try:
            done = ACTS[name](memory, note).header
            ack = Ack(name, done.id, done.rev)
        except PromptuaryError as error:
            ack = Ack("refused", str(error), "")
        except Exception as error:  # noqa: BLE001  (that it is none of ours is what the test looks for)
            ack = Ack("crashed", repr(error), "")
        os.access("/end", os.F_OK)
        tell(tells, ack)
        os._exit(0)


def watched(workspace: Path, name: str, *options: str) -> Ack | None:
    """Do ``name`` under ``strace`` with these options; return what was said of it, ``None`` if nothing."""
    process, hears = start(act, workspace, list(ACTS).index(name))
    assert told(hears).operation == "ready"
    until_it_waits(process)
    command = ["strace", "-p", str(process.pid), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        # Opened for both, so that this does not wait for a process that died.
        with (workspace / "go").open("r+b", buffering=0) as go:
            go.write(b"go")
            if not hears.poll(_PATIENCE):
                process.kill()
            acks = heard(hears)
        process.join()
    return acks[0] if acks else None


def until_it_waits(process: ForkServerProcess) -> None:
    """Return when a process does nothing but wait: system calls are counted from there."""
    asleep = 0
    while asleep < 3:
        time.sleep(0.004)
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        asleep = asleep + 1 if state == "S" else 0


class Bench:
    """A workspace with a note in it, made anew from a copy for every trial."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self._copy = folder / "work", folder / "copy"
        self.workspace.mkdir()
        with opened(self.workspace) as memory:
            note = memory.put(NoteDraft(content=FIRST, kind="project", audience="private"))
            memory.put(NoteDraft(id=note.header.id, content=OLD))
        os.mkfifo(self.workspace / "go")
        shutil.copytree(self.workspace, self._copy, ignore=shutil.ignore_patterns("go"))

    def renew(self) -> None:
        shutil.rmtree(self.workspace)
        shutil.copytree(self._copy, self.workspace)
        os.mkfifo(self.workspace / "go")

    def points(self, name: str, trace: Path) -> list[Point]:
        """Return every system call between the beginning and the end of an operation, with each fault it can have."""
        self.renew()
        ack = watched(self.workspace, name, "-o", str(trace))
        assert ack is not None
        assert ack.operation == name, ack
        counts: Counter[str] = Counter()
        inside, found = False, list[Point]()
        for line in trace.read_text().splitlines():
            if (call := _CALL.match(line)) is None:
                continue
            counts[call[1]] += 1
            inside = (inside or '"/begin"' in line) and '"/end"' not in line
            if inside:
                found += [Point(call[1], counts[call[1]], fault) for fault in FAULTS if call[1] in CALLS[fault]]
        return found

    def tried(self, name: str, point: Point) -> tuple[Ack | None, list[str]]:
        """Do an operation with a fault in it; return what was said of it, and what is wrong afterwards."""
        self.renew()
        ack = watched(self.workspace, name, "-o", "/dev/null", "-e", f"trace={point.call}", "-e", point.injected)
        return ack, list(self.problems(ack, point))

    def problems(self, ack: Ack | None, point: Point) -> Iterator[str]:
        if point.fault != "KILL" and ack is None:
            yield "the process died"
        elif ack is not None and ack.operation == "crashed":
            yield f"this is no error of ours: {ack.note}"
        elif ack is not None and ack.operation == "refused" and ("Errno" in ack.note or len(ack.note.split()) < 4):
            yield f"this says nothing to a person: {ack.note}"
        yield from (f"{path.name} is torn" for path in files(self.workspace) if not is_whole(path.read_text()))
        with opened(self.workspace) as memory:
            memory.refresh(wait=True)
            yield from (f"{path.name} was left" for path in leftovers(self.workspace))
            every = [Ack("", header.id, "") for header in memory.list(statuses=("active", "archived")).headers]
            yield from history_problems(memory, [*every, ack] if ack and ack.rev else every)
            yield from stray_files(memory, self.workspace)
            later = memory.put(NoteDraft(id=every[0].note, content=sealed("delta: and later")))
            yield from history_problems(memory, [Ack("later", later.header.id, later.header.rev)])
            memory.settle()
            yield from page_problems(memory, self.workspace)


def can_trace() -> bool:
    """Return whether there is an ``strace`` that may watch."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not can_trace(), reason="needs strace, and the permission to trace a process")
@pytest.mark.parametrize("name", ACTS)
def test_a_fault_at_any_system_call_leaves_the_old_note_or_the_new(tmp_path: Path, name: str, figure: Figure) -> None:
    bench = Bench(tmp_path)
    every = bench.points(name, tmp_path / "trace")
    tried = every[:: figure(_STEP, 1)]
    ended: Counter[str] = Counter()
    found: list[str] = []
    for point in tried:
        ack, problems = bench.tried(name, point)
        found += [f"{point}: {problem}" for problem in problems]
        ended[f"{point.fault} {'died' if ack is None else ack.operation}"] += 1
    print(f"{name}: {len(tried)} of {len(every)} faults, none torn, lost or left: {dict(sorted(ended.items()))}")

    assert found == []
    assert len(every) > 50
