"""An index that came with a clone: a link in it must not lead our writes, nor our reads, to another folder."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Files
from tests.embedders import HashedWords, search_with

pytest.importorskip("turbovec")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def indexed(workspace: Path) -> Path:
    """Index ``workspace`` and return the folder of the index."""
    with search_with(workspace, HashedWords()) as search:
        search.index([workspace])
        search.embed()
    return current(workspace)


def current(workspace: Path) -> Path:
    index = workspace / ".promptuary" / "index"
    return index / (index / "current").read_text().strip()


@pytest.mark.parametrize("kept", [True, False], ids=["with a copy of what it replaces", "with other files"])
@pytest.mark.parametrize(
    "name",
    [
        "lexical",
        "vectors",
        "catalog.db",
        "catalog.db-wal",
        "lexical/meta.json",
        "lexical/.managed.json",
        "lexical/.tantivy-writer.lock",
        "vectors/changes",
        "vectors/lock",
        ".",
    ],
)
def test_a_link_in_an_index_leads_nowhere(files: Files, tmp_path: Path, name: str, *, kept: bool) -> None:
    workspace = files({"a.md": "alpha beta\n", "b.md": "gamma\n"})
    place = indexed(workspace) / name
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for other in ("base-1", "changes", "meta.json", "lock", "precious"):
        (elsewhere / other).write_bytes(b"mine")
    target = elsewhere / "file"
    if place.is_dir():
        target = elsewhere
        if kept:
            shutil.copytree(place, elsewhere, dirs_exist_ok=True)
        shutil.rmtree(place)
    else:
        if kept and place.exists():
            target.write_bytes(place.read_bytes())
        place.unlink(missing_ok=True)
    place.symlink_to(target)
    before = content(elsewhere)
    files({"c.md": "delta alpha\n"})

    with search_with(workspace, HashedWords()) as search:
        search.index([workspace])
        search.embed()
        found = {hit.path for hit in search.find("alpha").hits}

    assert content(elsewhere) == before
    assert found >= {"a.md", "c.md"}
    assert not [path for path in current(workspace).rglob("*") if path.is_symlink()]
