"""A writer that is killed at any moment neither loses a change of the feed nor adds one that did not happen."""

import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.state import StateDatabase
from tests.conftest import Figure

WRITER = Path(__file__).with_name("writer.py")


def make_bound_database(workspace: Path) -> Path:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        p.threads.prepare("hello", thread="first")
    (path,) = workspace.rglob("state.db")
    return path


@pytest.mark.torture
def test_every_committed_change_is_told_once_and_no_other(workspace: Path, figure: Figure) -> None:
    path, kills, seed = make_bound_database(workspace), figure(6, 300), random.Random(7)
    told: list[tuple[str, int, str]] = []
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        after = p.changes().cursor
        for kill in range(kills):
            command = [sys.executable, str(WRITER), str(path), "own", f"t{kill}", "0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
                assert writer.stdout is not None
                for _ in range(seed.randint(1, 8)):
                    writer.stdout.readline()
                    found = p.changes(after, limit=seed.randint(1, 5), timeout=0.01)
                    told += [(one.thread, one.number, one.event) for one in found.changes]
                    after = found.cursor
                writer.kill()
        while (found := p.changes(after)).changes:
            assert not found.missed
            told += [(one.thread, one.number, one.event) for one in found.changes]
            after = found.cursor

    with closing(StateDatabase(path)) as state:
        state.verify()
        threads = state.threads(LOCAL)
        stored = [turn for kill in range(kills) for turn in threads.turns(f"t{kill}")]
    happened = [
        (turn.thread, turn.number, event)
        for turn in stored
        for event in ("prepared", "finished")[: 1 if turn.status == "prepared" else 2]
    ]
    assert sorted(told) == sorted(happened)
    assert len(stored) >= kills
    print(f"{kills} writers were killed: {len(told)} changes, none lost, none twice")
