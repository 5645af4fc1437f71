"""The thread that keeps an index up to date: it tells what it does, and nothing ends it but being closed."""

import logging
import queue
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.search import updater
from promptuary.search.service import SearchService
from promptuary.search.values import (
    ChunksEmbedded,
    FilesSynced,
    IndexBusy,
    IndexUpdate,
    SearchQuery,
    SyncReport,
    UpdateFailed,
    WatchModeChanged,
)
from promptuary.search.vectors import embed
from promptuary.workspace.changes import watcher
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.indexes import index_of

PATIENCE = 20.0

Update = TypeVar("Update")


class Updates:
    """Collects the updates of a watched index, and waits for those that should come."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[IndexUpdate] = queue.SimpleQueue()
        self.all: list[IndexUpdate] = []

    def until(self, kind: type[Update]) -> Update:
        """Return the next update of a kind."""
        while True:
            self.all.append(self.queue.get(timeout=PATIENCE))
            if isinstance(self.all[-1], kind):
                return self.all[-1]

    def count(self, kind: type[Update]) -> int:
        """Return how many updates of a kind came so far."""
        return sum(isinstance(one, kind) for one in self.all)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updater, "_WAIT", 0.05)


@pytest.fixture
def workspace_files(files: Files) -> Path:
    return files({"a.md": "alpha", "b.md": "beta"})


@contextmanager
def watched(service: SearchService) -> Iterator[Updates]:
    updates = Updates()
    service.watch(updates.queue.put)
    try:
        yield updates
    finally:
        service.stop()


def test_it_says_how_it_notices_changes_and_then_of_each_sync(workspace_files: Path) -> None:
    with search_with(workspace_files) as service:
        service.index([workspace_files])
        with watched(service) as updates:
            how = updates.until(WatchModeChanged)
            (workspace_files / "a.md").write_text("gamma")
            updates.until(FilesSynced)

            assert how.mode in {"events", "polling"}
            assert [hit.path for hit in service.find(SearchQuery("gamma")).hits] == ["a.md"]


def test_it_makes_the_vectors_that_are_missing_and_those_of_what_changes(workspace_files: Path) -> None:
    with search_with(workspace_files, HashedWords()) as service:
        service.index([workspace_files])
        with watched(service) as updates:
            embedded = updates.until(ChunksEmbedded)
            assert (embedded.count, embedded.left, embedded.seconds > 0) == (2, 0, True)
            (workspace_files / "c.md").write_text("gamma")
            assert updates.until(ChunksEmbedded).count == 1

        assert not service.find(SearchQuery("gamma")).partially_embedded


def test_it_tells_how_many_chunks_are_left_to_embed(workspace_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updater, "_EMBED_ROUND", 0.0)
    monkeypatch.setattr(embed, "BATCH", 1)
    with search_with(workspace_files, HashedWords()) as service:
        service.index([workspace_files])
        with watched(service) as updates:
            counts = [(one.count, one.left) for one in (updates.until(ChunksEmbedded), updates.until(ChunksEmbedded))]

    assert counts == [(1, 1), (1, 0)]


def test_an_embedder_that_fails_is_told_of_once_and_keeps_no_change_from_being_indexed(workspace_files: Path) -> None:
    embedder = HashedWords()
    embedder.broken = "the service is away"
    with search_with(workspace_files, embedder) as service:
        service.index([workspace_files])
        with watched(service) as updates:
            assert updates.until(UpdateFailed) == UpdateFailed("the service is away")
            (workspace_files / "a.md").write_text("gamma")
            updates.until(FilesSynced)
            embedder.broken = ""
            updates.until(ChunksEmbedded)

    # Once before the sync, and once after it at most: it is news again then.
    assert updates.count(UpdateFailed) <= 2


@pytest.mark.parametrize("error", [PromptuaryError("the disk is full"), RuntimeError("a defect")])
def test_a_sync_that_fails_is_told_of_and_tried_again(
    workspace_files: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real, failing, often = SearchService.refresh, threading.Event(), threading.Semaphore(0)

    def refresh(self: SearchService, *, everything: bool = False) -> SyncReport | IndexBusy:
        if failing.is_set():
            often.release()
            raise error
        return real(self, everything=everything)

    monkeypatch.setattr(SearchService, "refresh", refresh)
    with search_with(workspace_files) as service:
        service.index([workspace_files])
        failing.set()
        (workspace_files / "a.md").write_text("gamma")
        with watched(service) as updates:
            failed = updates.until(UpdateFailed)
            assert all(often.acquire(timeout=PATIENCE) for _ in range(5))
            failing.clear()
            updates.until(FilesSynced)

    assert str(error) in failed.reason
    assert updates.count(UpdateFailed) == 1


def test_what_another_process_was_at_is_looked_at_again(workspace_files: Path) -> None:
    with search_with(workspace_files) as service, search_with(workspace_files) as other, ExitStack() as stack:
        service.index([workspace_files])
        (workspace_files / "a.md").write_text("gamma")
        assert stack.enter_context(index_of(other).writing())
        with watched(service) as updates:
            assert updates.until(IndexBusy) == IndexBusy()
            stack.close()
            updates.until(FilesSynced)


def test_a_list_of_folders_that_cannot_be_read_for_a_while_does_not_end_it(workspace_files: Path) -> None:
    with search_with(workspace_files) as service:
        service.index([workspace_files])
        (listed,) = (workspace_files.parent / "folders").glob("*.json")
        good = listed.read_text()
        listed.write_text("{")
        with watched(service) as updates:
            assert "not a list of folders" in updates.until(UpdateFailed).reason
            listed.write_text(good)
            (workspace_files / "a.md").write_text("gamma")
            updates.until(FilesSynced)


def test_folders_that_another_process_adds_and_removes_are_watched_and_not(
    workspace_files: Path, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    with search_with(workspace_files) as service, search_with(workspace_files) as other:
        service.index([workspace_files])
        with watched(service) as updates:
            updates.until(WatchModeChanged)
            other.index([there])
            (there / "new.md").write_text("delta")
            updates.until(FilesSynced)
            assert service.watcher().folders == [workspace_files, there]
            other.remove(str(there))
            (workspace_files / "a.md").write_text("gamma")
            updates.until(FilesSynced)
            assert service.watcher().folders == [workspace_files]


def test_a_callback_that_fails_does_not_end_it(workspace_files: Path, caplog: pytest.LogCaptureFixture) -> None:
    updates = Updates()
    caplog.set_level(logging.ERROR)  # whatever a command in this process has switched off

    def listen(update: IndexUpdate) -> None:
        updates.queue.put(update)
        raise ValueError("not today")

    with search_with(workspace_files) as service:
        service.index([workspace_files])
        service.watch(listen)
        updates.until(WatchModeChanged)
        (workspace_files / "a.md").write_text("gamma")
        updates.until(FilesSynced)

    assert "not today" in caplog.text


def test_watching_and_stopping_twice_is_harmless_and_leaves_no_thread(workspace_files: Path) -> None:
    with search_with(workspace_files) as service:
        service.index([workspace_files])
        service.stop()
        service.watch()
        service.watch()
        running = [thread.name for thread in threading.enumerate()]
        service.stop()
        service.stop()

        assert running.count("promptuary-updater") == 1
        assert not {"promptuary-updater", "promptuary-watch"} & {thread.name for thread in threading.enumerate()}


def test_watching_can_begin_again_with_another_listener(workspace_files: Path) -> None:
    with search_with(workspace_files) as service:
        service.index([workspace_files])
        for word in ("gamma", "delta"):
            with watched(service) as updates:
                updates.until(WatchModeChanged)
                (workspace_files / "a.md").write_text(word)
                assert updates.until(FilesSynced).report.changed == 1


def test_what_no_event_told_of_is_found_by_looking_from_time_to_time(
    workspace_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updater, "_CHECK_EVERY", 0.2)
    monkeypatch.setattr(watcher._Watched, "events", lambda *_: iter(()))
    with search_with(workspace_files) as service:
        service.index([workspace_files])
        with watched(service) as updates:
            updates.until(WatchModeChanged)
            (workspace_files / "a.md").write_text("gamma")

            assert updates.until(FilesSynced).report.changed == 1
