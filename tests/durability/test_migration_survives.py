"""A migration that is killed at any moment loses nothing, leaves nothing half-made in use, and is continued."""

import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.errors import StorageError
from promptuary.blocking import Promptuary
from promptuary.database.binding import Bound
from promptuary.database.transfer import Digest, digests
from promptuary.workspace.state_file import open_target
from promptuary.workspace.workspace import open_door
from tests.conftest import Figure
from tests.generated_store import STATE, answers, fill

MIGRATOR = Path(__file__).with_name("migrator.py")
FILE = "sqlite"


def database(folder: Path, url: str) -> Bound:
    with Promptuary.open(folder, exact=True) as p:
        return open_target(open_door(folder, p.settings, None), "" if url == FILE else url)[0]


def rows(folder: Path, url: str) -> dict[str, Digest]:
    with closing(database(folder, url)) as opened:
        return opened.read(digests)


def killed(folder: Path, source: str, target: str, at: float, total: int) -> None:
    """Start a migration that kills itself at a share of its rows or, if there is none, is killed at any moment."""
    kill_at = str(int(at * total)) if at else "-1"
    command = [sys.executable, str(MIGRATOR), str(folder), source, target, kill_at]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as migrator:
        assert migrator.stdout is not None
        migrator.stdout.readline()
        if not at:
            time.sleep(random.Random(str(folder)).uniform(0, 0.2))
            migrator.kill()
        migrator.stdout.read()
    assert migrator.returncode == -9


def moved(folder: Path, source: str, target: str, monkeypatch: pytest.MonkeyPatch, shares: list[float]) -> None:
    """Migrate a workspace, killed at several points, and check at each of them."""
    before = rows(folder, source)
    total = 3 * sum(one.rows for one in before.values())
    for share in shares:
        killed(folder, source, target, share, total)
        monkeypatch.setenv("PROMPTUARY_DATABASE", "" if target == FILE else target)
        with Promptuary.open(folder, exact=True) as p, pytest.raises(StorageError, match="Repeat that `promptuary mig"):
            p.threads.list()
        assert rows(folder, source) == before
    with Promptuary.open(folder, exact=True) as p:
        assert p.migrate(source, target, dry_run=True).state == "continued"
        done = p.migrate(source, target)
    assert done.done
    assert {one.name: (one.rows, one.hash) for one in done.tables} == {
        name: (one.rows, one.hash) for name, one in before.items() if one.rows
    }
    assert rows(folder, target) == rows(folder, source) == before


def test_a_migration_there_and_back_that_is_killed_half_way_is_identical(
    workspace: Path, postgres: str, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    fill(workspace, turns=figure(3, 30))
    told, before = answers(workspace), rows(workspace, FILE)
    shares = [0.1, 0, 0.34, 0.7, 0.01, 0.2, 0.33, 0.5, 0.66, 0.9, 0.99][: figure(4, 11)]

    moved(workspace, FILE, postgres, monkeypatch, shares)
    monkeypatch.setenv("PROMPTUARY_DATABASE", postgres)
    assert answers(workspace) == told

    for path in (workspace / STATE).parent.glob(f"{STATE.name}*"):
        path.unlink()
    moved(workspace, postgres, FILE, monkeypatch, shares)
    monkeypatch.setenv("PROMPTUARY_DATABASE", "")
    assert answers(workspace) == told
    assert rows(workspace, FILE) == before
