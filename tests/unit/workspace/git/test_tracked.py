"""Which paths git tracks below a folder of the workspace, asked as often as a turn wants to know."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptuary.workspace.disk.root import Root
from promptuary.workspace.git.repository import Repository
from promptuary.workspace.git.tracked import TrackedPaths
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files, git

FOLDER = ".promptuary/memory"
NOTE = "agents/default/shared/project/x.md"
Opened = Callable[[Path], Workspace]


@pytest.fixture
def opened() -> Iterator[Opened]:
    roots: list[Root] = []

    def open_at(folder: Path) -> Workspace:
        roots.append(Root(folder))
        return Workspace(roots[-1])

    yield open_at
    for root in roots:
        root.close()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the times that git is asked."""
    asked: list[str] = []
    ask = Repository.tracked_below

    def counted(self: Repository, path: str) -> list[str]:
        asked.append(path)
        return ask(self, path)

    monkeypatch.setattr(Repository, "tracked_below", counted)
    return asked


def test_tracked_are_those_that_were_added(repository: Path, files: Files, opened: Opened, calls: list[str]) -> None:
    files({f"{FOLDER}/{NOTE}": "", f"{FOLDER}/agents/default/private/user/y.md": "", "a.md": ""})
    workspace = opened(repository)
    assert not workspace.tracked_by_git(FOLDER)

    git(repository, "add", "a.md")
    assert workspace.tracked_by_git(FOLDER) == TrackedPaths()
    git(repository, "add", f"{FOLDER}/{NOTE}")
    tracked = workspace.tracked_by_git(FOLDER)
    assert tracked
    assert [path in tracked for path in (NOTE, "agents/default/private/user/y.md", "a.md", "agents")] == [
        True,
        False,
        False,
        False,
    ]
    before = len(calls)
    assert workspace.tracked_by_git(FOLDER) is tracked
    assert len(calls) == before
    git(repository, "rm", "-q", "--cached", f"{FOLDER}/{NOTE}")
    assert not workspace.tracked_by_git(FOLDER)


def test_outside_a_repository_nothing_is_tracked(workspace: Path, opened: Opened, calls: list[str]) -> None:
    assert opened(workspace).tracked_by_git(FOLDER) == TrackedPaths()
    assert calls == []


def test_where_git_fails_nothing_is_known(repository: Path, files: Files, opened: Opened) -> None:
    files({f"{FOLDER}/{NOTE}": ""})
    git(repository, "add", "-A")
    (repository / ".git/index").write_bytes(b"DIRC no index")

    assert opened(repository).tracked_by_git(FOLDER) is None


@pytest.mark.parametrize(
    "settings",
    [("update-index", "--index-version", "2"), ("update-index", "--index-version", "4")],
)
def test_the_index_is_read_as_git_reads_it(
    repository: Path, files: Files, opened: Opened, calls: list[str], settings: tuple[str, ...]
) -> None:
    names = [f"{FOLDER}/{'deep/' * depth}{name}.md" for depth in range(4) for name in ("a", "abc" * 60, "ü b")]
    files(dict.fromkeys([*names, "other/x.md", "z.md", *(f"many/{number}/name" for number in range(300))], ""))
    git(repository, "add", "-A")
    git(repository, "add", "--intent-to-add", ".")  # flags of two bytes more
    git(repository, *settings)
    workspace = opened(repository)

    with workspace.repository() as asked:
        expected = asked.tracked_below(FOLDER)
    calls.clear()
    assert sorted(workspace.tracked_names(FOLDER)) == sorted(expected) == sorted(names)
    assert calls == []


def test_flags_beyond_the_usual_ones_are_skipped(repository: Path, files: Files, opened: Opened) -> None:
    files({f"{FOLDER}/{NOTE}": "", "a.md": "", "z.md": ""})
    git(repository, "add", "--intent-to-add", f"{FOLDER}/{NOTE}")
    git(repository, "add", "a.md", "z.md")
    git(repository, "update-index", "--skip-worktree", "a.md")

    assert opened(repository).tracked_names(FOLDER) == [f"{FOLDER}/{NOTE}"]


@pytest.mark.parametrize("form", ["split", "sparse", "without a checksum"])
def test_an_index_of_another_form_is_left_to_git(
    repository: Path, files: Files, opened: Opened, calls: list[str], form: str
) -> None:
    files({f"{FOLDER}/{NOTE}": "", "a.md": ""})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "begin")
    if form == "split":
        git(repository, "update-index", "--split-index")
    elif form == "sparse":
        git(repository, "sparse-checkout", "set", "--sparse-index", "elsewhere")
    else:
        index = repository / ".git/index"
        index.write_bytes(index.read_bytes()[:-20] + bytes(20))
    tracked = opened(repository).tracked_by_git(FOLDER)

    assert tracked is not None
    assert NOTE in tracked
    assert calls


def test_a_clone_cannot_hide_that_a_note_is_tracked_behind_its_spelling(
    repository: Path, files: Files, opened: Opened
) -> None:
    spelled = f".Promptuary/Memory/{NOTE.upper()}"
    files({spelled: "", "b.promptuary/memory/x.md": ""})
    git(repository, "add", "-A")
    assert not opened(repository).tracked_by_git(FOLDER)

    # What git says of a file system that does not distinguish upper and lower case.
    git(repository, "config", "core.ignorecase", "true")
    tracked = opened(repository).tracked_by_git(FOLDER)
    assert tracked is not None
    assert [path in tracked for path in (NOTE, NOTE.upper(), "x.md")] == [True, True, False]


@pytest.mark.parametrize("submodule", [".promptuary", FOLDER])
def test_everything_in_a_submodule_is_tracked(repository: Path, opened: Opened, submodule: str) -> None:
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{submodule}")

    tracked = opened(repository).tracked_by_git(FOLDER)
    assert tracked is not None
    assert NOTE in tracked


def test_a_linked_worktree_and_a_folder_below_the_top_have_answers_of_their_own(
    repository: Path, files: Files, opened: Opened, tmp_path: Path
) -> None:
    files({f"{FOLDER}/{NOTE}": "", f"sub/{FOLDER}/below.md": ""})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "begin")
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    git(linked, "rm", "-q", f"{FOLDER}/{NOTE}")
    found = [opened(folder).tracked_by_git(FOLDER) for folder in (repository, linked, repository / "sub")]

    assert [[path in tracked for path in (NOTE, "below.md")] for tracked in found if tracked is not None] == [
        [True, False],
        [False, False],
        [False, True],
    ]
