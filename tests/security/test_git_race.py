"""Someone exchanges folders and links while git compares the working tree: nothing from outside may be shown."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from promptuary.base.errors import SourceError
from promptuary.workspace.git.confine import confinement_works
from promptuary.workspace.git.repository import Repository
from tests.conftest import Figure, git
from tests.security.test_swap_race import swapping

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can exchange two names in one step")

SECRET = "SECRET"


def allow_all(path: str) -> SourceError | None:
    return None


def make_repository(folder: Path, message: str) -> None:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def jail(repository: Path) -> Path:
    """Make a repository whose changed folder, file and submodule take turns with links to the outside."""
    outside = repository.parent / "outside"
    for name, message in (("sub", "inside"), ("../other", SECRET)):
        make_repository(repository / name, message)
    for folder, text in ((repository / "folder", "inside"), (repository / "turn", "inside"), (outside, SECRET)):
        folder.mkdir()
        (folder / "note.md").write_text(f"{text}\n" * 20)
    (outside / f"{SECRET}.txt").write_text(SECRET)
    (repository / "file.md").write_text("inside\n")
    (repository / ".gitignore").write_text(".file\n.folder\n.turn\n.sub\n")
    git(repository, "-c", "advice.addEmbeddedRepo=false", "add", ".")
    git(repository, "commit", "-qm", "first")
    git(repository / "sub", "commit", "-q", "--allow-empty", "-m", "changed")
    for name in ("folder/note.md", "turn/note.md", "file.md"):
        with (repository / name).open("a") as file:
            file.write("changed\n")
    (repository / ".folder").symlink_to("../outside")
    (repository / ".turn").symlink_to(outside)
    (repository / ".file").symlink_to("../outside/note.md")
    (repository / ".sub").symlink_to("../other")
    return repository


@pytest.mark.torture
@pytest.mark.parametrize("confined", [True, False], ids=["with Landlock", "without Landlock"])
def test_no_diff_leaves_the_workspace_while_folders_and_links_change_places(
    jail: Path, confined: bool, figure: Figure
) -> None:
    if confined and not confinement_works():
        pytest.skip("this system has no Landlock")
    commit = git(jail / "sub", "rev-parse", "HEAD").strip()
    secret = git(jail.parent / "other", "rev-parse", "HEAD").strip()
    seen: Counter[str] = Counter()
    with swapping(jail, ("sub", ".sub")), Repository.find(jail, allow_all, confined=confined) as door:
        rounds = figure(20, 2_000)
        for number in range(50 * rounds):
            # A few rounds may show nothing by chance: then there are more.
            if number >= rounds and seen["shown"] and seen["submodule shown"]:
                break
            for ask in (door.diff, door.status, door.changed):
                try:
                    said = str(ask())
                except SourceError as error:
                    said = str(error)
                    seen["failed"] += 1
                seen["leaked"] += SECRET in said or secret in said
                seen["shown"] += "+changed" in said
                seen["submodule shown"] += f"+Subproject commit {commit}" in said
    print(f"{'with' if confined else 'without'} Landlock: {dict(seen)}")

    assert seen["leaked"] == 0
    assert seen["shown"] > 0
    assert seen["submodule shown"] > 0
