"""Whatever system call of a write fails, or is the last one before the process dies: the note is old or new.

``strace`` makes the n-th call of one kind fail, in the process that works with a note, for every n that there is. It
sees the thread that writes; what follows a write in other threads is killed at random in ``test_notes_survive``.
"""

import os
import re
import select
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final, Literal

import pytest

from promptuary.app import App
from promptuary.base.errors import PromptuaryError, UnknownNoteError
from promptuary.blocking import Promptuary
from promptuary.memory.values import ForgetReport, Note, NoteDraft
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
_STEPS: Final[Mapping[str, tuple[int, int]]] = {"forget": (1409, 7)}
"""One point in so many is tried, without torture and with it. Forgetting rewrites databases and an index: it has
thousands of points, most of them alike."""

FIRST, OLD, NEW = (sealed(f"{word}: what is known") for word in ("alpha", "beta", "gamma"))

Act = Callable[[App, str], Note | ForgetReport]

ACTS: Final[Mapping[str, Act]] = {
    "create": lambda app, _: app.memory.of().put(NoteDraft(content=NEW, kind="project", audience="private")),
    "update": lambda app, note: app.memory.of().put(NoteDraft(id=note, content=NEW)),
    "archive": lambda app, note: app.memory.of().archive(note),
    "undo": lambda app, note: app.memory.of().undo(note),
    "move": lambda app, note: app.memory.of().put(NoteDraft(id=note, audience="shared")),
    "forget": lambda app, note: app.memory.forget(note, everywhere=False, dry_run=False),
}
SPOKEN: Final = tuple(text.rpartition(" ")[2].encode() for text in (FIRST, OLD))
"""What nothing but the note says: none of it may be left when the note is forgotten."""


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
    with opened_app(workspace) as app:
        memory = app.memory.of()
        memory.refresh(wait=True)
        memory.settle()
        note = memory.list().headers[0].id
        name = list(ACTS)[seed]
        with (workspace / "go").open("r+b", buffering=0) as go:
            waits = select.poll()
            waits.register(go, select.POLLIN)
            tell(tells, Ack("ready", note, ""))
            waits.poll()  # of a kind that gets no fault: whoever begins to watch may see this call, or not
        os.access("/begin", os.F_OK)
        try:
            done = ACTS[name](app, note)
            ack = Ack(name, done.header.id, done.header.rev) if isinstance(done, Note) else Ack(name, done.note, "")
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
        # Opened for both, so that neither waits for a process that died.
        with (workspace / "go").open("r+b", buffering=0) as go:
            go.write(b"go")
            if not hears.poll(_PATIENCE):
                process.kill()
            acks = heard(hears)
        process.join()
    return acks[0] if acks else None


def until_it_waits(process: ForkServerProcess) -> None:
    """Return when a process does nothing but wait: system calls are counted from there."""
    asleep, looks = 0, 0
    while asleep < 3:
        time.sleep(0.004)
        looks += 1
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        # Where in the kernel it sleeps: until somebody writes, and not for a lock. Not every system tells.
        where = Path(f"/proc/{process.pid}/wchan").read_text()
        asleep = asleep + 1 if state == "S" and ("poll" in where or looks > 1_000) else 0


class Bench:
    """A workspace with a note in it, made anew from a copy for every trial."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self._copy = folder / "work", folder / "copy"
        self.workspace.mkdir()
        with Promptuary.open(self.workspace, exact=True, embedder="none") as p:
            self.note = p.memory.write(FIRST, kind="project", audience="private").header.id
            p.memory.write(OLD, id=self.note)
            p.threads.finish(p.threads.prepare("What is known of beta?"), "That is known.")
        os.mkfifo(self.workspace / "go")
        shutil.copytree(self.workspace, self._copy, ignore=shutil.ignore_patterns("go"))
        self._before = {path.name: path.read_bytes() for path in files(self.workspace)}

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
        after = self.forgetting_problems(ack) if name == "forget" else self.problems(ack)
        return ack, [*self.answer_problems(ack, point), *after]

    def answer_problems(self, ack: Ack | None, point: Point) -> Iterator[str]:
        """Yield what is wrong with what was said, and with the files before anybody looks after them."""
        now = {path.name: path.read_bytes() for path in files(self.workspace)}
        is_rewritten = now.keys() == self._before.keys() and now != self._before
        if point.fault != "KILL" and ack is None:
            yield "the process died"
        elif ack is not None and ack.operation == "crashed":
            yield f"this is no error of ours: {ack.note}"
        elif ack is not None and ack.operation == "refused" and ("Errno" in ack.note or len(ack.note.split()) < 4):
            yield f"this says nothing to a person: {ack.note}"
        elif ack is not None and ack.operation == "refused" and is_rewritten and "was written, but" not in ack.note:
            yield f"this does not say that the file was written: {ack.note}"
        yield from (f"{path.name} is torn" for path in files(self.workspace) if not is_whole(path.read_text()))

    def problems(self, ack: Ack | None) -> Iterator[str]:
        """Yield what is wrong once another process has opened the memory: the note is old or new, and works."""
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

    def forgetting_problems(self, ack: Ack | None) -> Iterator[str]:
        """Yield what is wrong: the note is whole or gone from every view, and forgetting it again leaves nothing."""
        with opened_app(self.workspace) as app:
            memory = app.memory.of()
            memory.refresh(wait=True)
            note = memory.get(self.note)
            if note is not None and ack is not None and ack.operation == "forget":
                yield "it was said to be forgotten, and is there"
            if note is not None:
                yield from history_problems(memory, [Ack("", self.note, note.header.rev)])
                yield from (["it is not what it was"] if note.body != OLD else [])
            seen = [one.id for one in memory.list(statuses=("active", "archived")).headers]
            found = [hit.header.id for hit in memory.find("what is known of beta").hits]
            if {self.note} & {*seen, *found} and note is None:
                yield f"it is gone, and still seen: {seen} {found}"
            with suppress(UnknownNoteError):  # it was forgotten, and only its last bytes may be left
                app.memory.forget(self.note, everywhere=False, dry_run=False)
            if memory.get(self.note) is not None or memory.find("what is known of beta").hits:
                yield "forgetting it again does not forget it"
            memory.settle()
            yield from page_problems(memory, self.workspace)
        yield from (f"{path} holds words of it" for path in self.holding())

    def holding(self) -> Iterator[str]:
        """Yield the files that hold words of the note, whatever their format."""
        for path in self.workspace.rglob("*"):
            if path.is_file() and any(word in path.read_bytes() for word in SPOKEN):
                yield path.relative_to(self.workspace).as_posix()


@contextmanager
def opened_app(workspace: Path) -> Iterator[App]:
    """Open a workspace, without any model."""
    with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        yield promptuary._app


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
    tried = every[:: figure(*_STEPS.get(name, (61, 1)))]
    ended: Counter[str] = Counter()
    found: list[str] = []
    for point in tried:
        ack, problems = bench.tried(name, point)
        found += [f"{point}: {problem}" for problem in problems]
        ended[f"{point.fault} {'died' if ack is None else ack.operation}"] += 1
    print(f"{name}: {len(tried)} of {len(every)} faults, none torn, lost or left: {dict(sorted(ended.items()))}")

    assert found == []
    assert len(every) > 50
