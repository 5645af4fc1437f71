"""``@diff:`` and ``@staged:`` with a path, a commit or a range, and sections named by their headings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from tests.conftest import Files, git


@pytest.fixture
def promptuary(files: Files, repository: Path) -> Iterator[Promptuary]:
    files({"src/a.py": "a = 1\n", "docs/b.md": "# Guide\n\n## Search operators\nbee\n\n## What's new?\nnews\n"})
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Begin")
    git(repository, "branch", "-M", "main")
    git(repository, "checkout", "-qb", "topic")
    files({"src/a.py": "a = 1\ntopic = 2\n"})
    git(repository, "commit", "-qam", "Topic")
    git(repository, "checkout", "-q", "main")
    files({"docs/b.md": "# Guide\nmain_only\n\n## Search operators\nbee\n\n## What's new?\nnews\n"})
    git(repository, "commit", "-qam", "Main")
    git(repository, "checkout", "-q", "topic")
    files(
        {"src/new.py": "untracked = 3\n", "docs/b.md": "# Guide\n\n## Search operators\nunstaged\n\n## What's new?\n"}
    )
    files({"src/staged.py": "staged = 4\n"})
    git(repository, "add", "src/staged.py")
    with Promptuary.open(repository, exact=True) as opened:
        yield opened


WORDS = ("topic = 2", "main_only", "untracked = 3", "+unstaged", "staged = 4")


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("@diff", {"untracked = 3", "+unstaged"}),
        ("@diff:src", {"untracked = 3"}),
        ("@diff:docs/b.md", {"+unstaged"}),
        ("@diff:main", {"topic = 2", "main_only", "untracked = 3", "+unstaged", "staged = 4"}),
        ("@diff:main...HEAD", {"topic = 2"}),
        ("@diff:main..HEAD", {"topic = 2", "main_only"}),
        ("@diff:main..HEAD:docs", {"main_only"}),
        ('@diff:"main...HEAD -- docs"', set()),
        ("@diff:HEAD~1:src", {"topic = 2", "untracked = 3", "staged = 4"}),
        ("@staged", {"staged = 4"}),
        ("@staged:src", {"staged = 4"}),
        ("@staged:docs", set()),
    ],
)
def test_changes_are_those_that_are_asked_for(promptuary: Promptuary, typed: str, shown: set[str]) -> None:
    found = promptuary.expand(typed)

    assert found.outcomes[0].code is None
    assert {word for word in WORDS if any(word in one.text for one in found.blocks)} == shown


@pytest.mark.parametrize(
    "typed", ["@diff:nope", "@diff:--output=x", "@diff:main..nope", "@diff:nope:src", "@diff:main:nope", "@staged:nope"]
)
def test_what_is_neither_a_commit_nor_a_path_is_refused(promptuary: Promptuary, typed: str, repository: Path) -> None:
    assert promptuary.expand(typed).outcomes[0].code == "BAD_REVISION"
    assert not (repository / "x").exists()


def test_of_a_name_that_is_both_the_person_is_told_how_to_write_each(promptuary: Promptuary, files: Files) -> None:
    files({"main/x.py": "x = 1\n"})
    (both, path, branch) = promptuary.expand("@diff:main @diff:./main @diff:refs/heads/main").outcomes

    assert both.code == "BAD_REVISION"
    assert "@diff:./main" in (both.reason or "")
    assert "@diff:refs/heads/main" in (both.reason or "")
    assert (path.code, branch.code) == (None, None)


def test_a_deleted_file_is_a_path(promptuary: Promptuary, repository: Path) -> None:
    (repository / "src/a.py").unlink()

    assert "-topic = 2" in promptuary.expand("@diff:src/a.py").blocks[0].text


def test_menus_offer_branches_and_paths(promptuary: Promptuary) -> None:
    changes = {one.insert for one in promptuary.complete("@diff:", timeout=5.0).items}
    staged = {one.insert for one in promptuary.complete("@staged:", timeout=5.0).items}

    assert {"@diff:main", "@diff:src/a.py"} <= changes
    assert "@staged:src/a.py" in staged
    assert "@staged:main" not in staged


@pytest.mark.parametrize(
    "typed",
    [
        '@file:docs/b.md#"Search operators"',
        "@file:docs/b.md#search-operators",
        "@file:docs/b.md#Search%20operators",
        '@file:"docs/b.md"#"Search operators"',
        '@docs/b.md#"Search operators"',
        '#docs/b.md#"Search operators"',
    ],
)
def test_a_section_is_named_by_its_heading(promptuary: Promptuary, typed: str) -> None:
    found = promptuary.expand(f"See {typed}, please")

    assert [one.reference.raw for one in found.outcomes] == [typed]
    assert [one.target for one in found.outcomes] == ["docs/b.md"]
    assert found.blocks[0].source.text.startswith("## Search operators\nunstaged\n")
    assert "What's new" not in found.blocks[0].source.text


def test_a_heading_with_marks_is_found_as_a_link_has_it(promptuary: Promptuary) -> None:
    assert promptuary.expand("@file:docs/b.md#whats-new").outcomes[0].code is None
    assert promptuary.expand("@file:docs/b.md#nothing-like-it").outcomes[0].code == "NO_MATCH"
