"""Forgetting through the whole program: no byte of a note is found in anybody's files afterwards."""

import errno
import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.errors import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.database.sqlite import SqliteDatabase
from promptuary.memory.copies import CopyEraser
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.values import NoteDraft, NoteKind
from promptuary.memory.writeback.values import Proposal, QueuedTurn
from promptuary.references.input_history import keep_line
from promptuary.search.index import generations

NONCE = "Zk4Nonce9Qw"
ADA, BEN = Principal("ada"), Principal("ben")


def found(*folders: Path) -> list[str]:
    """Return the files that hold the nonce, whatever their format."""
    return [
        str(path)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts and NONCE.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("kind", ["user", "project"])
def test_no_byte_of_a_forgotten_note_is_found_anywhere(workspace: Path, kind: NoteKind) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(
            f"The badge of the office says {NONCE}A.", title=f"Badge {NONCE}B", kind=kind, tags=[f"{NONCE}C"]
        )
        p.memory.write(f"The badge of the office says {NONCE}D, really.", id=note.header.id, summary=f"{NONCE}E")
        turn = p.threads.prepare("What does the badge of the office say?")
        assert NONCE in str(turn.messages)
        p.threads.finish(turn, "You know it.")
        assert len(found(workspace, Path.home())) > 2

        report = p.memory.forget(note.header.id)
        assert (report.note, report.done, list(report.places)) == (note.header.id, True, [])
        assert report.prompts > 0
        assert p.memory.get(note.header.id) is None
        assert not p.memory.find("badge").hits
        assert "forgotten" in str(p.threads.replay(number=1)).lower()
        assert NONCE not in str(p.threads.replay(number=1))
    assert found(workspace, Path.home()) == []


def test_what_somebody_said_is_shown_and_taken_out_on_demand(workspace: Path) -> None:
    said = f"The badge of the office says {NONCE}."
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        p.threads.finish(p.threads.prepare(f"Remember: {said}"), "Fine.")
        note = p.memory.write(said)
        places = p.memory.forget(note.header.id, dry_run=True).places
        assert places
        assert p.memory.get(note.header.id) is not None
        p.memory.forget(note.header.id)
        assert NONCE in str(p.threads.history())

        again = p.memory.write(said)
        assert p.memory.forget(again.header.id, everywhere=True).redacted
        assert NONCE not in str(p.threads.history())
    assert found(workspace, Path.home()) == []


VARIANTS = [
    "The badge of the office says {}.",
    "the badge of the office says {}",
    "THE BADGE OF THE OFFICE SAYS {}!!",
    "remember that the badge of the office says {}",
    "Please note:  the badge of\n the office says {}?",
    "the badge of the office says “{}”…",
    "the \"badge\" of the office says '{}'.",
    "ｔｈｅ badge of the ofﬁce\u00a0says {}。",
    "> the badge of the office says `{}`",
]
"""The same sentence as people write it, the first as the note has it."""


@pytest.mark.parametrize("said", VARIANTS)
def test_the_same_words_are_found_however_somebody_wrote_them(workspace: Path, said: str) -> None:
    words = said.format(NONCE)
    reply: list[dict[str, object]] = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "name": "write_file", "arguments": json.dumps({"text": words})}],
        },
        {"role": "tool", "content": f"wrote: {words}", "tool_call_id": "c1"},
        {"role": "assistant", "content": f"Ok: {words}"},
    ]
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        first = p.threads.prepare(words)
        p.threads.finish(first, reply)
        p.threads.finish(p.threads.prepare("and so on"), "Fine.")
        p.threads.prepare(words, thread="pending")
        p.experiences.add("task_solution", "enter the office", words)
        keep_line(workspace, p.principal, words)
        state, who = p._app.state(), p.principal
        state.writeback_queue(who).add(QueuedTurn(first.id, "main", "2026-01-02", json.dumps([words])))
        state.proposals(who).add(Proposal("p1", "write", "2026-01-02", "extract", NoteDraft(content=words), "f1"))
        note = p.memory.write(VARIANTS[0].format(NONCE), title="Badge")

        places = {(one.kind, one.name) for one in p.memory.forget(note.header.id, dry_run=True).places}
        assert {kind for kind, _ in places} == {"thread", "queue", "proposal", "experience", "typed"}
        assert {name for kind, name in places if kind == "thread"} == {"main", "pending"}
        p.memory.forget(note.header.id, everywhere=True)
        assert NONCE not in str(p.threads.prepare("what do you know?").messages)
    assert found(workspace, Path.home()) == []


@pytest.mark.parametrize(
    ("said", "remembered"),
    [
        (f"my name is {NONCE}", f"My name is {NONCE}"),
        (f"So please call me {NONCE}, always.", f"The user wants to be called {NONCE}: call me {NONCE}"),
        (f"i really do prefer the tool {NONCE} for my tests", f"Prefers the tool {NONCE} for tests."),
    ],
)
def test_what_a_note_was_made_from_is_found_in_its_thread(workspace: Path, said: str, remembered: str) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        p.threads.finish(p.threads.prepare(f"Hello there. {said}"), "Fine.")
        note = p._app.memory.of().put(NoteDraft(remembered, source="writeback", source_ref="thread:main"))
        assert ("thread", "main") in [
            (one.kind, one.name) for one in p.memory.forget(note.header.id, dry_run=True).places
        ]
        p.memory.forget(note.header.id, everywhere=True)
        assert "Hello there." in str(p.threads.history())
    assert found(workspace, Path.home()) == []


