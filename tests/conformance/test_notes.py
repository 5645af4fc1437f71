"""Every store of notes keeps the same contract: ``tests.suites.notes``."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.state import StateDatabase
from tests.suites.notes import (
    ADA,
    NoteFilesConformance,
    NoteJournalConformance,
    noted,
    rev,
    stamped,
    write,
)


class TestNoteFiles(NoteFilesConformance):
    @pytest.fixture
    def files(self, tmp_path: Path) -> NoteFiles:
        return NoteFiles(tmp_path, "memory/agents/default")


class TestNoteJournal(NoteJournalConformance):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Iterator[NoteJournal]:
        with closing(StateDatabase(tmp_path / "state.db")) as state:
            yield state.notes("agents/default")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[NoteJournal]:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        yield state.notes("agents/default")


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
