"""Files that are indexed in quick succession are written together, each as a whole, and nobody waits for them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.base.files import Folder, Stamp
from promptuary.search.index import index as embedded_index
from promptuary.search.index import writer as index_writer
from promptuary.search.index.catalog.catalog import Catalog
from promptuary.search.index.catalog.rows import CatalogChange, FileContent
from promptuary.search.index.fulltext.index import TantivyIndex
from promptuary.search.index.index import DiskIndex
from promptuary.search.index.writer import GenerationWriter
from promptuary.search.values import Chunk, IndexedFile, Words

HERE, THERE = Folder("/here"), Folder("/there")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[DiskIndex]:
    own = DiskIndex(tmp_path, "recipe")
    yield own
    own.close()


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the paths that are written in each transaction."""
    made: list[list[str]] = []
    real = Catalog.put

    def put(self: Catalog, folder: Folder, files: list[FileContent]) -> CatalogChange:
        made.append([file.path for file, _, _ in files])
        return real(self, folder, files)

    monkeypatch.setattr(Catalog, "put", put)
    monkeypatch.setattr(index_writer, "_PUT_DELAY", 60.0)
    return made


def put(writer: GenerationWriter, path: str, text: str, folder: Folder = HERE) -> None:
    file = IndexedFile(path, Stamp(1, 2, 3, 4), "ab" * 32, "text", 5)
    chunks = [Chunk(number, number, line) for number, line in enumerate(text.split("\n"), 1)]
    writer.put(folder, file, text, chunks)


def found(index: DiskIndex, word: str) -> list[str]:
    chunks = index.chunks([one for one, _ in index.lexical(Words((word,)), 100)])
    return sorted(one.path for one in chunks.values())


def test_files_in_quick_succession_are_one_transaction_and_all_are_found(
    index: DiskIndex, transactions: list[list[str]]
) -> None:
    with index.writing() as writer:
        assert writer is not None
        for number in range(100):
            put(writer, f"{number:02}", "zebra")

    assert [len(paths) for paths in transactions] == [64, 36]
    assert found(index, "zebra") == [f"{number:02}" for number in range(100)]


def test_files_that_come_slowly_do_not_wait(
    index: DiskIndex, transactions: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_writer, "_PUT_DELAY", -1.0)
    with index.writing() as writer:
        assert writer is not None
        put(writer, "a", "zebra")
        assert transactions == [["a"]]


def test_whatever_else_is_done_comes_after_what_was_put_before_it(
    index: DiskIndex, transactions: list[list[str]]
) -> None:
    with index.writing() as writer:
        assert writer is not None
        put(writer, "a", "zebra")
        writer.move(HERE, "a", IndexedFile("b", Stamp(1, 2, 3, 4), "ab" * 32, "text", 5))
        put(writer, "c", "zebra")
        put(writer, "d", "zebra", THERE)
        assert set(writer.files(HERE)) == {"b", "c"}
        put(writer, "e", "zebra", THERE)
        writer.drop(THERE, ["e"])
        put(writer, "f", "zebra", THERE)
        writer.drop_folder(THERE)

    assert transactions == [["a"], ["c"], ["d"], ["e"], ["f"]]
    assert found(index, "zebra") == ["b", "c"]


def test_a_file_that_is_put_twice_is_there_as_it_was_put_last(index: DiskIndex, transactions: list[list[str]]) -> None:
    with index.writing() as writer:
        assert writer is not None
        put(writer, "a", "zebra\nokapi")
        put(writer, "a", "okapi\nquagga")

    assert len(transactions) == 1
    assert (found(index, "zebra"), found(index, "okapi"), found(index, "quagga")) == ([], ["a"], ["a"])


def test_one_that_cannot_be_written_does_not_take_those_before_it_with_it(
    index: DiskIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Catalog.put

    def put_all(self: Catalog, folder: Folder, files: list[FileContent]) -> CatalogChange:
        if any(file.path == "bad" for file, _, _ in files):
            raise PromptuaryError("too long")
        return real(self, folder, files)

    monkeypatch.setattr(Catalog, "put", put_all)
    with index.writing() as writer:
        assert writer is not None
        for name in ("good", "bad", "after"):
            put(writer, name, "zebra")
        with pytest.raises(PromptuaryError, match="too long"):
            writer.flush()
    with index.writing() as writer:
        assert writer is not None
        assert set(writer.files(HERE)) == {"good"}

    assert found(index, "zebra") == ["good"]


@pytest.mark.parametrize("goes_on", [True, False])
def test_what_the_full_text_index_could_not_take_is_told_again(
    index: DiskIndex, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    real, times = TantivyIndex.write, iter([True])

    def write(self: TantivyIndex, *args: Any, **options: Any) -> None:
        if next(times, False):
            raise PromptuaryError("too many files open")
        real(self, *args, **options)

    monkeypatch.setattr(TantivyIndex, "write", write)
    with suppress(ZeroDivisionError), index.writing() as writer:
        assert writer is not None
        for number in range(3):
            put(writer, f"{number}", "zebra")
        with pytest.raises(PromptuaryError, match="too many files open"):
            writer.flush()
        if not goes_on:
            raise ZeroDivisionError
    with index.writing() as writer:
        assert writer is not None

    assert found(index, "zebra") == ["0", "1", "2"]


def test_files_are_verified_again_after_a_while(index: DiskIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    with index.writing() as writer:
        assert writer is not None
        put(writer, "a", "zebra")
    assert found(index, "zebra") == ["a"]
    norms = next(writer.path.rglob("*.fieldnorm"))
    # In place: whoever has the file mapped would crash if it were empty for a moment.
    with norms.open("r+b") as file:
        first = file.read(1)[0]
        file.seek(0)
        file.write(bytes([first ^ 1]))
    monkeypatch.setattr(embedded_index, "_TRUSTED", 0.0)

    with index.writing() as writer:
        assert writer is not None
        assert writer.fresh


def test_between_two_files_others_may_write(index: DiskIndex, tmp_path: Path) -> None:
    with index.writing() as writer:
        assert writer is not None
        other = Catalog(writer.path / "catalog.db", timeout=0.0)
        for number in range(200):
            put(writer, f"{number}", "zebra")
            other.set_meta("who", "another")
        other.close()


def test_before_it_is_findable_everything_is_brought_to_the_disk(index: DiskIndex) -> None:
    with index.writing() as writer:
        assert writer is not None
        catalog = Catalog(writer.path / "catalog.db")
        put(writer, "a", "zebra")
        writer.flush()
        first = catalog.meta("settled")
        put(writer, "b", "zebra")
        writer.flush()
        # SQLite brings nothing to the disk for a transaction that writes nothing.
        assert int(catalog.meta("settled")) > int(first) > 0
        catalog.close()
