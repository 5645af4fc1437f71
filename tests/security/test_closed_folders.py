"""Promptuary's own folders are closed: no door but the memory shows a note, its name, or that there is one.

Every way to read a workspace is in ``DOORS``, and each is tried in two workspaces that differ in their notes alone.
What a door shows must be the same in both. Git shows that something was left out, so there the words of the notes are
looked for instead.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Final

import pytest

from promptuary.base.errors import Code, ConfigError, PromptuaryError, SourceError
from promptuary.base.files import Folder
from promptuary.base.references import KEYWORDS, KINDS
from promptuary.blocking import Promptuary
from promptuary.search.folders import IndexedFolders
from promptuary.search.values import IndexBusy
from promptuary.workspace.changes.snapshot import snapshot, snapshot_of
from promptuary.workspace.disk.protected_folders import CLOSED_NOTE, ProtectedFolders, protected_error
from promptuary.workspace.disk.root import Root
from promptuary.workspace.git.repository import Repository
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.listing.listing import Listing
from promptuary.workspace.workspace import Workspace
from tests.conftest import git

NAME: Final = "quokka"
"""Stands in the name of every note, and in no other place."""
WORDS: Final = ("wombat", "numbat")
"""Stand in the text of private and of shared notes."""

AGENT: Final = "memory/agents/default"
PRIVATE: Final = f"{AGENT}/private/user/{NAME}-1a2b.md"
SHARED: Final = f"{AGENT}/shared/project/{NAME}-3c4d.md"
HOMES: Final = (".promptuary", ".Promptuary", "sub/.promptuary", "nested/.promptuary", "sub/.PROMPTUARY.")
"""Where notes are: in the workspace, under other spellings, in a workspace inside it, in a repository inside it."""
OWN: Final = "data/promptuary"
"""The data folder of the person, if that is in the workspace."""

FILES: Final = {
    "a.py": "def platypus():\n    return 1\n",
    "docs/guide.md": "# Guide\n\nThe platypus swims.\n",
    "sub/b.py": "def echidna():\n    return 2\n",
    "nested/c.md": "# Nested\n",
    "data/promptuary/models.md": "# Models\n",
    ".promptuary/config.toml": "",
    "AGENTS.md": f"Read @.promptuary/{PRIVATE} and @sub/.promptuary/{SHARED}.\n",
}


def notes() -> Mapping[str, str]:
    text = "---\ntitle: {word}\n---\n\n# {word}\n\nThe platypus eats {word}.\n"
    places = [*HOMES, OWN]
    return {
        **{f"{home}/{PRIVATE}": text.format(word=WORDS[0]) for home in places},
        **{f"{home}/{SHARED}": text.format(word=WORDS[1]) for home in places},
        **{f"{home}/{AGENT}/private/MEMORY.md": f"- {WORDS[0]} ({NAME})\n" for home in places},
        **{f"{home}/memory/{NAME}.py": f"def platypus():\n    return '{WORDS[0]}'\n" for home in places},
    }


def write(root: Path, contents: Mapping[str, str]) -> None:
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def build(root: Path, *, with_notes: bool) -> Path:
    """Make a repository with a nested one in it, one commit, and changes that are not committed."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git_nested = root / "nested"
    git_nested.mkdir()
    git(git_nested, "init", "-q", "-b", "main")
    write(root, {**FILES, ".git/info/exclude": "AGENTS.md\n"})
    git(root, "add", "a.py", "docs")
    if with_notes:
        write(root, notes())
        shared = [f"{home}/{SHARED}" for home in (*HOMES[:3], OWN)]
        git(root, "add", "-f", *shared, f".promptuary/{PRIVATE}")
    git(root, "commit", "-q", "-m", "begin")
    write(root, {"a.py": FILES["a.py"] + "\n", "new.md": "platypus\n"})
    git(root, "add", "new.md")
    if with_notes:
        write(root, {name: f"{content}\nmore {content}" for name, content in notes().items()})
        git(root, "mv", f".promptuary/{PRIVATE}", f".promptuary/{AGENT}/private/user/{NAME}-moved.md")
    return root


MESSAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "file": (
        *(
            f"@file:{home}/{note}{part}"
            for home in (*HOMES, OWN)
            for note in (PRIVATE, SHARED)
            for part in ("", ":1-3")
        ),
        f"@file:.promptuary/memory/{NAME}.py#platypus @file:docs/../.promptuary/{PRIVATE} @file:.promptuary\\{PRIVATE}",
        f"@file:{NAME}-1a2b.md @file:promptuary/{PRIVATE}",
    ),
    "folder": tuple(
        f"@folder:{folder}{part}"
        for folder in (".", "sub", "data", "nested", OWN, *HOMES, f".promptuary/{AGENT}", f"{OWN}/memory")
        for part in ("", ":contents")
    ),
    "glob": ("@glob:**/*.md @glob:**/*", "@glob:.promptuary/** @glob:**/.promptuary/**/*.md", f"@glob:**/{NAME}*"),
    "clipboard": ("@clipboard",),
    "symbol": ("@symbol:platypus", f"@symbol:.promptuary/memory/{NAME}.py#platypus"),
    "search": ("@search:platypus", "@search:wombat", "@search:numbat", f"@search:{NAME}"),
    "memory": ("@memory:platypus", "@memory:wombat", f"@memory:{NAME}"),
    "remember": (f"@remember:{NAME}",),
    "url": (f"@url:file:///.promptuary/{PRIVATE}",),
    "diff": ("@diff",),
    "staged": ("@staged",),
    "status": ("@status",),
    "git": ("@git:1", "@git:5"),
    "commit": ("@commit:HEAD",),
    "a bare path": tuple(f"@{home}/{note}" for home in (*HOMES, OWN) for note in ("", "memory", PRIVATE, SHARED)),
    "a tracked path": tuple(f"#{home}/{note}" for home in (*HOMES, OWN) for note in (PRIVATE, SHARED)),
}
"""Messages by the kind of reference in them."""

GIT: Final = frozenset({"diff", "staged", "status", "git", "commit"})


def test_every_kind_of_reference_is_tried() -> None:
    assert MESSAGES.keys() == KINDS | KEYWORDS | {"a bare path", "a tracked path"}


def opened(root: Path) -> Promptuary:
    # The memory is the one door that may show notes, and it does so in every turn: here it is kept out.
    return Promptuary.open(root, exact=True, embedder="none", recall_tokens=0, memory_tokens=0)


def expanded(root: Path, text: str) -> tuple[object, object, object]:
    with opened(root) as promptuary:
        found = promptuary.expand(text)
        outcomes = [(one.status, one.code, one.reason, one.target) for one in found.outcomes]
        return found.messages, outcomes, found.warnings


def completed(root: Path) -> Iterator[object]:
    typed = ("@", "#", "@file:", "@folder:", "@glob:", "@symbol:", "@symbol:platy", "@search:")
    words = ("", NAME, "md", ".promptuary/", "promptuary", "memory", "data/", "sub/.", "1a2b")
    with opened(root) as promptuary:
        for text in (*typed, *(f"{start}{word}" for start in ("@", "#", "@file:", "@folder:") for word in words)):
            for ignored in (False, True):
                yield text, promptuary.complete(text, timeout=5.0, ignored=ignored)
        yield [promptuary.find_files(word) for word in words]


def searched(root: Path) -> Iterator[object]:
    with opened(root) as promptuary:
        report = promptuary.search.index([".", "sub", "data"])
        yield report
        for word in ("platypus", "wombat", "numbat", NAME, "title"):
            yield [(hit.path, hit.text) for hit in promptuary.search.find(word).hits]
        yield promptuary.search.status()
        for folder in (".promptuary", f".promptuary/{AGENT}", "sub/.promptuary/memory", f"{OWN}/memory"):
            (root / folder).mkdir(parents=True, exist_ok=True)
            with pytest.raises(ConfigError, match="is not indexed"):
                promptuary.search.index(folder)


def attached(root: Path) -> Iterator[object]:
    with opened(root) as promptuary:
        for path in (f".promptuary/{PRIVATE}", f"sub/.promptuary/{SHARED}", f"{OWN}/{PRIVATE}", ".promptuary"):
            try:
                promptuary.threads.attach(path)
            except PromptuaryError as error:
                yield str(error)
        turn = promptuary.threads.prepare(f"platypus #.promptuary/{PRIVATE}")
        yield turn.messages
        yield promptuary.threads.attachments()


def listed(root: Path) -> Iterator[object]:
    with Root(root, follow_symlinks=True) as opened_root:
        workspace = Workspace(opened_root)
        yield list(workspace.files()), workspace.listing.folders, workspace.listing.skipped
        for listing in (workspace.everything(), Listing(root, links=True, show_ignored=True)):
            listing.start().wait(10)
            yield list(listing.paths), listing.folders, listing.skipped
        for path in ("", "sub", ".promptuary", f".promptuary/{AGENT}", OWN, f"{OWN}/memory"):
            yield path, workspace.files_below(path), sorted(snapshot_of(workspace, [path]))
        found = snapshot(workspace)
        yield sorted(found.files), found.unreadable, found.large, found.cut_rules
        yield [workspace.kind_of(f"{home}/{PRIVATE}") for home in (*HOMES, f"{OWN}/")]
        yield [workspace.size_of(f"{home}/{PRIVATE}") for home in HOMES]


