"""Where each thread has a memory of its own, what looks after all notes of a person still reaches every one of them."""

from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.base.errors import UnknownNoteError
from promptuary.blocking import Promptuary

NONCE = "Zk4Nonce9Qw"


def opened(workspace: Path, principal: Principal | None = None) -> Promptuary:
    who = principal or Principal()
    return Promptuary.open(workspace, exact=True, embedder="none", memory_folder="{thread}", principal=who)


def remember(p: Promptuary, thread: str) -> str:
    """Have a note written in a thread, and return its id."""
    p.threads.finish(p.threads.prepare(f'@remember:"The badge of {thread} is {NONCE}."', thread=thread), "Fine.")
    (header,) = p._app.memory.of(thread).list()
    return header.id


def test_a_note_is_forgotten_by_its_id_in_whichever_thread_it_is(workspace: Path) -> None:
    with opened(workspace) as p:
        note, other = remember(p, "one"), remember(p, "two")
        assert list(p.memory.list()) == []
        report = p.memory.forget(note, everywhere=True)

        assert (report.note, report.done) == (note, True)
        assert p._app.memory.of("one").get(note) is None
        assert p._app.memory.of("two").get(other) is not None
        with pytest.raises(UnknownNoteError):
            p.memory.forget(note)
    with opened(workspace, Principal("ben")) as p, pytest.raises(UnknownNoteError):
        p.memory.forget(other)


def test_the_menu_offers_the_notes_of_every_thread_and_says_where_they_are_known(workspace: Path) -> None:
    with opened(workspace) as p:
        note = remember(p, "one")
        p.memory.write("Known everywhere else.", title="Elsewhere")
        items = p.complete("@memory:").items

    assert [("in thread one" in item.hint, note in item.insert) for item in items] == [(False, False), (True, True)]
    with opened(workspace, Principal("ben")) as p:
        assert not p.complete("@memory:").items


def test_the_notes_of_every_thread_are_examined(workspace: Path) -> None:
    with opened(workspace) as p:
        note = remember(p, "one")
        (file,) = workspace.rglob(f"*{note}.md")
        file.write_text(file.read_text() + "\nSee [[Nowhere]].\n")
        examination = p.examine()

    assert dict(examination.counts)["project notes"] == 1
    assert [(one.code, one.where.startswith("thread one: project/")) for one in examination.findings] == [
        ("BROKEN_LINK", True)
    ]
