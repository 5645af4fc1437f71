"""Nobody learns anything of another's notes, whatever was forged: no row, id, title, path or count.

The matrix is made of the registry of read paths (``tests/properties/test_principals_are_apart``) and the doors to the
files of a workspace, of every principal, and of every forgery below. For counts, everything is read twice: what a
principal sees must be the same after everybody else has written more.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from promptuary import Principal
from promptuary.base.blocks import Trust
from promptuary.base.errors import PromptuaryError, UnknownNoteError
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from promptuary.memory.index_page import END, START, page_path
from promptuary.memory.note_file import owner_label
from promptuary.memory.values import AUDIENCES, KINDS, STATUSES, NoteHeader, folder_name
from promptuary.threads.prepared import Turn
from tests.conftest import TORTURE, git
from tests.properties.test_principals_are_apart import (
    MEMORY_COMMANDS,
    MEMORY_READS,
    OWNERS,
    PRINCIPALS,
    keys_for,
)

AGENT: Final = Path(".promptuary/memory/agents/default")
DEFAULTS: Final = tuple(one for one in PRINCIPALS if one.agent == "default")
"""The principals whose notes lie in one folder."""


# The world


@dataclass
class World:
    """A workspace in which every principal has notes. Each owner has a word that stands in all of theirs."""

    folder: Path
    written: dict[Principal, list[NoteHeader]] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    """Ids that a forger wrote down where others may read."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for principal in PRINCIPALS:
            with opened(self.folder, principal) as p:
                self.add(p, "first")
                self._share_what_was_private(p)
            page = self.notes(principal) / page_path("private", principal.owner)
            page.write_text(f"{word(principal)} by hand\n\n{page.read_text()}")

    def add(self, p: Promptuary, name: str) -> None:
        """Write a note for the project, and one about the person, which follows the person unless it is a group's."""
        for kind in KINDS[:3]:
            title = f"{word(p.principal)} {name} {kind}"
            note = p.memory.write(f"the gazette says {title}", title=title, kind=kind, tags=[title])
            self.written.setdefault(p.principal, []).append(note.header)
        self.written[p.principal].sort(key=lambda header: header.scope)

    def _share_what_was_private(self, p: Promptuary) -> None:
        number = OWNERS[p.principal]
        before = p.memory.write(f"{word(p.principal)} draft", title=f"Gazette {number}", kind="reference")
        p.memory.write(id=before.header.id, content=f"gazette number {number}", audience="shared")

    def notes(self, principal: Principal = LOCAL) -> Path:
        return self.folder / ".promptuary/memory/agents" / folder_name(principal.agent)

    def file(self, principal: Principal) -> Path:
        """Return the file of the first private note of somebody in the project."""
        return self.notes(principal) / self.written[principal][0].path

    def foreign(self, who: Principal) -> list[str]:
        """Return what ``who`` must not see: words, ids and paths of others."""
        others = [one for one in PRINCIPALS if OWNERS[one] != OWNERS[who]]
        names = [name for one in others for header in self.written[one] for name in (header.id, Path(header.path).name)]
        return [*map(word, others), *(name for name in names if name not in self.told)]


def word(principal: Principal) -> str:
    return f"zq{OWNERS[principal]}word"


@contextmanager
def opened(folder: Path, principal: Principal = LOCAL, **options: Any) -> Iterator[Promptuary]:
    with Promptuary.open(folder, principal=principal, exact=True, embedder="none", **options) as p:
        yield p


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "project")


# The read paths


def prompt(turn: Turn) -> object:
    entries = [(one.layer, one.label, one.status, one.source, one.reason) for one in turn.receipt.entries]
    return turn.messages, entries, turn.receipt.warnings, turn.receipt.failures


def replayed(p: Promptuary, _: str) -> object:
    """Return a whole turn, as it was prepared, as the ledger has it, and as it is replayed."""
    thread = os.urandom(8).hex()
    turn = p.threads.prepare("What does the gazette say?", thread=thread)
    p.threads.finish(turn, "Nothing.")
    (stored,) = p.threads.turns(thread=thread)
    return prompt(turn), stored.messages, p.threads.replay(thread=thread).turn.messages


