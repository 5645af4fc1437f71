"""The search of notes as a service: opened when it is needed, up to date without anybody waiting for long."""

import shutil
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from promptuary.base import concurrency
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery
from promptuary.memory.recall.visible import NoteKey, key_of
from promptuary.models.protocols import Purpose
from promptuary.search.kind_index import SearchBackend
from promptuary.search.values import IndexBusy, SearchedByWordsOnly, note_text
from promptuary.testing.word_embedder import WordEmbedder
from tests.notes import Shelf, index_at, note

RAVEN = note("raven", "A raven.")
LONG = 30.0


def found(search: NoteIndex, words: str) -> list[str]:
    return [hit.header.id for hit in search.find(NoteQuery(words), timeout=LONG).hits]


def test_without_a_note_nothing_is_created(tmp_path: Path) -> None:
    search = index_at(tmp_path / "index", Shelf())

    assert found(search, "raven") == []
    search.close()
    assert not (tmp_path / "index").exists()


def test_the_first_search_indexes_what_there_is(tmp_path: Path) -> None:
    search = index_at(tmp_path / "index", Shelf(RAVEN))

    assert found(search, "raven") == ["raven"]
    search.close()


def test_a_note_that_was_written_is_found_by_the_next_search(tmp_path: Path) -> None:
    shelf = Shelf()
    search = index_at(tmp_path / "index", shelf)
    assert found(search, "raven") == []
    shelf.put(RAVEN)
    search.mark_changed([key_of(RAVEN.header)])

    assert found(search, "raven") == ["raven"]
    shelf.drop("raven")
    search.mark_changed([key_of(RAVEN.header)])
    assert found(search, "raven") == []
    search.close()


def test_what_was_written_last_is_indexed_before_it_is_closed(tmp_path: Path) -> None:
    shelf = Shelf()
    search = index_at(tmp_path / "index", shelf)
    found(search, "raven")
    shelf.put(RAVEN)
    search.mark_changed([key_of(RAVEN.header)])
    search.close()

    assert index_at(tmp_path / "index", shelf).backend.index.counts().files == 1


def test_what_a_killed_process_did_not_index_is_found_by_the_next(tmp_path: Path) -> None:
    shelf = Shelf(note("heron", "A heron."))
    index_at(tmp_path / "index", shelf).sync()
    shelf.put(RAVEN)
    search = index_at(tmp_path / "index", shelf)

    assert found(search, "raven") == ["raven"]
    search.close()


def test_a_search_of_an_index_that_is_up_to_date_writes_nothing_and_starts_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(RAVEN, note("heron", "A heron.", scope="user"))
    index_at(tmp_path / "index", shelf).sync()
    search = index_at(tmp_path / "index", shelf)
    with monkeypatch.context() as patched:
        patched.setattr(concurrency, "begin", lambda *_, **__: pytest.fail("a thread"))
        with index_at(tmp_path / "index", shelf).backend.index.writing():  # it does not even wait for a writer
            assert found(search, "raven") == ["raven"]
        assert found(search, "heron") == ["heron"]
    shelf.drop("heron", "user")
    search.mark_changed([NoteKey("user", "heron")])

    assert found(search, "heron") == []
    search.close()


def test_vectors_that_a_killed_process_did_not_compute_are_computed_by_the_next(tmp_path: Path) -> None:
    shelf, embedder = Shelf(RAVEN), WordEmbedder()
    index_at(tmp_path / "index", shelf, embedder).sync()
    search = index_at(tmp_path / "index", shelf, embedder)
    assert found(search, "raven") == ["raven"]
    if search._embedding is not None:
        search._embedding.wait()

    assert search.find(NoteQuery("raven")).mode == "hybrid"
    search.close()


def test_vectors_that_were_lost_are_restored_after_the_next_search(tmp_path: Path) -> None:
    shelf, embedder = Shelf(RAVEN), WordEmbedder()
    first = index_at(tmp_path / "index", shelf, embedder)
    first.sync()
    first.embed()
    first.close()
    for folder in (tmp_path / "index").glob("*/vectors"):
        shutil.rmtree(folder)
    search = index_at(tmp_path / "index", shelf, embedder)
    found(search, "raven")
    if search._embedding is not None:
        search._embedding.wait()

    assert search.find(NoteQuery("raven")).mode == "hybrid"
    search.close()


def test_while_another_process_writes_the_search_says_so_and_what_is_left_is_indexed_later(tmp_path: Path) -> None:
    shelf = Shelf(note("heron", "A heron."))
    other = index_at(tmp_path / "index", shelf)
    other.sync()
    shelf.put(RAVEN)
    search = index_at(tmp_path / "index", shelf)
    with other.backend.index.writing():
        first, second = (search.find(NoteQuery(words), timeout=0.2) for words in ("raven", "heron"))
        assert (first.hits, [type(one) for one in first.notes]) == ([], [IndexBusy])
        assert [hit.header.id for hit in second.hits] == ["heron"]

    assert found(search, "raven") == ["raven"]
    search.close()


