"""Notes in PostgreSQL: moved there and back, shared by servers, and each person's own."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from promptuary import Principal
from promptuary.base.errors import ConfigError
from promptuary.blocking import Promptuary
from promptuary.database import postgres as driver
from promptuary.memory.store.rows import spaces
from promptuary.workspace.state_file import find_person
from tests.conftest import Files
from tests.interaction.conftest import Run
from tests.postgres import as_worker, without_owners
from tests.stores import state_in

OPTIONS: Any = {"notes": "database", "embedder": "none"}


@pytest.fixture
def database(postgres: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    monkeypatch.setenv("PROMPTUARY_TENANT", tmp_path.name)
    return postgres


def notes_on_disk(*folders: Path) -> list[str]:
    return sorted(file.name for folder in folders for file in folder.rglob("*.md"))


def titles(p: Promptuary) -> list[str]:
    return sorted(header.title for header in p.memory.list(statuses=["active", "archived"]).headers)


def test_notes_in_the_database_need_one_and_a_workspace_does_not_say_where_they_are(files: Files) -> None:
    with (
        Promptuary.open(files({"a.md": "a"}), **OPTIONS) as p,
        pytest.raises(ConfigError, match='set database = "postgresql://USER@HOST/NAME", or notes = "files"'),
    ):
        p.memory.write("Text")
    root = files({".promptuary/config.toml": 'notes = "database"\n'})
    with Promptuary.open(root, embedder="none") as p:
        assert "notes in .promptuary/config.toml is ignored" in p.notes[0]
        assert p.memory.write("Text").header.id in str(notes_on_disk(root))


def test_notes_are_moved_into_the_database_and_back_with_their_owners_and_history(
    run: Run, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path.home()
    with Promptuary.open(tmp_path) as p:
        port = p.memory.write("The port is 5544.", title="Port").header
        p.memory.write("The port is 5545.", id=port.id)
        own = p.memory.write("I use tabs.", title="Tabs", kind="user").header
        p.memory.write("Deploys are on Mondays.", title="Deploys", audience="shared")
    with Promptuary.open(tmp_path, principal=Principal("bob")) as p:
        secret = p.memory.write("Bob's secret.", title="Bob").header
    folder = tmp_path / ".promptuary/memory/agents/default"
    with (folder / "private/MEMORY.md").open("a") as page:
        page.write("\nAlways ask Ada.\n")
    (folder / "private/project").mkdir()
    (folder / "private/project/odd.md").write_text("---\nowner: somebody\n---\nWhose?\n")
    before = {name: (folder / name).read_bytes() for name in (port.path, secret.path)}
    monkeypatch.setenv("PROMPTUARY_NOTES", "database")

    code, _, told = run("memory", "list")
    assert (code, "notes in files are not used" in told) == (0, True)
    assert "NOTES_IN_FILES" in run("doctor")[1]
    assert (
        run("migrate", "--notes", "database", "--dry-run")[1]
        == "would move 5 notes into the database, with their history\n"
    )
    assert run("migrate", "--notes", "database")[0] == 1  # nobody said yes
    code, out, told = run("migrate", "--notes", "database", "--yes")
    assert (code, out) == (0, "moved 4 notes into the database, with their history\n")
    assert "1 file stayed in the folders" in told
    assert "promptuary config set notes database" in told
    assert notes_on_disk(tmp_path, home) == ["odd.md"]
    (folder / "private/project/odd.md").unlink()

    with Promptuary.open(tmp_path) as p:
        assert titles(p) == ["Deploys", "Port", "Tabs"]
        assert p.memory.get(port.id).text.encode() == before[port.path]  # type: ignore[union-attr]
        assert [change.kind for change in p.memory.history(port.id)] == ["create", "update"]
        assert [change.kind for change in p.memory.history(own.id)] == ["create"]
        assert p.memory.undo(port.id).body == "The port is 5544."
        assert "Always ask Ada." in str(p.threads.prepare("Whom do I ask?", thread="t").messages)
    with Promptuary.open(tmp_path, principal=Principal("bob")) as p:
        assert titles(p) == ["Bob", "Deploys"]
        assert p.memory.get(port.id) is None
    assert run("doctor")[1].count("\n") == 2  # the roles of the tests

    monkeypatch.setenv("PROMPTUARY_NOTES", "files")
    code, _, told = run("memory", "list")
    assert (code, "`promptuary migrate --notes files` moves them into folders" in told) == (2, True)
    assert run("migrate", "--notes", "files", "--yes")[1] == "moved 4 notes into files, with their history\n"
    assert (folder / secret.path).read_bytes() == before[secret.path]
    assert own.path.rpartition("/")[2] in notes_on_disk(home)
    with Promptuary.open(tmp_path) as p:
        assert len(titles(p)) == 3
        assert "Always ask Ada." in str(p.threads.prepare("Whom do I ask?", thread="t").messages)
        assert [change.kind for change in p.memory.history(port.id)] == ["create", "update", "undo"]
        assert [change.kind for change in p.memory.history(own.id)] == ["create"]
    with closing(state_in(tmp_path)) as state:
        assert spaces(state.database) == []
    assert run("doctor")[1].count("\n") == 2


def test_a_note_that_was_written_before_the_others_were_moved_stays(
    run: Run, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Promptuary.open(tmp_path) as p:
        first = p.memory.write("First.", title="First").header
    with Promptuary.open(tmp_path, **OPTIONS) as p:
        p.memory.write("Second.", title="Second")
    monkeypatch.setenv("PROMPTUARY_NOTES", "database")
    assert run("migrate", "--notes", "database", "--yes")[0] == 0
    with Promptuary.open(tmp_path) as p:
        assert titles(p) == ["First", "Second"]
        assert [change.kind for change in p.memory.history(first.id)] == ["create"]


def test_a_move_needs_a_place_and_nothing_else(run: Run, tmp_path: Path) -> None:
    assert run("migrate", "--notes", "database", "--yes")[2].startswith(
        "promptuary: notes can be moved into PostgreSQL only"
    )
    assert "--from and --to" in run("migrate", "--notes", "files", "--to", "sqlite")[2]
    assert "--from and --to" in run("migrate")[2]


def server(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a server that has nothing on its disk, and is now used."""
    home = place.parent.with_name(f"{place.parent.name}-home-of-{place.name}")
    for folder in (place, home):
        folder.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    return place


