"""No door stores a secret in a note, and no prompt shows the one that a person wrote into a file by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from promptuary.base.errors import Code, SecretError
from promptuary.blocking import Promptuary

PW = "Tr0ub4dor"
TOLD = [
    f"The staging db is postgres://app:{PW}@db.example.org/app",
    f"clone https://ada:{PW}@example.org/x.git",
    f"redis://:{PW}@cache:6379/0",
    f"export DB_PASSWORD={PW}",
    "Our key is sk-" + "a1B2c3D4e5F6" * 4,
    f"The password for the staging db is {PW}",
    f"Das Passwort fürs WLAN lautet {PW}",
    f"Run mysql -u root -p{PW} app",
]
DOORS: dict[str, Callable[[Promptuary, str], object]] = {
    "write": lambda p, told: p.memory.write(told),
    "title": lambda p, told: p.memory.write("Something else entirely", title=told),
    "summary": lambda p, told: p.memory.write("Something else entirely", summary=told),
    "tag": lambda p, told: p.memory.write("Something else entirely", tags=[told]),
    "remember": lambda p, told: p.memory.remember(told),
    "change": lambda p, told: p.memory.write(told, id=p.memory.write("We use Postgres").header.id),
}


def stored(folder: Path) -> str:
    """Return everything that is stored: the names and the bytes of all files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "".join(f"{path}\n{path.read_bytes().decode('latin-1')}" for path in files)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_stores_a_note_with_a_secret(tmp_path: Path, door: str, told: str) -> None:
    with Promptuary.open(tmp_path, embedder="none") as promptuary:
        with pytest.raises(SecretError, match="say where it is kept instead"):
            DOORS[door](promptuary, told)
        assert told not in [note.title for note in promptuary.memory.list()]

    assert PW not in stored(tmp_path)


@pytest.mark.parametrize("told", TOLD)
def test_a_message_and_a_model_are_refused_as_well(tmp_path: Path, told: str) -> None:
    with Promptuary.open(tmp_path, embedder="none") as promptuary:
        asked = promptuary.threads.prepare(f'@remember:"{told}"')
        given = {"type": "reference", "title": "Staging", "content": told, "audience": "private"}
        answer = promptuary.memory.call_tool("write_memory", given)

        assert [one.code for one in asked.expansion.outcomes if one.reference.kind == "remember"] == [Code.HOLDS_SECRET]
        assert not answer.get("written")
        assert "say where it is kept instead" in str(answer["error"])
        assert list(promptuary.memory.list()) == []


@pytest.mark.parametrize("told", TOLD)
def test_a_secret_that_a_person_wrote_into_a_file_is_masked_wherever_the_note_is_shown(
    tmp_path: Path, told: str
) -> None:
    with Promptuary.open(tmp_path, embedder="none") as promptuary:
        first = promptuary.memory.write("We use Postgres for staging")
        place = next(tmp_path.rglob(Path(first.header.path).name)).parent
        text = f"---\ntitle: {told}\nsummary: {told}\n---\nAbout staging: {told}\n"
        (place / "by-hand.md").write_text(text)
    with Promptuary.open(tmp_path, embedder="none") as promptuary:
        turn = promptuary.threads.prepare("What do you know about staging?")
        header = next(note for note in promptuary.memory.list() if note.path.endswith("by-hand.md"))
        tool = promptuary.memory.call_tool("search_recall_memories", {"memory_id": header.id})
        found = promptuary.memory.call_tool("search_recall_memories", {"query": "staging"})
        listed = [path.read_text() for path in tmp_path.rglob("MEMORY.md")]

    shown = f"{[message['content'] for message in turn.messages]}{tool}{found}{header}{listed}"
    assert "About staging" in shown
    assert PW not in shown
    assert "a1B2c3D4" not in shown
    assert (place / "by-hand.md").read_text() == text


@pytest.mark.parametrize("told", TOLD)
def test_why_a_note_was_changed_is_stored_without_its_secret(tmp_path: Path, told: str) -> None:
    with Promptuary.open(tmp_path, embedder="none") as promptuary:
        note = promptuary.memory.write("We use Postgres", reason=f"so said {told}").header
        promptuary.memory.write("We use Postgres 15", id=note.id, reason=told)
        promptuary.memory.archive(note.id, reason=told)
        promptuary.memory.undo(note.id, reason=told)
        reasons = [change.reason for change in promptuary.memory.history(note.id)]

    assert any(reason.startswith("so said") for reason in reasons)
    assert PW not in str(reasons)
    assert PW not in stored(tmp_path)
    assert TOLD[4].split()[-1] not in stored(tmp_path)


def test_a_file_whose_name_holds_a_secret_is_not_imported(tmp_path: Path) -> None:
    folder, workspace = tmp_path / "from", tmp_path / "workspace"
    folder.mkdir()
    workspace.mkdir()
    (folder / f"DB_PASSWORD={PW}.md").write_text("The staging database\n")
    (folder / "password-rotation-2024.md").write_text("We rotate passwords every quarter\n")
    with Promptuary.open(workspace, embedder="none") as promptuary:
        report = promptuary.memory.import_notes(folder)

    assert [note.title for note in report.imported] == ["password rotation 2024"]
    assert PW not in stored(workspace)
