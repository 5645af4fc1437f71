"""The list of indexed folders: the person's own, whole at every moment, and out of reach of a workspace."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError
from promptuary.base.files import Folder
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from tests.conftest import Files
from tests.indexes import search_of

WORK = Path("/work")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def listed(state: Path) -> Path:
    (path,) = state.glob("*.json")
    return path


def test_folders_are_kept_in_the_order_in_which_they_were_added_for_each_workspace(state: Path) -> None:
    mine, other = IndexedFoldersFile(WORK, folder=state), IndexedFoldersFile(Path("/other"), folder=state)
    for path in ("/b", "/a"):
        mine.add(Folder(path))
    other.add(Folder("/c", "ada"))

    assert IndexedFoldersFile(WORK, folder=state).all() == [Folder("/b"), Folder("/a")]
    assert IndexedFoldersFile(Path("/other"), folder=state).all() == [Folder("/c", "ada")]


def test_without_a_list_there_are_no_folders_and_none_is_made(state: Path) -> None:
    assert IndexedFoldersFile(WORK, folder=state).all() == []
    assert not state.exists()


def test_a_folder_is_forgotten_and_the_answer_tells_whether_it_was_known(state: Path) -> None:
    folders = IndexedFoldersFile(WORK, folder=state)
    folders.add(Folder("/a"))

    assert (folders.remove("/b"), folders.remove("/a"), folders.remove("/a")) == (False, True, False)
    assert folders.all() == []


@pytest.mark.parametrize("path", ["/ü ñ/東京", '/quo"te', "/line\nbreak", os.fsdecode(b"/bytes\xff\xfe")])
def test_any_path_comes_back_as_it_was(state: Path, path: str) -> None:
    IndexedFoldersFile(WORK, folder=state).add(Folder(path, "ada"))

    assert IndexedFoldersFile(WORK, folder=state).all() == [Folder(path, "ada")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"{}",
        b"\xff\xfe",
        b"[1]",
        b'[{"path": "", "label": ""}]',
        b'[{"path": "/a"}]',
        b'[{"path": 5, "label": ""}]',
        b"[" * 100_000,
    ],
)
def test_a_damaged_list_is_an_error_that_says_what_to_do_and_is_not_written_over(state: Path, content: bytes) -> None:
    folders = IndexedFoldersFile(WORK, folder=state)
    folders.add(Folder("/a"))
    listed(state).write_bytes(content)

    with pytest.raises(ConfigError, match="remove it, and index your folders again"):
        folders.all()
    with pytest.raises(ConfigError, match="remove it"):
        folders.add(Folder("/b"))
    assert listed(state).read_bytes() == content


def test_a_folder_inside_the_workspace_is_listed_by_its_path_in_it(state: Path) -> None:
    folders = IndexedFoldersFile(WORK, folder=state)
    for path in (str(WORK), str(WORK / "docs"), "/elsewhere"):
        folders.add(Folder(path))

    assert [one["path"] for one in json.loads(listed(state).read_text())] == [".", "docs", "/elsewhere"]
    assert folders.all() == [Folder(str(WORK)), Folder(str(WORK / "docs")), Folder("/elsewhere")]


def test_where_nothing_can_be_written_the_error_says_where(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the place of the folder")

    with pytest.raises(ConfigError, match=r"cannot be written \(.*\); check .*state\."):
        IndexedFoldersFile(WORK, folder=tmp_path / "state").add(Folder("/a"))


def test_a_list_that_cannot_be_read_is_no_empty_list(state: Path) -> None:
    folders = IndexedFoldersFile(WORK, folder=state)
    folders.add(Folder("/a"))
    path = listed(state)
    path.unlink()
    path.mkdir()

    with pytest.raises(ConfigError, match="cannot be read"):
        folders.all()


ADDER = """
import sys
from pathlib import Path
from promptuary.base.files import Folder
from promptuary.workspace.indexed_folders import IndexedFoldersFile

folders = IndexedFoldersFile(Path("/work"), folder=Path(sys.argv[1]))
for number in range(40):
    folders.add(Folder(f"/{sys.argv[2]}/{number}"))
"""


def test_two_processes_that_add_at_once_lose_nothing_and_leave_nothing_behind(state: Path) -> None:
    adders = [subprocess.Popen([sys.executable, "-c", ADDER, str(state), name]) for name in ("one", "two")]

    assert [adder.wait() for adder in adders] == [0, 0]
    assert sorted(folder.path for folder in IndexedFoldersFile(WORK, folder=state).all()) == sorted(
        f"/{name}/{number}" for name in ("one", "two") for number in range(40)
    )
    assert {path.suffix for path in state.iterdir()} == {".json", ".lock"}


def test_what_lies_in_a_workspace_cannot_have_other_folders_indexed(files: Files, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "diary.md").write_text("alpha secret")
    workspace = files({"a.md": "alpha"})
    entry = [{"path": str(secret), "label": ""}]
    name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
    for place in (".promptuary", ".promptuary/folders", ".promptuary/index", ".local/state/promptuary/folders"):
        files({f"{place}/{name}.json": json.dumps(entry), f"{place}/folders.json": json.dumps(entry)})
    files({".promptuary/config.toml": f'folders = ["{secret}"]\n', "promptuary.toml": f'index = ["{secret}"]\n'})
    with search_of(workspace) as memory:
        assert list(memory.status().folders) == []
        memory.index([workspace])

        assert [folder.path for folder in memory.status().folders] == [str(workspace)]
