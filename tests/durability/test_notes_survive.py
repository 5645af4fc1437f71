"""Notes survive the sudden death of the process that writes them, and all that follows a write is made good."""

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from promptuary.memory.memory import Memory
from promptuary.memory.note_file import rev_of
from promptuary.memory.recall.index import NoteIndex, folders
from promptuary.memory.recall.search import NoteQuery
from promptuary.memory.recall.visible import key_of
from tests.conftest import Figure
from tests.durability.note_worker import (
    WORDS,
    Ack,
    files,
    heard,
    history_problems,
    is_whole,
    opened,
    roots,
    start,
    work_for_ever,
)

ROUND = 40
"""After so many kills there is a new workspace: histories grow, and each is read whole after every kill."""


def killed(workspace: Path, seed: int, *, after: float, writing: bool) -> list[Ack]:
    """Start a process that writes, kill it, and return what it acknowledged."""
    process, hears = start(work_for_ever, workspace, seed)
    if writing:
        hears.poll(60)
    time.sleep(after)
    process.kill()
    acks = heard(hears)
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the writer ended by itself"
    return acks


def problems(workspace: Path, acks: Sequence[Ack]) -> Iterator[str]:
    """Yield everything that is not as it should be once another process has opened the memory."""
    yield from (f"{path.name} is torn" for path in files(workspace) if not is_whole(path.read_text()))
    with opened(workspace) as memory:
        memory.refresh(wait=True)
        yield from (f"{path.name} was left" for path in leftovers(workspace))
        yield from history_problems(memory, acks)
        yield from stray_files(memory, workspace)
        memory.settle()
        yield from page_problems(memory, workspace)
        yield from index_problems(memory)


def leftovers(workspace: Path) -> list[Path]:
    return [path for root in roots(workspace).values() for path in root.rglob("*.tmp")]


def stray_files(memory: Memory, workspace: Path) -> Iterator[str]:
    """Yield files that belong to no note: what half a move or half a write would leave."""
    waiting = {header.path for header in memory.unadopted()}
    known = {header.path: header for header in memory.list(statuses=("active", "archived", "frozen")).headers}
    for scope, root in roots(workspace).items():
        for path in root.glob("*/*/*.md"):
            name = path.relative_to(root).as_posix()
            header = known.get(name)
            if name in waiting and not path.name.startswith("hand-"):
                yield f"{scope}/{name} waits to be adopted"
            elif name not in waiting and (header is None or header.rev != rev_of(path.read_bytes())):
                yield f"{scope}/{name} is not the note that is listed"


def page_problems(memory: Memory, workspace: Path) -> Iterator[str]:
    """Yield the lists of notes that do not name every active note, or name another."""
    active = memory.list().headers
    for scope, root in roots(workspace).items():
        for audience in ("private", "shared"):
            expected = {
                header.path.removeprefix(f"{audience}/")
                for header in active
                if (header.scope, header.audience) == (scope, audience)
            }
            page = root / audience / "MEMORY.md"
            text = page.read_text() if page.exists() else ""
            listed = {
                line.rpartition("](")[2].partition(")")[0] for line in text.splitlines() if line.startswith("- [")
            }
            if listed != expected:
                yield f"{scope}/{audience}/MEMORY.md lists {listed ^ expected} too much or too little"


def index_problems(memory: Memory) -> Iterator[str]:
    index = memory.search
    if index.backend_if_used is None:
        return
    found = searched(index)
    memory.search.rebuild()
    if found != searched(index):
        yield "the index is not what a rebuild makes of the notes"
    recallable = {(key_of(header).id, header.rev) for header in memory.visible.newest()}
    if set(found[0]) != recallable:
        yield "the index does not hold the notes that there are"


def searched(index: NoteIndex) -> tuple[list[tuple[str, str]], list[set[tuple[str, str]]]]:
    """Return which notes are indexed in which revision, and what is found by words."""
    with index.backend.index.writing() as writer:
        assert writer is not None
        catalogue = [(path, file.sha256) for folder in folders() for path, file in writer.files(folder).items()]
    hits = [index.search(NoteQuery(word, 1000)).hits for word in WORDS]
    return sorted(catalogue), [{(hit.header.id, hit.header.rev) for hit in each} for each in hits]


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_no_acknowledged_note_is_lost_when_the_process_is_killed(tmp_path: Path, figure: Figure) -> None:
    chance, kills = random.Random(13), figure(25, 1000)
    done: Counter[str] = Counter()
    workspace, acks = tmp_path / "0", list[Ack]()
    for kill in range(kills):
        if kill % ROUND == 0:
            shutil.rmtree(workspace, ignore_errors=True)
            shutil.rmtree(roots(workspace)["user"].parents[2], ignore_errors=True)
            workspace, acks = tmp_path / f"{kill}", []
            workspace.mkdir()
        # Every fourth dies while it starts: opening, making the folders, comparing files with the journal.
        writing = kill % 4 > 0
        new = killed(workspace, kill, after=chance.uniform(0, 0.3 if writing else 0.2), writing=writing)
        acks += new
        done.update(ack.operation for ack in new)
        assert list(problems(workspace, acks)) == []
    print(f"{kills} kills: {done.total():,} writes of notes acknowledged, 0 lost ({dict(sorted(done.items()))})")

    assert done.total() >= kills
