"""What could not be looked at is not gone: short of descriptors, nothing is removed from the index."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.search.values import note_text
from promptuary.workspace.disk.folders import EntryKind, Folders
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files, git
from tests.indexes import search_of

Short = Callable[[str], None]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Short:
    """Make one folder impossible to open, as it is without descriptors: listing it, and looking at what is in it."""

    def begin(folder: str) -> None:
        entries, status, listed = Folders.entries, Folders.status, Workspace.folder

        def no_entries(self: Folders, path: str) -> list[tuple[str, EntryKind]] | None:
            return None if path.rstrip("/") == folder else entries(self, path)

        def no_status(self: Folders, path: str) -> os.stat_result | None:
            if path.rpartition("/")[0] == folder:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return status(self, path)

        def no_folder(self: Workspace, path: str) -> str:
            if path == folder:
                raise SourceError(Code.READ_FAILED, "it could not be opened (Too many open files); try again.")
            return listed(self, path)

        monkeypatch.setattr(Folders, "entries", no_entries)
        monkeypatch.setattr(Folders, "status", no_status)
        monkeypatch.setattr(Workspace, "folder", no_folder)

    return begin


@pytest.fixture(params=["a folder", "a repository"])
def project(files: Files, workspace: Path, request: pytest.FixtureRequest) -> Path:
    if request.param == "a repository":
        git(workspace, "init", "-q")
    return files({"a/one.md": "one\n", "b/two.md": "two\n", "three.md": "three\n"})


@pytest.mark.parametrize("folder", ["a", "a/deep", ""])
@pytest.mark.parametrize("prune", [False, True])
def test_a_folder_that_cannot_be_opened_for_a_moment_loses_nothing(
    project: Path, short: Short, monkeypatch: pytest.MonkeyPatch, folder: str, *, prune: bool
) -> None:
    (project / "a" / "deep").mkdir()
    (project / "a" / "deep" / "four.md").write_text("four\n")
    with search_of(project) as search:
        search.index(project)
        (project / "b" / "two.md").unlink()
        with monkeypatch.context():
            short(folder)
            report = search.index(prune=prune)
            found = search.find("one four three")
            monkeypatch.undo()

        assert report.removed <= 1
        assert {hit.path for hit in found.hits} == {"a/one.md", "a/deep/four.md", "three.md"}
        assert any("kept" in note_text(note) for note in report.notes())
        assert {hit.path for hit in search.find("one two three four").hits} == {
            "a/one.md",
            "a/deep/four.md",
            "three.md",
        }


def test_a_change_that_cannot_be_looked_at_for_a_moment_loses_nothing(
    project: Path, short: Short, monkeypatch: pytest.MonkeyPatch
) -> None:
    with search_of(project) as search:
        search.index(project)
        search.watcher()
        search.find("one")
        (project / "a" / "one.md").write_text("one more\n")
        with monkeypatch.context():
            short("a")
            assert {hit.path for hit in search.find("one").hits} == {"a/one.md"}
            monkeypatch.undo()
        assert search.find("more").hits
