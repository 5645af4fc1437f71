"""Those who learn from finished turns: each in the transaction of the turn, and none at its cost."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.context.assemble import Room
from promptuary.context.history import CompactionPolicy
from promptuary.context.receipt import Receipt
from promptuary.layers.layer import LayerState, StateKey
from promptuary.memory.writeback.values import FinishedTurn
from promptuary.state import StateDatabase
from promptuary.threads.options import Learner, ThreadOptions
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.store import ThreadStore
from promptuary.threads.turn import Thread
from promptuary.tokens.counting import Counter
from tests.conftest import Files
from tests.unit.threads.test_turn import attach_nothing


@pytest.mark.parametrize(
    ("message", "learnt"),
    [
        ("Always use tabs here.", 1),
        ("Always use tabs here. See @file:a.py, #a.py and @file:gone.py", 1),
        ('Always use tabs here. @remember:"we use tabs"', 0),
    ],
)
def test_only_a_turn_that_wrote_a_note_itself_is_not_learnt_from(files: Files, message: str, learnt: int) -> None:
    with Promptuary.open(files({"a.py": "a = 1\n"}), exact=True, embedder="none") as promptuary:
        promptuary.threads.finish(promptuary.threads.prepare(message), "All right.")

        assert len(promptuary.memory.proposals()) == learnt


@dataclass
class Pupil:
    """Writes one row of what it is told, and then fails if it has to."""

    store: ThreadStore
    name: str
    fails: bool = False
    settled: list[str] = field(default_factory=list)

    def record(self, finished: FinishedTurn) -> None:
        said = [item.content for item in finished.items]
        self.store.apply(ThreadChange(finished.thread, states=[LayerState(self._key, 1, said)]))
        if self.fails:
            raise RuntimeError(f"no room\nfor {self.name}")

    async def settle(self) -> None:
        self.settled.append(self.name)

    @property
    def _key(self) -> StateKey:
        return StateKey(self.name, "thread", "t")

    def learnt(self) -> object:
        (state,) = self.store.states([self._key])
        return None if state is None else state.value


@pytest.fixture
def database(tmp_path: Path) -> StateDatabase:
    return StateDatabase(tmp_path / "state.db")


def finished(database: StateDatabase, *learners: Learner) -> Receipt:
    common = ThreadOptions(
        LOCAL,
        database.threads(LOCAL),
        [],
        Counter(),
        Room(10_000, 1_000),
        5_000,
        CompactionPolicy(),
        None,
        attach_nothing,
        "r",
        transaction=database.transaction,
        learners=learners,
    )

    async def one_turn() -> Receipt:
        thread = Thread("t", common)
        return await thread.finish(await thread.prepare("Hello."), "Good day.", cost=0.5)

    return asyncio.run(one_turn())


def test_all_learn_from_the_messages_of_a_turn(database: StateDatabase) -> None:
    store = database.threads(LOCAL)
    pupils = [Pupil(store, "one"), Pupil(store, "two")]
    receipt = finished(database, *pupils)

    assert [pupil.learnt() for pupil in pupils] == [["Hello.", "Good day."]] * 2
    assert [pupil.settled for pupil in pupils] == [["one"], ["two"]]
    assert not receipt.failures


def test_one_who_fails_loses_neither_the_turn_nor_what_the_others_learn(database: StateDatabase) -> None:
    store = database.threads(LOCAL)
    first, failing, last = Pupil(store, "one"), Pupil(store, "two", fails=True), Pupil(store, "three")
    receipt = finished(database, first, failing, last)

    assert [item.content for item in store.history("t")] == ["Hello.", "Good day."]
    assert first.learnt() == last.learnt() == ["Hello.", "Good day."]
    assert failing.learnt() is None
    [failure] = receipt.failures
    assert (failure.layer, failure.hook, failure.code) == ("two", "record", "ERROR")
    assert failure.reason == "RuntimeError: no room⏎for two"
    stored = store.turn("t", 1)
    assert stored is not None
    assert list(stored.receipt.failures) == [failure]
    assert stored.cost == 0.5
