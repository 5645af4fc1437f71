"""Notes that an agent keeps under names of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptuary import PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.integrations.path_notes import PathNotes


@pytest.fixture
def p(workspace: Path) -> Iterator[Promptuary]:
    with Promptuary.open(workspace, exact=True, embedder="none") as one:
        yield one


def test_a_note_is_found_by_its_name_and_by_nothing_else(p: Promptuary) -> None:
    notes, others = PathNotes(p, "store"), PathNotes(p, "memories")
    notes.write("a/b", "One.")
    others.write("a/b", "Two.")

    assert notes.read("a/b").body.strip() == "One."  # type: ignore[union-attr]
    assert notes.read("a") is None
    assert list(notes.names()) == ["a/b"]
    assert others.read("a/b").body.strip() == "Two."  # type: ignore[union-attr]


def test_what_is_written_again_is_the_same_note_with_a_history(p: Promptuary) -> None:
    notes = PathNotes(p, "store")
    first = notes.write("a", "One.")
    notes.remove(first.header)
    second = notes.write("a", "Two.")

    assert second.header.id == first.header.id
    assert (second.header.status, second.header.trust, second.header.source) == ("active", "external", "tool")
    assert [change.kind for change in p.memory.history(first.header.id)] == ["create", "archive", "restore"]


@pytest.mark.parametrize("change", ["words", "pin", "share", "by hand"])
def test_what_a_person_touched_is_the_persons(p: Promptuary, workspace: Path, change: str) -> None:
    notes = PathNotes(p, "store")
    note = notes.write("a", "One.").header
    match change:
        case "words":
            p.memory.write("Mine.", id=note.id)
        case "pin":
            p.memory.write(id=note.id, pinned=True)
        case "share":
            p.memory.write(id=note.id, audience="shared")
        case _:
            file = workspace / ".promptuary/memory/agents/default" / note.path
            file.write_text(file.read_text(encoding="utf-8").replace("One.", "By hand."), encoding="utf-8")
            p.memory.unadopted()  # looks at the files
    before = p.memory.get(note.id)

    for act in (lambda: notes.write("a", "Again."), lambda: notes.remove(note), lambda: notes.move(note, "b")):
        with pytest.raises(PromptuaryError):
            act()
    assert p.memory.get(note.id) == before


def test_a_note_in_the_words_of_somebody_else_is_labelled_so_and_never_by_another_word(p: Promptuary) -> None:
    note = p.memory.write("Theirs.", trust="external").header

    assert (note.trust, note.source) == ("external", "tool")
    assert p.memory.write("Mine.").header.trust == "person"
    with pytest.raises(PromptuaryError, match="trust is one of person, agent, external"):
        p.memory.write("Theirs.", trust="god")  # type: ignore[arg-type]