def expanded(*references: str) -> Callable[[Promptuary, str], object]:
    def read(p: Promptuary, key: str) -> object:
        return [p.expand(one.replace("KEY", key)).messages for one in references]

    return read


def completed(p: Promptuary, key: str) -> object:
    typed = (
        "@",
        "@memory:",
        f"@memory:{key[:3]}",
        "@memory:z",
        "@file:.prom",
        f"@file:{AGENT}/private/",
        f"#{AGENT}/",
        "@zq",
    )
    return [[(item.label, item.insert) for item in p.complete(one, timeout=5).items] for one in typed]


def own_page(p: Promptuary, _: str) -> object:
    """Return the lists that are written for the principal."""
    path = p.path / ".promptuary/memory/agents" / folder_name(p.principal.agent)
    pages = [path / page_path(audience, p.principal.owner) for audience in AUDIENCES]
    plain = [page for page in pages if page.is_file() and not page.is_symlink() and page.stat().st_nlink == 1]
    return [page.read_text(errors="replace") for page in plain]


def listed(p: Promptuary, _: str) -> object:
    some = [
        p.memory.list(limit=1),
        p.memory.list(scopes=["user"]),
        p.memory.list(scopes=["project"], statuses=STATUSES),
    ]
    return [(len(one.headers), one.total) for one in some]


FILE: Final = f"{AGENT}/KEY"


def lines_of(p: Promptuary, key: str) -> object:
    """Return lines of a file, or the error without the path that was asked for, which it quotes in short."""
    path = FILE.replace("KEY", key)
    try:
        return p.read_lines(path)
    except PromptuaryError as error:
        return repr(error).replace(os.path.normpath(path), "KEY")


DOORS: Final[Mapping[str, Callable[[Promptuary, str], object]]] = {
    "counts": listed,
    "a turn": lambda p, _: prompt(p.threads.prepare("What does the gazette say?", thread="other")),
    "a turn about a note": lambda p, key: prompt(
        p.threads.prepare(f"@memory:{key} and @memory:gazette", thread="third")
    ),
    "ledger and replay": replayed,
    "@memory": expanded("@memory:KEY", "@memory:gazette", "@memory:zq", "@memory:private/KEY", "@memory:memory:KEY"),
    "files": expanded(
        f"@file:{FILE}", f"@{FILE}", f"#{FILE}", f"@folder:{AGENT}", "@glob:**/*.md", "@glob:.promptuary/**"
    ),
    "git": expanded("@diff", "@git:3", "@staged", "@status"),
    "find_files": lambda p, key: [p.find_files("gazette"), p.find_files(key)],
    "read_lines": lines_of,
    "complete": completed,
    "examine": lambda p, _: [p.examine(), p.examine(fix=True)],
    "MEMORY.md": own_page,
}
PATHS: Final = {**MEMORY_READS, **DOORS}
_VOLATILE: Final = re.compile(r"score=[\d.e-]+|\('threads', \d+\)|(?:, )?ThreadSize\([^)]*\)")
"""Scores count how old a note is, to the second; and looking makes threads of one's own."""


def seen_by(p: Promptuary, keys: Sequence[str]) -> dict[str, str]:
    """Return what every read path gives for every key, errors included; the key itself is left out."""
    seen: dict[str, str] = {}
    for name, read in PATHS.items():
        for key in keys_for(read, keys):
            try:
                result = repr(read(p, key))
            except PromptuaryError as error:
                result = repr(error)
            seen[f"{name} {key}"] = _VOLATILE.sub("", result.replace(key, "KEY").replace(key[:60], "KEY"))
    return seen


def keys_of(world: World, who: Principal) -> list[str]:
    """Return the names by which ``who`` may try to get at a note of somebody else."""
    other = next(one for one in DEFAULTS if OWNERS[one] != OWNERS[who])
    header = world.written[other][0]
    names = [header.id, header.path, f"../{world.notes(other).name}/{header.path}", str(world.file(other))]
    if TORTURE:
        return names
    number = PRINCIPALS.index(who)
    return [names[number % len(names)], *names[2 : 3 if who == LOCAL else 2]]  # each of them is tried by somebody


