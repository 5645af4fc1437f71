"""The files of a fresh clone have the dates of their commits, since their times on disk say nothing."""

import os
from pathlib import Path

import pytest

from promptuary.base.files import Stamp
from promptuary.search.plan import clone_minute
from tests.conftest import git
from tests.indexes import search_of

OLD, NEW, CLONED = 1_500_000_000, 1_600_000_000, 1_700_000_000


def commit(root: Path, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    git(root, "add", "-A")
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{seconds} +0000")
    git(root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "x")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository whose files look as if they were all written now."""
    git(tmp_path, "init", "-q")
    for number in range(12):
        (tmp_path / f"{number}.md").write_text(f"The heron number {number}.\n")
    commit(tmp_path, OLD, monkeypatch)
    (tmp_path / "1.md").write_text("The heron, again.\n")
    commit(tmp_path, NEW, monkeypatch)
    (tmp_path / "untracked.md").write_text("The heron that nobody added.\n")
    for path in tmp_path.glob("*.md"):
        os.utime(path, (CLONED, CLONED))
    return tmp_path


def dates(root: Path) -> dict[str, int]:
    with search_of(root) as service:
        service.index(".")
        return {hit.path: hit.date for hit in service.find("heron", limit=50).hits}


def test_the_files_of_a_clone_have_the_dates_of_their_commits(clone: Path) -> None:
    os.utime(clone / "2.md", (CLONED + 3600, CLONED + 3600))
    found = dates(clone)
    assert (found["0.md"], found["1.md"]) == (OLD, NEW)
    assert (found["2.md"], found["untracked.md"]) == (CLONED + 3600, CLONED)


def test_files_that_were_written_at_different_times_keep_these(clone: Path) -> None:
    for number in range(12):
        os.utime(clone / f"{number}.md", (CLONED + 60 * number, CLONED + 60 * number))
    assert dates(clone)["1.md"] == CLONED + 60


def test_a_folder_below_the_top_has_the_dates_of_its_files(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone / "docs").mkdir()
    for number in range(12):
        (clone / "docs" / f"{number}.md").write_text(f"The heron number {number}.\n")
    commit(clone, NEW, monkeypatch)
    for path in clone.glob("docs/*.md"):
        os.utime(path, (CLONED, CLONED))
    assert set(dates(clone / "docs").values()) == {NEW}


def test_a_clone_is_known_by_a_minute_that_most_files_share() -> None:
    def files(*minutes: int) -> dict[str, Stamp]:
        return {str(number): Stamp(1, minute * 60 * 10**9, 0, 0) for number, minute in enumerate(minutes)}

    assert clone_minute(files(*[7] * 12, 8)) == 7
    assert clone_minute(files(*[7] * 9)) is None
    assert clone_minute(files(*[7] * 12, *range(20))) is None
    assert clone_minute({}) is None
