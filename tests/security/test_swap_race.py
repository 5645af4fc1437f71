"""Someone exchanges folders and links as fast as the machine can while files are read: nothing may leak."""

import ctypes
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from promptuary.base.errors import Code, ConfigError, SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.changes.snapshot import snapshot
from promptuary.workspace.disk.read import read_text
from promptuary.workspace.disk.root import OpenerName, Root
from promptuary.workspace.listing.walk import FileFilter, walk
from promptuary.workspace.workspace import Workspace
from tests.conftest import Figure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can exchange two names in one step")

POLICY = Access()

SWAPPER = """
import ctypes, os, sys
libc, pairs = ctypes.CDLL(None), [(a.encode(), b.encode()) for a, b in zip(sys.argv[1::2], sys.argv[2::2])]
print("ready", flush=True)
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(500):
        for one, other in pairs:
            libc.renameat2(-100, one, -100, other, 2)
"""


@pytest.fixture
def jail(tmp_path: Path) -> Path:
    """Make a workspace in which folders and a file take turns with links to the outside."""
    jail, outside = tmp_path / "jail", tmp_path / "jail-outside"
    for folder, text in ((jail / "folder", "inside"), (jail / "kept", "inside"), (outside, "SECRET")):
        folder.mkdir(parents=True)
        (folder / "note.md").write_text(text)
    (jail / "file.md").write_text("inside")
    (jail / ".folder").symlink_to(outside)
    (jail / ".file").symlink_to("../jail-outside/note.md")
    (jail / "turn").mkdir()
    (jail / "turn" / "note.md").symlink_to("../kept/note.md")
    (jail / ".turn").symlink_to("../jail-outside")
    return jail


@contextmanager
def swapping(jail: Path, *more: tuple[str, str]) -> Iterator[None]:
    if ctypes.CDLL(None).renameat2(-100, b"", -100, b"", 2) == 0:
        pytest.skip("renameat2 does not exchange here")
    pairs = [("folder", ".folder"), ("file.md", ".file"), ("turn", ".turn"), *more]
    names = [str(jail / name) for pair in pairs for name in pair]
    with subprocess.Popen([sys.executable, "-c", SWAPPER, *names], stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        try:
            yield
        finally:
            swapper.kill()


def outcome(root: Root, path: str) -> str:
    try:
        return read_text(root, path, POLICY).text
    except SourceError as error:
        return error.code


@pytest.mark.torture
@pytest.mark.parametrize("opener", ["openat2", "walk"])
@pytest.mark.parametrize("follow", [False, True], ids=["refusing links", "following links"])
def test_no_read_leaves_the_workspace_while_folders_and_links_change_places(
    jail: Path, opener: OpenerName, follow: bool, figure: Figure
) -> None:
    paths = ["folder/note.md", "file.md", *(["turn/note.md"] if follow else [])]
    seen: Counter[str] = Counter()
    try:
        root = Root(jail, follow_symlinks=follow, opener=opener)
    except ConfigError:
        pytest.skip("this system has no openat2")
    with root, swapping(jail):
        for _ in range(figure(5_000, 200_000) // len(paths)):
            for path in paths:
                seen[outcome(root, path)] += 1
    counts = ", ".join(f"{count:,} {what}" for what, count in seen.most_common())
    print(f"{opener}, {'following' if follow else 'refusing'} links: {sum(seen.values()):,} reads: {counts}")

    # Both states were met, so the race took place; a name may be between two states, never outside.
    assert seen["inside"] > 0
    assert seen[Code.SYMLINK] > 0
    assert set(seen) <= {"inside", Code.SYMLINK, Code.NOT_FOUND}


@pytest.mark.torture
def test_no_list_names_a_file_outside_while_folders_and_links_change_places(jail: Path, figure: Figure) -> None:
    names = ["folder/private.md", "turn/private.md", "folder/note.md"]
    (jail.parent / "jail-outside" / "private.md").write_text("SECRET")
    seen: Counter[str] = Counter()
    with Root(jail) as root, swapping(jail):
        workspace = Workspace(root)
        for _ in range(figure(150, 10_000)):
            walked = [path for files in walk(FileFilter(jail)) for path in files]
            listed = FileFilter(jail).classify(names)[0]
            taken = snapshot(workspace).files
            below = workspace.files_below("folder")
            for paths in (walked, listed, taken, below):
                seen["outside"] += any(path.endswith("private.md") for path in paths)
                seen["inside"] += "folder/note.md" in paths
    print(f"lists while folders were exchanged: {dict(seen)}")

    assert seen["inside"] > 0
    assert seen["outside"] == 0


@pytest.mark.torture
def test_checking_the_real_path_before_opening_it_does_leak(jail: Path, figure: Figure) -> None:
    """The control: the same race finds the hole in the customary check, so it would find one in ours."""
    leaks = tries = 0
    with swapping(jail):
        while tries < figure(300_000, 300_000) and leaks < figure(1, 100):
            tries += 1
            path = jail / "folder" / "note.md"
            # Resolving can itself trip over the exchange.
            with suppress(OSError):
                if os.path.realpath(path).startswith(f"{jail}{os.sep}"):
                    leaks += path.read_text() == "SECRET"
    print(f"real path checked, then opened: {leaks} leaks in {tries:,} reads")

    assert leaks > 0