def assert_apart(seen: Mapping[str, str], foreign: Sequence[str]) -> None:
    found = [
        (path, one, text[max(0, text.find(one) - 80) :][:200])
        for path, text in seen.items()
        for one in foreign
        if one in text
    ]
    assert found == []


def assert_all_apart(world: World) -> None:
    """Assert that no principal sees anything of others on any read path, and that all still have what is theirs."""
    for who in PRINCIPALS:
        with opened(world.folder, who) as p:
            assert_apart(seen_by(p, keys_of(world, who)), world.foreign(who))
            own = [p.memory.get(header.id) for header in world.written[who]]
        assert [note is not None and word(who) in note.text for note in own] == [True] * len(own)


# The forgeries


def nothing(world: World) -> None:
    """Forge nothing."""


def other_owner(world: World) -> None:
    """Let every file claim another owner."""
    labels = [owner_label(one.owner) for one in PRINCIPALS]
    for number, principal in enumerate(PRINCIPALS):
        for header in world.written[principal]:
            file = world.notes(principal) / header.path
            if file.is_file():
                claimed = labels[(number + 1) % len(labels)]
                file.write_text(re.sub(r"(?m)^owner: .*$", f"owner: {claimed}", file.read_text()))


def no_owner(world: World) -> None:
    for principal in PRINCIPALS:
        file = world.file(principal)
        file.write_text(re.sub(r"(?m)^owner: .*\n", "", file.read_text()))


def ids_of_others(world: World) -> None:
    """Let new files claim the ids of everybody's notes, in both audiences."""
    for number, principal in enumerate(DEFAULTS):
        for audience in ("private", "shared"):
            file = world.notes() / audience / "feedback" / f"forged-{number}.md"
            file.parent.mkdir(exist_ok=True)
            note = world.written[principal][0].id
            world.told.add(note)
            file.write_text(f"---\nid: {note}\nowner: local\ntitle: Forged\n---\nForged gazette.\n")


def moved_to_the_folder_of_another_agent(world: World) -> None:
    """Copy notes of one agent to those of the other: nobody there wrote them. Ada might adopt a copy of her own."""
    there = world.notes(PRINCIPALS[2]) / "private" / "project"
    for principal in (one for one in DEFAULTS if one != Principal("ada")):
        shutil.copy(world.file(principal), there / f"copy-{OWNERS[principal]}.md")


def links(world: World) -> None:
    """Lead to the notes of others by symbolic links: a note, a folder of notes, a list, an agent's folder."""
    ada, notes = world.file(PRINCIPALS[1]), world.notes()
    (notes / "private" / "reference").mkdir(exist_ok=True)
    (notes / "private" / "reference" / "link.md").symlink_to(ada)
    (notes / "shared" / "feedback").symlink_to(ada.parent)
    page = notes / page_path("private", LOCAL.owner)
    page.unlink()
    page.symlink_to(notes / page_path("private", PRINCIPALS[1].owner))
    (notes.parent / "linked").symlink_to(notes)


def hard_links(world: World) -> None:
    """Give the notes and lists of others second names."""
    ada, notes = world.file(PRINCIPALS[1]), world.notes()
    (notes / "private" / "reference").mkdir(exist_ok=True)
    os.link(ada, notes / "private" / "reference" / "second.md")
    page = notes / page_path("private", LOCAL.owner)
    page.unlink()
    os.link(notes / page_path("private", PRINCIPALS[1].owner), page)


def forged_lists(world: World) -> None:
    """Damage the marks of every list in another way."""
    texts = [f"{START}\n{START}\nForged.\n{END}\n{END}\n", f"{END}\n{START}\nForged.\n", f"{START}\n", ""]
    for text, principal in zip(texts, DEFAULTS, strict=True):
        page = world.notes() / page_path("private", principal.owner)
        page.write_text(f"{word(principal)} by hand\n{text}")
    (world.notes() / "shared" / "MEMORY.md").write_text(f"{START}\n{END}\n{START}\nForged.\n")


