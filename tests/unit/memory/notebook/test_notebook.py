"""The one write path, and what people do to the files by hand."""

import random
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from promptuary.base import concurrency
from promptuary.base.errors import NoteConflictError, PromptuaryError, SecretError
from promptuary.base.principals import LOCAL, Principal
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.notebook.pages import MemoryPages
from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import AnyNoteFiles, NoteRows
from promptuary.memory.values import HAND, NoteDraft
from promptuary.state import StateDatabase

ADA, BEN = Principal("ada"), Principal("ben")
SPACE = "agents/default"
BY_HAND = pytest.mark.parametrize("place", ["files"], indirect=True)
"""What people do to files, or what is in files alone: a database has neither."""


@dataclass
class Place:
    """Files and a journal that several principals use. ``edit`` and ``remove`` are what somebody does by hand."""

    files_of: Callable[[Principal], AnyNoteFiles]
    journal: NoteJournal
    edit: Callable[[str, str], None]
    tracked: Collection[str] | None = frozenset()
    changed: list[str] = field(default_factory=list)
    seconds: int = 0

    def of(self, principal: Principal = LOCAL) -> Notebook:
        return Notebook(
            "project",
            self.files_of(principal),
            self.journal,
            principal,
            tracked=lambda: self.tracked,
            clock=self.now,
            on_change=lambda _, notes: self.changed.extend(notes),
        )

    @property
    def files(self) -> AnyNoteFiles:
        return self.files_of(LOCAL)

    def now(self) -> str:
        self.seconds += 1
        return f"2026-03-01T10:00:{self.seconds % 60:02}Z"

    def text(self, path: str) -> str:
        return (self.files.read(path) or b"").decode()