def test_a_search_waits_for_another_process_that_writes_the_index(tmp_path: Path) -> None:
    shelf = Shelf(note("heron", "A heron."))
    other = index_at(tmp_path / "index", shelf)
    other.sync()
    shelf.put(RAVEN)
    search = index_at(tmp_path / "index", shelf)
    with ExitStack() as stack:
        stack.enter_context(other.backend.index.writing())
        ending = threading.Timer(1.2, stack.close)
        ending.start()

        assert [hit.header.id for hit in search.find(NoteQuery("raven")).hits] == ["raven"]
        ending.join()
    search.close()


def test_a_search_says_why_notes_could_not_be_indexed_and_tries_again_next_time(tmp_path: Path) -> None:
    shelf, broken = Shelf(RAVEN), [OSError(28, "No space left on device")]
    search = index_at(tmp_path, shelf)
    reading = search.notes.read

    def read(key: NoteKey) -> object:
        if broken:
            raise broken.pop()
        return reading(key)

    force_setattr(search.notes, "read", read)
    (said,) = search.find(NoteQuery("raven")).notes
    assert "not everything was searched" in note_text(said)
    assert "No space left on device" in note_text(said)

    again = search.find(NoteQuery("raven"))
    assert ([hit.header.id for hit in again.hits], again.notes) == (["raven"], ())
    search.close()


def test_a_search_does_not_wait_for_long_for_notes_that_are_being_indexed(tmp_path: Path) -> None:
    shelf, released = Shelf(RAVEN), threading.Event()
    search = index_at(tmp_path, shelf)
    reading, searching = search.notes.read, threading.current_thread()

    def read(key: NoteKey) -> object:
        if threading.current_thread() is not searching:
            released.wait(LONG)
        return reading(key)

    force_setattr(search.notes, "read", read)
    early = search.find(NoteQuery("raven"), timeout=0.01)
    released.set()
    assert [hit.header.id for hit in early.hits] == ["raven"]  # by words, from the notes themselves
    by_words, busy = early.notes
    assert isinstance(by_words, SearchedByWordsOnly)
    assert busy == IndexBusy(here=True)

    later = search.find(NoteQuery("raven"), timeout=LONG)
    assert ([hit.header.id for hit in later.hits], later.notes) == (["raven"], ())
    search.close()


class Slow(WordEmbedder):
    """Embeds when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.released = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[bytes]:
        if purpose == "passage":
            self.begun.set()
            self.released.wait(LONG)
        return super().embed(texts, purpose)


def test_notes_are_embedded_in_the_background_and_found_by_words_meanwhile(tmp_path: Path) -> None:
    embedder = Slow()
    search = index_at(tmp_path / "index", Shelf(RAVEN), embedder)

    assert found(search, "raven") == ["raven"]
    assert embedder.begun.wait(LONG)
    assert search.find(NoteQuery("raven")).mode == "lexical"
    embedder.released.set()
    search.close()


def test_an_error_while_indexing_loses_no_note(tmp_path: Path) -> None:
    shelf = Shelf(RAVEN)
    failures = [OSError("the disk is full")]
    search = index_at(tmp_path, shelf)
    open_backend = search._open_backend

    def fail_once() -> SearchBackend:
        if failures:
            raise failures.pop()
        return open_backend()

    search._open_backend = fail_once
    search.mark_changed([key_of(RAVEN.header)])
    while search._indexing is not None:
        search._indexing.wait()

    assert found(search, "raven") == ["raven"]
    search.close()


def test_an_index_made_anew_has_no_trace_of_what_is_gone(tmp_path: Path) -> None:
    shelf = Shelf(RAVEN, note("heron", "A nonce-5f1c heron."))
    search = index_at(tmp_path / "index", shelf)
    assert found(search, "heron") == ["heron"]
    shelf.drop("heron")
    search.mark_changed([NoteKey("project", "heron")])
    search.rebuild()
    search.close()

    files = [file for file in (tmp_path / "index").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"nonce-5f1c" in file.read_bytes()]


def test_an_index_is_made_anew_when_another_writer_has_ended(tmp_path: Path) -> None:
    search, other = (index_at(tmp_path / "index", Shelf(RAVEN)) for _ in range(2))
    assert found(search, "raven") == ["raven"]
    with ExitStack() as stack:
        stack.enter_context(other.backend.index.writing())
        ending = threading.Timer(1.2, stack.close)
        ending.start()
        search.rebuild()
        ending.join()

    assert found(search, "raven") == ["raven"]
    search.close()
    other.close()
