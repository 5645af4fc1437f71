"""The examination of notes: each promise broken by hand is found, and what can be repaired is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from promptuary import Principal
from promptuary.blocking import Promptuary
from promptuary.cli.main import main
from tests.conftest import git


@pytest.fixture
def p(tmp_path: Path) -> Iterator[Promptuary]:
    folder = tmp_path / "project"
    folder.mkdir()
    with Promptuary.open(folder, exact=True, embedder="none") as promptuary:
        yield promptuary


def notes(p: Promptuary) -> Path:
    return p.path / ".promptuary" / "memory" / "agents" / "default"


def codes(p: Promptuary, *, fix: bool = False) -> list[str]:
    return [one.code for one in p.examine(fix=fix).findings]


def test_a_workspace_without_anything_is_well_and_nothing_is_created(p: Promptuary) -> None:
    assert p.examine().is_well
    assert not (p.path / ".promptuary").exists()


def test_notes_that_were_written_are_well(p: Promptuary) -> None:
    first = p.memory.write("Use tabs.", kind="feedback", title="Tabs")
    p.memory.write(f"See [tabs](../feedback/{Path(first.header.path).name}) and [[Tabs]].", kind="project")
    p.memory.write("Likes tea.", kind="user")

    found = p.examine(fix=True)
    assert list(found.findings) == [one for one in found.findings if one.code in {"LIST_OUTDATED", "INDEX_OUTDATED"}]
    assert codes(p) == []
    assert dict(p.examine().counts) == {"threads": 0, "project notes": 2, "user notes": 1}


def of_elsewhere(folder: Path) -> None:
    (folder / "private" / "user").mkdir(exist_ok=True)
    (folder / "private" / "user" / "x.md").write_text("---\nowner: ben\n---\nHello.\n")


def doubled(folder: Path) -> None:
    (original,) = (folder / "private" / "feedback").iterdir()
    (folder / "private" / "project").mkdir(exist_ok=True)
    (folder / "private" / "project" / "copy.md").write_text(original.read_text())


def linked(folder: Path) -> None:
    (folder / "private" / "feedback" / "link.md").symlink_to("/etc/passwd.md")


def astray(folder: Path) -> None:
    (folder / "private" / "tea.md").write_text("Likes tea.\n")


def of_no_kind(folder: Path) -> None:
    (folder / "shared" / "ideas").mkdir(parents=True)


def too_deep(folder: Path) -> None:
    (folder / "private" / "feedback" / "go").mkdir()


def unreadable(folder: Path) -> None:
    (folder / "private" / "feedback" / "bad.md").write_text("---\na: &x 1\n---\nHello.\n")


def broken(folder: Path) -> None:
    (folder / "private" / "feedback" / "links.md").write_text("See [this](gone.md) and [[Nowhere]].\n")


def other_owner(folder: Path) -> None:
    (original,) = (folder / "private" / "feedback").iterdir()
    original.write_text(original.read_text().replace("owner: local", "owner: eve"))


def exposed(folder: Path) -> None:
    (folder / "private").chmod(0o755)


def left_behind(folder: Path) -> None:
    (folder / "private" / "feedback" / ".promptuary-0123456789abcdef.tmp").write_text("half of a")


def outdated(folder: Path) -> None:
    page = folder / "private" / "MEMORY.md"
    page.write_text(page.read_text().replace("Tabs", "Nothing"))


@pytest.mark.parametrize(
    ("damage", "code", "is_repaired"),
    [
        (of_elsewhere, "UNADOPTED", False),
        (doubled, "DUPLICATE_ID", False),
        (linked, "NOT_A_NOTE", False),
        (astray, "NOT_A_NOTE", False),
        (of_no_kind, "NOT_A_NOTE", False),
        (too_deep, "NOT_A_NOTE", False),
        (unreadable, "UNREADABLE", False),
        (broken, "BROKEN_LINK", False),
        (other_owner, "OTHER_OWNER", False),
        (exposed, "EXPOSED", True),
        (left_behind, "LEFTOVERS", True),
        (outdated, "LIST_OUTDATED", True),
    ],
)
def test_what_is_wrong_is_found_and_repaired_if_nothing_is_lost_by_it(
    p: Promptuary, damage: Callable[[Path], None], code: str, is_repaired: bool
) -> None:
    p.memory.write("Use tabs.", kind="feedback", title="Tabs")
    p.examine(fix=True)
    damage(notes(p))

    assert code in codes(p)
    assert code in codes(p, fix=True)
    assert (code not in codes(p)) == is_repaired


def test_a_private_note_in_git_is_found(p: Promptuary) -> None:
    git(p.path, "init", "-q")
    note = p.memory.write("Use tabs.", kind="feedback")
    git(p.path, "add", "-f", f".promptuary/memory/agents/default/{note.header.path}")

    assert "TRACKED_BY_GIT" in codes(p)


def test_nothing_is_said_of_the_notes_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with Promptuary.open(folder, exact=True, principal=Principal("ada"), embedder="none") as ada:
        note = ada.memory.write("Nonce in the text.", title="Nonce", kind="feedback")
        file = notes(ada) / note.header.path
        file.write_text(file.read_text().replace("owner: ada", "owner: eve"))
        with Promptuary.open(folder, exact=True, principal=Principal("ben"), embedder="none") as ben:
            found = ben.examine()
        assert codes(ada) == ["OTHER_OWNER"]
    assert list(found.findings) == []


def test_the_command_prints_what_is_left_to_do(p: Promptuary, capsys: pytest.CaptureFixture[str]) -> None:
    p.memory.write("Use tabs.", kind="feedback")
    p.examine(fix=True)
    p.close()
    assert main(["doctor", "--workspace", str(p.path)]) == 0
    assert ", 1 project note; no problems" in capsys.readouterr().err
    unreadable(notes(p))

    assert main(["doctor", "--workspace", str(p.path)]) == 1
    shown = capsys.readouterr()
    assert "UNREADABLE" in shown.out
    assert "1 problem left" in shown.err
