"""The book of an index: numbers of chunks mean one thing for ever, and what is owed to others is noted."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import IndexDamagedError
from promptuary.base.files import Folder, Stamp
from promptuary.database import migrate
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.index.document import Document
from promptuary.search.values import Chunk, Filters, IndexedFile

HERE = Folder("/here")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    opened = Catalog(tmp_path / "catalog.db")
    yield opened
    opened.close()


def file(path: str, **changes: object) -> IndexedFile:
    values: dict[str, object] = {"stamp": Stamp(1, 2, 3, 4), "sha256": "ab" * 32, "kind": "text", "date": 5} | changes
    return IndexedFile(path, **values)  # type: ignore[arg-type]


def lines(text: str) -> list[Chunk]:
    return [Chunk(number, number, line) for number, line in enumerate(text.split("\n"), 1)]


def put(catalog: Catalog, path: str, text: str) -> tuple[list[int], list[int]]:
    written = catalog.put(HERE, [(file(path), text, lines(text))])
    return [one.id for one in written.new], list(written.dropped)


def test_a_file_comes_back_as_it_was_put(catalog: Catalog) -> None:
    one = file("ü \udcff.md", stamp=Stamp(2**40, 2**62, 2**62, 2**64 - 1), kind="markdown", date=-5)
    catalog.put(HERE, [(one, "", ())])

    assert catalog.files(HERE) == {one.path: one}
    assert catalog.folders() == [(HERE, 1)]


def test_chunks_that_stay_keep_their_numbers_wherever_they_stand(catalog: Catalog) -> None:
    assert put(catalog, "a", "x\ny\nz") == ([1, 2, 3], [])
    assert put(catalog, "a", "new\nx\nz") == ([4], [2])

    rows = catalog.chunks([1, 2, 3, 4])
    assert {number: (row.chunk.start_line, row.chunk.text) for number, row in rows.items()} == {
        1: (2, "x"),
        3: (3, "z"),
        4: (1, "new"),
    }


def test_a_chunk_with_other_fields_gets_another_number_and_is_sent_again(catalog: Catalog) -> None:
    def put_as(chunk: Chunk) -> tuple[list[Document], list[int]]:
        written = catalog.put(HERE, [(file("a"), "me: x", [chunk])])
        return list(written.new), list(written.dropped)

    chat = Chunk(1, 1, "me: x", ("Top",), own="x", names=("T",), date=9)
    document = Document(1, 1, "a", ("Top",), "me: x", ("T",), "x")

    assert put_as(chat) == ([document], [])
    assert catalog.pending_changes().new == [document]
    assert put_as(chat) == ([], [])
    for number, other in enumerate([{"own": "me: x"}, {"names": ()}, {"date": None}, {"own": ""}], 2):
        (sent,), dropped = put_as(replace(chat, **other))  # type: ignore[arg-type]
        assert (sent.id, dropped) == (number, [number - 1])


def test_of_equal_chunks_each_has_its_own_number(catalog: Catalog) -> None:
    assert put(catalog, "a", "x\nx\nx") == ([1, 2, 3], [])
    assert put(catalog, "a", "x\nx") == ([], [3])
    assert put(catalog, "b", "x") == ([4], [])


def test_a_number_is_never_given_twice(catalog: Catalog, tmp_path: Path) -> None:
    put(catalog, "a", "x\ny")
    catalog.drop(HERE, ["a"])
    catalog.close()

    with closing(Catalog(tmp_path / "catalog.db")) as again:
        assert put(again, "a", "x\ny") == ([3, 4], [])


def test_what_the_full_text_index_was_not_told_is_known_after_a_restart(catalog: Catalog, tmp_path: Path) -> None:
    put(catalog, "a", "x\ny")
    catalog.clear_pending()
    assert catalog.pending_changes().new == []
    put(catalog, "a", "x\nz")
    catalog.move(HERE, "a", file("b"))
    put(catalog, "c", "w")
    catalog.drop(HERE, ["c"])
    catalog.close()
    with closing(Catalog(tmp_path / "catalog.db")) as again:
        owed = again.pending_changes()
        again.clear_pending()
        left = again.pending_changes()

    assert [(one.id, one.path, one.text) for one in owed.new] == [(1, "b", "x"), (3, "b", "z")]
    assert sorted(owed.dropped) == [2, 4]
    assert (left.new, left.dropped) == ([], [])


def test_files_at_a_path_are_it_and_what_is_below_it_and_no_neighbours(catalog: Catalog) -> None:
    for path in ("a", "a/b", "a/b/c", "a.md", "a0", "ab", "a-b", "b"):
        put(catalog, path, "x")

    found, others = catalog.files_at(HERE, ["a"])
    assert (set(found), others) == ({"a", "a/b", "a/b/c"}, True)
    assert catalog.files_at(HERE, ["nowhere"]) == ({}, True)
    assert catalog.files_at(HERE, ["a", "a.md", "a0", "ab", "a-b", "b"])[1] is False
    assert catalog.files_at(Folder("/elsewhere"), ["a"]) == ({}, False)


def test_a_moved_file_that_is_not_there_is_damage_and_changes_nothing(catalog: Catalog) -> None:
    put(catalog, "a", "x")

    with pytest.raises(IndexDamagedError):
        catalog.move(HERE, "b", file("c"))
    assert set(catalog.files(HERE)) == {"a"}


def test_filters_are_all_of_them_and_a_time_ends_before_its_end(catalog: Catalog) -> None:
    catalog.put(HERE, [(file("a", kind="code", date=10), "x", lines("x"))])
    catalog.put(Folder("/there", "ada"), [(file("b", kind="text", date=20), "x", lines("x"))])

    def passing(**filters: object) -> list[str]:
        return [path for _, _, path in catalog.select(Filters(**filters))]  # type: ignore[arg-type]

    assert passing() == ["a", "b"]
    assert passing(kinds=("code", "data")) == ["a"]
    assert passing(labels=("ada",)) == ["b"]
    assert passing(labels=("",)) == ["a"]
    assert passing(folders=("/there",)) == ["b"]
    assert passing(since=10, until=20) == ["a"]
    assert passing(since=20) == ["b"]
    assert passing(kinds=("code",), labels=("ada",)) == []


def test_a_text_that_is_not_what_was_written_is_damage(catalog: Catalog) -> None:
    put(catalog, "a", "x\ny")
    catalog._database.write(lambda own: own.execute("UPDATE content SET text = 'x' || char(10) || 'other'"))

    assert catalog.chunks([1])[1].chunk.text == "x"
    with pytest.raises(IndexDamagedError):
        catalog.chunks([1, 2])


def test_a_file_that_is_no_catalogue_is_damage(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"something else " * 100)

    with pytest.raises(IndexDamagedError), closing(Catalog(tmp_path / "catalog.db")) as catalog:
        catalog.folders()


def test_a_catalogue_of_an_earlier_version_is_damage_and_so_is_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, owner TEXT NOT NULL)")
        old.execute(f"PRAGMA application_id = {migrate.BEFORE}")
        old.execute("PRAGMA user_version = 8")
    old.close()

    with pytest.raises(IndexDamagedError, match="before this one"):
        Catalog(path)
