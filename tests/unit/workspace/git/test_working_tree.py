"""What a person changed is shown as git shows it, whether git is confined or compares copies."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.repository import Repository
from tests.conftest import git

both_ways = pytest.mark.parametrize("confined", [True, False], ids=["confined", "by copies"])


def refuse(path: str) -> SourceError | None:
    """Refuse what begins like a file of secrets."""
    return SourceError(Code.SENSITIVE_PATH, path) if path.startswith(".env") else None


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def told(folder: Path, *, confined: bool) -> tuple[str, str]:
    with Repository.find(folder, refuse, confined=confined) as door:
        return door.diff().text, door.status()


def make(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """Make a repository with two submodules, one of them in a folder."""
    library = make(tmp_path / "library")
    (library / "lib.py").write_text("x = 1\n")
    commit(library, "library")
    outer = make(tmp_path / "outer")
    (outer / "docs").mkdir()
    for path in ("sub", "docs/sub"):
        add_submodule(outer, path, library, outer / ".git/modules" / path)
    git(outer, "add", ".")
    git(outer, "commit", "-qm", "outer")
    return outer


def add_submodule(outer: Path, path: str, library: Path, store: Path) -> None:
    """Do what ``git submodule add`` does, which takes much longer."""
    store.parent.mkdir(parents=True, exist_ok=True)
    git(outer, "clone", "-q", f"--separate-git-dir={store}", str(library), path)
    git(outer / path, "config", "core.worktree", str(outer / path))


def moved(outer: Path) -> None:
    for path in ("sub", "docs/sub"):
        commit(outer / path, "second")


def detached(outer: Path) -> None:
    moved(outer)
    for path in ("sub", "docs/sub"):
        git(outer / path, "checkout", "-q", "--detach")


def packed(outer: Path) -> None:
    moved(outer)
    for path in ("sub", "docs/sub"):
        git(outer / path, "pack-refs", "--all")


def with_a_git_folder_inside(outer: Path) -> None:
    moved(outer)
    (outer / "sub/.git").unlink()
    shutil.move(outer / ".git/modules/sub", outer / "sub/.git")
    git(outer, "config", "--file", "sub/.git/config", "--unset", "core.worktree")


def removed(outer: Path) -> None:
    shutil.rmtree(outer / "sub")


def replaced_by_a_file(outer: Path) -> None:
    shutil.rmtree(outer / "sub")
    (outer / "sub").write_text("a file\n")


def replaced_by_a_link(outer: Path) -> None:
    shutil.rmtree(outer / "sub")
    (outer / "sub").symlink_to("docs")


def edited_inside(outer: Path) -> None:
    (outer / "sub/lib.py").write_text("x = 2\n")


def never_fetched(outer: Path) -> None:
    shutil.rmtree(outer / "sub")
    (outer / "sub").mkdir()


SUBMODULES: list[Callable[[Path], None]] = [
    moved, detached, packed, with_a_git_folder_inside, removed, replaced_by_a_file, replaced_by_a_link, edited_inside,
    never_fetched,
]  # fmt: skip


@both_ways
@pytest.mark.parametrize("arrange", SUBMODULES, ids=lambda arrange: arrange.__name__)
def test_a_submodule_is_shown_as_git_shows_it(arrange: Callable[[Path], None], outer: Path, confined: bool) -> None:
    arrange(outer)
    for folder in (outer, outer / "docs"):
        below = () if folder == outer else ("--", ".")
        expected = (
            git(folder, "diff", "--ignore-submodules=dirty", "--relative"),
            git(folder, "status", "-sb", "--ignore-submodules=dirty", *below),
        )
        assert told(folder, confined=confined) == expected


@both_ways
def test_a_submodule_of_a_linked_worktree_is_shown(outer: Path, tmp_path: Path, confined: bool) -> None:
    linked = tmp_path / "linked"
    git(outer, "worktree", "add", "-q", str(linked))
    add_submodule(linked, "sub", tmp_path / "library", outer / ".git/worktrees/linked/modules/sub")
    second = commit(linked / "sub", "second")

    diff, status = told(linked, confined=confined)

    assert f"+Subproject commit {second}" in diff
    assert "\n M sub\n" in status


def pointer(outer: Path, other: Path) -> None:
    (outer / "sub/.git").write_text(f"gitdir: {other}/.git\n")


def linked_git_folder(outer: Path, other: Path) -> None:
    (outer / "sub/.git").unlink()
    (outer / "sub/.git").symlink_to(other / ".git")


def linked_head(outer: Path, other: Path) -> None:
    head = outer / ".git/modules/sub/HEAD"
    head.unlink()
    head.symlink_to(other / ".git/refs/heads/main")


def linked_branch(outer: Path, other: Path) -> None:
    branch = outer / ".git/modules/sub/refs/heads/main"
    branch.unlink()
    branch.symlink_to(other / ".git/refs/heads/main")


def branch_above(outer: Path, other: Path) -> None:
    depth = "../" * 8
    (outer / ".git/modules/sub/HEAD").write_text(f"ref: refs/{depth}{other.relative_to('/')}/.git/refs/heads/main\n")


def linked_store(outer: Path, other: Path) -> None:
    shutil.rmtree(outer / ".git/modules/sub")
    (outer / ".git/modules/sub").symlink_to(other / ".git")


def linked_stores(outer: Path, other: Path) -> None:
    shutil.rmtree(outer / ".git/modules")
    (other.parent / "stores").mkdir()
    shutil.copytree(other / ".git", other.parent / "stores/sub")
    (outer / ".git/modules").symlink_to(other.parent / "stores")


def shared_folder(outer: Path, other: Path) -> None:
    (outer / ".git/modules/sub/commondir").write_text(f"{other}/.git\n")
    (outer / ".git/modules/sub/HEAD").write_text("ref: refs/heads/main\n")


def damaged(outer: Path, other: Path) -> None:
    (outer / "sub/.git").write_text(f"gitdir: {other}\0/.git\n")


POINTERS: list[Callable[[Path, Path], None]] = [
    pointer, linked_git_folder, linked_head, linked_branch, branch_above, linked_store, linked_stores, shared_folder,
    damaged,
]  # fmt: skip


@both_ways
@pytest.mark.parametrize("forge", POINTERS, ids=lambda forge: forge.__name__)
def test_a_forged_submodule_tells_no_commit_of_another_repository(
    forge: Callable[[Path, Path], None], outer: Path, tmp_path: Path, confined: bool
) -> None:
    other = make(tmp_path / "other")
    secret = commit(other, "secret")
    forge(outer, other)

    diff, status = told(outer, confined=confined)

    assert secret[:7] not in diff
    assert status.startswith("## main\n")


def a_refused_file_changed(folder: Path) -> None:
    (folder / ".env").write_text("KEY=2\n")


def a_refused_file_that_was_empty(folder: Path) -> None:
    (folder / ".env.empty").write_text("KEY=2\n")


def a_refused_file_removed(folder: Path) -> None:
    (folder / ".env").unlink()


def a_refused_file_replaced_by_a_folder(folder: Path) -> None:
    (folder / ".env").unlink()
    (folder / ".env").mkdir()
    (folder / ".env/inner.txt").write_text("x\n")


def a_file_replaced_by_a_folder(folder: Path) -> None:
    (folder / "a.txt").unlink()
    (folder / "a.txt").mkdir()
    (folder / "a.txt/inner.txt").write_text("x\n")


def a_folder_replaced_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder / "deep")
    (folder / "deep").write_text("x\n")


def a_folder_replaced_by_a_link(folder: Path) -> None:
    shutil.rmtree(folder / "deep")
    (folder / "deep").symlink_to("..")


CHANGES: list[Callable[[Path], None]] = [
    a_refused_file_changed, a_refused_file_that_was_empty, a_refused_file_removed, a_refused_file_replaced_by_a_folder,
    a_file_replaced_by_a_folder, a_folder_replaced_by_a_file, a_folder_replaced_by_a_link,
]  # fmt: skip


@both_ways
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_status_is_the_one_of_git(change: Callable[[Path], None], repository: Path, confined: bool) -> None:
    (repository / "deep").mkdir()
    for name, text in ((".env", "KEY=1\n"), (".env.empty", ""), ("a.txt", "a\n"), ("deep/b.txt", "b\n")):
        (repository / name).write_text(text)
    commit(repository, "first")
    change(repository)

    assert told(repository, confined=confined)[1] == git(repository, "status", "-sb")