@pytest.fixture(params=["files", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    base = tmp_path / "memory"
    base.mkdir()
    state = StateDatabase(tmp_path / "state.db")
    if request.param == "database":
        yield Place(
            lambda principal: NoteRows(state.database, SPACE, principal.owner),
            state.notes(SPACE),
            lambda *_: pytest.fail("nobody edits notes in a database by hand"),
        )
        state.close()
        return

    def edit(path: str, text: str) -> None:
        file = base / SPACE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")

    yield Place(lambda _: NoteFiles(base, SPACE), state.notes(SPACE), edit)
    state.close()


def written(notebook: Notebook, content: str = "Use tabs.", **fields: Any) -> Any:
    return notebook.write(NoteDraft(content, **fields)).note


# Writing


def test_a_new_note_lies_where_its_audience_kind_and_title_say(place: Place) -> None:
    note = written(place.of(), "Use tabs, always.", kind="feedback", title="Tabs & Spaces", tags=["style", "#py"])

    assert note.header.path == f"private/feedback/tabs-spaces-{note.header.id}.md"
    assert note.body == "Use tabs, always."
    assert (note.header.tags, note.header.trust, note.header.source) == (("style", "py"), "person", "manual")
    assert place.of().read(note.header.id) == note
    assert place.of().read(note.header.path) == note
    assert place.changed == [note.header.id]


def test_half_a_character_that_a_model_wrote_is_no_reason_to_fail(place: Place) -> None:
    note = written(place.of(), "Tabs \ud800.", title="Half \udfff")
    again = place.of().write(NoteDraft("Tabs \ud800.", title="Half \udfff"))

    assert (again.note.header.id, again.changed) == (note.header.id, False)


def test_an_update_keeps_the_path_and_what_it_does_not_name(place: Place) -> None:
    first = written(place.of(), title="Tabs", tags=["style"], kind="project")
    second = place.of().write(NoteDraft("Use four spaces.", id=first.header.id, title="Spaces", kind="feedback")).note

    assert second.header.path == first.header.path
    assert (second.header.title, second.header.kind, second.header.tags) == ("Spaces", "feedback", ("style",))
    assert (second.header.created_at, second.header.updated_at > first.header.updated_at) == (
        first.header.created_at,
        True,
    )


@BY_HAND
def test_broken_front_matter_gets_no_second_one_before_it(place: Place) -> None:
    note = written(place.of())
    broken = place.text(note.header.path).replace("kind:", "kind: [", 1)
    place.edit(note.header.path, broken)
    place.of().sync()
    for draft in (NoteDraft(id=note.header.id, pinned=True), NoteDraft("Use spaces.", id=note.header.id)):
        with pytest.raises(PromptuaryError, match=r"front matter .* cannot be read .* memory edit"):
            place.of().write(draft)
    assert place.text(note.header.path) == broken

    other = broken.replace("tabs", "spaces")
    now = place.of().read(note.header.id)
    assert now is not None
    place.of().replace_text(note.header.id, other, if_rev=now.header.rev, reason="")
    assert place.text(note.header.path) == other


def test_an_update_that_changes_nothing_is_no_change(place: Place) -> None:
    first = written(place.of(), title="Tabs")
    again = place.of().write(NoteDraft("Use tabs.", id=first.header.id))

    assert (again.changed, again.note) == (False, first)
    assert len(place.of().view.changes(first.header.id)) == 1


@BY_HAND
def test_unknown_keys_comments_and_line_endings_survive_an_update(place: Place) -> None:
    place.edit("private/user/mine.md", "---\r\n# mine\r\naliases: [x]  # keep\r\ntitle: 'T'\r\n---\r\nBody\r\n")
    notebook = place.of()
    notebook.sync()
    (header,) = notebook.view.headers()
    notebook.write(NoteDraft(id=header.id, pinned=True))

    text = place.text("private/user/mine.md")
    assert text.startswith("---\r\n# mine\r\naliases: [x]  # keep\r\ntitle: 'T'\r\n")
    assert text.endswith("---\r\nBody\r\n")
    assert "pinned: true\r\n" in text


def test_a_write_for_another_revision_is_a_conflict_that_shows_what_is_there(place: Place) -> None:
    first = written(place.of())
    second = place.of().write(NoteDraft("Use spaces.", id=first.header.id), if_rev=first.header.rev).note

    with pytest.raises(NoteConflictError) as conflict:
        place.of().write(NoteDraft("Use both.", id=first.header.id), if_rev=first.header.rev)
    assert conflict.value.current == second
    assert place.of().read(first.header.id) == second


@BY_HAND
def test_what_an_editor_saved_is_recorded_before_it_is_changed(place: Place) -> None:
    note = written(place.of(), title="Tabs")
    place.edit(note.header.path, note.text.replace("Use tabs.", "Use spaces."))

    with pytest.raises(NoteConflictError):
        place.of().write(NoteDraft(id=note.header.id, pinned=True), if_rev=note.header.rev)
    pinned = place.of().write(NoteDraft(id=note.header.id, pinned=True)).note
    assert pinned.body == "Use spaces."
    changes = [(change.kind, change.actor) for change in place.of().view.changes(note.header.id)]
    assert changes == [("create", "local/default"), ("edit", HAND), ("update", "local/default")]


def test_a_database_that_is_full_does_not_have_us_say_that_nothing_was_written(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        place = Place(lambda _: NoteFiles(tmp_path / "memory", SPACE), state.notes(SPACE), lambda *_: None)
        note, chance = written(place.of()), random.Random(1)
        other = " ".join(f"word{chance.random():.6f}" for _ in range(4_000))  # which cannot be packed
        state._database._writer.execute(  # type: ignore[attr-defined]
            "PRAGMA max_page_count = 1"
        )  # which SQLite rounds up to what there is
        with pytest.raises(PromptuaryError, match=r"tabs-\w+\.md was written, but .*state.db: the disk is full"):
            written(place.of(), other, id=note.header.id)
        assert other.strip() in place.text(note.header.path)
        with pytest.raises(PromptuaryError, match=r"^\S+state.db: the disk is full"):
            written(place.of(), other + "More.")
        assert list(place.files.list()) == [note.header.path]


@pytest.mark.parametrize("key", ["0123456789ab", "../../etc/passwd", "private/user/x.md", "a/b", "", "x" * 300])
def test_an_id_that_nobody_wrote_is_no_new_note(place: Place, key: str) -> None:
    with pytest.raises(PromptuaryError):
        place.of().write(NoteDraft("Something.", id=key))
    assert not place.of().view.headers()
    assert not [path for path in place.files.list() if path.count("/") == 2]


def test_the_same_said_again_is_the_same_note(place: Place) -> None:
    note = written(place.of(), "Use tabs.")

    again = place.of().write(NoteDraft("  use TABS "))
    assert (again.note, again.changed) == (note, False)
    assert written(place.of(), "Use tabs.", audience="shared").header.id != note.header.id


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "The key is AKIAQWERTYUIOPASDFGH."},
        {"content": "My password is hunter2!"},
        {"content": "Deploys.", "title": "api_key: 9f8e7d6c5b4a"},
        {"content": "Deploys.", "tags": ["ghp_" + "a1B2" * 9]},
    ],
)
def test_secrets_are_refused_and_nothing_is_stored(place: Place, fields: dict[str, Any]) -> None:
    with pytest.raises(SecretError):
        place.of().write(NoteDraft(**fields))
    assert dict(place.files.list()) == {}


