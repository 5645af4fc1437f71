"""The background listing of a workspace."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.git.repository import Repository
from promptuary.workspace.listing.listing import Listing, folders_of, split_names
from tests.conftest import Files, git

Listed = Callable[..., Listing]


@pytest.fixture
def listed() -> Iterator[Listed]:
    """List a folder through the safe door to git, and wait until all is known."""
    opened: list[Repository] = []

    def start(folder: Path, **options: bool) -> Listing:
        repository = Repository.find(folder, lambda _path: None)
        opened.append(repository)
        listing = Listing(folder, (repository.tracked, repository.untracked), **options).start()
        assert listing.wait(20)
        return listing

    yield start
    for repository in opened:
        repository.close()


def walked(folder: Path, **options: bool) -> Listing:
    listing = Listing(folder, (), **options).start()
    assert listing.wait(20)
    return listing


def test_it_answers_while_it_is_still_scanning(workspace: Path, files: Files) -> None:
    files({"a.py": "", "b.py": ""})
    read_first, go_on = threading.Event(), threading.Event()

    def stream() -> Iterator[bytes]:
        yield b"a.py\0b"
        read_first.set()
        assert go_on.wait(20)
        yield b".py\0"

    listing = Listing(workspace, (stream,)).start()
    assert read_first.wait(20)
    early, complete = list(listing.paths), listing.complete
    go_on.set()

    assert (early, complete) == (["a.py"], False)
    assert listing.wait(20)
    assert list(listing.paths) == ["a.py", "b.py"]


def test_tracked_and_untracked_files_are_listed_and_ignored_ones_are_not(
    repository: Path, files: Files, listed: Listed
) -> None:
    files(
        {
            ".gitignore": "*.log\n/out/\n",
            "a.py": "",
            "x.log": "",
            "out/x": "",
            "src/new.py": "",
            "src/out/y": "",
        }
    )
    git(repository, "add", "a.py")

    assert list(listed(repository).paths) == [".gitignore", "a.py", "src/new.py", "src/out/y"]


def test_ignored_files_are_shown_on_demand_but_never_those_of_git(
    repository: Path, files: Files, listed: Listed
) -> None:
    files({".gitignore": "*.log\n", ".ignore": "*.tmp\n", "x.log": "", "y.tmp": "", "node_modules/z": ""})
    expected = [".gitignore", ".ignore", "node_modules/z", "x.log", "y.tmp"]

    assert list(listed(repository, show_ignored=True).paths) == expected


def test_a_fresh_repository_without_commits_works(repository: Path, files: Files, listed: Listed) -> None:
    files({"a.py": ""})

    assert list(listed(repository).paths) == ["a.py"]


def test_a_folder_that_the_repository_around_it_ignores_is_walked(
    repository: Path, files: Files, listed: Listed
) -> None:
    files({".gitignore": "ignored/\n", "ignored/a.py": "", "ignored/.gitignore": "*.log\n", "ignored/x.log": ""})

    assert list(listed(repository / "ignored").paths) == [".gitignore", "a.py"]


def test_below_the_top_of_a_repository_paths_are_relative_to_the_workspace(
    repository: Path, files: Files, listed: Listed
) -> None:
    files({"src/a.py": "", "src/deep/b.py": "", "top.py": ""})
    git(repository, "add", ".")

    assert list(listed(repository / "src").paths) == ["a.py", "deep/b.py"]


def test_deleted_but_tracked_files_are_dropped_and_counted(repository: Path, files: Files, listed: Listed) -> None:
    files({"gone.py": "", "kept.py": ""})
    git(repository, "add", ".")
    (repository / "gone.py").unlink()
    listing = listed(repository)

    assert (list(listing.paths), listing.skipped) == (["kept.py"], {"missing": 1})


def test_nested_repositories_are_listed_with_their_own_rules(repository: Path, files: Files, listed: Listed) -> None:
    files({"a.py": "", ".gitignore": "*.tmp\n"})
    files({"nested/b.py": "", "nested/x.log": "", "nested/y.tmp": "", "nested/.gitignore": "*.log\n"})
    git(repository / "nested", "init", "-q")
    expected = [".gitignore", "a.py", "nested/.gitignore", "nested/b.py", "nested/y.tmp"]

    assert list(listed(repository).paths) == expected
    assert list(walked(repository).paths) == expected


def test_submodules_are_listed(repository: Path, files: Files, listed: Listed) -> None:
    files({"a.py": "", "module/b.py": "", "module/deep/c.py": ""})
    git(repository / "module", "init", "-q")
    git(repository / "module", "add", ".")
    git(repository / "module", "commit", "-qm", "one")
    git(repository, "-c", "advice.addEmbeddedRepo=false", "add", ".")
    assert "160000" in git(repository, "ls-files", "-s")

    assert list(listed(repository).paths) == ["a.py", "module/b.py", "module/deep/c.py"]


def test_our_own_ignore_files_hold_inside_git_at_any_depth(repository: Path, files: Files, listed: Listed) -> None:
    files({".promptuaryignore": "*.csv\n", "a.csv": "", "a.py": "", "src/.ignore": "gen/\n", "src/gen/x.py": ""})
    assert list(listed(repository).paths) == [".promptuaryignore", "a.py", "src/.ignore"]

    (repository / ".promptuaryignore").unlink()
    assert list(listed(repository).paths) == ["a.csv", "a.py", "src/.ignore"]


@pytest.mark.parametrize("in_git", [True, False])
def test_broken_links_are_skipped_and_counted(workspace: Path, files: Files, listed: Listed, in_git: bool) -> None:
    files({"a.py": ""})
    (workspace / "broken").symlink_to("nowhere")
    (workspace / "loop").symlink_to("loop")
    if in_git:
        git(workspace, "init", "-q")
    listing = (listed if in_git else walked)(workspace)

    assert (list(listing.paths), listing.skipped) == (["a.py"], {"broken link": 2})


@pytest.mark.parametrize("in_git", [True, False])
def test_a_link_to_a_file_inside_is_listed_only_if_links_are_allowed(
    workspace: Path, files: Files, listed: Listed, in_git: bool, tmp_path: Path
) -> None:
    files({"src/a.py": ""})
    (tmp_path / "outside.py").write_text("")
    (workspace / "inside.py").symlink_to("src/a.py")
    (workspace / "outside.py").symlink_to(tmp_path / "outside.py")
    (workspace / "folder").symlink_to("src")
    if in_git:
        git(workspace, "init", "-q")
        git(workspace, "add", ".")
    start = listed if in_git else walked

    assert list(start(workspace).paths) == ["src/a.py"]
    assert list(start(workspace, links=True).paths) == ["inside.py", "src/a.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_an_unreadable_folder_is_skipped_and_counted(files: Files) -> None:
    root = files({"a.py": "", "closed/b.py": ""})
    (root / "closed").chmod(0)
    listing = walked(root)
    (root / "closed").chmod(0o700)

    assert (list(listing.paths), listing.skipped) == (["a.py"], {"unreadable": 1})


def test_a_folder_that_vanishes_is_skipped_and_counted(tmp_path: Path) -> None:
    listing = walked(tmp_path / "gone")

    assert (list(listing.paths), listing.skipped) == ([], {"unreadable": 1})


def test_pipes_are_no_files(files: Files) -> None:
    root = files({"a.py": ""})
    os.mkfifo(root / "pipe")
    listing = walked(root)

    assert (list(listing.paths), listing.skipped) == (["a.py"], {"special": 1})


def test_outside_git_noise_is_skipped_unless_an_ignore_file_speaks_of_it(files: Files) -> None:
    root = files({"a.py": "", "node_modules/x.js": "", "lib/.venv/y.py": "", "venv": "a file"})
    assert list(walked(root).paths) == ["a.py", "venv"]

    (root / ".gitignore").write_text("!node_modules/\n")
    assert list(walked(root).paths) == [".gitignore", "a.py", "node_modules/x.js", "venv"]


@pytest.mark.parametrize("code", [Code.NOT_A_REPOSITORY, Code.TIMEOUT, Code.GIT_FAILED])
def test_where_git_fails_the_folder_is_walked(files: Files, code: Code) -> None:
    root = files({"a.py": "", "b.py": ""})

    def stream() -> Iterator[bytes]:
        yield b"a.py\0"
        raise SourceError(code, "no")

    listing = Listing(root, (stream,)).start()

    assert listing.wait(20)
    assert list(listing.paths) == ["a.py", "b.py"]


def test_a_refresh_keeps_the_old_list_until_the_new_one_is_whole(workspace: Path, files: Files) -> None:
    files({"a.py": "", "b.py": ""})
    answers = [[b"a.py\0"], [b"b.py\0"]]
    go_on = threading.Event()

    def stream() -> Iterator[bytes]:
        yield from answers.pop(0)
        if not answers:
            assert go_on.wait(20)

    listing = Listing(workspace, (stream,)).start()
    assert listing.wait(20)
    generation = listing.generation
    listing.refresh()
    assert (list(listing.paths), listing.complete) == (["a.py"], True)
    go_on.set()

    assert listing.wait(20)
    assert list(listing.paths) == ["b.py"]
    assert listing.generation > generation


def test_a_new_file_at_the_top_or_a_written_index_makes_the_list_stale(
    repository: Path, files: Files, listed: Listed
) -> None:
    files({"src/a.py": ""})
    listing = listed(repository)
    assert not listing.stale()

    git(repository, "add", ".")
    assert listing.stale()
    listing.refresh()
    assert listing.wait(20)
    assert not listing.stale()

    files({"b.py": ""})
    assert listing.stale()


def test_closing_stops_a_scan_and_keeps_what_is_known(workspace: Path, files: Files) -> None:
    files({"a.py": ""})
    endless = threading.Event()

    def stream() -> Iterator[bytes]:
        while True:
            yield b"a.py\0"
            endless.set()

    listing = Listing(workspace, (stream,)).start()
    assert endless.wait(20)
    listing.close()
    listing.wait(20)

    assert not listing.complete
    assert set(listing.paths) == {"a.py"}


def test_folders_follow_from_the_paths(files: Files) -> None:
    assert folders_of(["a.py", "src/deep/er/b.py", "src/c.py"]) == ["src", "src/deep", "src/deep/er"]
    assert list(walked(files({"src/deep/a.py": ""})).folders) == ["src", "src/deep"]


def test_names_are_put_together_again_wherever_the_output_was_cut() -> None:
    whole = "a.py\0dé/ü.py\0c".encode()

    for size in range(1, len(whole) + 1):
        chunks = [whole[at : at + size] for at in range(0, len(whole), size)]
        assert [name for block in split_names(chunks) for name in block.split("\0")] == ["a.py", "dé/ü.py", "c"]
