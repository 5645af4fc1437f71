"""Git's index may name anything; no list and no menu tells whether such a file exists outside, or how large it is."""

import hashlib
import struct
import tracemalloc
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.workspace.changes.snapshot import snapshot, snapshot_of
from promptuary.workspace.disk.root import Root
from promptuary.workspace.git.locate import locate
from promptuary.workspace.git.tracked import tracked_in_index
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


def shared_index(*entries: tuple[bytes, bytes]) -> bytes:
    """Return an index of version 4, in which each name says how much it leaves off the one before."""
    data = b"DIRC" + struct.pack(">II", 4, len(entries))
    name = b""
    for left_off, rest in entries:
        name = name[: len(name) - 1] + rest if left_off == b"\x01" else rest
        data += bytes(60) + struct.pack(">H", min(len(name), 0xFFF)) + left_off + rest + b"\0"
    return data + hashlib.sha1(data).digest()


@pytest.mark.parametrize(
    "index",
    [
        shared_index((b"\xff" * 2_000_000 + b"\x00", b"a.md")),
        shared_index((b"\x00", b"a" * 400_000), *[(b"\x01", b"bc")] * 4_000),
        crafted_index(b"a.md")[:4] + struct.pack(">II", 2, 0) + crafted_index(b"a.md")[12:],
    ],
    ids=["a number of two million bytes", "names that grow", "more than it counts"],
)
def test_an_index_that_git_would_refuse_is_left_to_git_without_delay(index: bytes, repository: Path) -> None:
    whole = index[:-20] + hashlib.sha1(index[:-20]).digest()
    (repository / ".git/index").write_bytes(whole)
    git_folder = locate(repository)

    tracemalloc.start()
    try:
        assert tracked_in_index(git_folder, repository, "a.md") is None
        assert tracemalloc.get_traced_memory()[1] < 20 * len(whole) + 1_000_000
    finally:
        tracemalloc.stop()
