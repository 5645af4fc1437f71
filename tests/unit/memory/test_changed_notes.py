"""A note that changes: by hand, by its id, in an editor. What is undone, and which fact its title states."""

from pathlib import Path

import pytest

from promptuary.blocking import Promptuary
from promptuary.memory.values import Note


def file_of(workspace: Path, note: Note) -> Path:
    (file,) = workspace.rglob(f"*{note.header.id}.md")
    return file


def by_hand(workspace: Path, note: Note, old: str, new: str) -> None:
    file = file_of(workspace, note)
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize("key", ["id", "beginning", "path", "title"])
@pytest.mark.parametrize("is_seen", [True, False])
def test_undo_undoes_an_edit_by_hand(workspace: Path, key: str, is_seen: bool) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write("The port is 1111.", title="Port", kind="project")
        by_hand(workspace, note, "1111", "2222")
        if is_seen:
            assert "2222" in str(p.memory.get(note.header.id))
            p.memory.list()
        name = {"id": note.header.id, "beginning": note.header.id[:6], "path": note.header.path, "title": "Port"}[key]
        undone = p.memory.undo(name)

        assert (undone.body, undone.header.status) == ("The port is 1111.", "active")
        assert [one.kind for one in p.memory.history(note.header.id)] == ["create", "edit", "undo"]
        assert p.memory.undo(name).header.status == "archived"


@pytest.mark.parametrize("told", ["history", "diff"])
def test_the_history_knows_of_an_edit_by_hand_at_once(workspace: Path, told: str) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write("The port is 1111.", kind="project")
        by_hand(workspace, note, "1111", "2222")

        assert "2222" in str(getattr(p.memory, told)(note.header.id))


def test_undo_finds_a_note_that_was_moved_by_hand(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write("The port is 1111.", kind="project")
        file = file_of(workspace, note)
        file.rename(file.with_name(f"moved-{note.header.id}.md"))
        by_hand(workspace, note, "1111", "2222")

        assert p.memory.undo(note.header.id).header.status == "active"


def test_a_title_made_from_the_text_is_made_again_and_a_given_one_stays(workspace: Path) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        made = p.memory.write("The port is 1111.", kind="project")
        given = p.memory.write("The host is blue.", title="Where it runs", kind="project")
        changed = p.memory.write("The port is 2222.", id=made.header.id)
        kept = p.memory.write("The host is green.", id=given.header.id)

        assert (changed.header.title, kept.header.title) == ("The port is 2222.", "Where it runs")
        assert p.memory.write(id=made.header.id, pinned=True).header.title == "The port is 2222."
        turn = p.threads.prepare("which port is it?")
        assert "1111" not in str(turn.messages)
        assert "2222" in str(turn.messages)


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        ("\n\nThe port is 1111.", "\n\nThe port is 2222.", "The port is 2222."),
        ("The port is 1111.", "The port is 2222.", "The port is 2222."),
        ("title: The port is 1111.", "title: Port", "Port"),
    ],
)
def test_so_it_is_in_an_editor(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, title: str
) -> None:
    editor = workspace / "editor.py"
    editor.write_text(
        "import sys, pathlib\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        f"assert {old!r} in text, text\nfile.write_text(text.replace({old!r}, {new!r}))\n"
    )
    monkeypatch.setenv("EDITOR", f"python3 {editor}")
    monkeypatch.delenv("VISUAL", raising=False)
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write("The port is 1111.", kind="project")
        assert p.memory.edit(note.header.id).header.title == title
