"""What a session is pinned with, what has changed since, and every slip with what to do about it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary import ConflictError, PromptuaryError, UnknownSessionError
from promptuary.blocking import Promptuary
from promptuary.memory.values import NoteHeader
from promptuary.workspace.changes import revisions
from promptuary.workspace.workspace import Workspace
from tests.conftest import Files


@pytest.fixture
def p(files: Files) -> Iterator[Promptuary]:
    folder = files(
        {"src/app.py": "port = 80\n", "src/deep/b.py": "b = 1\n", "docs/style.md": "Be brief about tides.\n"}
    )
    with Promptuary.open(folder, exact=True, embedder="none") as promptuary:
        yield promptuary


def prompt(p: Promptuary, text: str, thread: str = "s") -> str:
    return "\n".join(message["content"] for message in p.threads.prepare(text, thread=thread).messages)


def write(p: Promptuary, path: str, text: str) -> None:
    (p.path / path).write_text(text)


def noted(p: Promptuary, text: str, title: str = "Tides") -> NoteHeader:
    return p.memory.write(text, title=title).header


# What is pinned


def test_a_session_pins_everything_that_there_is_unless_it_is_told_otherwise(p: Promptuary) -> None:
    noted(p, "The tide is high at noon.")
    session = p.sessions.create("s")

    assert (session.thread, session.roots, session.notes, session.memory) == ("s", (), "all", True)
    assert (session.files_pinned, session.notes_pinned, session.status) == (3, 1, "active")
    assert p.sessions.show("s").is_current
    assert list(p.sessions.list()) == [session]


def test_roots_are_files_and_folders_each_once_and_in_normal_form(p: Promptuary) -> None:
    session = p.sessions.create("s", roots=["src/", "./docs/style.md", "src"])

    assert (session.roots, session.files_pinned) == (("src", "docs/style.md"), 3)


def test_a_line_range_of_a_file_that_is_a_root_is_read(p: Promptuary) -> None:
    p.sessions.create("s", roots=["src/app.py"])

    assert "port = 80" in prompt(p, "@file:src/app.py:1-1 and @src/app.py:1 and #src/app.py:1")
    assert "OUTSIDE_SESSION" not in prompt(p, "@file:src/app.py:1-1 and #src/app.py:1")


def test_what_has_changed_since_is_told_and_pinned_again(p: Promptuary) -> None:
    kept, gone = noted(p, "The tide is high."), noted(p, "The tide is low.", "Low tide")
    p.sessions.create("s", roots=["src"])
    write(p, "src/app.py", "port = 81\n")
    write(p, "src/new.py", "")
    (p.path / "src/deep/b.py").unlink()
    write(p, "docs/style.md", "Nobody in the session sees this.\n")
    p.memory.write("The tide is higher.", id=kept.id)
    p.memory.archive(gone.id)
    added = noted(p, "The tide turns.", "Turn")

    report = p.sessions.show("s")
    assert (report.files.added, report.files.changed, report.files.gone) == (
        ["src/new.py"],
        ["src/app.py"],
        ["src/deep/b.py"],
    )
    assert (report.notes.added, report.notes.changed, report.notes.gone) == (
        [f"memory:{added.id}"],
        [f"memory:{kept.id}"],
        [f"memory:{gone.id}"],
    )
    again = p.sessions.refresh("s")
    assert (again.files, again.notes) == (report.files, report.notes)
    assert (again.session.version, again.session.files_pinned, again.session.notes_pinned) == (2, 2, 2)
    assert p.sessions.show("s").is_current


def test_a_change_that_leaves_size_and_time_as_they_were_is_seen(p: Promptuary) -> None:
    before = (p.path / "src/app.py").stat()
    p.sessions.create("s", roots=["src"])
    write(p, "src/app.py", "port = 81\n")
    os.utime(p.path / "src/app.py", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert p.sessions.show("s").files.changed == ["src/app.py"]


def test_what_did_not_change_is_not_read_again(p: Promptuary, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in p.path.rglob("*.*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    p.sessions.create("s")
    read: list[str] = []
    real = Workspace.read_bytes

    def watched(self: Workspace, path: str) -> tuple[bytes, os.stat_result]:
        read.append(path)
        return real(self, path)

    monkeypatch.setattr(Workspace, "read_bytes", watched)
    write(p, "src/app.py", "port = 8080\n")

    assert p.sessions.show("s").files.changed == ["src/app.py"]
    assert read == ["src/app.py"]


def test_more_files_than_can_be_pinned_are_refused(p: Promptuary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "MAX_FILES", 2)

    with pytest.raises(PromptuaryError, match="there are 3 files, and a session pins at most 2; name narrower roots"):
        p.sessions.create("s")
    assert p.sessions.create("s", roots=["src"]).files_pinned == 2


# What turns see


def test_a_note_is_served_as_it_was_pinned(p: Promptuary) -> None:
    changed, archived = noted(p, "The tide is high at noon."), noted(p, "The tide of the archive.", "Old tide")
    deleted = noted(p, "The tide that was deleted.", "Gone tide")
    p.sessions.create("s")
    p.memory.write("The tide is high at midnight.", id=changed.id, title="Night tide")
    p.memory.archive(archived.id)
    place = p.path / ".promptuary/memory/agents/default" / deleted.path
    place.unlink()
    newest = noted(p, "The new tide.", "Newest tide")

    asked = f"What of the tide? {' '.join(f'@memory:{one.id}' for one in (changed, archived, deleted, newest))}"
    seen = prompt(p, asked)
    for text in ("high at noon", "tide of the archive", "tide that was deleted", "Gone tide", "Old tide"):
        assert text in seen
    assert "midnight" not in seen
    assert "ewest tide" not in seen
    assert "midnight" in prompt(p, asked, thread="another")


def test_a_note_that_was_forgotten_is_gone_from_every_session(p: Promptuary) -> None:
    note = noted(p, "The tide of the smuggler is at four.", "Smuggler tide")
    p.sessions.create("s")
    assert "smuggler" in prompt(p, "When is the tide of the smuggler?").lower()
    p.memory.forget(note.id)

    turn = p.threads.prepare("And the tide?", thread="s")
    assert "smuggler" not in repr(turn.messages).lower()
    assert p.sessions.show("s").notes.gone == [f"memory:{note.id}"]


def test_a_file_that_changed_is_left_out_of_recall_and_named(p: Promptuary) -> None:
    write(p, "docs/tides.md", "The tide table of the harbour says noon.\n")
    p.search.index(".")
    p.sessions.create("s", roots=["docs"])
    question = "What does the tide table of the harbour say?"
    assert "says noon" in prompt(p, question)
    write(p, "docs/tides.md", "The tide table of the harbour says midnight.\n")

    turn = p.threads.prepare(question, thread="s")
    assert "midnight" not in repr(turn.messages)
    (warning,) = [one for one in turn.receipt.warnings if "docs/tides.md" in one]
    assert warning.endswith("`promptuary thread refresh s` pins them as they are now")
    assert "says midnight" in prompt(p, "@docs/tides.md")
    p.sessions.refresh("s")
    assert "says midnight" in prompt(p, question)


def test_what_a_turn_writes_belongs_to_its_session(p: Promptuary) -> None:
    noted(p, "The tide is low.", "Low tide")
    p.sessions.create("s", notes=[])
    p.sessions.create("other")
    turn = p.threads.prepare('@remember:"the tide bell rings twice"', thread="s")
    assert turn.expansion.outcomes[0].code is None
    written = p.memory.call_tool(
        "write_memory", {"type": "project", "title": "Bell", "content": "The tide bell is brass."}, turn=turn
    )
    assert written["written"]

    ids = [one.id for one in p.memory.list().headers]
    seen = prompt(p, f"What of the tide bell? {' '.join(f'@memory:{one}' for one in ids)}")
    assert "rings twice" in seen
    assert "brass" in seen
    assert "Low tide" not in seen
    assert "brass" not in prompt(p, "What of the tide bell?", thread="other")
    assert p.sessions.list()[-1].notes_pinned == 2


def test_without_memory_nothing_is_recalled_or_written(p: Promptuary) -> None:
    noted(p, "The tide is low.")
    p.sessions.create("s", memory=False)
    turn = p.threads.prepare('What of the tide? @memory:tide @remember:"always use tide tables"', thread="s")
    answer = p.memory.call_tool("write_memory", {"type": "project", "title": "T", "content": "C"}, turn=turn)
    p.threads.finish(turn, "I always use tide tables from now on.")

    assert [one.code for one in turn.expansion.outcomes] == ["OUTSIDE_SESSION", "OUTSIDE_SESSION"]
    assert "without memory" in str(answer["error"])
    assert "low" not in repr(turn.messages)
    assert (p.memory.list().total, list(p.memory.proposals())) == (1, [])


@pytest.mark.parametrize(("memory", "learnt"), [(True, ["Always use tide tables here."]), (False, [])])
def test_nothing_is_learnt_from_what_is_said_in_a_session_without_memory(
    p: Promptuary, memory: bool, learnt: list[str]
) -> None:
    p.sessions.create("s", memory=memory)
    p.threads.finish(p.threads.prepare("Always use tide tables here.", thread="s"), "All right.")

    assert [one.draft.content for one in p.memory.proposals()] == learnt


def test_with_no_notes_something_may_still_be_remembered(p: Promptuary) -> None:
    noted(p, "The tide is low.")
    p.sessions.create("s", notes="none")
    prompt(p, '@remember:"the bell rings twice"')

    assert p.memory.list().total == 2
    assert "twice" not in prompt(p, "What of the tide and the bell?")


def test_an_experience_is_seen_as_long_as_it_says_what_it_said(p: Promptuary) -> None:
    own = p.experiences.add("task_solution", "read the tide table", {"do": "look"})
    p.experiences.add("task_solution", "ring the bell", {"do": "ring"})
    session = p.sessions.create("s", experiences=[own.id])
    access = p._app.sessions().access("s")

    assert session.experiences_pinned == 1
    assert access.session is not None
    assert access.sees_experience(own.id, own.rev)
    assert not access.sees_experience(own.id, "another revision")
    assert p.sessions.show("s").is_current


# Archived


def test_no_turn_is_prepared_in_an_archived_session(p: Promptuary) -> None:
    p.sessions.create("s")
    turn = p.threads.prepare("hello", thread="s")
    assert p.sessions.archive("s").status == "archived"
    for action in (lambda: p.threads.prepare("again", thread="s"), lambda: p.threads.attach("src/app.py", thread="s")):
        with pytest.raises(ConflictError, match="archived; `promptuary thread archive --undo s` brings it back"):
            action()
    p.threads.finish(turn, "hello")

    assert p.sessions.archive("s").status == "archived"
    assert p.sessions.restore("s").status == "active"
    assert "hello" in prompt(p, "again")


# Slips


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("srcc", r"there is no 'srcc' in the workspace; is it src\?"),
        ("nowhere at all", "name a file or a folder of the workspace"),
        ("../other", "'../other' cannot be a root: .* workspace"),
        ("/etc", "'/etc' cannot be a root: "),
        (".promptuary", "'.promptuary' cannot be a root: it may not be read"),
    ],
)
def test_a_root_that_cannot_be_one_is_refused(p: Promptuary, root: str, message: str) -> None:
    with pytest.raises(PromptuaryError, match=message):
        p.sessions.create("s", roots=["src", root])
    assert list(p.sessions.list()) == []


def test_an_unknown_note_is_refused_with_those_that_are_near(p: Promptuary) -> None:
    note = noted(p, "The tide is low.", "Low tide")

    with pytest.raises(PromptuaryError, match=f"there is no note 'low tides'; is it {note.id}"):
        p.sessions.create("s", notes=["low tides"])
    with pytest.raises(PromptuaryError, match="there is no experience 'none'"):
        p.sessions.create("s", experiences=["none"])


def test_a_name_and_a_thread_are_taken_once(p: Promptuary) -> None:
    p.sessions.create("s", thread="one")
    p.threads.prepare("hello", thread="used")

    with pytest.raises(PromptuaryError, match="there is a session 's' already; choose another name"):
        p.sessions.create("s")
    with pytest.raises(PromptuaryError, match="the thread 'one' belongs to the session 's' already"):
        p.sessions.create("t", thread="one")
    with pytest.raises(PromptuaryError, match="the thread 'used' has been used already, and may hold"):
        p.sessions.create("t", thread="used")


def test_what_cannot_be_a_name_or_a_choice_is_refused(p: Promptuary) -> None:
    for name in ("", "  ", "a\nb", "x" * 201):
        with pytest.raises(PromptuaryError, match="cannot name a session"):
            p.sessions.create(name)
    with pytest.raises(PromptuaryError, match='notes are "all", "none" or a list of ids'):
        p.sessions.create("s", notes="some")
    with pytest.raises(PromptuaryError, match="roots are a list of paths"):
        p.sessions.create("s", roots="src")


def test_an_unknown_session_is_named_with_those_that_are_near(p: Promptuary) -> None:
    with pytest.raises(UnknownSessionError, match="there are none yet: `promptuary thread create NAME` makes one"):
        p.sessions.show("release")
    p.sessions.create("release")
    for action in (p.sessions.show, p.sessions.refresh, p.sessions.archive, p.sessions.restore):
        with pytest.raises(UnknownSessionError, match=r"there is no session 'relase'; is it release\?"):
            action("relase")
    with pytest.raises(UnknownSessionError, match="the sessions are release"):
        p.sessions.show("q")


def test_a_session_whose_thread_was_used_is_removed_after_its_turns(p: Promptuary) -> None:
    p.sessions.create("release", roots=["src"])
    p.threads.prepare("hello", thread="release")

    with pytest.raises(
        PromptuaryError, match=r"has turns; remove these first: `promptuary thread rm --thread release`"
    ):
        p.sessions.remove("release")
    assert [one.name for one in p.sessions.list()] == ["release"]
    p.threads.remove(thread="release")
    assert p.sessions.remove("release").name == "release"
    assert p.sessions.list() == []
    with pytest.raises(UnknownSessionError):
        p.sessions.remove("release")
    assert "Be brief about tides." in prompt(p, "see @docs/style.md", "release")


def test_a_question_creates_no_database(files: Files) -> None:
    folder = files({"a.py": "x = 1\n"})
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        assert list(p.sessions.list()) == []

    assert not (folder / ".promptuary").exists()


def test_a_session_is_the_same_in_the_next_process(files: Files) -> None:
    folder = files({"src/a.py": "inside = 1\n", "b.py": "outside = 1\n"})
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        made = p.sessions.create("s", roots=["src"])
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        assert list(p.sessions.list()) == [made]
        assert "outside" not in prompt(p, "@b.py @folder:.:contents").replace("is outside of", "")


def test_a_session_is_made_of_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with Promptuary.open(tmp_path / "empty", exact=True, embedder="none") as p:
        assert p.sessions.create("s").files_pinned == 0
        assert p.sessions.show("s").is_current
