"""A search needs nothing of its backend but the ports: it runs on an index in memory as it does on one on disk."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from promptuary.base.errors import IndexDamagedError, PromptuaryError
from promptuary.config.settings import Settings
from promptuary.search.chunks.lines import Sizes
from promptuary.search.folders import IndexedFolders
from promptuary.search.kind_index import SearchBackend
from promptuary.search.service import SearchService
from promptuary.search.values import Filters, FolderHeld, IndexBusy, IndexRebuilt, SearchQuery, Words
from promptuary.testing.word_embedder import WordEmbedder
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import open_door
from tests.conftest import Files
from tests.in_memory_index import InMemoryIndex, InMemoryVectorStore

NOTES = {
    "deploy.md": "# Deploying\n\nRun the release script.\n",
    "lunch.md": "# Lunch\n\nThe canteen closes at two.\n",
    "app.py": "def release_script():\n    return 1\n",
}


@pytest.fixture
def index() -> InMemoryIndex:
    return InMemoryIndex()


@pytest.fixture
def workspace(files: Files) -> Path:
    return files(NOTES)


@pytest.fixture
def service(workspace: Path, index: InMemoryIndex) -> Iterator[SearchService]:
    backend = SearchBackend(index, InMemoryVectorStore(), WordEmbedder())
    opened = SearchService(
        IndexedFolders(
            IndexedFoldersFile(workspace, folder=workspace.parent / "folders"), lambda path: open_door(path, Settings())
        ),
        lambda: backend,
        Counter(DEFAULT_VOCABULARY),
        Sizes(256, 32),
        workspace=str(workspace),
        debounce=0.05,
    )
    yield opened
    opened.close()


def paths(service: SearchService, query: str | SearchQuery) -> list[str]:
    return sorted(hit.path for hit in service.find(query).hits)


def test_files_are_indexed_embedded_and_found(service: SearchService, workspace: Path) -> None:
    with pytest.raises(PromptuaryError, match="nothing is indexed yet"):
        service.find("release")
    assert service.index(workspace, label="notes").added == 3
    assert service.find("release").mode == "lexical"
    assert service.embed() == 3
    result = service.find("release script", limit=1)

    assert (result.mode, result.partially_embedded, len(result.hits)) == ("hybrid", False, 1)
    assert paths(service, SearchQuery("release", filters=Filters(kinds=("code",)))) == ["app.py"]
    assert service.find(SearchQuery("canteen")).hits[0].place == "lunch.md:1-3"
    (folder,) = service.status().folders
    assert (folder.path, folder.label, folder.files, folder.missing) == (str(workspace), "notes", 3, False)


def test_changes_are_synced_before_a_search(service: SearchService, workspace: Path) -> None:
    service.index(workspace)
    (workspace / "lunch.md").write_text("# Lunch\n\nThe kitchen is new.\n")
    (workspace / "deploy.md").rename(workspace / "ship.md")
    (workspace / "app.py").unlink()
    result = service.find("kitchen")

    assert (result.auto_synced, [hit.path for hit in result.hits]) == (True, ["lunch.md"])
    assert (paths(service, "canteen"), paths(service, "release")) == ([], ["ship.md"])


def test_a_folder_that_is_missing_is_held_and_a_rebuild_keeps_it(
    service: SearchService, workspace: Path, tmp_path: Path
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "zebra.md").write_text("A zebra.\n")
    service.index([workspace, vault])
    vault.rename(tmp_path / "away")

    assert service.find("zebra").notes == (FolderHeld(str(vault), "missing"),)
    assert service.index(rebuild=True).held == (FolderHeld(str(vault), "missing"),)
    assert paths(service, "zebra") == ["zebra.md"]
    assert service.index(prune=True).removed == 1
    assert paths(service, "zebra") == []


def test_while_somebody_else_writes_a_search_answers_and_says_so(
    service: SearchService, workspace: Path, index: InMemoryIndex
) -> None:
    service.index(workspace)
    (workspace / "new.md").write_text("The canteen again.\n")
    with ExitStack() as stack:
        assert stack.enter_context(index.writing())
        assert service.find("canteen").notes == (IndexBusy(),)

    assert paths(service, "canteen") == ["lunch.md", "new.md"]


def test_a_damaged_index_is_rebuilt(
    service: SearchService, workspace: Path, index: InMemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.index(workspace)

    def damaged(words: Words, limit: int, **_: object) -> list[tuple[int, float]]:
        monkeypatch.undo()
        raise IndexDamagedError("a part is missing")

    monkeypatch.setattr(index, "lexical", damaged)
    result = service.find("canteen")

    assert ([hit.path for hit in result.hits], result.notes) == (["lunch.md"], (IndexRebuilt(),))


def test_a_folder_is_removed_with_what_was_indexed_of_it(service: SearchService, workspace: Path) -> None:
    service.index(workspace)

    assert service.remove(workspace)
    assert not service.remove(workspace)
    assert service.status().counts.files == 0


def test_an_index_in_memory_can_be_watched(service: SearchService, workspace: Path, index: InMemoryIndex) -> None:
    service.index(workspace)
    watcher = service.watcher()
    assert watcher.wait(1, 30)  # watching has begun
    service.refresh()
    (workspace / "new.md").write_text("A zebra.\n")

    assert paths(service, "zebra") == ["new.md"]
