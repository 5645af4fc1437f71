"""Git's index may name anything; no list and no menu tells whether such a file exists outside, or how large it is."""

from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.workspace.changes.snapshot import snapshot, snapshot_of
from promptuary.workspace.disk.root import Root
from promptuary.workspace.workspace import Workspace
from tests.conftest import git
from tests.security.test_hostile_git import crafted_index

SIZE = 54_321
OUTSIDE = ["link/private.txt", "link/large.txt", "link/folder", "link/missing.txt", "sub/deep/private.txt"]
"""Names in the workspace that lead outside, by the links of the fixture."""


@pytest.fixture
def forged(repository: Path) -> Path:
    """Make a repository whose index names files outside: by dots, by an absolute path, and behind a link."""
    outside = repository.parent / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("x" * SIZE)
    (repository / "link").symlink_to(outside)
    (repository / "sub").mkdir()
    (repository / "sub/deep").symlink_to(outside)
    (repository / "kept.txt").write_text("kept")
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    names = ["../outside/private.txt", f"{outside}/private.txt", "link/private.txt", "sub/../../outside/private.txt",
             "sub/deep/private.txt", "./link/private.txt", "sub//deep/private.txt", "kept.txt"]  # fmt: skip
    (repository / ".git/index").write_bytes(crafted_index(*(name.encode() for name in names)))
    return repository


def test_a_folder_lists_no_file_outside_that_the_index_names(forged: Path) -> None:
    with Promptuary.open(forged) as promptuary:
        said = promptuary.expand("@folder:. @folder:sub").messages[-1]["content"]

    assert "kept.txt" in said
    assert "private" not in said
    assert "54.3" not in said


def test_a_menu_offers_no_file_outside_that_the_index_names(forged: Path) -> None:
    with Promptuary.open(forged) as promptuary:
        said = [
            str(promptuary.complete(text, timeout=20))
            for text in ("@file:", "@", "@priv", "@file:../", "@file:link/", "#p")
        ]

    assert "private" not in "".join(said)
    assert "kept.txt" in said[0]


@pytest.mark.parametrize("path", ["../outside/private.txt", "link/private.txt", "sub/deep/private.txt", "link"])
def test_nothing_outside_has_a_size(path: str, forged: Path) -> None:
    with Root(forged) as root:
        workspace = Workspace(root)
        assert workspace.size_of(path) is None
        assert workspace.size_of(str(forged.parent / "outside/private.txt")) is None
        assert workspace.size_of("kept.txt") == 4


@pytest.mark.parametrize("known", [frozenset(), frozenset(OUTSIDE)], ids=["new", "known"])
def test_a_snapshot_examines_nothing_outside_that_the_index_names(known: frozenset[str], forged: Path) -> None:
    outside = forged.parent / "outside"
    (outside / "folder").mkdir()
    (outside / "folder/inner.txt").write_text("inner")
    (outside / "large.txt").write_text("x" * (2 << 20))
    names = [b"kept.txt", *map(str.encode, OUTSIDE)]
    (forged / ".git/index").write_bytes(crafted_index(*names))
    with Root(forged) as root:
        workspace = Workspace(root)
        taken = snapshot(workspace)
        some = snapshot_of(workspace, OUTSIDE, known=known)

    assert (set(taken.files), taken.large, taken.unreadable) == ({"kept.txt"}, [], 0)
    assert some == dict.fromkeys(OUTSIDE)


def test_a_name_of_very_many_folders_is_no_trouble(repository: Path) -> None:
    (repository / "kept.txt").write_text("kept")
    names = [b"a/" * 1_000 + b"x", b"a/" * 200_000 + b"x", b"kept.txt"]
    (repository / ".git/index").write_bytes(crafted_index(*names))
    with Promptuary.open(repository) as promptuary:
        assert "kept.txt" in promptuary.expand("@folder:.").messages[-1]["content"]
