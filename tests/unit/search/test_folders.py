"""Which folders are indexed, and what happens to their doors when folders come, go and are replaced."""

from pathlib import Path

import pytest

from promptuary.config.settings import Settings
from promptuary.core.errors import ConfigError, SourceError
from promptuary.core.search import Folder
from promptuary.search.folders import IndexedFolders
from promptuary.wiring.workspace import open_door
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from tests.conftest import Files


@pytest.fixture
def doors(workspace: Path, tmp_path: Path) -> IndexedFolders:
    return IndexedFolders(
        IndexedFoldersFile(workspace, folder=tmp_path / "state"), lambda path: open_door(path, Settings())
    )


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("alpha")
    return folder


def test_a_folder_is_known_by_where_it_really_is(doors: IndexedFolders, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vault)

    assert doors.add(tmp_path / "link", "ada") == (Folder(str(vault), "ada"), [])
    assert doors.folders() == [Folder(str(vault), "ada")]


def test_what_is_no_folder_is_refused_with_what_to_do(doors: IndexedFolders, vault: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not there; name a folder"):
        doors.add(tmp_path / "nowhere", "")
    with pytest.raises(ConfigError, match=r"name the folder that it is in"):
        doors.add(vault / "a.md", "")
    with pytest.raises(ConfigError, match=r"is not there"):
        doors.add(Path("a\0b"), "")
    assert doors.folders() == []


def test_a_folder_in_one_that_is_known_is_part_of_it(doors: IndexedFolders, vault: Path) -> None:
    (vault / "inner").mkdir()
    doors.add(vault, "ada")

    assert doors.add(vault / "inner", "") == (Folder(str(vault), "ada"), [])
    assert doors.folders() == [Folder(str(vault), "ada")]


def test_a_folder_around_others_takes_their_places_and_leaves_its_neighbours(
    doors: IndexedFolders, vault: Path
) -> None:
    for name in ("inner", "other"):
        (vault / name).mkdir()
    neighbour = vault.parent / "vault2"
    neighbour.mkdir()
    for path in (vault / "inner", vault / "other", neighbour):
        doors.add(path, "")

    assert doors.add(vault, "") == (Folder(str(vault)), [Folder(str(vault / "inner")), Folder(str(vault / "other"))])
    assert set(doors.folders()) == {Folder(str(neighbour)), Folder(str(vault))}


def test_a_folder_that_is_named_again_gets_the_label_named_last(doors: IndexedFolders, vault: Path) -> None:
    doors.add(vault, "")
    doors.add(vault, "ada")

    assert doors.folders() == [Folder(str(vault), "ada")]


def test_a_folder_is_removed_by_any_name_that_leads_to_it(doors: IndexedFolders, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vault)
    for name in (str(vault), str(tmp_path / "link"), f"{vault}/", f"{tmp_path}/other/../vault"):
        doors.add(vault, "")
        assert doors.remove(name), name
        assert doors.folders() == []
    assert not doors.remove(str(vault))


def test_a_folder_that_is_gone_can_be_removed_still(doors: IndexedFolders, vault: Path) -> None:
    doors.add(vault, "")
    vault.rename(vault.with_name("away"))

    assert doors.remove(str(vault))


def test_a_folder_that_went_away_and_came_back_is_seen_again(doors: IndexedFolders, vault: Path) -> None:
    folder, _ = doors.add(vault, "")
    door, seen = doors.look(folder)
    assert (door is not None, list(seen.files)) == (True, ["a.md"])
    vault.rename(vault.with_name("away"))
    door, seen = doors.look(folder)
    assert (door, seen.alive, seen.files) == (None, False, {})
    assert "not there" in seen.reason
    assert doors.look_at(folder, ["a.md"])[1] == {}
    vault.with_name("away").rename(vault)
    door, seen = doors.look(folder)

    assert (door is not None, list(seen.files)) == (True, ["a.md"])


def test_another_folder_under_the_same_name_is_looked_into_and_not_the_first(
    doors: IndexedFolders, vault: Path
) -> None:
    folder, _ = doors.add(vault, "")
    doors.look(folder)
    vault.rename(vault.with_name("old"))
    vault.mkdir()
    (vault / "b.md").write_text("beta")
    door, seen = doors.look(folder)

    assert list(seen.files) == ["b.md"]
    assert door is not None
    assert door.read("b.md").text == "beta"


def test_some_paths_are_looked_at_and_those_that_are_not_there_are_told(doors: IndexedFolders, vault: Path) -> None:
    folder, _ = doors.add(vault, "")
    door, looked = doors.look_at(folder, ["a.md", "gone.md"])

    assert door is not None
    assert looked["gone.md"] is None
    assert looked["a.md"] is not None


def test_settings_decide_what_a_door_lets_through(files: Files) -> None:
    workspace = files({"big.txt": "x" * 100, "image.png": "alpha", "a.md": "alpha"})
    strict = open_door(workspace, Settings(max_file_size=50))
    wide = open_door(workspace, Settings(allowed_extensions=("PNG",)))

    with pytest.raises(SourceError):
        strict.read("big.txt")
    with pytest.raises(SourceError):
        strict.read("image.png")
    assert wide.read("image.png").text == "alpha"
