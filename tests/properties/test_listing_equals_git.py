"""Our listing is git's, inside a repository and out of it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptuary.workspace.git.repository import Repository
from promptuary.workspace.listing.listing import Listing
from tests.conftest import TORTURE, git

NAMES = st.sampled_from(["a", "b", "ab", "a.py", "b.log", "x", "d", "[a]", "a b", "é", "#x", "!y", "a\\b"])
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=14)
LINES = st.one_of(
    st.sampled_from(
        [
            "*",
            "*.py",
            "!*.py",
            "/a",
            "a/",
            "!a/",
            "a/*",
            "!a/b",
            "**/x",
            "a/**",
            "a/**/x",
            "**",
            "***",
            "/**/",
            "d/a",
        ]
    ),
    st.sampled_from(
        [
            "[ab]",
            "[!a]",
            "[^a]*",
            "[a-b]b",
            "[",
            "a[",
            "\\#x",
            "\\!y",
            "\\",
            "a\\",
            "?",
            "??",
            "a?b",
            "a b",
            "x  ",
        ]
    ),
    st.sampled_from(
        [
            "*/a",
            "/*",
            "!/a",
            "/*/",
            "a/b/",
            "*a*",
            "**a",
            "a**",
            "[[:alpha:]]",
            "[]a]",
            "a\\\\b",
            "[\\[]a]",
            "/",
            "//",
        ]
    ),
    st.text(alphabet="ab*?[]!/\\.#^-d ", min_size=1, max_size=7),
)
RULES = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "d"]), max_size=2).map("/".join),
    st.lists(LINES, max_size=5),
    max_size=3,
)


@contextmanager
def tree(paths: list[str], rules: dict[str, list[str]]) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp())
    try:
        for path in [*paths, *(f"{place}/.gitignore".lstrip("/") for place in rules)]:
            _write(folder / path, "\n".join(rules.get(path.removesuffix(".gitignore").rstrip("/"), [])))
        yield folder
    finally:
        shutil.rmtree(folder)


def _write(path: Path, content: str) -> None:
    """Write a file, unless its name is a folder already or the other way round."""
    if any(above.is_file() for above in path.parents) or path.is_dir():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def by_git(folder: Path) -> list[str]:
    names = git(folder, "ls-files", "-co", "--exclude-standard", "-z").split("\0")[:-1]
    return sorted(name for name in set(names) if (folder / name).exists())


@settings(max_examples=300 if TORTURE else 25)
@given(PATHS, RULES, st.integers(0, 3), st.integers(0, 3))
@example(["a/b", "a/x"], {"": ["a/*", "!a/b"]}, 0, 0)
def test_inside_a_repository_it_lists_what_git_lists(
    paths: list[str], rules: dict[str, list[str]], tracked: int, deleted: int
) -> None:
    with tree(paths, rules) as folder:
        git(folder, "init", "-q")
        there = [path for path in paths if (folder / path).is_file()]
        for path in there[:tracked]:
            git(folder, "add", "-f", "--", path)
        for path in there[:deleted]:
            (folder / path).unlink(missing_ok=True)
        expected = by_git(folder)
        with Repository.find(folder, lambda _path: None) as repository:
            listing = Listing(folder, (repository.tracked, repository.untracked)).start()
            assert listing.wait(20)

        assert list(listing.paths) == expected


@settings(max_examples=1_000 if TORTURE else 60)
@given(PATHS, RULES)
@example(["a/b", "a/x"], {"": ["a/*", "!a/b"]})
@example(["d/a/b"], {"": ["d"], "d": ["!a"]})
@example(["d/a", "d/b"], {"": ["!d/a", "*"], "d": ["!b"]})
def test_outside_git_it_lists_what_git_would_list(paths: list[str], rules: dict[str, list[str]]) -> None:
    with tree(paths, rules) as folder:
        listing = Listing(folder).start()
        assert listing.wait(20)
        git(folder, "init", "-q")

        assert list(listing.paths) == by_git(folder)
