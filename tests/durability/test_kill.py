"""A process that dies at any moment loses nothing that it was told is safe."""

import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.threads.store.values import frozen
from tests.conftest import Figure
from tests.durability.writer import steps
from tests.stores import FileStore, MemoryStore, state_of, thread_state

WRITER = Path(__file__).with_name("writer.py")


def killed(path: Path, *, after: float, writing: bool) -> list[int]:
    """Start a writer, kill it, and return what it acknowledged."""
    command = [sys.executable, str(WRITER), str(path), "own", "t", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline() if writing else b""
        time.sleep(after)
        writer.kill()
        return [int(line) for line in (first + writer.stdout.read()).split()]


class Model:
    """What must be there, worked out beside the database."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.finished = self.prepared = 0

    def follow(self, number: int, *, finished: bool) -> None:
        for one in range(self.finished + 1, number + 1):
            prepared, done = steps("t", one)
            if one > self.prepared:
                self.store.apply(prepared)
                self.prepared = one
            if one < number or finished:
                self.store.apply(done)
                self.finished = one


def check(path: Path, model: Model, acknowledged: int) -> None:
    """Compare: what is there is exactly the work up to some step, and everything acknowledged is in it."""
    with closing(FileStore(path)) as store:
        store.verify()
        last, before = store.turn("t"), model.finished
        number, finished = (last.number, last.status == "finished") if last else (0, True)
        model.follow(number, finished=finished)

        assert model.finished >= acknowledged
        assert store.history("t") == model.store.history("t")
        assert state_of(store, "counter", "t") == state_of(model.store, "counter", "t")
        for one in range(max(1, before), number + 1):
            turn = steps("t", one)[0].turn
            assert turn is not None
            assert store.turn("t", one) == frozen(
                replace(turn, status="finished" if one <= model.finished else "prepared")
            )


@pytest.mark.torture
def test_no_acknowledged_turn_is_lost_when_the_writer_is_killed(tmp_path: Path, figure: Figure) -> None:
    chance, model, path = random.Random(7), Model(), tmp_path / "state.db"
    acknowledged, kills = 0, figure(20, 200)
    for kill in range(kills):
        # Every third dies while it starts: opening, recovering the log, making the tables.
        writing = kill % 3 > 0
        acks = killed(path, after=chance.uniform(0, 0.1 if writing else 0.2), writing=writing)
        acknowledged = max([acknowledged, *acks])
        check(path, model, acknowledged)
    with closing(FileStore(path)) as store:
        assert store.turns("t") == model.store.turns("t")
    print(
        f"{kills} kills: {acknowledged:,} turns acknowledged, 0 lost, {model.prepared - acknowledged} more were there"
    )

    assert acknowledged >= kills // 2


def test_the_check_notices_what_is_lost(tmp_path: Path) -> None:
    """The control: a turn that was acknowledged and is not there, and a state that is a step behind."""
    path, (prepared, finished) = tmp_path / "state.db", steps("t", 1)
    with closing(FileStore(path)) as store:
        store.apply(prepared)
    with pytest.raises(AssertionError):
        check(path, Model(), acknowledged=1)
    with closing(FileStore(path)) as store:
        store.apply(replace(finished, states=[thread_state("counter", "t", 1, {"turns": 0})]))
    with pytest.raises(AssertionError):
        check(path, Model(), acknowledged=1)
