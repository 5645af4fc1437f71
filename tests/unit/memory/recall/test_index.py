"""The index of notes: it holds what the principal may see, follows every change, and is worth nothing in itself."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.memory.recall.index import NoteIndex, folders
from promptuary.memory.recall.search import NoteQuery
from promptuary.memory.recall.visible import NoteKey, key_of
from promptuary.memory.values import Note
from promptuary.search.values import IndexCounts
from promptuary.testing.word_embedder import WordEmbedder
from tests.notes import Shelf, index_at, note

TABS = note("tabs", "Ada indents Python with tabs.", title="Indentation", kind="user", tags=("style",))
MONDAY = note("monday", "Releases go out on Mondays at noon.", title="Release day", audience="shared", kind="project")
PHONE = note("phone", "The person prefers short calls.", title="Telephone", scope="user", kind="user")


def found(index: NoteIndex, words: str) -> list[str]:
    return [hit.header.id for hit in index.search(NoteQuery(words)).hits]


def contents(index: NoteIndex) -> tuple[IndexCounts, dict[tuple[str, str], tuple[str, str]]]:
    """Return everything that is in an index."""
    every = {
        (folder.path, path): (file.sha256, str(index.backend.index.content(folder, path)))
        for folder in folders()
        for path, file in index.backend.index.files(folder).items()
    }
    return index.backend.index.counts(), every


def test_a_note_is_found_by_its_text_its_title_its_tags_and_its_summary(tmp_path: Path) -> None:
    index = index_at(tmp_path, Shelf(replace(TABS, header=replace(TABS.header, summary="whitespace")), MONDAY))
    index.sync()

    assert [found(index, words) for words in ("indents", "Indentation", "style", "whitespace")] == [["tabs"]] * 4


def test_the_words_of_the_front_matter_find_nothing(tmp_path: Path) -> None:
    body = "Ada indents with tabs."
    index = index_at(tmp_path, Shelf(replace(note("tabs", body), text=f"---\nsecretword: yes\n---\n{body}")))
    index.sync()

    assert found(index, "secretword") == []
    assert found(index, "tabs") == ["tabs"]


def test_a_note_without_a_text_is_found_by_its_title(tmp_path: Path) -> None:
    index = index_at(tmp_path, Shelf(note("empty", " \n", title="Ask Mira about payroll"), MONDAY))
    index.sync()

    assert found(index, "payroll") == ["empty"]


def test_the_notes_of_both_roots_are_in_one_index_even_with_equal_ids(tmp_path: Path) -> None:
    twin = note("tabs", "Tabs are closed at five.", scope="user")
    index = index_at(tmp_path, Shelf(TABS, twin))
    index.sync()

    hits = index.search(NoteQuery("tabs")).hits
    assert {key_of(hit.header) for hit in hits} == {NoteKey("project", "tabs"), NoteKey("user", "tabs")}


def test_a_sync_adds_what_is_new_replaces_what_changed_and_drops_what_is_gone(tmp_path: Path) -> None:
    shelf = Shelf(TABS, MONDAY, PHONE)
    index = index_at(tmp_path, shelf)
    index.sync()
    shelf.put(note("monday", "Releases go out on Fridays.", audience="shared", kind="project"), note("new", "A raven."))
    shelf.drop("tabs")
    index.sync()

    assert [found(index, one) for one in ("fridays", "noon", "raven", "indents")] == [["monday"], [], ["new"], []]


def test_an_update_looks_at_the_notes_it_names_only(tmp_path: Path) -> None:
    shelf = Shelf(TABS, MONDAY)
    index = index_at(tmp_path, shelf)
    index.sync()
    shelf.put(note("tabs", "Spaces now.", kind="user"), note("monday", "Fridays now.", audience="shared"))
    index.update([NoteKey("project", "tabs")])

    assert (found(index, "spaces"), found(index, "fridays")) == (["tabs"], [])


@pytest.mark.parametrize("change", [{"kind": "feedback"}, {"audience": "shared"}, {"kind": "project"}])
def test_a_note_that_changed_its_kind_or_its_audience_is_found_once(tmp_path: Path, change: dict[str, str]) -> None:
    shelf = Shelf(TABS)
    index = index_at(tmp_path, shelf)
    index.sync()
    shelf.put(note("tabs", "Ada indents Python with tabs.", **{"kind": "user"} | change))
    index.update([NoteKey("project", "tabs")])

    assert found(index, "tabs") == ["tabs"]
    assert index.backend.index.counts().files == 1


@pytest.mark.parametrize("status", ["archived", "frozen"])
def test_a_note_that_is_archived_or_frozen_leaves_the_index(tmp_path: Path, status: str) -> None:
    shelf = Shelf(TABS, MONDAY)
    index = index_at(tmp_path, shelf)
    index.sync()
    shelf.put(note("tabs", TABS.body, kind="user", status=status))
    index.update([NoteKey("project", "tabs")])

    assert found(index, "tabs") == []
    assert index.backend.index.counts().files == 1


def test_a_note_that_is_not_true_yet_or_no_longer_is_not_found(tmp_path: Path) -> None:
    shelf = Shelf(note("past", "The raven rule.", valid_until="2026-04-01"))
    index = index_at(tmp_path, shelf)
    index.sync()
    assert found(index, "raven") == ["past"]
    shelf.now = "2026-04-02T00:00:00+00:00"
    assert found(index, "raven") == []

    shelf.put(note("future", "The raven rule.", valid_from="2026-05-01"))
    index.sync()
    assert found(index, "raven") == []


def test_a_note_that_vanishes_while_it_is_indexed_is_left_out(tmp_path: Path) -> None:
    shelf = Shelf(TABS, MONDAY)
    index = index_at(tmp_path, shelf)
    visible = replace(shelf.visible(), read=lambda key: None if key.id == "tabs" else shelf.notes.get(key))
    NoteIndex(lambda: index.backend, visible, index._counter, index._sizes).sync()

    assert (found(index, "tabs"), found(index, "mondays")) == ([], ["monday"])


def test_a_damaged_index_is_rebuilt_and_nothing_is_lost(tmp_path: Path) -> None:
    shelf = Shelf(TABS, MONDAY)
    index = index_at(tmp_path, shelf)
    index.sync()
    index.close()
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.stat().st_size:
            file.write_bytes(b"\xff" * file.stat().st_size)
    again = index_at(tmp_path, shelf)
    again.sync()

    assert (found(again, "tabs"), found(again, "mondays")) == (["tabs"], ["monday"])


def test_an_index_that_was_removed_is_made_anew_by_the_next_update(tmp_path: Path) -> None:
    shelf = Shelf(TABS, MONDAY)
    index_at(tmp_path / "index", shelf).sync()
    shutil.rmtree(tmp_path / "index")
    index = index_at(tmp_path / "index", shelf)
    index.update([NoteKey("project", "tabs")])

    assert (found(index, "tabs"), found(index, "mondays")) == (["tabs"], ["monday"])


def test_while_another_process_writes_this_one_reads(tmp_path: Path) -> None:
    shelf = Shelf(TABS)
    index, other = index_at(tmp_path, shelf), index_at(tmp_path, shelf)
    index.sync()
    shelf.put(MONDAY)
    with other.backend.index.writing() as writer:
        assert writer is not None
        assert not index.update([key_of(MONDAY.header)])
        assert found(index, "tabs") == ["tabs"]
    assert index.update([key_of(MONDAY.header)])

    assert found(other, "mondays") == ["monday"]


def test_what_was_embedded_is_found_by_meaning_and_unchanged_notes_are_not_embedded_again(tmp_path: Path) -> None:
    shelf = Shelf(TABS, MONDAY)
    index = index_at(tmp_path, shelf, WordEmbedder(dimensions=64))
    index.sync()
    assert index.embed() == 2
    shelf.put(note("new", "A raven."))
    index.sync()

    assert index.embed() == 1
    assert index.search(NoteQuery("indents Python with tabs")).mode == "hybrid"


def test_the_hashes_of_a_note_are_those_its_vectors_are_stored_under(tmp_path: Path) -> None:
    index = index_at(tmp_path, Shelf(TABS, MONDAY), WordEmbedder())
    index.sync()

    hashes = index.hashes(key_of(TABS.header))
    assert len(hashes) == 1
    assert set(hashes) < set(index.backend.index.hashes())


WORDS = st.sampled_from(["raven", "tabs", "monday", "payroll", "Ünïcode", "日本語 テスト"])
NOTES = st.builds(
    lambda number, words, kind, audience, scope, status: note(
        f"note-{number}", " ".join(words), kind=kind, audience=audience, scope=scope, status=status
    ),
    st.integers(0, 4),
    st.lists(WORDS, max_size=6),
    st.sampled_from(["user", "feedback", "project", "reference"]),
    st.sampled_from(["private", "shared"]),
    st.sampled_from(["project", "user"]),
    st.sampled_from(["active", "active", "archived"]),
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.lists(NOTES, max_size=4), st.integers(0, 4)), min_size=1, max_size=4))
def test_an_index_that_follows_changes_equals_one_that_is_built_anew(
    tmp_path: Path, steps: list[tuple[list[Note], int]]
) -> None:
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    shelf = Shelf()
    index = index_at(tmp_path / "kept", shelf)
    for notes, dropped in steps:
        before = set(shelf.notes)
        shelf.put(*notes)
        if (gone := NoteKey("project", f"note-{dropped}")) in shelf.notes:
            shelf.drop(gone.id)
        index.update(before | set(shelf.notes))
    anew = index_at(tmp_path / "anew", shelf)
    anew.sync()

    assert contents(index) == contents(anew)
    for words in ("raven", "tabs monday", "日本語"):
        assert set(found(index, words)) == set(found(anew, words))
