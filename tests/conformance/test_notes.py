"""Every store of notes keeps the same contract: ``tests.suites.notes``."""

from contextlib import suppress
from pathlib import Path

import pytest

from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import NoteRows, spaces
from promptuary.state import StateDatabase
from tests.suites.notes import (
    ADA,
    BEN,
    ONE,
    OTHER,
    FoldersConformance,
    NoteFilesConformance,
    NoteJournalConformance,
    noted,
    rev,
    stamped,
    write,
)


class TestNoteFiles(FoldersConformance):
    @pytest.fixture
    def files(self, tmp_path: Path) -> NoteFiles:
        return NoteFiles(tmp_path, "memory/agents/default")


class TestNoteRows(NoteFilesConformance):
    @pytest.fixture
    def files(self, state: StateDatabase) -> NoteRows:
        return NoteRows(state.database, "agents/default", ADA)


def test_a_private_file_is_for_its_owner_until_its_note_is_somebody_elses(state: StateDatabase) -> None:
    adas, bens = (NoteRows(state.database, "agents/default", owner) for owner in (ADA, BEN))
    for path in (ONE, OTHER):
        assert adas.create(path, path.encode())
    assert adas.read(ONE) == ONE.encode()
    assert (bens.read(ONE), bens.stamp(ONE), bens.is_own(ONE)) == (None, None, False)
    assert bens.read(OTHER) == OTHER.encode()
    assert list(bens.list()) == [OTHER]

    assert bens.move(OTHER, OTHER.replace("shared", "private"))
    write(state.notes("agents/default"), noted("aaaa", path=OTHER.replace("shared", "private")))
    assert list(bens.list()) == []  # ben moved it, and the note is ada's
    assert len(adas.list()) == 2
    assert spaces(state.database) == ["agents/default"]


def test_what_a_writer_does_with_the_lock_is_there_as_a_whole_or_not_at_all(state: StateDatabase) -> None:
    rows, journal = NoteRows(state.database, "agents/default", ADA), state.notes("agents/default")
    with suppress(ZeroDivisionError), rows.lock():
        assert rows.create(ONE, b"text")
        assert rows.read(ONE) == b"text"
        write(journal, noted("aaaa", path=ONE))
        raise ZeroDivisionError
    assert (rows.read(ONE), journal.known("aaaa")) == (None, None)
    with rows.lock():
        assert rows.create(ONE, b"text")
        write(journal, noted("aaaa", path=ONE))
        assert state.database.read(lambda own: own.execute("SELECT count(*) FROM note_file").fetchone()[0]) == 0
    assert rows.read(ONE) == b"text"
    assert journal.known("aaaa") is not None


class TestNoteJournal(NoteJournalConformance):
    @pytest.fixture
    def journal(self, state: StateDatabase) -> NoteJournal:
        return state.notes("agents/default")


@pytest.fixture
def journal(state: StateDatabase) -> NoteJournal:
    return state.notes("agents/default")


def test_a_path_has_the_note_that_was_written_there_last(journal: NoteJournal) -> None:
    write(journal, noted("aaaa", path="private/user/one.md"))
    write(journal, noted("bbbb", path="private/user/one.md"), "other")
    write(journal, noted("bbbb", path="private/user/one.md", pinned=True), "changed", "update")

    header = journal.view(ADA).header("private/user/one.md")
    assert header is not None
    assert (header.id, header.pinned, header.rev) == ("bbbb", True, rev("changed"))
    assert journal.view(ADA).header("aaaa") is None
    assert [one.note for one in journal.files().values()] == ["bbbb"]
    journal.observe([(noted("cccc", path="private/user/one.md"), stamped(), False)])
    assert [one.note for one in journal.files().values()] == ["cccc"]
