"""Notes in PostgreSQL survive the death of the servers that write them, and servers lose no update of each other."""

import os
import random
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from promptuary.base.errors import NoteConflictError, PromptuaryError
from promptuary.base.principals import LOCAL
from promptuary.memory.note_file import rev_of
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import NoteRows
from promptuary.memory.values import NoteDraft
from tests.conftest import Figure
from tests.durability.note_worker import Ack, history_problems, opened, start, tell, told
from tests.durability.test_notes_in_parallel import lost_updates
from tests.durability.test_notes_survive import index_problems, killed
from tests.stores import state_in

SPACE = "agents/default"


@pytest.fixture(autouse=True)
def _in_database(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    monkeypatch.setenv("PROMPTUARY_NOTES", "database")
    monkeypatch.setenv("PROMPTUARY_TENANT", tmp_path.name)


def problems(workspace: Path, acks: Sequence[Ack]) -> Iterator[str]:
    """Yield everything that is not as it should be once another process has opened the memory."""
    with opened(workspace) as memory:
        yield from history_problems(memory, acks)
        memory.settle()
        yield from index_problems(memory)
        assert list(memory.unadopted()) == []
    with closing(state_in(workspace)) as state:
        rows, journal = NoteRows(state.database, SPACE, LOCAL.owner), NoteJournal(state.database, SPACE)
        there = {path: rev_of(rows.read(path) or b"") for path in rows.list()}
        known = {path: file.rev for path, file in journal.files().items()}
        if there != known:
            yield f"the files are {there}, and the journal has {known}"
    assert not list(workspace.rglob("*.md"))


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_no_acknowledged_note_is_lost_when_a_server_is_killed(tmp_path: Path, figure: Figure) -> None:
    chance, kills, acks = random.Random(31), figure(8, 300), list[Ack]()
    for kill in range(kills):
        writing = kill % 4 > 0
        acks += killed(tmp_path, kill, after=chance.uniform(0, 0.3 if writing else 0.2), writing=writing)
        assert list(problems(tmp_path, acks)) == []
    print(f"{kills} kills: {len(acks):,} writes of notes acknowledged, 0 lost")


def die_at_the_journal(workspace: Path, tells: Connection, seed: int, _: int) -> None:
    """Change a note and write another, and die when the file is written and the journal is not."""
    with opened(workspace) as memory:
        note = memory.list().headers[0]
        record = NoteJournal.record

        def die(journal: NoteJournal, *given: object) -> object:
            found = record(journal, *given) if seed % 2 else ()  # type: ignore[arg-type]
            os.kill(os.getpid(), signal.SIGKILL)
            return found

        NoteJournal.record = die  # type: ignore[assignment]
        change = NoteDraft(id=note.id, content="changed") if seed < 2 else NoteDraft("new")
        tell(tells, Ack("update", memory.put(change).header.id, ""))


@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_dies_between_the_file_and_the_journal_has_written_nothing(tmp_path: Path, seed: int) -> None:
    with opened(tmp_path) as memory:
        before = memory.put(NoteDraft("first")).header
    process, hears = start(die_at_the_journal, tmp_path, seed)
    with pytest.raises(EOFError):
        told(hears)
    process.join()

    assert process.exitcode == -signal.SIGKILL
    with opened(tmp_path) as memory:
        assert [header.rev for header in memory.list().headers] == [before.rev]
        assert len(memory.history(before.id)) == 1
        assert memory.put(NoteDraft(id=before.id, content="second")).body == "second"
    assert list(problems(tmp_path, [])) == []


def append(workspace: Path, tells: Connection, seed: int, count: int) -> None:
    """Append lines to the one note, each to what it read; who was overtaken reads again."""
    with opened(workspace) as memory:
        (header,) = memory.list().headers
        for number in range(count):
            while True:
                note = memory.exact(header.id)
                assert note is not None
                draft = NoteDraft(id=header.id, content=f"{note.body}\n{seed}-{number}")
                try:
                    written = memory.put(draft, if_rev=note.header.rev)
                except NoteConflictError:
                    continue
                tell(tells, Ack("if_rev", header.id, written.header.rev, note.header.rev))
                break


@pytest.mark.timeout(600)
def test_two_servers_that_write_one_note_lose_no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers, count = 2, 100
    place, note, started = tmp_path, "", []
    for server in range(servers):  # each with a disk of its own, and nothing on it
        place = tmp_path / f"server{server}"
        (place / "home").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(place / "home"))
        if not server:
            with opened(place) as memory:
                note = memory.put(NoteDraft("begun", title="Log")).header.id
        started.append(start(append, place, server, count))
    acks = [told(hears) for _ in range(count) for _, hears in started]
    for process, _ in started:
        process.join()

    assert [process.exitcode for process, _ in started] == [0] * servers
    with opened(place) as memory:
        found = memory.exact(note)
        assert found is not None
        assert sorted(found.body.split()) == sorted(
            ["begun", *(f"{server}-{number}" for server in range(servers) for number in range(count))]
        )
        assert lost_updates(memory, acks) == []
        assert len(memory.history(note)) == servers * count + 1
        with pytest.raises(PromptuaryError, match="changed meanwhile"):
            memory.put(NoteDraft(id=note, content="late"), if_rev=acks[0].rev)