def tracked_by_git(world: World) -> None:
    """Commit everything that there is, and change it afterwards."""
    git(world.folder, "init", "-q")
    git(world.folder, "add", "-f", ".promptuary/memory")
    git(world.folder, "commit", "-qm", "all")
    for principal in DEFAULTS:
        file = world.file(principal)
        file.write_text(f"{file.read_text()}\nPulled.\n")


def unreadable(world: World) -> None:
    """Break the front matter of every note, and put things in the way that are no notes."""
    for principal in DEFAULTS:
        file = world.file(principal)
        file.write_text(f"---\nid: &a {world.written[principal][0].id}\nowner: [local\n{file.read_text()}")
        (file.parent / f"{word(principal)}-large.md").write_bytes(b"x" * (1 << 20) + b"yz")


FORGERIES: Final = (
    nothing,
    other_owner,
    no_owner,
    ids_of_others,
    moved_to_the_folder_of_another_agent,
    links,
    hard_links,
    forged_lists,
    tracked_by_git,
    unreadable,
)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda one: one.__name__)
def test_nobody_sees_anything_of_anothers_notes_whatever_is_forged(
    world: World, forge: Callable[[World], None]
) -> None:
    forge(world)
    assert_all_apart(world)


def test_nobody_can_count_the_notes_of_others(world: World) -> None:
    """What a principal sees is the same after everybody else has written more."""
    for who in (LOCAL, Principal("ada"), Principal("bob", group="team")):
        keys = keys_of(world, who)
        with opened(world.folder, who) as p:
            before = seen_by(p, keys)
            for other in (one for one in PRINCIPALS if OWNERS[one] != OWNERS[who]):
                with opened(world.folder, other) as q:
                    for number in range(3):
                        world.add(q, f"{who.user} {number}")
            p.memory.unadopted()  # looks at the files at once
            after = seen_by(p, keys)
        changed = {path: (before[path], text) for path, text in after.items() if text != before[path]}
        assert changed == {}
        assert_apart(after, world.foreign(who))


def test_the_check_sees_what_one_may_see(world: World) -> None:
    """The control: the owner finds their own words on every path that can show them."""
    with opened(world.folder) as p:
        seen = seen_by(p, [world.written[LOCAL][0].id])

    silent = {"counts", "files", "git", "find_files", "read_lines", "complete", "examine"}
    silent |= {"unadopted", "proposals", "adopt", "accept", "reject", "edit_proposal", "forget", "edit", "import_notes"}
    silent |= {"catch_up"}
    assert {path.split(" ")[0] for path, text in seen.items() if word(LOCAL) not in text} <= silent


# The command line: the person on this machine uses it


COMMANDS: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    **{f"memory {action}": each for action, each in MEMORY_COMMANDS.items()},
    "doctor": [[], ["--fix"]],
    "expand": [["@memory:KEY"], ["@memory:gazette"], ["gazette", "--thread", "main"]],
    "complete": [["@memory:"], ["@memory:KEY"], ["@memory:zq"]],
    "thread": [["replay", "-t", "main"], ["show", "-t", "main"]],
    "search": [["gazette"]],
}


