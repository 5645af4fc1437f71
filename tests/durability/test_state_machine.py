"""Whatever is done in whatever order, the file and the dictionaries agree."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from promptuary.base.errors import ConflictError
from promptuary.base.messages import Item, Replacement, ToolCall
from promptuary.layers.layer import LayerState, StateKey
from promptuary.threads.records import ThreadChange, TurnRecord
from promptuary.threads.store.store import ThreadStore
from tests.conftest import TORTURE
from tests.stores import FileStore, MemoryStore, thread_state
from tests.suites.threads import turned

ANY_TEXT = st.text(st.characters(categories=None), max_size=8)
THREADS = st.sampled_from(["a", "b", "\ud800"])
IDS = st.integers(0, 12).map(lambda number: f"i{number}")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
ITEMS = st.builds(
    Item,
    IDS,
    st.sampled_from(["user", "assistant", "tool"]),
    ANY_TEXT,
    st.lists(st.builds(ToolCall, ANY_TEXT, ANY_TEXT, ANY_TEXT), max_size=2).map(tuple),
    ANY_TEXT,
    pinned=st.booleans(),
    stands_for=st.lists(ANY_TEXT, max_size=2).map(tuple),
    turn=ANY_TEXT,
)
STATES = st.builds(thread_state, st.sampled_from(["l", "m"]), st.sampled_from(["", "s"]), st.integers(0, 9), JSON)
PINS = st.tuples(IDS, st.booleans())
STATUSES = st.sampled_from(["prepared", "finished", "failed", "abandoned"])


class Stores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ticks = 0
        self.model = MemoryStore(clock=self.clock)
        self.real = self.opened()

    def clock(self) -> str:
        return f"tick {self.ticks}"

    def opened(self) -> FileStore:
        return FileStore(Path(self.folder.name) / "state.db", clock=self.clock)

    def both(self, act: Callable[[ThreadStore], None]) -> None:
        """Do the same to both; they refuse in the same words or not at all."""
        self.ticks += 1
        told = []
        for store in (self.model, self.real):
            try:
                act(store)
            except ConflictError as error:
                told.append(str(error))
        assert len(set(told)) == len(told) / 2

    @rule(
        thread=THREADS,
        items=st.lists(ITEMS, max_size=4),
        pinned=st.lists(PINS, max_size=1),
        states=st.lists(STATES, max_size=2),
    )
    def write(self, thread: str, items: list[Item], pinned: list[tuple[str, bool]], states: list[LayerState]) -> None:
        self.both(lambda store: store.apply(ThreadChange(thread, items=items, pinned=pinned, states=states)))

    @rule(thread=THREADS, text=ANY_TEXT, number=st.integers(1, 4), name=st.sampled_from(["", "x"]), status=STATUSES)
    def take_a_turn(self, thread: str, text: str, number: int, name: str, status: str) -> None:
        turn: TurnRecord = replace(turned(number, thread, name=name, text=text), status=status)
        self.both(lambda store: store.apply(ThreadChange(thread, turn=turn)))

    @precondition(lambda self: any(self.model.history(line.id) for line in self.model.threads()))
    @rule(data=st.data(), summary=ITEMS, stray=st.lists(IDS, max_size=1))
    def compact(self, data: st.DataObject, summary: Item, stray: list[str]) -> None:
        thread = data.draw(st.sampled_from([line.id for line in self.model.threads() if line.items]))
        history = st.sampled_from([item.id for item in self.model.history(thread)])
        replaced = data.draw(st.lists(history, min_size=1, max_size=4)) + (stray if data.draw(st.booleans()) else [])
        pinned = [(one, False) for one in replaced] if data.draw(st.booleans()) and not stray else []
        self.both(
            lambda store: store.apply(
                ThreadChange(thread, replacements=[Replacement(tuple(replaced), summary)], pinned=pinned)
            )
        )

    @rule()
    def reopen(self) -> None:
        self.real.close()
        self.real = self.opened()

    @invariant()
    def they_agree(self) -> None:
        assert self.real.threads() == self.model.threads()
        for line in self.model.threads():
            assert self.real.history(line.id) == self.model.history(line.id)
            assert self.real.turns(line.id) == self.model.turns(line.id)
            assert self.real.turn(line.id) == self.model.turn(line.id)
        every = [f"i{number}" for number in range(13)]
        assert self.real.items(every) == self.model.items(every)
        keys = [StateKey(layer, "thread", name) for layer in "lm" for name in ("", "s")]
        assert self.real.states(keys) == self.model.states(keys)

    def teardown(self) -> None:
        self.real.verify()
        self.real.close()
        self.folder.cleanup()


TestStores = Stores.TestCase
TestStores.settings = settings(
    max_examples=400 if TORTURE else 25, stateful_step_count=40 if TORTURE else 15, deadline=None
)
TestStores = pytest.mark.torture(TestStores)