@pytest.mark.parametrize(
    "text",
    [
        "The password is stored in the vault.",
        "The pin is checked by the reader.",
        "Set api_key: $API_KEY before you start.",
        "Tokens: 1,000 a day.",
    ],
)
def test_a_sentence_about_a_secret_is_none(place: Place, text: str) -> None:
    assert written(place.of(), text).body == text


def test_a_file_is_moved_where_there_is_none(place: Place) -> None:
    one, other = "private/user/a.md", "shared/project/b.md"
    place.files.create(one, b"text")
    place.files.create(other, b"other")

    assert not place.files.move(one, other)
    assert (place.files.read(one), place.files.read(other)) == (b"text", b"other")
    place.files.remove(other)
    assert place.files.move(one, other)
    assert (place.files.read(one), place.files.read(other)) == (None, b"text")
    assert not place.files.move(one, other)


def test_sharing_a_note_moves_it_and_others_see_nothing_of_what_it_was(place: Place) -> None:
    note = written(place.of(ADA), "Draft: salary is low.", title="Plan")
    shared = place.of(ADA).write(NoteDraft("The plan.", id=note.header.id, audience="shared")).note

    assert shared.header.path == note.header.path.replace("private/", "shared/")
    assert [path for path in place.files.list() if path.count("/") == 2] == [shared.header.path]
    assert place.of(BEN).read(note.header.id) is not None
    assert [change.rev for change in place.of(BEN).view.changes(note.header.id)] == [shared.header.rev]


def test_a_frozen_note_is_changed_by_the_person_alone(place: Place) -> None:
    note = written(place.of(), status="frozen")

    with pytest.raises(PromptuaryError, match="frozen"):
        place.of().write(NoteDraft("Other.", id=note.header.id, source="writeback", trust="agent"))
    assert place.of().write(NoteDraft("Other.", id=note.header.id)).note.body == "Other."


def test_whoever_pins_a_note_does_not_become_its_author(place: Place) -> None:
    note = place.of().write(NoteDraft("From a page.", source="writeback", trust="external")).note
    pinned = place.of().write(NoteDraft(id=note.header.id, pinned=True)).note
    said = place.of().write(NoteDraft("In my words.", id=note.header.id)).note

    assert (pinned.header.trust, pinned.header.source) == ("external", "writeback")
    assert (said.header.trust, said.header.source) == ("person", "manual")


@BY_HAND
def test_a_note_whose_file_was_deleted_can_be_brought_back(place: Place) -> None:
    note = written(place.of(), title="Tabs")
    place.files.remove(note.header.path)
    place.of().sync()

    assert place.of().read(note.header.id) is None
    assert [change.kind for change in place.of().view.changes(note.header.id)] == ["create", "delete"]
    again = place.of().restore_text(note.header.id, note.text, if_rev=None, reason="").note
    assert again == note


# What is done by hand


@BY_HAND
def test_a_file_by_hand_is_taken_over_where_it_can_only_be_the_persons_own(place: Place) -> None:
    place.edit("private/user/tea.md", "# Tea\n\nNo milk.\n")
    place.of().sync()

    (header,) = place.of().view.headers()
    assert (header.title, header.owner, header.external) == ("Tea", LOCAL.owner, False)
    assert place.text("private/user/tea.md") == "# Tea\n\nNo milk.\n"


@pytest.mark.parametrize("why", ["tracked", "unknown", "another principal", "names another", "somebody else looks"])
@BY_HAND
def test_a_private_file_that_may_be_anybodys_is_seen_by_nobody_until_adopted(place: Place, why: str) -> None:
    path = "private/user/tea.md"
    owner = "owner: ben\n" if why == "names another" else ""
    who = BEN if why == "somebody else looks" else LOCAL
    if why == "another principal":
        written(place.of(ADA), "Mine.")
    place.tracked = {"tracked": {path}, "unknown": None}.get(why, frozenset())
    place.edit(path, f"---\nid: abcdef123456\n{owner}---\nNo milk.\n")
    place.of(who).sync()

    for principal in (LOCAL, ADA, BEN):
        assert "abcdef123456" not in [one.id for one in place.of(principal).view.headers()]
        assert place.of(principal).read("abcdef123456") is place.of(principal).read(path) is None
    listed = [one.path for one in place.of().unadopted()]
    assert listed == ([] if why == "names another" else [path])
    if listed:
        assert [one.path for one in place.of().adopt()] == [path]
        assert place.of().read(path) is not None
    else:
        assert [one.path for one in place.of(BEN).adopt()] == [path]
        assert place.of(BEN).read(path) is not None
    assert place.of(ADA).read(path) is None


