"""``promptuary migrate``, and ``backup`` and ``restore`` from one database into the other, as a person runs them."""

import _thread
import json
import os
import sqlite3
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from promptuary.base.principals import LOCAL
from promptuary.cli import maintenance
from promptuary.cli.interruptible import run_interruptibly
from promptuary.cli.main import main
from promptuary.cli.progress import ProgressLine
from promptuary.database.binding import Bound, BoundDatabase
from promptuary.database.transfer import digests
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from promptuary.workspace.state_file import find_tenant
from tests.generated_store import STATE, answers, fill
from tests.suites.threads import said


@pytest.fixture
def filled(workspace: Path) -> Path:
    fill(workspace, turns=1)
    return workspace


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def migrate(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    return run(capsys, "migrate", "--workspace", str(folder), *arguments)


def rows(folder: Path, url: str = "") -> object:
    opened: Bound = find_tenant(folder, url, "") if url else BoundDatabase(folder / STATE)
    with closing(opened):
        return opened.read(digests)


def test_a_workspace_moves_to_postgresql_is_used_there_and_moves_back(
    filled: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, before, told = ["--from", "sqlite", "--to", postgres], rows(filled), answers(filled)
    code, out, _ = migrate(capsys, filled, *there, "--dry-run")
    assert code == 0
    assert out.startswith("would copy ")
    code, _, err = migrate(capsys, filled, *there)
    assert (code, "add --yes" in err) == (1, True)  # nobody can be asked here
    assert not find_tenant(filled, postgres, "").exists

    code, out, err = migrate(capsys, filled, *there, "--yes")
    assert code == 0
    assert "counts and hashes of" in out
    assert f"promptuary config set database '{postgres}'" in err
    assert rows(filled) == rows(filled, postgres) == before
    code, out, _ = migrate(capsys, filled, *there, "--yes")
    assert (code, out.startswith("nothing to do")) == (0, True)

    assert run(capsys, "config", "set", "database", postgres)[0] == 0
    assert answers(filled) == told
    assert run(capsys, "expand", "--workspace", str(filled), "--thread", "talk", "once more")[0] == 0
    with closing(StateDatabase(filled / STATE)) as old:  # nothing of this is left, in free pages either
        old.threads(LOCAL).apply(ThreadChange("old", items=[said(os.urandom(100_000).hex())]))
    before = rows(filled)
    after, back = rows(filled, postgres), ["--from", postgres, "--to", "sqlite", "--yes"]
    code, _, err = migrate(capsys, filled, *back)
    assert (code, "add --force to replace it" in err) == (1, True)
    assert rows(filled) == before
    code, out, err = migrate(capsys, filled, *back, "--force", "--json")
    assert code == 0
    assert "promptuary config set database ''" in err
    with closing(sqlite3.connect(filled / STATE)) as raw:
        assert raw.execute("PRAGMA freelist_count").fetchone() == (0,)
    found = json.loads(out)
    assert (found["state"], found["done"], found["database"]) == ("replaced", True, "")
    assert rows(filled) == rows(filled, postgres) == after
    assert sum(table["rows"] for table in found["tables"]) == found["rows"]
    assert run(capsys, "config", "set", "database", "")[0] == 0
    assert answers(filled) != told  # with the message that was sent meanwhile


def test_a_workspace_that_was_not_moved_does_not_seem_empty(
    filled: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    there = ["--workspace", str(filled)]
    for command in (["thread", "list"], ["expand", "--thread", "talk", "hello"]):
        told = run(capsys, *command, *there)[2]
        assert "what is in .promptuary/state.db is not used" in told
        assert "promptuary migrate --from sqlite --to ADDRESS" in told
    with closing(BoundDatabase(filled / STATE)) as file, closing(find_tenant(filled, postgres, "")) as tenant:
        assert file.read(digests) != tenant.read(digests)
    assert "promptuary migrate" not in run(capsys, "thread", "list", *there)[2]  # begun anew, as it was told


def test_the_doctor_tells_of_a_workspace_that_was_not_moved(
    filled: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    found = json.loads(run(capsys, "doctor", "--json", "--workspace", str(filled))[1])["findings"]
    assert "STATE_IN_FILE" in [finding["code"] for finding in found]


def test_ctrl_c_stops_a_migration_and_the_same_command_completes_it(
    filled: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[threading.Event] = []
    seen: list[tuple[int, int]] = []

    def begun(work: Callable[[threading.Event], object]) -> object:
        def remembered(stop: threading.Event) -> object:
            stops.append(stop)
            return work(stop)

        return run_interruptibly(remembered)

    class Interrupted(ProgressLine):
        def __call__(self, done: int, total: int) -> None:
            super().__call__(done, total)
            seen.append((done, total))
            if len(seen) == 30:
                _thread.interrupt_main()
                assert stops[0].wait(10)

    monkeypatch.setattr(maintenance, "run_interruptibly", begun)
    monkeypatch.setattr(maintenance, "ProgressLine", Interrupted)
    there = ["--from", "sqlite", "--to", postgres, "--yes"]
    code, _, err = migrate(capsys, filled, *there)
    assert (code, "the same command continues" in err) == (130, True)
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    code, _, err = run(capsys, "thread", "list", "--workspace", str(filled))
    assert (code, "a migration to it was not completed" in err) == (2, True)

    code, out, _ = migrate(capsys, filled, *there, "--json")
    assert (code, json.loads(out)["state"]) == (0, "continued")
    assert seen[-1][0] == seen[-1][1]
    assert rows(filled, postgres) == rows(filled)


def test_a_half_made_file_is_neither_used_nor_adopted(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(filled / STATE)) as raw:
        raw.execute("UPDATE binding SET value = 'being copied 12'")
        raw.commit()
    for command in (["thread", "list"], ["doctor", "--adopt"]):
        code, _, err = run(capsys, *command, "--workspace", str(filled))
        assert (code, "was not completed" in err) == (2, True)


def test_a_source_that_is_written_meanwhile_is_refused_and_the_copy_not_used(
    filled: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert migrate(capsys, filled, "--from", "sqlite", "--to", postgres, "--yes")[0] == 0
    (filled / STATE).unlink()

    class Writing(ProgressLine):
        def __call__(self, done: int, total: int) -> None:
            if done > total / 2:  # by somebody who does not wait for the lock
                with (
                    psycopg.connect(postgres, autocommit=True) as raw,
                    closing(find_tenant(filled, postgres, "")) as own,
                ):
                    raw.execute("SELECT set_config('app.tenant', %s, false)", [str(own.tenant)])
                    raw.execute(
                        "INSERT INTO promptuary.brought_note (tenant, path) VALUES (%s, 'new') ON CONFLICT DO NOTHING",
                        [own.tenant],
                    )

    back = ["--from", postgres, "--to", "sqlite", "--yes"]
    with monkeypatch.context() as patched:
        patched.setattr(maintenance, "ProgressLine", Writing)
        code, _, err = migrate(capsys, filled, *back)
    assert (code, "was written while it was being migrated" in err) == (1, True)
    code, _, err = run(capsys, "thread", "list", "--workspace", str(filled))
    assert (code, "was not completed" in err) == (2, True)

    assert migrate(capsys, filled, *back)[0] == 0
    assert rows(filled) == rows(filled, postgres)


def test_a_slip_says_what_to_do_and_no_password(
    filled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    for arguments, said_ in {
        ("--from", "sqlite", "--to", "sqlite"): "name two",
        ("--from", "mysql://x/y", "--to", "sqlite"): "must be an address of PostgreSQL",
        ("--from", "sqlite", "--to", "postgresql://ada:hunter2@x/y"): "has a password in it",
        ("--from", "sqlite", "--to", "postgresql://ada@127.0.0.1:9/y"): "does not answer",
    }.items():
        code, _, err = migrate(capsys, filled, *arguments, "--yes")
        assert (code, said_ in err) == (2, True)
        assert "hunter2" not in err
    empty = filled.with_name("empty")
    empty.mkdir()
    code, _, err = migrate(capsys, empty, "--from", "sqlite", "--to", "postgresql://ada@127.0.0.1:9/y")
    assert (code, "nothing of this workspace is stored" in err) == (2, True)
    assert not (empty / STATE).exists()


@pytest.mark.parametrize("to_server", [True, False])
def test_a_backup_of_one_database_restores_into_the_other(  # noqa: PLR0917  (fixtures)
    filled: Path,
    tmp_path: Path,
    postgres: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    to_server: bool,
) -> None:
    file, where = str(tmp_path / "all.zip"), ["--workspace", str(filled)]
    before, told = rows(filled), answers(filled)
    if not to_server:
        assert migrate(capsys, filled, "--from", "sqlite", "--to", postgres, "--yes")[0] == 0
        (filled / STATE).unlink()
        monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    assert run(capsys, "backup", file, *where)[0] == 0
    assert f"workspaces/0/{STATE.name}" in zipfile.ZipFile(file).namelist()
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres if to_server else "")
    code, out, _ = run(capsys, "restore", file, *where, "--dry-run", "--json")
    threads = next(one for one in json.loads(out)["files"] if one["what"] == "threads")
    assert (code, threads["action"]) == (0, "new")

    assert run(capsys, "restore", file, *where)[0] == 0
    assert rows(filled, postgres if to_server else "") == before
    assert answers(filled) == told


@pytest.fixture
def on_server(filled: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    assert migrate(capsys, filled, "--from", "sqlite", "--to", postgres, "--yes")[0] == 0
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    return filled


def test_a_restore_into_postgresql_replaces_only_if_asked_and_all_at_once(
    on_server: Path, tmp_path: Path, postgres: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, where = str(tmp_path / "all.zip"), ["--workspace", str(on_server)]
    assert run(capsys, "backup", file, *where)[0] == 0
    before = rows(on_server, postgres)
    code, out, _ = run(capsys, "restore", file, *where)
    assert (code, "same" in out, rows(on_server, postgres) == before) == (0, True, True)

    with closing(StateDatabase(database=find_tenant(on_server, postgres, ""))) as state:
        state.threads(LOCAL).apply(ThreadChange("later", items=[said("later")]))
    later = rows(on_server, postgres)
    code, _, err = run(capsys, "restore", file, *where)
    assert (code, "add --force" in err, rows(on_server, postgres) == later) == (1, True, True)

    with monkeypatch.context() as broken:
        broken.setattr("promptuary.database.transfer.Copy.compare", _fail)
        assert run(capsys, "restore", file, *where, "--force")[0] == 1
    assert rows(on_server, postgres) == later
    assert run(capsys, "restore", file, *where, "--force")[0] == 0
    assert rows(on_server, postgres) == before


def _fail(*_: object) -> None:
    raise OSError("the disk is full")
