"""Every store of notes keeps the same contract: ``promptuary.testing.suites.notes``."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.core.ports.notes import NoteFiles, NoteJournal
from promptuary.storage.in_memory_notes import InMemoryNoteFiles, InMemoryNoteJournal
from promptuary.storage.notes.files import DiskNoteFiles
from promptuary.storage.sqlite.state import SqliteState
from promptuary.testing.suites.notes import NoteFilesConformance, NoteJournalConformance


class TestInMemoryNoteFiles(NoteFilesConformance):
    @pytest.fixture
    def files(self) -> NoteFiles:
        return InMemoryNoteFiles()


class TestDiskNoteFiles(NoteFilesConformance):
    @pytest.fixture
    def files(self, tmp_path: Path) -> NoteFiles:
        return DiskNoteFiles(tmp_path, "memory/agents/default")


class TestInMemoryNoteJournal(NoteJournalConformance):
    @pytest.fixture
    def journal(self) -> NoteJournal:
        return InMemoryNoteJournal()


class TestSqliteNoteJournal(NoteJournalConformance):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Iterator[NoteJournal]:
        with closing(SqliteState(tmp_path / "state.db")) as state:
            yield state.notes("agents/default")