DOORS: Final[Mapping[str, Callable[[Path], object]]] = {
    **{
        kind: lambda root, texts=texts: [expanded(root, text) for text in texts]  # type: ignore[misc]
        for kind, texts in MESSAGES.items()
        if kind not in GIT | {"search", "memory"}
    },
    "completion": lambda root: list(completed(root)),
    "file search": lambda root: (list(searched(root)), [expanded(root, text) for text in MESSAGES["search"]]),
    "attachments and instructions": lambda root: list(attached(root)),
    "listings": lambda root: list(listed(root)),
}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Make two workspaces that differ in their notes alone."""
    return build(tmp_path / "without" / "w", with_notes=False), build(tmp_path / "with" / "w", with_notes=True)


def seen_through(door: Callable[[Path], object], root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    return repr(door(root)).replace(str(root), "WORKSPACE")


@pytest.mark.parametrize("door", DOORS)
def test_no_door_shows_whether_there_are_notes(
    door: str, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    without, with_notes = (seen_through(DOORS[door], root, monkeypatch) for root in pair)

    assert with_notes == without
    assert not [word for word in WORDS if f"eats {word}" in with_notes]


def test_the_memory_shows_the_notes_of_its_own_folders_and_of_no_other(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def remembered(root: Path) -> object:
        with opened(root) as promptuary:
            promptuary.memory.adopt()  # they were there before this machine met the folder
        return [expanded(root, text) for text in MESSAGES["memory"]]

    without, with_notes = (seen_through(remembered, root, monkeypatch) for root in pair)
    assert f"eats {WORDS[0]}" in with_notes
    for home in (".promptuary", OWN):
        rmtree(pair[1] / home / "memory")
    assert seen_through(remembered, pair[1], monkeypatch) == without


@pytest.mark.parametrize("confined", [True, False], ids=["confined", "with copies"])
@pytest.mark.parametrize("kind", sorted(GIT))
def test_git_says_that_something_is_left_out_and_nothing_else(
    kind: str, confined: bool, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = Repository.find.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Repository, "find", classmethod(lambda cls, *args, **more: find(cls, *args, **more, confined=confined))
    )
    shown = seen_through(lambda root: [expanded(root, text) for text in MESSAGES[kind]], pair[1], monkeypatch)

    assert not [word for word in (NAME, *WORDS, "romptuary/memory", "OMPTUARY") if word in shown]
    assert (CLOSED_NOTE in shown) is (kind != "status")
    assert "a.py" in shown or "new.md" in shown


def test_a_note_that_becomes_a_file_of_the_project_is_withheld_by_its_new_name(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {f".promptuary/{SHARED}": f"The {WORDS[1]} eats ants, and ants eat it.\n" * 20})
    git(repository, "add", "-f", ".")
    git(repository, "commit", "-q", "-m", "begin")
    git(repository, "mv", f".promptuary/{SHARED}", "published.md")

    shown = seen_through(lambda root: expanded(root, "@staged"), repository, monkeypatch)
    assert "withheld by the read policy: published.md" in shown
    assert not [word for word in (NAME, *WORDS) if word in shown]


def test_a_refusal_says_how_to_read_a_note(workspace: Path) -> None:
    _, outcomes, _ = expanded(workspace, f"@file:.promptuary/{SHARED}")

    reason = protected_error("x").reason
    assert "@memory:" in reason
    assert "`promptuary memory show`" in reason
    assert outcomes == [
        (
            "refused",
            Code.CLOSED_FOLDER,
            protected_error(f".promptuary/{SHARED}").reason,
            f".promptuary/{SHARED}",
        )
    ]


def test_a_link_to_a_note_is_refused_by_the_name_of_the_link(workspace: Path) -> None:
    write(workspace, {f".promptuary/{PRIVATE}": WORDS[0]})
    (workspace / "link.md").symlink_to(f".promptuary/{PRIVATE}")
    (workspace / "folder").symlink_to(f".promptuary/{AGENT}")
    inside = PRIVATE.removeprefix(f"{AGENT}/")
    with Root(workspace, follow_symlinks=True) as root:
        for path in ("link.md", f"folder/{inside}"):
            with pytest.raises(SourceError) as refused:
                Workspace(root).read(path)
            assert refused.value.code is Code.CLOSED_FOLDER
            assert f'"{path}"' in refused.value.reason
        assert Workspace(root).files_below("folder") == []
        listing = Listing(workspace, links=True).start()
        listing.wait(10)
        assert list(listing.paths) == []


@pytest.mark.parametrize("home", [".promptuary", OWN])
def test_a_hard_link_to_a_note_is_closed_like_the_note(
    home: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {**FILES, f"{home}/{PRIVATE}": f"eats {WORDS[0]}\n", "tracked.md": "", "one.md": "ants\n"})
    git(repository, "add", "tracked.md")
    git(repository, "commit", "-q", "-m", "begin")
    (repository / "two.md").hardlink_to(repository / "one.md")
    (repository / "tracked.md").unlink()
    for name in ("tracked.md", "link.md"):
        (repository / name).hardlink_to(repository / home / PRIVATE)
    texts = ("@file:link.md @file:two.md", "@folder:.:contents", "@glob:*.md", "@diff")
    shown = [seen_through(lambda root, text=text: expanded(root, text), repository, monkeypatch) for text in texts]  # type: ignore[misc]

    assert [WORDS[0] in one for one in shown] == [False] * len(texts)
    assert ["ants" in one for one in shown] == [True] * len(texts)
    assert Code.CLOSED_FOLDER in shown[0]
    assert CLOSED_NOTE in shown[3]


def test_a_workspace_in_a_closed_folder_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for home in (".promptuary/memory", ".Promptuary", "data/promptuary/memory", "data/promptuary/memory/agents"):
        write(tmp_path / home, {"note.md": WORDS[0]})
        with Root(tmp_path / home) as root:
            workspace = Workspace(root)
            assert (list(workspace.files()), snapshot(workspace).files) == ([], {})
            with pytest.raises(SourceError, match="CLOSED_FOLDER"):
                workspace.read("note.md")
            with pytest.raises(SourceError, match="CLOSED_FOLDER"):
                workspace.folder("")


def test_what_was_indexed_when_the_folders_were_open_is_not_found_any_more(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes_folder = workspace / ".promptuary/memory"
    # A shared note: the ignore file of the folder hides private ones from the index besides.
    write(workspace, {f".promptuary/{SHARED}": "The platypus eats numbat.", "a.md": "The platypus swims."})
    with monkeypatch.context() as before:
        before.setattr(ProtectedFolders, "of", classmethod(lambda _cls, _root: ProtectedFolders()))
        before.setattr(ProtectedFolders, "holds", lambda _self, _path: False)
        with opened(workspace) as promptuary:
            promptuary.search.index([notes_folder])
            promptuary.search.index([workspace / "..", tmp_path / "workspace"])
            assert len(promptuary.search.find("platypus").hits) == 2
    with opened(workspace) as promptuary:
        monkeypatch.setattr("promptuary.search.service.SearchService.refresh", lambda *_, **__: IndexBusy(here=True))
        assert [hit.path for hit in promptuary.search.find("platypus").hits] == ["workspace/a.md"]


def test_a_listed_folder_that_is_closed_now_is_not_indexed(workspace: Path) -> None:
    listed_folders = IndexedFoldersFile(workspace)
    listed_folders.add(Folder(str(workspace / ".promptuary/memory"), ""))
    listed_folders.add(Folder(str(workspace), ""))

    folders = IndexedFolders(listed_folders, lambda path: Workspace(Root(path)))
    assert [one.path for one in folders.all()] == [str(workspace)]


@pytest.mark.parametrize(
    ("root", "data", "closed"),
    [
        ("/home/ada/project", "/home/ada/.local/share", frozenset()),
        ("/home/ada", "/home/ada/.local/share", frozenset({".local/share/promptuary/memory"})),
        ("/", "/home/ada/.local/share", frozenset({"home/ada/.local/share/promptuary/memory"})),
        ("/Home/Ada", "/home/ada/Data", frozenset({"data/promptuary/memory"})),
        ("/home/ada/promptuary/memory/agents", "/home/ada", frozenset({""})),
        ("/home/ada/promptuary", "/home/ada", frozenset({"memory"})),
        ("/home/ada/.promptuary", "/data", frozenset({""})),
        ("/home/adams", "/home/ada", frozenset()),
    ],
)
def test_the_notes_of_the_person_are_closed_where_a_workspace_contains_them(
    root: str, data: str, closed: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", data)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")

    assert ProtectedFolders.of(Path(root)).others - {"state/promptuary"} == closed


def test_the_state_of_the_person_is_closed_where_a_workspace_contains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/home/ada/.local/state")

    assert ProtectedFolders.of(Path("/home/ada")).holds(".local/state/promptuary/key")
    assert ProtectedFolders.of(Path("/home/ada/.local/state/promptuary/workspaces")).everything
    assert not ProtectedFolders.of(Path("/home/ada")).holds(".local/state/other/key")
