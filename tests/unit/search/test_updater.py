"""The thread that keeps an index up to date: it tells what it does, and nothing ends it but being closed."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from promptuary.core.errors import PromptuaryError
from promptuary.core.search import SearchQuery
from promptuary.search import updater
from promptuary.search.service import BUSY, SearchService
from promptuary.search.sync import SyncReport
from promptuary.search.updater import IndexUpdate, IndexUpdater
from promptuary.workspace.changes import watcher
from tests.conftest import Files
from tests.embedders import HashedWords, memory_with

PATIENCE = 20.0


class Told:
    """Hears what a keeper tells, and waits for what it should."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[IndexUpdate] = queue.SimpleQueue()
        self.all: list[IndexUpdate] = []

    def until(self, wanted: Callable[[IndexUpdate], object]) -> IndexUpdate:
        """Return the first thing told from now on that is wanted."""
        while True:
            self.all.append(self.queue.get(timeout=PATIENCE))
            if wanted(self.all[-1]):
                return self.all[-1]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updater, "_PATIENCE", 0.05)


@pytest.fixture
def workspace_files(files: Files) -> Path:
    return files({"a.md": "alpha", "b.md": "beta"})


@contextmanager
def kept(memory: SearchService) -> Iterator[Told]:
    told = Told()
    keeper = IndexUpdater(memory, debounce=0.05, told=told.queue.put)
    keeper.start()
    try:
        yield told
    finally:
        keeper.close()


def test_it_says_how_it_notices_changes_and_then_of_each_sync(workspace_files: Path) -> None:
    with memory_with(workspace_files) as memory:
        memory.index([workspace_files])
        with kept(memory) as told:
            how = told.until(lambda one: one.watching)
            (workspace_files / "a.md").write_text("gamma")
            told.until(lambda one: one.synced)

            assert how.watching.startswith(("events", "polling"))
            assert [hit.path for hit in memory.search(SearchQuery("gamma")).hits] == ["a.md"]


def test_it_makes_the_vectors_that_are_missing_and_those_of_what_changes(workspace_files: Path) -> None:
    with memory_with(workspace_files, HashedWords()) as memory:
        memory.index([workspace_files])
        with kept(memory) as told:
            assert told.until(lambda one: one.embedded).embedded == 2
            (workspace_files / "c.md").write_text("gamma")
            assert told.until(lambda one: one.embedded).embedded == 1

        assert not memory.search(SearchQuery("gamma")).partially_embedded


def test_an_embedder_that_fails_is_told_of_once_and_keeps_no_change_from_being_indexed(workspace_files: Path) -> None:
    embedder = HashedWords()
    embedder.broken = "the service is away"
    with memory_with(workspace_files, embedder) as memory:
        memory.index([workspace_files])
        with kept(memory) as told:
            assert told.until(lambda one: one.notes).notes == ("the service is away",)
            (workspace_files / "a.md").write_text("gamma")
            told.until(lambda one: one.synced)
            embedder.broken = ""
            told.until(lambda one: one.embedded)

    # Once before the sync, and once after it at most: it is news again then.
    assert sum(bool(one.notes) for one in told.all) <= 2


@pytest.mark.parametrize("error", [PromptuaryError("the disk is full"), RuntimeError("a defect")])
def test_a_sync_that_fails_is_told_of_and_tried_again(
    workspace_files: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real, failing, often = SearchService.refresh, threading.Event(), threading.Semaphore(0)

    def refresh(self: SearchService, *, everything: bool = False) -> tuple[SyncReport, list[str]]:
        if failing.is_set():
            often.release()
            raise error
        return real(self, everything=everything)

    monkeypatch.setattr(SearchService, "refresh", refresh)
    with memory_with(workspace_files) as memory:
        memory.index([workspace_files])
        failing.set()
        (workspace_files / "a.md").write_text("gamma")
        with kept(memory) as told:
            (note,) = told.until(lambda one: one.notes).notes
            assert all(often.acquire(timeout=PATIENCE) for _ in range(5))
            failing.clear()
            told.until(lambda one: one.synced)

    assert str(error) in note
    assert sum(bool(one.notes) for one in told.all) == 1


def test_what_another_process_was_at_is_looked_at_again(workspace_files: Path) -> None:
    with memory_with(workspace_files) as memory, memory_with(workspace_files) as other, ExitStack() as stack:
        memory.index([workspace_files])
        (workspace_files / "a.md").write_text("gamma")
        assert stack.enter_context(other._index.writing())
        with kept(memory) as told:
            assert told.until(lambda one: one.notes).notes == (BUSY,)
            stack.close()
            told.until(lambda one: one.synced)


def test_a_list_of_folders_that_cannot_be_read_for_a_while_does_not_end_it(workspace_files: Path) -> None:
    with memory_with(workspace_files) as memory:
        memory.index([workspace_files])
        (listed,) = (workspace_files.parent / "folders").glob("*.json")
        good = listed.read_text()
        listed.write_text("{")
        with kept(memory) as told:
            assert "not a list of folders" in told.until(lambda one: one.notes).notes[0]
            listed.write_text(good)
            (workspace_files / "a.md").write_text("gamma")
            told.until(lambda one: one.synced)


def test_folders_that_another_process_adds_and_removes_are_watched_and_not(
    workspace_files: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    with memory_with(workspace_files) as memory, memory_with(workspace_files) as other:
        memory.index([workspace_files])
        with kept(memory) as told:
            told.until(lambda one: one.watching)
            other.index([there])
            (there / "new.md").write_text("delta")
            told.until(lambda one: one.synced)
            assert memory.watch(debounce=0.05).folders == [workspace_files, there]
            other.remove(str(there))
            (workspace_files / "a.md").write_text("gamma")
            told.until(lambda one: one.synced)
            assert memory.watch(debounce=0.05).folders == [workspace_files]


def test_a_listener_that_fails_does_not_end_it(workspace_files: Path, caplog: pytest.LogCaptureFixture) -> None:
    heard: queue.SimpleQueue[IndexUpdate] = queue.SimpleQueue()

    def listen(kept: IndexUpdate) -> None:
        heard.put(kept)
        raise ValueError("not today")

    with memory_with(workspace_files) as memory:
        memory.index([workspace_files])
        keeper = IndexUpdater(memory, debounce=0.05, told=listen)
        keeper.start()
        assert heard.get(timeout=PATIENCE).watching
        (workspace_files / "a.md").write_text("gamma")
        while not heard.get(timeout=PATIENCE).synced:
            pass
        keeper.close()

    assert "not today" in caplog.text


def test_closing_one_that_was_never_started_or_twice_is_harmless(workspace_files: Path) -> None:
    with memory_with(workspace_files) as memory:
        memory.index([workspace_files])
        IndexUpdater(memory, debounce=0.05).close()
        keeper = IndexUpdater(memory, debounce=0.05)
        keeper.start()
        keeper.close()
        keeper.close()

        assert "promptuary-updater" not in {thread.name for thread in threading.enumerate()}


def test_what_no_event_told_of_is_found_by_looking_from_time_to_time(
    workspace_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updater, "_LOOK_EVERY", 0.2)
    monkeypatch.setattr(watcher._Watched, "events", lambda *_: iter(()))
    with memory_with(workspace_files) as memory:
        memory.index([workspace_files])
        with kept(memory) as told:
            told.until(lambda one: one.watching)
            (workspace_files / "a.md").write_text("gamma")

            assert told.until(lambda one: one.synced).synced is not None