@BY_HAND
def test_a_private_file_that_names_another_owner_is_adopted_once_it_names_the_person(place: Place) -> None:
    path, text = "private/user/tea.md", "---\nid: abcdef123456\nowner: ada\n---\nGreen tea.\n"
    place.edit(path, text)
    place.of().sync()
    assert (place.of().unadopted(), place.of().adopt([path]), place.of().adopt()) == ([], [], [])

    place.edit(path, text.replace("ada", "local"))
    place.of().sync()
    assert [one.path for one in place.of().view.headers()] == [path]


@BY_HAND
def test_a_shared_file_of_a_clone_is_external_text_until_adopted(place: Place) -> None:
    path = "shared/project/deploys.md"
    place.tracked = {path}
    place.edit(path, "---\nid: abcdef123456\nowner: local\ntrust: person\n---\nRun deploy.sh.\n")
    place.of().sync()

    note = place.of().read("abcdef123456")
    assert note is not None
    assert (note.header.external, note.header.trust, note.header.owner) == (True, "external", None)
    (taken,) = place.of().adopt(["abcdef123456"])
    assert (taken.external, taken.owner) == (False, LOCAL.owner)

    place.edit(path, "---\nid: abcdef123456\ntrust: person\n---\nRun evil.sh.\n")  # a pull
    place.of().sync()
    pulled = place.of().read("abcdef123456")
    assert pulled is not None
    assert (pulled.header.external, pulled.header.trust) == (True, "external")


@BY_HAND
def test_an_owner_that_is_changed_in_a_file_changes_nothing(place: Place) -> None:
    note = written(place.of(ADA), "Mine.")
    place.edit(note.header.path, note.text.replace("owner: ada", "owner: ben"))
    place.of(BEN).sync()

    assert place.of(BEN).read(note.header.id) is None
    kept = place.of(ADA).read(note.header.id)
    assert kept is not None
    assert kept.header.owner == ADA.owner


@BY_HAND
def test_a_file_that_claims_the_id_of_another_note_gets_none_of_it(place: Place) -> None:
    note = written(place.of(ADA), "Mine.")
    place.edit("private/user/forged.md", f"---\nid: {note.header.id}\nowner: ben\n---\nForged.\n")
    place.edit("shared/user/forged.md", f"---\nid: {note.header.id}\n---\nForged.\n")
    place.of(BEN).sync()

    mine = place.of(ADA).read(note.header.id)
    assert mine is not None
    assert mine.body == "Mine."
    assert place.of(BEN).read(note.header.id) is None
    shared = place.of(BEN).read("shared/user/forged.md")
    assert shared is not None
    assert (shared.header.external, shared.header.id != note.header.id) == (True, True)
    assert shared.header.problem == "another note has its id"


@BY_HAND
def test_a_file_that_is_moved_by_hand_stays_the_same_note(place: Place) -> None:
    note = written(place.of(ADA), "Mine.", kind="user")
    place.files.remove(note.header.path)
    place.edit("private/project/renamed.md", note.text)
    place.of(BEN).sync()

    moved = place.of(ADA).read(note.header.id)
    assert moved is not None
    assert moved.header.path == "private/project/renamed.md"
    assert place.of(BEN).read(note.header.id) is None


@BY_HAND
def test_a_note_whose_file_was_moved_is_found_by_whoever_asks_for_it(place: Place) -> None:
    notebook = place.of()
    read, changed = written(notebook, "Read."), written(notebook, "Changed.")
    for note in (read, changed):
        place.files.move(note.header.path, f"private/project/moved-{note.header.id}.md")

    found = notebook.read(read.header.id)
    assert found is not None
    assert found.header.path == f"private/project/moved-{read.header.id}.md"
    place.files.move(f"private/project/moved-{changed.header.id}.md", f"private/user/{changed.header.id}.md")
    after = notebook.write(NoteDraft("Changed again.", id=changed.header.id)).note
    assert after.header.path == f"private/user/{changed.header.id}.md"


