"""Turns of a whole engine survive the sudden death of its process, and several processes work side by side.

Run as a program with WORKSPACE THREAD COUNT it is such a process: it says on stdout which turns it
was told are kept, for ever if COUNT is 0.
"""

import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from promptuary.base.messages import Item
from promptuary.blocking import Promptuary
from promptuary.layers.layer import Layer, LayerContext, RecallRequest, Reply
from tests.conftest import Figure
from tests.stores import FileStore, state_of


class Tally(Layer):
    """Counts the replies that it was shown, and says so: its state has to fit the history."""

    id = "tally"

    async def recall(self, request: RecallRequest, context: LayerContext) -> str:
        return f"{context.state or 0} replies so far"

    async def store(self, reply: Reply, context: LayerContext) -> None:
        context.state = (context.state or 0) + 1


def work(workspace: str, thread: str, count: int) -> None:
    with Promptuary.open(workspace, exact=True, layers=[Tally()], window=4_000, reply_reserve=500) as promptuary:
        for number in itertools.count(1):
            name = f"{os.getpid()}-{number}"
            turn = promptuary.threads.prepare(f"question {name} about #notes.md", thread=thread)
            promptuary.threads.finish(turn, f"answer {name}")
            os.write(1, f"{name}\n".encode())
            if number == count:
                return


def started(workspace: Path, thread: str, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.durability.test_turns_survive", str(workspace), thread, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2])


def killed(workspace: Path, *, after: float, writing: bool) -> list[str]:
    """Start a process, kill it, and return the turns that it acknowledged."""
    with started(workspace, "t", 0) as process:
        assert process.stdout is not None
        first = process.stdout.readline() if writing else b""
        time.sleep(after)
        process.kill()
        return (first + process.stdout.read()).decode().split()


def everything(store: FileStore, thread: str) -> Sequence[Item]:
    """Return the history with what was compacted in its place: a summary names all that it stands for."""
    return [one for item in store.history(thread) for one in originals(store, item)]


def originals(store: FileStore, item: Item) -> Sequence[Item]:
    return [one for one in store.items(item.stands_for) if not one.stands_for] or [item]


def check(workspace: Path, thread: str, acknowledged: Sequence[str]) -> int:
    """Compare what is kept with what was acknowledged, and return how many turns are finished."""
    with closing(FileStore(workspace / ".promptuary" / "state.db")) as store:
        store.verify()
        items, turns, tally = everything(store, thread), store.turns(thread), state_of(store, "tally", thread)
    finished = [turn for turn in turns if turn.status == "finished"]
    questions, answers = items[::2], items[1::2]

    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert [item.turn for item in questions] == [item.turn for item in answers] == [turn.id for turn in finished]
    names = [item.content.removeprefix("answer ") for item in answers]
    assert [item.content.split()[1] for item in questions] == names
    assert [name for name in acknowledged if name not in set(names)] == []
    assert (tally.value if tally else 0) == len(finished)
    return len(finished)


@pytest.fixture
def notes(workspace: Path) -> Path:
    (workspace / "notes.md").write_text("Remember the milk.\n")
    return workspace


@pytest.mark.torture
def test_no_acknowledged_turn_is_lost_when_the_process_is_killed(notes: Path, figure: Figure) -> None:
    chance, acknowledged, kills, there = random.Random(11), list[str](), figure(5, 50), 0
    for kill in range(kills):
        # Every third dies while it starts: loading, opening, recovering the log, making the tables.
        writing = kill % 3 > 0
        acknowledged += killed(notes, after=chance.uniform(0, 0.2 if writing else 0.8), writing=writing)
        if (notes / ".promptuary" / "state.db").exists():
            there = check(notes, "t", acknowledged)
    print(
        f"{kills} kills: {len(acknowledged):,} turns acknowledged, 0 lost, {there - len(acknowledged)} more were there"
    )

    assert len(acknowledged) >= kills // 2


@pytest.mark.torture
def test_two_processes_work_on_threads_of_their_own_at_once(notes: Path, figure: Figure) -> None:
    count = figure(15, 200)
    processes = {thread: started(notes, thread, count) for thread in ("a", "b")}
    for thread, process in processes.items():
        out, err = process.communicate(timeout=600)

        assert (process.returncode, err.decode()) == (0, "")
        assert check(notes, thread, out.decode().split()) == count


def test_the_check_notices_what_is_lost(notes: Path) -> None:
    """The control: a turn that was acknowledged and is not there."""
    work(str(notes), "t", 2)

    assert check(notes, "t", []) == 2
    with pytest.raises(AssertionError):
        check(notes, "t", ["1-1"])


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
