"""Ignore files and globs: what they hide, what they find."""

from pathlib import Path

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.listing.glob import expand_braces, match_glob
from promptuary.workspace.listing.ignore import IgnoreFile, OwnIgnoreRules, read_ignore_file
from tests.conftest import Files
from tests.linear import assert_linear, repeated

HIDDEN = [
    # rules, path, folder, hidden
    ("*.log", "a/b/x.log", False, True),
    ("*.log\n!keep.log", "keep.log", False, False),
    ("!keep.log\n*.log", "keep.log", False, True),
    ("build/", "build", True, True),
    ("build/", "build", False, None),
    ("/dist", "dist", True, True),
    ("/dist", "a/dist", True, None),
    ("a/b", "a/b", False, True),
    ("a/b", "c/a/b", False, None),
    ("**/b", "c/a/b", False, True),
    ("a/**/z", "a/z", False, True),
    ("a/**/z", "a/b/c/z", False, True),
    ("a/**", "a", True, None),
    ("a/**", "a/x/y", False, True),
    ("foo*bar", "foo/bar", False, None),
    ("a[!b]c", "a/c", False, None),
    ("[[:digit:]]x", "7x", False, True),
    ("[a-c]x", "bx", False, True),
    ("[]x]y", "]y", False, True),
    ("[^/]", "a", False, True),
    ("[/]", "a/b", False, None),
    ("?.py", "a.py", False, True),
    ("# note", "# note", False, None),
    (r"\#note", "#note", False, True),
    (r"\!note", "!note", False, True),
    ("x  ", "x", False, True),
    ("x\\ ", "x ", False, True),
    ("x\r\ny", "x", False, True),
    ("\ufeffx", "x", False, True),
    ("a,b", "a,b", False, True),
]


@pytest.mark.parametrize(("rules", "path", "folder", "hidden"), HIDDEN)
def test_a_rule_hides_what_git_would_hide(rules: str, path: str, folder: bool, hidden: bool | None) -> None:
    assert IgnoreFile(rules).verdict(path, folder=folder) is hidden


@pytest.mark.parametrize(
    "malformed", ["[ab", "a[", "!", "/", "//", "\\", "foo\\", "a//b", "[[:nonsense:]]", "[z-a]", " "]
)
def test_a_malformed_line_is_skipped_and_the_others_hold(malformed: str) -> None:
    rules = IgnoreFile(f"*.log\n{malformed}\n*.tmp")

    assert rules.verdict("x.log", folder=False)
    assert rules.verdict("x.tmp", folder=False)
    assert rules.verdict("x.py", folder=False) is None


def test_our_own_ignore_files_nest_and_the_nearer_one_decides(files: Files) -> None:
    root = files({".ignore": "*.md\nsecret/\n", "docs/.promptuaryignore": "!keep.md\n", "docs/.ignore": "*.txt\n"})
    own = OwnIgnoreRules(root)
    paths = ["a.md", "docs/a.md", "docs/keep.md", "docs/a.txt", "a.txt", "secret/deep/a.py", "src/a.py"]

    assert [path for path in paths if not own.hides(path)] == ["docs/keep.md", "a.txt", "src/a.py"]


def test_our_own_name_overrides_the_common_one_in_the_same_folder(files: Files) -> None:
    own = OwnIgnoreRules(files({".ignore": "*.md\n", ".promptuaryignore": "!README.md\n"}))

    assert own.hides("a.md")
    assert not own.hides("README.md")


def test_an_ignore_file_that_is_a_link_or_a_folder_says_nothing(files: Files) -> None:
    root = files({"outside": "*\n", "folder/.ignore/x": ""})
    (root / ".ignore").symlink_to("outside")

    assert read_ignore_file(root / ".ignore") is None
    assert read_ignore_file(root / "folder" / ".ignore") is None
    assert read_ignore_file(Path("/nowhere")) is None


PATHS = [
    "README.md",
    "a.py",
    "src/a.py",
    "src/b.ts",
    "src/deep/c.py",
    "src/deep/er/d.py",
    "tests/a.py",
    "src/[x].py",
]

GLOBS = [
    (["src/**/*.py"], [], ["src/[x].py", "src/a.py", "src/deep/c.py", "src/deep/er/d.py"]),
    (["**/*.py"], ["tests/**"], ["a.py", "src/[x].py", "src/a.py", "src/deep/c.py", "src/deep/er/d.py"]),
    (["*.py"], [], ["a.py"]),
    (["src/*.{py,ts}"], [], ["src/[x].py", "src/a.py", "src/b.ts"]),
    (["src/?.py"], [], ["src/a.py"]),
    (["src/[ab].*"], [], ["src/a.py", "src/b.ts"]),
    (["src/[!a].*"], [], ["src/b.ts"]),
    (["src/\\[x\\].py"], [], ["src/[x].py"]),
    (["src/**"], ["**/*.py"], ["src/b.ts"]),
    (["src/"], ["src/deep/"], ["src/[x].py", "src/a.py", "src/b.ts"]),
    (["./a.py"], [], ["a.py"]),
    (["**"], ["**/*.py", "*.md"], ["src/b.ts"]),
    (["A.PY"], [], []),
    (["src/{deep/{c,x},a}.py"], [], ["src/a.py", "src/deep/c.py"]),
    (["**/deep/**/*.py"], [], ["src/deep/c.py", "src/deep/er/d.py"]),
    (["src/[ab"], [], []),
    ([], [], []),
]


@pytest.mark.parametrize(("patterns", "excludes", "found"), GLOBS)
def test_a_glob_finds_whole_paths_in_order(patterns: list[str], excludes: list[str], found: list[str]) -> None:
    assert match_glob(PATHS, patterns, excludes) == found


def test_braces_that_stand_for_too_many_patterns_are_refused() -> None:
    assert expand_braces("{a}") == ["{a}"]
    with pytest.raises(SourceError) as refused:
        expand_braces("{a,b}" * 9)

    assert refused.value.code is Code.BAD_PATTERN


def test_an_ignore_file_says_whether_all_of_its_rules_are_applied() -> None:
    many = "".join(f"a{number}*\n" for number in range(2_000))

    assert IgnoreFile(many).complete
    assert IgnoreFile("".join(f"a{number}\n" for number in range(50_000))).complete
    assert not IgnoreFile(f"{many}b*\n").complete


def test_of_a_huge_ignore_file_the_beginning_is_applied(files: Files) -> None:
    root = files({".ignore": "first\n" + f"{'a' * 99}\n" * 12_000 + "last\n"})
    rules = read_ignore_file(root / ".ignore")

    assert rules is not None
    assert not rules.complete
    assert rules.verdict("first", folder=False)
    assert rules.verdict("a" * 99, folder=False)
    assert rules.verdict("last", folder=False) is None
    assert rules.verdict("a" * 50, folder=False) is None


@pytest.mark.parametrize(("piece", "end"), [("*a", "b"), ("**/a/", "b"), ("?*", ""), ("[a-z]*", "!")])
def test_no_pattern_makes_the_matcher_search(piece: str, end: str) -> None:
    paths = ["a" * 240, "a/" * 120 + "c"]

    assert_linear(lambda pattern: match_glob(paths, [pattern]), repeated(piece, end=end), 40)
