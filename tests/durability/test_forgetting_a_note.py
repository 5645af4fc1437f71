"""Forgetting through the whole program: no byte of a note is found in anybody's files afterwards."""

import subprocess
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.blocking import Promptuary
from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import NoteKind

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


def test_what_git_has_is_said(workspace: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        note = p.memory.write(f"The badge says {NONCE}.", audience="shared")
        subprocess.run(["git", "add", "-f", ".promptuary/memory"], cwd=workspace, check=True)
        assert p.memory.forget(note.header.id).in_git
    assert found(workspace, Path.home()) == []
