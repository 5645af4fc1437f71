"""What a person gets from the file memory while something is wrong with it, or somebody else is at it."""

import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from promptuary.core.errors import PromptuaryError
from promptuary.core.search import Filters, Folder, SearchQuery
from promptuary.search.service import DAMAGED
from tests.conftest import Files
from tests.embedders import HashedWords, memory_with


@pytest.fixture
def indexed(files: Files) -> Path:
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    time.sleep(0.1)  # a stamp that is too fresh is looked at twice
    with memory_with(workspace) as memory:
        memory.index([workspace])
    return workspace


def spoil(workspace: Path) -> None:
    """Write something into the catalogue that cannot be there, which shows only when it is read."""
    (path,) = (workspace / ".promptuary/index").glob("*/catalog.db")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE file SET kind = 'nonsense'")
    connection.commit()
    connection.close()


def test_indexing_makes_a_damaged_index_anew(indexed: Path) -> None:
    spoil(indexed)
    with memory_with(indexed) as memory:
        report = memory.index([])

        assert report.added == 2
        assert [hit.path for hit in memory.search(SearchQuery("alpha")).hits] == ["a.md"]


def test_a_search_makes_a_damaged_index_anew_and_says_so(indexed: Path) -> None:
    spoil(indexed)
    with memory_with(indexed) as memory:
        found = memory.search(SearchQuery("alpha"))

        assert ([hit.path for hit in found.hits], found.notes) == (["a.md"], (DAMAGED,))
        assert memory.search(SearchQuery("alpha")).notes == ()


def test_a_folder_can_be_taken_out_of_a_damaged_index(indexed: Path, tmp_path: Path) -> None:
    spoil(indexed)
    with memory_with(indexed) as memory:
        assert memory.remove(str(indexed))
        with pytest.raises(PromptuaryError, match="nothing is indexed"):
            memory.search(SearchQuery("alpha"))


def test_while_another_process_makes_a_damaged_index_anew_a_search_says_to_try_again(indexed: Path) -> None:
    with memory_with(indexed) as memory, memory_with(indexed) as other, other._index.writing():
        spoil(indexed)
        with pytest.raises(PromptuaryError, match="another process; try again"):
            memory.search(SearchQuery("alpha"))


def test_a_label_that_is_named_while_another_process_indexes_is_not_forgotten(indexed: Path) -> None:
    with memory_with(indexed) as memory, memory_with(indexed) as other:
        with other._index.writing(), pytest.raises(PromptuaryError, match="another process"):
            memory.index([indexed], label="ada")
        found = memory.search(SearchQuery("alpha", filters=Filters(labels=("ada",))))

        assert [hit.path for hit in found.hits] == ["a.md"]
        assert [folder for folder, _ in memory.status().folders] == [Folder(str(indexed), "ada")]
        assert memory.status().counts.files == 2


@pytest.mark.parametrize("watched", [False, True])
def test_a_folder_that_is_taken_out_while_another_process_indexes_is_gone_after_that(
    indexed: Path, tmp_path: Path, watched: bool
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "secret.md").write_text("alpha secret")
    time.sleep(0.1)
    with memory_with(indexed) as memory, memory_with(indexed) as other, ExitStack() as stack:
        memory.index([vault])
        memory.refresh()
        if watched:
            watcher = memory.watch(debounce=0.05)
            while watcher.wait(watcher.generation, 0.3):
                pass  # it begins to watch
            memory.refresh()
        stack.enter_context(other._index.writing())
        assert memory.remove(str(vault))
        stack.close()

        assert [hit.path for hit in memory.search(SearchQuery("alpha")).hits] == ["a.md"]


def test_an_embedder_that_has_nothing_to_prepare_or_cannot_is_used_all_the_same(indexed: Path) -> None:
    class Unprepared(HashedWords):
        def prepare(self) -> None:
            raise AttributeError("prepare")

    with memory_with(indexed, Unprepared()) as memory:
        memory.embed()

        assert [memory.search(SearchQuery("alpha")).mode for _ in range(3)] == ["hybrid"] * 3


def test_a_closed_memory_holds_no_file_of_the_workspace_open(indexed: Path) -> None:
    with memory_with(indexed, HashedWords()) as memory:
        memory.index([])
        memory.embed()
        memory.search(SearchQuery("alpha"))
        assert held_open(indexed)

    assert held_open(indexed) == []


def held_open(workspace: Path) -> list[str]:
    links = (path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    return sorted(str(link) for link in links if str(link).startswith(str(workspace)))