def test_what_was_learnt_of_the_same_words_is_shown_and_taken_out_on_demand(workspace: Path) -> None:
    said = f"Always open the door with {NONCE} in the morning."
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        p.threads.finish(p.threads.prepare(said), "Fine.")
        (learnt,) = p.experiences.list().experiences
        other = p.experiences.add("task_solution", "close the door in the evening", "turn the key")
        note = p.memory.write(said, kind="project")
        places = p.memory.forget(note.header.id, dry_run=True).places
        assert ("experience", learnt.id) in [(one.kind, one.name) for one in places]
        assert other.id not in [one.name for one in places]
        p.memory.forget(note.header.id)
        assert p.experiences.get(learnt.id) is not None

        again = p.memory.write(said, kind="project")
        p.memory.forget(again.header.id, everywhere=True)
        assert [one.id for one in p.experiences.list().experiences] == [other.id]
        assert [hit.experience.id for hit in p.experiences.find_similar("open the door").hits] == [other.id]
    assert found(workspace, Path.home()) == []


def test_a_shared_note_is_forgotten_in_the_prompts_and_indexes_of_all(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, principal=ADA, embedder="none") as ada:
        note = ada.memory.write(f"The badge says {NONCE}.", audience="shared", kind="project")
        with Promptuary.open(workspace, exact=True, principal=BEN, embedder="none") as ben:
            turn = ben.threads.prepare("What does the badge say?")
            assert NONCE in str(turn.messages)
            ben.threads.finish(turn, "That.")
            with pytest.raises(PromptuaryError, match="shared by ada"):
                ben.memory.forget(note.header.id)
        ada.memory.forget(note.header.id)
        with Promptuary.open(workspace, exact=True, principal=BEN, embedder="none") as ben:
            assert not ben.memory.find("badge").hits
    assert found(workspace, Path.home()) == []


def test_a_note_that_follows_the_person_is_forgotten_in_other_workspaces_when_they_are_next_used(
    workspace: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with Promptuary.open(other, exact=True, embedder="none") as p:
        note = p.memory.write(f"My badge says {NONCE}.", kind="user")
        p.threads.finish(p.threads.prepare("What does my badge say?"), "That.")
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        p.memory.forget(note.header.id)
    with Promptuary.open(other, exact=True, embedder="none") as p:
        p.threads.finish(p.threads.prepare("Hello"), "Hello.")
    assert found(workspace, other, Path.home()) == []


def test_a_kill_after_the_last_file_is_gone_leaves_a_note_that_can_still_be_forgotten_whole(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", kind="project").header
        assert p.memory.find("badge").hits
    # As far as a process that is killed comes: the file is removed, the index and the journal are as they were.
    next(workspace.rglob(f"*{note.id}.md")).unlink()
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        assert not p.memory.list().headers
        p.memory.forget(note.id)
    assert found(workspace, Path.home()) == []


def test_what_a_kill_left_in_the_free_pages_goes_when_the_note_is_forgotten_again(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"My badge says {NONCE}.", kind="user").header.id
        memory = p._app.memory.of()
        journal = next(one.journal for one in memory.notebooks() if one.scope == "user")
        assert isinstance(journal, NoteJournal)
        assert isinstance(journal._database, SqliteDatabase)
        journal._database._timeout = 0.1
        with closing(sqlite3.connect(Path.home() / ".local/share/promptuary/memory/state.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM note_change").fetchone()
            # Whoever reads keeps the log from being cut: the note is forgotten, and bytes of it are still there.
            with pytest.raises(PromptuaryError, match="read by another process"):
                p.memory.forget(note)
        assert found(Path.home())
        with pytest.raises(PromptuaryError, match="nothing of it is left"):
            p.memory.forget(note)
        assert found(workspace, Path.home()) == []


def test_a_disk_that_fails_under_an_index_is_told_as_a_note_that_is_not_forgotten_yet(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", kind="project").header.id
        forget_with_a_failing_disk(p, note)
        p.memory.forget(note)
    assert found(workspace, Path.home()) == []


def forget_with_a_failing_disk(p: Promptuary, note: str, *, everywhere: bool = False) -> None:
    def fails(_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(CopyEraser, "drop_other_indexes", fails)
        with pytest.raises(PromptuaryError, match=r"is not forgotten whole, .*command that opens the notes finishes"):
            p.memory.forget(note, everywhere=everywhere)


def test_whoever_opens_the_notes_next_finishes_what_was_not_forgotten_whole(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", kind="project").header.id
        p.threads.finish(p.threads.prepare(f"Is it true? The badge says {NONCE}."), "It is.")
        forget_with_a_failing_disk(p, note, everywhere=True)
        assert [one.code for one in p.examine().findings if "forgotten" in one.problem] == ["FORGETTING_UNFINISHED"]
    assert found(workspace)
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        assert p.memory.list().total == 0
        assert found(workspace, Path.home()) == []
        assert p.examine().findings == []


def test_doctor_finishes_what_was_not_forgotten_whole(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", kind="project").header.id
        forget_with_a_failing_disk(p, note)
        (finding,) = (one for one in p.examine(fix=True).findings if one.code == "FORGETTING_UNFINISHED")
        assert finding.fixed
        assert note in finding.problem
        assert found(workspace, Path.home()) == []


def test_an_index_that_cannot_be_removed_is_told_and_removed_by_the_next_process(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", kind="project").header.id
        assert p.memory.find(NONCE).hits
        with monkeypatch.context() as failing:
            failing.setattr(generations, "_remove_one", fails)
            with pytest.raises(PromptuaryError, match="is not forgotten whole"):
                p.memory.forget(note)
        assert found(workspace)
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        assert p.memory.list().total == 0
    assert found(workspace, Path.home()) == []


def test_what_git_has_is_said(workspace: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", audience="shared")
        subprocess.run(["git", "add", "-f", ".promptuary/memory"], cwd=workspace, check=True)
        assert p.memory.forget(note.header.id).in_git
    assert found(workspace, Path.home()) == []
