"""Notes that are not indexed yet, or not even read: they are waited for, else it is said that some are missing."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.memory import memory
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.recall.index import NoteIndex
from promptuary.search.records import PATIENCE, RecordIndex
from promptuary.threads.prepared import Turn

MISSING = "not everything was searched: it is still being indexed; try again soon"
Slow = Callable[[float], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace with notes and without an index."""
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    folder = tmp_path / "project"
    folder.mkdir()
    with Promptuary.open(folder) as promptuary:
        promptuary.memory.write("The zebra service listens on port 9077.", title="Zebra")
        promptuary.memory.write("Tabs are eight wide.", title="Tabs")
    shutil.rmtree(folder / ".promptuary" / "index")
    return folder


@pytest.fixture
def slow_index(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Make indexing take some seconds longer."""
    sync = RecordIndex.sync

    def slow(seconds: float) -> None:
        def late(self: NoteIndex, *, rebuild: bool = False) -> bool:
            time.sleep(seconds)
            return sync(self, rebuild=rebuild)

        monkeypatch.setattr(RecordIndex, "sync", late)

    return slow


@pytest.fixture
def slow_scan(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Make reading the files of notes take some seconds longer."""
    sync = Notebook.sync

    def slow(seconds: float) -> None:
        def late(self: Notebook, *, limit: int | None = None) -> bool | None:
            if limit is not None:  # as with very many files
                return None
            time.sleep(seconds)
            return sync(self)

        monkeypatch.setattr(Notebook, "sync", late)

    return slow


def recalled(turn: Turn) -> list[str]:
    return [one.label for one in turn.receipt.entries if one.layer == "memory_recall" and one.status != "out"]


def test_a_search_and_a_turn_wait_for_notes_that_are_not_indexed_yet(folder: Path, slow_index: Slow) -> None:
    slow_index(1.5)
    with Promptuary.open(folder) as promptuary:
        found = promptuary.memory.find("zebra port")
        assert ([hit.header.title for hit in found.hits], found.notes) == (["Zebra"], ())
    shutil.rmtree(folder / ".promptuary" / "index")
    with Promptuary.open(folder) as promptuary:
        assert "Zebra" in str(recalled(promptuary.threads.prepare("Which port has the zebra service?")))


def test_a_turn_that_cannot_wait_longer_finds_words_in_the_database_and_says_so(folder: Path, slow_index: Slow) -> None:
    slow_index(PATIENCE + 1.5)
    with Promptuary.open(folder) as promptuary:
        turn = promptuary.threads.prepare("Which port has the zebra service?")
        assert "Zebra" in str(recalled(turn))
        assert any(MISSING in one for one in turn.receipt.warnings)


def test_a_command_says_that_not_everything_was_searched(
    folder: Path, slow_index: Slow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow_index(1.0)
    monkeypatch.setattr(memory, "LONG_PATIENCE", 0.1)
    monkeypatch.setattr(NoteIndex, "embed_few", lambda _: None)

    assert main(["memory", "search", "zebra", "--workspace", str(folder)]) == 0
    told = capsys.readouterr()
    assert "Zebra" in told.out
    assert MISSING in told.err


def test_notes_written_by_hand_are_listed_and_found_however_long_reading_them_takes(
    folder: Path, slow_scan: Slow
) -> None:
    slow_scan(1.5)
    private = next((folder / ".promptuary").rglob("private"))
    (private / "project").mkdir(exist_ok=True)
    (private / "project" / "heron.md").write_text("The heron service is new.\n")
    with Promptuary.open(folder) as promptuary:
        listed = promptuary.memory.list()
        assert (listed.complete, sorted(one.title for one in listed)[:1]) == (True, ["Tabs"])
        assert len(listed) + len(promptuary.memory.unadopted()) == 3
    with Promptuary.open(folder) as promptuary:
        assert promptuary.memory.find("heron").notes == ()


def test_a_list_that_is_not_complete_never_says_that_there_are_no_notes(
    folder: Path, slow_scan: Slow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for database in folder.rglob("state.db*"):
        database.unlink()
    slow_scan(1.0)
    monkeypatch.setattr(memory, "LONG_PATIENCE", 0.1)

    assert main(["memory", "list", "--workspace", str(folder)]) == 1
    assert capsys.readouterr().err == ("not all notes are listed: their files are still being read; try again soon\n")
    main(["memory", "list", "--json", "--workspace", str(folder)])
    assert '"complete": false' in capsys.readouterr().out
