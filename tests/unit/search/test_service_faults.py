"""What a person gets from a search while something is wrong with the index, or another process writes it."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from promptuary.base.errors import PromptuaryError
from promptuary.database.migrate import BEFORE
from promptuary.search.values import Filters, FolderStatus, IndexRebuilt, IndexStatus, SearchQuery
from tests.conftest import Files
from tests.embedders import HashedWords, search_with
from tests.indexes import index_of, let_stamps_age


@pytest.fixture
def indexed(files: Files) -> Path:
    workspace = files({"a.md": "alpha", "b.md": "beta"})
    let_stamps_age(workspace)  # one that is too fresh is looked at twice
    with search_with(workspace) as service:
        service.index([workspace])
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
    with search_with(indexed) as service:
        report = service.index([])

        assert report.added == 2
        assert [hit.path for hit in service.find(SearchQuery("alpha")).hits] == ["a.md"]


def test_a_search_makes_a_damaged_index_anew_and_says_so(indexed: Path) -> None:
    spoil(indexed)
    with search_with(indexed) as service:
        found = service.find(SearchQuery("alpha"))

        assert ([hit.path for hit in found.hits], found.notes) == (["a.md"], (IndexRebuilt(),))
        assert service.find(SearchQuery("alpha")).notes == ()


def test_nothing_is_counted_in_an_index_of_an_earlier_version_which_the_next_search_rebuilds(indexed: Path) -> None:
    (path,) = (indexed / ".promptuary/index").glob("*/catalog.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {BEFORE}")
    with search_with(indexed) as service:
        assert service.status() == IndexStatus((FolderStatus(str(indexed), "", 0, missing=False),))
        assert [hit.path for hit in service.find(SearchQuery("alpha")).hits] == ["a.md"]
        assert service.status().counts.files == 2


def test_a_folder_can_be_taken_out_of_a_damaged_index(indexed: Path, tmp_path: Path) -> None:
    spoil(indexed)
    with search_with(indexed) as service:
        assert service.remove(str(indexed))
        with pytest.raises(PromptuaryError, match="nothing is indexed"):
            service.find(SearchQuery("alpha"))


def test_while_another_process_makes_a_damaged_index_anew_a_search_says_to_try_again(indexed: Path) -> None:
    with search_with(indexed) as service, search_with(indexed) as other, index_of(other).writing():
        spoil(indexed)
        with pytest.raises(PromptuaryError, match="another process is rebuilding the index; try again"):
            service.find(SearchQuery("alpha"))


@pytest.mark.usefixtures("impatient")
def test_a_label_that_is_named_while_another_process_indexes_is_not_forgotten(indexed: Path) -> None:
    with search_with(indexed) as service, search_with(indexed) as other:
        with index_of(other).writing(), pytest.raises(PromptuaryError, match="another process"):
            service.index([indexed], label="ada")
        found = service.find(SearchQuery("alpha", filters=Filters(labels=("ada",))))

        assert [hit.path for hit in found.hits] == ["a.md"]
        assert service.status().folders == (FolderStatus(str(indexed), "ada", 2, missing=False),)
        assert service.status().counts.files == 2


@pytest.mark.parametrize("watched", [False, True])
def test_a_folder_that_is_taken_out_while_another_process_indexes_is_gone_after_that(
    indexed: Path, tmp_path: Path, watched: bool
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "secret.md").write_text("alpha secret")
    let_stamps_age(vault)
    with search_with(indexed) as service, search_with(indexed) as other, ExitStack() as stack:
        service.index([vault])
        service.refresh()
        if watched:
            watcher = service.watcher()
            while watcher.wait(watcher.generation, 0.3):
                pass  # it begins to watch
            service.refresh()
        stack.enter_context(index_of(other).writing())
        assert service.remove(str(vault))
        stack.close()

        assert [hit.path for hit in service.find(SearchQuery("alpha")).hits] == ["a.md"]


def test_an_embedder_that_has_nothing_to_prepare_or_cannot_is_used_all_the_same(indexed: Path) -> None:
    class Unprepared(HashedWords):
        def prepare(self) -> None:
            raise AttributeError("prepare")

    with search_with(indexed, Unprepared()) as service:
        service.embed()

        assert [service.find(SearchQuery("alpha")).mode for _ in range(3)] == ["hybrid"] * 3


def test_a_closed_search_holds_no_file_of_the_workspace_open(indexed: Path) -> None:
    with search_with(indexed, HashedWords()) as service:
        service.index([])
        service.embed()
        service.find(SearchQuery("alpha"))
        assert held_open(indexed)

    assert held_open(indexed) == []


def held_open(workspace: Path) -> list[str]:
    links = (path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    return sorted(str(link) for link in links if str(link).startswith(str(workspace)))