def test_servers_share_the_notes_of_the_workspace_and_of_its_users(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    ada, bob = Principal("ada"), Principal("bob")
    with Promptuary.open(server(one, monkeypatch), served=True, principal=ada, **OPTIONS) as p:
        p.memory.write("The gate code is 7781.", title="Gate", audience="shared")
        p.memory.write("Ada likes tea.", title="Tea", kind="user")
        p.memory.write("Ada shares this with her agents.", title="Agents", kind="user", audience="shared")
        with Promptuary.open(server(two, monkeypatch), served=True, principal=ada, **OPTIONS) as other:
            assert titles(other) == ["Agents", "Gate", "Tea"]
            assert [hit.header.title for hit in other.memory.find("gate code").hits] == ["Gate"]
            cursor = other.changes().cursor
            written = p.memory.write("The vault code is 9012.", title="Vault", kind="user").header
            found = other.changes(cursor)
            assert [(change.kind, change.id, change.scope) for change in found.changes] == [
                ("note", written.id, "user")
            ]
            assert other.memory.get("Vault").header == written  # type: ignore[union-attr]
            monkeypatch.setattr("promptuary.memory.memory._MIN_BETWEEN", 0.0)
            monkeypatch.setattr("promptuary.memory.memory._REST", 0.0)
            assert [hit.header.title for hit in other.memory.find("vault code").hits][:1] == ["Vault"]
    with Promptuary.open(server(two, monkeypatch), served=True, principal=bob, **OPTIONS) as p:
        assert titles(p) == ["Gate"]
    with Promptuary.open(two, principal=ada, **OPTIONS) as p:  # who runs the program is not the user of that name
        assert titles(p) == ["Gate"]
    assert notes_on_disk(tmp_path) == []


def test_nobody_sees_private_notes_of_another_or_those_that_follow_another(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everybody = [Principal("ada"), Principal("bob")]
    monkeypatch.setenv("PROMPTUARY_DATABASE", as_worker(database))

    def shown() -> Sequence[str]:
        found = []
        for principal in everybody:
            with Promptuary.open(tmp_path, served=True, principal=principal, **OPTIONS) as p:
                notes = [note.text for note in p._app.memory.of().everything()]
                found.append(
                    f"{notes}{p.memory.find('secret').hits}{p.threads.prepare('The secret?', thread='t').messages}"
                )
        return found

    for principal in everybody:
        with Promptuary.open(tmp_path, served=True, principal=principal, **OPTIONS) as p:
            p.memory.write(f"The secret of {principal.user} is private.", title="secret", kind="project")
            p.memory.write(f"The secret of {principal.user} follows.", title="secret", kind="user", audience="shared")
    before = shown()
    monkeypatch.setattr(driver, "translate", without_owners)
    for found in (before, shown()):
        for text, own, other in zip(found, ("ada", "bob"), ("bob", "ada"), strict=True):
            assert f"secret of {own} is private" in text
            assert f"secret of {own} follows" in text
            assert f"secret of {other}" not in text


def test_a_clone_gets_at_nobodys_notes(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Promptuary.open(server(tmp_path / "one", monkeypatch), **OPTIONS) as p:
        p.memory.write("I use tabs.", title="Tabs", kind="user")
    monkeypatch.delenv("PROMPTUARY_TENANT")
    other = server(tmp_path / "two", monkeypatch)
    (other / ".promptuary").mkdir()
    (other / ".promptuary/config.toml").write_text(f'tenant = "{tmp_path.name}"\nnotes = "database"\n')
    with Promptuary.open(other, **OPTIONS) as p:
        assert titles(p) == []


def test_the_lists_of_notes_are_printed_on_request(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTUARY_NOTES", "database")
    assert run("memory", "list", "--markdown")[:2] == (1, "")
    run("memory", "write", "Tabs.", "--title", "Tabs", "--pin")
    run("memory", "write", "Deploys.", "--title", "Deploys", "--shared")
    code, out, _ = run("memory", "list", "--markdown")
    assert code == 0
    assert out.startswith("# Private notes\n")
    assert "- [Tabs](reference/tabs-" in out
    assert "# Shared notes\n" in out
    assert run("memory", "list", "--markdown", "--shared")[1].startswith("# Shared notes\n")


@pytest.mark.parametrize("into", ["database", "files"])
def test_a_backup_of_notes_in_the_database_restores_into_either(
    run: Run, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, into: str
) -> None:
    monkeypatch.setenv("PROMPTUARY_NOTES", "database")
    with Promptuary.open(tmp_path) as p:
        port = p.memory.write("The port is 5544.", title="Port").header
        p.memory.write("The port is 5545.", id=port.id)
        p.memory.write("I use tabs.", title="Tabs", kind="user")
    assert run("backup", "b.zip")[0] == 0
    assert run("purge", "--everywhere", "--yes")[0] == 0
    with Promptuary.open(tmp_path) as p:
        assert titles(p) == []
    if into == "files":
        for name in ("DATABASE", "TENANT", "NOTES"):
            monkeypatch.delenv(f"PROMPTUARY_{name}")
        shutil.rmtree(tmp_path / ".promptuary", ignore_errors=True)
    assert run("restore", "b.zip", "--force")[0] == 0
    if into == "files":
        assert run("memory", "list")[0] == 2
        assert run("migrate", "--notes", "files", "--yes")[0] == 0
    with Promptuary.open(tmp_path) as p:
        assert titles(p) == ["Port", "Tabs"]
        assert [change.kind for change in p.memory.history(port.id)] == ["create", "update"]


def test_notes_that_follow_somebody_are_not_left_behind_in_a_database(
    run: Run, database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROMPTUARY_NOTES", "database")
    run("memory", "write", "The port is 5544.")
    run("memory", "write", "I use tabs.", "--kind", "user")
    code, _, told = run("migrate", "--from", database, "--to", "sqlite", "--yes")
    assert (code, "promptuary migrate --notes files" in told) == (2, True), told
    assert run("migrate", "--notes", "files", "--yes")[0] == 0
    with closing(find_person(tmp_path, database, "", None)) as own:
        assert not own.found()
    assert run("migrate", "--from", database, "--to", "sqlite", "--yes")[0] == 0