@pytest.mark.parametrize("forge", [nothing, other_owner, tracked_by_git], ids=lambda one: one.__name__)
def test_no_command_shows_anything_of_anothers_notes(
    world: World,
    forge: Callable[[World], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.setenv("EDITOR", "cat")
    monkeypatch.chdir(world.folder.parent)  # what is exported stays out of the repository
    forge(world)
    header = world.written[Principal("ada")][0]
    seen: dict[str, str] = {}
    for command, each in COMMANDS.items():
        for arguments in each:
            takes_key = any("KEY" in one for one in arguments)
            for key in (header.id, header.path) if takes_key else (header.id,):
                given = [key if one == "KEY" else one.replace("KEY", key) for one in arguments]
                for form in ([], ["--json"]):
                    with suppress(SystemExit):
                        main([*command.split(), *given, *form, "--workspace", str(world.folder)])
                    out, err = capsys.readouterr()
                    seen[f"{command} {given} {form}"] = (out + err).replace(key, "KEY")
    assert_apart(seen, world.foreign(LOCAL))


# Clones, and databases of others


def cloned(world: World, monkeypatch: pytest.MonkeyPatch, *names: str) -> Path:
    """Return a clone on another machine, of a repository in which somebody committed ``names`` below .promptuary."""
    git(world.folder, "init", "-q")
    git(world.folder, "add", "-f", *(f".promptuary/{name}" for name in names))
    git(world.folder, "commit", "-qm", "all")
    clone = world.folder.with_name("clone")
    git(world.folder.parent, "clone", "-q", str(world.folder), str(clone))
    monkeypatch.setenv("HOME", str(world.folder.with_name("another home")))
    return clone


WAITING: Final = {"unadopted", "adopt", "examine"}
"""Where a private note of a clone is shown to whom it names as its owner, and to nobody else."""


def test_a_clone_shows_private_notes_to_nobody_and_shared_ones_as_external_text(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = cloned(world, monkeypatch, "memory")
    for who in DEFAULTS:
        with opened(clone, who) as p:
            seen = seen_by(p, keys_of(world, who))
            assert_apart(seen, world.foreign(who))
            own = [*map(word, [who]), *(header.id for header in world.written[who])]
            hidden = {path: text for path, text in seen.items() if path.split(" ")[0] not in WAITING}
            turn = p.threads.prepare("What is gazette number 0?")
        if who == LOCAL:  # adopt without a key took over what names the person: that is what it is for
            continue
        assert_apart({path: text for path, text in hidden.items() if not path.startswith("MEMORY.md")}, own)
        external = [one for one in turn.receipt.entries if one.layer == "memory_recall"]
        assert {one.trust for one in external} <= {Trust.EXTERNAL}


def test_a_database_that_came_with_a_clone_opens_no_note(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = cloned(world, monkeypatch, "memory", "state.db")
    (clone / ".promptuary").chmod(0o700)
    every = [name for one in PRINCIPALS for header in world.written[one] for name in (word(one), header.id)]
    for who in DEFAULTS:
        with opened(clone, who) as p:
            seen = seen_by(p, keys_of(world, who))
        assert_apart({path: text for path, text in seen.items() if not path.startswith("MEMORY.md")}, every)


def test_a_database_that_was_replaced_opens_no_note(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database of another workspace says that the ids of everybody's notes are its owner's."""
    other = tmp_path / "other"
    other.mkdir()
    with opened(other, Principal("bob")) as p:
        p.memory.write("Bob's own.", kind="project")
        forged = other / AGENT / "private" / "project"
        for principal in DEFAULTS:
            shutil.copy(world.file(principal), forged)
        p.memory.adopt()
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (world.folder / ".promptuary" / name).unlink(missing_ok=True)
    shutil.copy(other / ".promptuary" / "state.db", world.folder / ".promptuary" / "state.db")
    with opened(world.folder, Principal("bob")) as p:
        assert_apart(seen_by(p, keys_of(world, LOCAL)), [word(one) for one in DEFAULTS])


# Agents, groups, the person's root, and folders by template

NAMES: Final = (
    *("../default", "default/private", "a/b", "a", "Default", "DEFAULT", "default ", "défault", "agents/default", "."),
    *("..", "reviewer", "Reviewer", folder_name("Reviewer"), "nul", "~", "{user}", "ａ", "x" * 200),
)


def test_no_agent_sees_the_notes_of_another_not_even_shared_ones(tmp_path: Path) -> None:
    for number, name in enumerate(("default", *NAMES)):
        with opened(tmp_path, Principal(agent=name)) as p:
            for audience in AUDIENCES:
                p.memory.write(f"zq{number}word {audience}", kind="user", audience=audience, scope="project")
                p.memory.write(f"zq{number}word {audience} mine", kind="user", audience=audience, scope="user")
    assert {path.name for path in (tmp_path / ".promptuary" / "memory").iterdir()} == {"agents"}
    for number, name in enumerate(("default", *NAMES)):
        with opened(tmp_path, Principal(agent=name)) as p:
            seen = repr([p.memory.list(), p.memory.find("word", limit=500), prompt(p.threads.prepare("zq1word?"))])
        assert set(re.findall(r"zq(\d+)word [a-z]", seen)) == {str(number)}


def test_each_agent_has_indexes_of_its_own(tmp_path: Path) -> None:
    """In a shared one, the words of one agent would change what the other finds."""
    index, known = tmp_path / ".promptuary" / "index", set[str]()
    for name in ("default", "reviewer"):
        with opened(tmp_path, Principal(agent=name)) as p:
            p.memory.write("The gazette is printed at night.", kind="project")
            p.experiences.add("task_solution", "print the gazette", "at night")
            assert p.memory.find("gazette").hits
            assert p.experiences.find_similar("gazette").hits
        new = {path.name for path in index.iterdir() if path.name.startswith(("notes-", "experiences-"))} - known
        assert {one.partition("-")[0] for one in new} == {"notes", "experiences"}
        known |= new


def test_in_a_group_nothing_private_of_a_user_is_known_and_its_notes_are_the_groups(world: World) -> None:
    with opened(world.folder, Principal("ada", group="team")) as p:
        note = p.memory.write("About ada, said in the team.", kind="user")
        assert (note.header.scope, note.header.owner) == ("project", p.principal.owner)
        with pytest.raises(PromptuaryError, match="in a group, notes belong to the project"):
            p.memory.write("About ada.", kind="user", scope="user")
        assert p.memory.list(scopes=["user"]).total == 0
    with opened(world.folder, Principal("bob", group="team")) as p:
        assert p.memory.get(note.header.id) is not None
    for who in (LOCAL, Principal("ada"), Principal("team"), Principal("group:team"), Principal("ada", group="Team")):
        with opened(world.folder, who) as p:
            assert p.memory.get(note.header.id) is None


@pytest.mark.parametrize("lost", [False, True])
def test_no_user_has_the_name_of_a_group(world: World, lost: bool) -> None:
    """After the journal was lost, a note waits for whom it names: no user can be called like a group."""
    if lost:
        for name in ("state.db", "state.db-wal", "state.db-shm"):
            (world.folder / ".promptuary" / name).unlink(missing_ok=True)
    with opened(world.folder, Principal("group:team")) as p:
        seen = seen_by(p, keys_of(world, LOCAL))
    assert_apart(seen, [word(one) for one in PRINCIPALS])


def test_what_follows_a_person_into_another_workspace_follows_nobody_else(world: World, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for who in PRINCIPALS:
        with opened(elsewhere, who) as p:
            seen = seen_by(p, keys_of(world, who))
            found = p.memory.list()
        assert_apart(seen, world.foreign(who))
        own = [header.id for header in world.written[who] if header.scope == "user"]
        assert {one.id for one in found.headers} == set(own)


@pytest.mark.parametrize("template", ["{user}", "people/{user}", "{user}/{thread}"])
def test_with_a_folder_for_each_user_not_even_shared_notes_are_seen_by_another(tmp_path: Path, template: str) -> None:
    people = (LOCAL, Principal("team"), Principal("ada", group="team"), Principal("../local"), Principal("Local"))
    for number, who in enumerate(people):
        with opened(tmp_path, who, memory_folder=template) as p:
            p.memory.write(f"zq{number}word shared", audience="shared", kind="project")
            p.memory.write(f"zq{number}word private", kind="project")
    for number, who in enumerate(people):
        with opened(tmp_path, who, memory_folder=template) as p:
            seen = repr([p.memory.list(), p.memory.find("word", limit=50), prompt(p.threads.prepare("zq1word?"))])
        assert set(re.findall(r"zq(\d+)word [a-z]", seen)) == {str(number)}


def test_a_link_to_anothers_note_is_as_broken_as_one_to_nothing(world: World) -> None:
    ada = world.written[Principal("ada")][0]
    missing = "zz-nobody-0123456789ab"
    for path, title, note in ((ada.path, ada.title, ada.id), (f"private/feedback/{missing}.md", missing, missing)):
        with opened(world.folder) as p:
            text = f"See [it](../../{path}), [[{title}]], [[{note}]] and @memory:{note}."
            made = p.memory.write(text, title="Links", kind="project")
            found = [one for one in p.examine().findings if one.code == "BROKEN_LINK"]
            assert len(found) == 3
            p.memory.forget(made.header.id)
            with pytest.raises(UnknownNoteError, match="there is no note"):
                p.memory.write("It replaces another.", supersedes=note)