@BY_HAND
def test_where_very_many_files_are_new_others_write_in_between_and_all_are_taken_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptuary.memory.notebook.notebook._AT_ONCE", 4)
    notebook, writer = place.of(), place.of()
    moved, gone = written(writer, "Moved."), written(writer, "Gone.")
    for number in range(20):
        place.edit(f"private/project/n{number:02}.md", f"---\nid: n{number:04}\n---\nNumber {number}.\n")
    place.edit("private/project/o-copy.md", "---\nid: n0001\n---\nA copy.\n")
    place.files.move(moved.header.path, "private/user/moved.md")
    place.files.remove(gone.header.path)
    place.changed.clear()
    looking = concurrency.begin(notebook.sync)
    while not place.changed:
        time.sleep(0.001)
    own = written(writer, "In between.")

    assert looking.result()
    order = place.changed
    assert order.index("n0000") < order.index(own.header.id) < order.index("n0019")
    headers = {one.id: one for one in notebook.view.headers()}
    assert set(headers) == {own.header.id, moved.header.id, *(f"n{number:04}" for number in range(20))}
    assert headers[moved.header.id].path == "private/user/moved.md"
    assert [one.kind for one in notebook.view.changes(gone.header.id)] == ["create", "delete"]
    assert [one.path for one in notebook.unadopted()] == ["private/project/o-copy.md"]
    assert not notebook.sync()


@pytest.mark.parametrize("tracked", [False, True])
@BY_HAND
def test_what_a_note_was_earlier_is_a_change_when_it_is_put_back_by_hand(place: Place, tracked: bool) -> None:
    first = written(place.of(), title="Tabs")
    path = first.header.path
    second = place.of().write(NoteDraft("Use spaces.", id=first.header.id)).note
    place.tracked = {path} if tracked else frozenset()
    place.edit(path, first.text)
    place.of().sync()

    changes = place.of().view.changes(first.header.id)
    assert [(one.kind, one.rev, one.before) for one in changes[1:]] == [
        ("update", second.header.rev, first.header.rev),
        ("edit", first.header.rev, second.header.rev),
    ]
    header = place.of().view.header(first.header.id)
    assert header is not None
    assert not header.external
    place.edit(path, first.text)
    assert not any(place.of().sync() and len(place.of().view.changes(first.header.id)) > 3 for _ in range(2))


@BY_HAND
def test_a_pull_that_is_taken_back_leaves_nothing_in_the_history(place: Place) -> None:
    note = written(place.of(), title="Deploys", audience="shared")
    place.tracked = {note.header.path}
    place.edit(note.header.path, note.text.replace("tabs", "evil"))
    place.of().sync()
    place.edit(note.header.path, note.text)
    place.of().sync()

    assert [change.kind for change in place.of().view.changes(note.header.id)] == ["create"]
    assert place.of().read(note.header.id) == note


@BY_HAND
def test_a_forgotten_note_does_not_come_back_with_its_file(place: Place) -> None:
    note = written(place.of(), "Mine.")
    place.of().remove(note.header.id)
    place.journal.forget(note.header.id, at="now", actor="local")
    place.edit(note.header.path, note.text)
    place.of().sync()

    assert place.of().read(note.header.id) is None


@BY_HAND
def test_legacy_folders_are_read_with_their_kinds(place: Place) -> None:
    place.edit("private/profile/a.md", "I am a nurse.\n")
    place.edit("private/qa/b.md", "The door code is on the board.\n")
    place.of().sync()

    assert {one.path: one.kind for one in place.of().view.headers()} == {
        "private/profile/a.md": "user",
        "private/qa/b.md": "reference",
    }


# The lists


def pages(place: Place, principal: Principal = LOCAL) -> MemoryPages:
    return MemoryPages(place.of(principal), principal.owner, tracked=lambda: place.tracked)


@BY_HAND
def test_a_list_tells_nobody_the_titles_of_another_person(place: Place) -> None:
    written(place.of(ADA), "Mine.", title="Ada's secret title")
    written(place.of(BEN), "Mine, too.", title="Ben's secret title")
    for principal in (ADA, BEN):
        pages(place, principal).refresh()

    listed = [place.text(path) for path in place.files.list() if path.count("/") == 1]
    assert len(listed) == 2
    assert all(("Ada" in text) != ("Ben" in text) for text in listed)


@BY_HAND
def test_human_text_around_a_list_is_kept_and_read(place: Place) -> None:
    written(place.of(), "Use tabs.", title="Tabs $& ]( <!-- -->")
    place.edit("private/MEMORY.md", "My own words.\n")
    pages(place).refresh()
    pages(place).refresh()

    text = place.text("private/MEMORY.md")
    assert text.startswith("My own words.\n")
    assert text.count("Tabs") == 1
    assert [(page.text, page.external) for page in pages(place).read()] == [("My own words.", False)]


@BY_HAND
def test_a_page_that_git_tracks_may_be_anybodys_words(place: Place) -> None:
    written(place.of(), "Use tabs.", audience="shared")
    for audience in ("private", "shared"):
        place.edit(f"{audience}/MEMORY.md", f"{audience} words.\n")
    place.tracked = {"private/MEMORY.md", "shared/MEMORY.md"}

    assert [(page.text, page.external) for page in pages(place).read()] == [("shared words.", True)]
