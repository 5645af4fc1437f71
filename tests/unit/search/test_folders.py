"""Which folders are indexed, and what happens to their folders when folders come, go and are replaced."""

import os
from pathlib import Path

import pytest

from promptuary.base.errors import ConfigError, SourceError
from promptuary.base.files import Folder
from promptuary.config.settings import Settings
from promptuary.search.folders import IndexedFolders
from promptuary.search.values import Hit, Why
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import open_door
from tests.conftest import Files


@pytest.fixture
def folders(workspace: Path, tmp_path: Path) -> IndexedFolders:
    return IndexedFolders(
        IndexedFoldersFile(workspace, folder=tmp_path / "state"), lambda path: open_door(path, Settings())
    )


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("alpha")
    return folder


def test_a_folder_is_known_by_where_it_really_is(folders: IndexedFolders, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vault)

    assert folders.add(tmp_path / "link", "ada") == (Folder(str(vault), "ada"), [])
    assert folders.all() == [Folder(str(vault), "ada")]


def test_what_is_no_folder_is_refused_with_what_to_do(folders: IndexedFolders, vault: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"does not exist; name a folder"):
        folders.add(tmp_path / "nowhere", "")
    with pytest.raises(ConfigError, match=r"name the folder that contains it"):
        folders.add(vault / "a.md", "")
    with pytest.raises(ConfigError, match=r"does not exist"):
        folders.add(Path("a\0b"), "")
    assert folders.all() == []


def test_a_folder_in_one_that_is_known_is_part_of_it(folders: IndexedFolders, vault: Path) -> None:
    (vault / "inner").mkdir()
    folders.add(vault, "ada")

    assert folders.add(vault / "inner", "") == (Folder(str(vault), "ada"), [])
    assert folders.all() == [Folder(str(vault), "ada")]


def test_a_folder_around_others_takes_their_places_and_leaves_its_neighbours(
    folders: IndexedFolders, vault: Path
) -> None:
    for name in ("inner", "other"):
        (vault / name).mkdir()
    neighbour = vault.parent / "vault2"
    neighbour.mkdir()
    for path in (vault / "inner", vault / "other", neighbour):
        folders.add(path, "")

    assert folders.add(vault, "") == (Folder(str(vault)), [Folder(str(vault / "inner")), Folder(str(vault / "other"))])
    assert set(folders.all()) == {Folder(str(neighbour)), Folder(str(vault))}


def test_a_folder_that_is_named_again_gets_the_label_named_last(folders: IndexedFolders, vault: Path) -> None:
    folders.add(vault, "")
    folders.add(vault, "ada")

    assert folders.all() == [Folder(str(vault), "ada")]


def test_a_folder_is_removed_by_any_name_that_leads_to_it(folders: IndexedFolders, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vault)
    for name in (str(vault), str(tmp_path / "link"), f"{vault}/", f"{tmp_path}/other/../vault"):
        folders.add(vault, "")
        assert folders.remove(name), name
        assert folders.all() == []
    assert not folders.remove(str(vault))


def test_a_folder_that_is_gone_can_be_removed_still(folders: IndexedFolders, vault: Path) -> None:
    folders.add(vault, "")
    vault.rename(vault.with_name("away"))

    assert folders.remove(str(vault))


def test_a_folder_that_went_away_and_came_back_is_seen_again(folders: IndexedFolders, vault: Path) -> None:
    folder, _ = folders.add(vault, "")
    there = folders.scan(folder)
    vault.rename(vault.with_name("away"))
    gone = folders.scan(folder)
    assert folders.scan_paths(folder, ["a.md"])[1] == {}
    vault.with_name("away").rename(vault)
    back = folders.scan(folder)

    for scan in (there, back):
        assert (scan.workspace is not None, scan.unavailable, list(scan.snapshot.files)) == (True, None, ["a.md"])
    assert (gone.workspace, gone.unavailable, gone.snapshot.files) == (None, "missing", {})


def test_a_folder_whose_name_a_file_has_now_is_missing(folders: IndexedFolders, vault: Path) -> None:
    folder, _ = folders.add(vault, "")
    folders.scan(folder)
    vault.rename(vault.with_name("away"))
    vault.write_text("no folder")

    assert folders.scan(folder).unavailable == "missing"
    assert folders.missing() == {str(vault)}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_a_folder_that_may_not_be_listed_is_unreadable_and_not_missing(folders: IndexedFolders, vault: Path) -> None:
    folder, _ = folders.add(vault, "")
    vault.chmod(0)
    try:
        assert folders.scan(folder).unavailable == "unreadable"
    finally:
        vault.chmod(0o755)


def test_another_folder_under_the_same_name_is_looked_into_and_not_the_first(
    folders: IndexedFolders, vault: Path
) -> None:
    folder, _ = folders.add(vault, "")
    folders.scan(folder)
    vault.rename(vault.with_name("old"))
    vault.mkdir()
    (vault / "b.md").write_text("beta")
    scan = folders.scan(folder)

    assert list(scan.snapshot.files) == ["b.md"]
    assert scan.workspace is not None
    assert scan.workspace.read("b.md").text == "beta"


def test_some_paths_are_looked_at_and_those_that_are_not_there_are_told(folders: IndexedFolders, vault: Path) -> None:
    folder, _ = folders.add(vault, "")
    workspace, looked = folders.scan_paths(folder, ["a.md", "gone.md"])

    assert workspace is not None
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


def test_a_secret_that_a_person_allows_is_shown_only_as_long_as_its_file_is_the_one_that_was_found(
    workspace: Path, vault: Path, tmp_path: Path
) -> None:
    settings = Settings(allow_sensitive=("a.md",))
    folders = IndexedFolders(
        IndexedFoldersFile(workspace, folder=tmp_path / "state"), lambda path: open_door(path, settings)
    )
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ3lM6"
    (vault / "a.md").write_text(f"alpha\nkey = {secret}\n")
    masked = "key = ⟨masked: GitHub token⟩"
    hit = Hit(str(vault), "a.md", 2, 2, masked, (), "text", 0, "", 1.0, Why())

    shown = folders.as_allowed(hit, folders.protected(str(vault)))
    assert shown is not None
    assert shown.text == f"key = {secret}"
    (vault / "a.md").write_text("alpha\nthe diary of ada\n")
    assert folders.as_allowed(hit, folders.protected(str(vault))) == hit
    folders.close()
