"""A snapshot is the listing under the read policy, and a part of it is a part of the whole."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptuary.base.errors import SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.changes.readable_names import ReadableNames
from promptuary.workspace.changes.snapshot import snapshot, snapshot_of
from promptuary.workspace.disk.root import Root, normalise
from promptuary.workspace.workspace import Workspace
from tests.conftest import TORTURE, git
from tests.properties.test_listing_equals_git import LINES, PATHS, tree

RULE_FILES = st.dictionaries(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "d"]), max_size=2).map("/".join),
        st.sampled_from([".gitignore", ".ignore", ".promptuaryignore"]),
    ),
    st.lists(st.one_of(LINES, st.sampled_from([".ignore", ".*", "!.ignore"])), max_size=4),
    max_size=4,
)
WAYS = st.sampled_from(["outside", "git", "below", "nested", "submodule"])
WORDS = "py md bin env .env id_rsa key bak secrets token docs .ssh config .config gh etc kubernetes .promptuary memory"
NAME_PARTS = st.sampled_from([*"aE.-_ ~:\\\u00e9\u200b\n", *WORDS.split(), "state.db", "git~1", "json"])
NAMES = st.lists(NAME_PARTS, min_size=1, max_size=4).map("".join)


def write(folder: Path, rules: dict[tuple[str, str], list[str]]) -> None:
    for (place, name), lines in rules.items():
        path = folder / place / name
        if not any(above.is_file() for above in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines))


def prepare(folder: Path, way: str, tracked: list[str]) -> Path:
    """Make a repository of ``folder`` in one of several ways; return the folder to open."""
    if way == "outside":
        return folder
    git(folder, "init", "-q")
    if way in {"nested", "submodule"} and (folder / "a").is_dir():
        git(folder / "a", "init", "-q")
        if way == "submodule":
            git(folder / "a", "commit", "-q", "--allow-empty", "-m", "begun")
            git(folder, "add", "-f", "a")
    for path in tracked:
        if (folder / path).is_file() and not path.startswith("a/"):
            git(folder, "add", "-f", "--", path)
    return folder / "d" if way == "below" and (folder / "d").is_dir() else folder


@pytest.mark.torture
@settings(max_examples=200 if TORTURE else 8)
@given(PATHS, RULE_FILES, WAYS, st.integers(0, 3), st.integers(0, 2))
@example(["a/b", "a/x"], {("", ".gitignore"): ["a/*", "!a/b"]}, "git", 0, 0)
@example(["b/x"], {("b", ".ignore"): ["x"], ("", ".gitignore"): [".ignore"]}, "git", 0, 0)
@example(["b/x"], {("b", ".ignore"): ["x"], ("d", ".ignore"): ["y"], ("", ".gitignore"): ["/b/.ignore"]}, "git", 0, 0)
@example(["a/x", "x"], {("", ".ignore"): ["x"], ("a", ".ignore"): ["!x"]}, "nested", 0, 0)
@example(["a/x", "x"], {("", ".gitignore"): ["x"], ("a", ".ignore"): ["b"]}, "submodule", 1, 0)
@example(["x"], {("", ".gitignore"): ["*"]}, "git", 0, 0)
def test_a_part_of_a_snapshot_is_what_the_whole_one_says(
    paths: list[str], rules: dict[tuple[str, str], list[str]], way: str, tracked: int, deleted: int
) -> None:
    with tree(paths, {}) as folder:
        write(folder, rules)
        opened = prepare(folder, way, paths[:tracked])
        for path in paths[:deleted]:
            if (folder / path).is_file():
                (folder / path).unlink()
        everything = [str(path.relative_to(opened)) for path in opened.rglob("*") if ".git" not in path.parts]
        asked = [*everything, *(path.removeprefix("d/") for path in paths[:deleted]), *(f"{path}/b" for path in paths)]
        with Root(opened) as root:
            workspace = Workspace(root)
            whole = snapshot(workspace)
            listed = [path for path in workspace.files(wait=20) if ReadableNames(workspace.access).allows(path)]

            assert whole.alive
            for number, path in enumerate(asked):
                files = {name: stamp for name, stamp in whole.files.items() if name.startswith(f"{path}/")}
                expected = {path: whole.files.get(path)} | files
                for known in ({}, whole.files) if TORTURE else (whole.files if number % 2 else {},):
                    assert snapshot_of(workspace, [path], known=known) == expected
            assert snapshot_of(workspace, asked) == dict.fromkeys(asked) | dict(whole.files)
            assert snapshot(workspace, whole) == whole
            if all(name == ".gitignore" for _, name in rules):
                assert sorted(whole.files) == sorted(listed)


@settings(max_examples=5_000 if TORTURE else 150)
@given(
    st.lists(NAMES, min_size=1, max_size=4).map("/".join),
    st.sampled_from(
        [
            Access(),
            Access(allow_sensitive=frozenset({"id_rsa", ".env"})),
            Access(also=frozenset({".bin"})),
            Access(allowed=frozenset({".md", ".key", ".bak"})),
        ]
    ),
)
@example("etc /kubernetes/a.md", Access())
@example("etc./kubernetes/a.md", Access())
@example("a/b.md", Access())
@example("docs/secrets.json", Access())
@example(".config/gh/a.md", Access())
def test_the_screen_lets_through_what_the_policy_and_the_door_do(path: str, policy: Access) -> None:
    try:
        openable = normalise(path) == path
    except SourceError:
        openable = False

    expected = openable and policy.refusal("read", path) is None
    assert ReadableNames(policy).allows(path) == expected
