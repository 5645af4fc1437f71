"""Several processes and an editor change the same notes at once: nothing that was acknowledged or saved is lost."""

import hashlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.memory.memory import Memory
from promptuary.memory.values import NoteDraft
from tests.conftest import Figure
from tests.durability.note_worker import Ack, heard, history_problems, opened, roots, sealed, start, tell, told, work
from tests.durability.test_notes_survive import problems

Save = Callable[[Path, bytes], None]


def lost_updates(memory: Memory, acks: Sequence[Ack]) -> list[str]:
    """Return the updates that are not in the history exactly once, right after the revision that they were made for."""
    found: list[str] = []
    for note in sorted({ack.note for ack in acks}):
        links = Counter((change.before, change.rev) for change in memory.history(note))
        for ack in (one for one in acks if one.note == note and one.operation in ("update", "if_rev") and one.rev):
            here = [count for (before, rev), count in links.items() if rev == ack.rev and ack.before in ("", before)]
            if sum(here) < 1:
                found.append(f"{note}: {ack.operation} {ack.rev[:8]} does not follow {ack.before[:8]}")
    return found


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_processes_that_change_the_same_notes_lose_no_update_of_each_other(tmp_path: Path, figure: Figure) -> None:
    processes, count = figure(4, 8), figure(30, 500)
    workspace = tmp_path / "work"
    workspace.mkdir()
    started, began = [start(work, workspace, seed, count) for seed in range(processes)], time.perf_counter()
    said = [heard(hears) for _, hears in started]
    for process, _ in started:
        process.join()
    seconds = time.perf_counter() - began
    acks = [ack for each in said for ack in each]
    conflicts = sum(ack.conflict for ack in acks)
    print(
        f"{processes} processes, {count} operations each: {len(acks) / seconds:.0f} a second, {conflicts} conflicts "
        f"told, 0 updates lost ({dict(sorted(Counter(ack.operation for ack in acks).items()))})"
    )

    assert [process.exitcode for process, _ in started] == [0] * processes
    assert [len(each) for each in said] == [count] * processes
    assert list(problems(workspace, acks)) == []
    with opened(workspace) as memory:
        assert lost_updates(memory, acks) == []
    assert conflicts


def test_the_checker_notices_a_lost_update(tmp_path: Path) -> None:
    """The control: an update that is not there, and one that came after another revision than it was made for."""
    with opened(tmp_path) as memory:
        note = memory.put(NoteDraft(content=sealed("alpha"), kind="project", audience="private")).header
        later = memory.put(NoteDraft(id=note.id, content=sealed("beta")), if_rev=note.rev).header

        assert lost_updates(memory, [Ack("if_rev", note.id, later.rev, note.rev)]) == []
        assert lost_updates(memory, [Ack("if_rev", note.id, "0" * 64, note.rev)])
        assert lost_updates(memory, [Ack("if_rev", note.id, later.rev, "0" * 64)])
        assert list(history_problems(memory, [Ack("update", note.id, "0" * 64)]))


def in_place(path: Path, data: bytes) -> None:
    """Save as editors do that keep the file: write over it, then cut off what was longer."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, data)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def by_rename(path: Path, data: bytes) -> None:
    """Save as editors do that make a new file beside the old one."""
    beside = path.with_name(f".{path.name}.swp")
    beside.write_bytes(data)
    beside.rename(path)


def truncated(path: Path, data: bytes) -> None:
    """Save as editors do that empty the file and write it again, in two pieces."""
    with path.open("wb", buffering=0) as file:
        file.write(data[: len(data) // 2])
        file.write(data[len(data) // 2 :])


SAVES: Final[Sequence[Save]] = (in_place, by_rename, truncated)


def keep_updating(workspace: Path, tells: Connection, seed: int, _: int) -> None:
    """Update the one note again and again until the workspace says stop."""
    chance = random.Random(seed)
    with opened(workspace) as memory:
        note = memory.list().headers[0].id
        while not (workspace / "stop").exists():
            draft = NoteDraft(
                id=note, content=sealed(f"ours {chance.randrange(10**9)}" + " word" * chance.randrange(500))
            )
            try:
                tell(tells, Ack("update", note, memory.put(draft).header.rev))
            except PromptuaryError:  # it says that the file is being edited; what matters is that nothing is lost
                tell(tells, Ack("update", note, "", conflict=True))


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("save", SAVES)
def test_what_an_editor_saves_while_the_note_is_written_is_kept(tmp_path: Path, save: Save, figure: Figure) -> None:
    rounds, chance = figure(20, 500), random.Random(17)
    with opened(tmp_path) as memory:
        note = memory.put(NoteDraft(content=sealed("alpha"), kind="project", audience="private")).header
    path = roots(tmp_path)["project"] / note.path
    process, hears = start(keep_updating, tmp_path, 1)
    acks, saved = list[Ack](), list[str]()
    for number in range(rounds):
        acks += said(hears, 1)
        time.sleep(chance.uniform(0, 0.03))
        data = (
            f"---\nid: {note.id}\ntitle: By hand\n---\n{sealed(f'theirs {number}' + ' word' * chance.randrange(500))}\n"
        )
        save(path, data.encode())
        saved.append(hashlib.sha256(data.encode()).hexdigest())
        # One write may have begun before; the second has seen what was saved. The editor itself saves no faster.
        acks += said(hears, 2)
    (tmp_path / "stop").touch()
    acks += heard(hears)
    process.join()
    with opened(tmp_path) as memory:
        there = {change.rev for change in memory.history(note.id)}
        lost = [ack.rev for ack in acks if ack.rev and ack.rev not in there]
        waited = sum(ack.conflict for ack in acks)
        print(
            f"{rounds} saves ({save.__name__}) while a process wrote the note {len(acks):,} times: "
            f"{len(set(saved) - there)} saves and {len(lost)} writes lost, {waited} told to wait"
        )

        assert [number for number, rev in enumerate(saved) if rev not in there] == []
        assert lost == []
        assert process.exitcode == 0


def said(hears: Connection, count: int) -> list[Ack]:
    """Return everything that was said since, and at least ``count`` more."""
    found: list[Ack] = []
    while hears.poll(0):
        found.append(told(hears))
    return [*found, *(told(hears) for _ in range(count))]
