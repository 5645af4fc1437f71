"""The index of sources agrees with a scan of every receipt and every prompt, whatever happened in the threads."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from promptuary.base.messages import Item
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.state import StateDatabase
from promptuary.threads.records import TurnRecord
from promptuary.threads.store.store import ThreadStore
from tests.conftest import TORTURE

FILES: Final = ("a.py", "b.md", "docs/c.txt")
THREADS: Final = ("main", "review")
WINDOW: Final = 1_400
"""So small that a few turns compact the history."""


@dataclass(frozen=True)
class Step:
    """A turn in a thread: what it points at, how it ends, and which file is edited before it."""

    thread: str
    attached: frozenset[str]
    tracked: bool
    ending: str
    edited: str | None


def steps() -> st.SearchStrategy[list[Step]]:
    return st.lists(
        st.builds(
            Step,
            st.sampled_from(THREADS),
            st.frozensets(st.sampled_from(FILES), max_size=2),
            st.booleans(),
            st.sampled_from(["finish", "finish", "finish", "abandon", "prepare"]),
            st.one_of(st.none(), st.sampled_from(FILES)),
        ),
        min_size=1,
        max_size=14,
    )


def carry_out(folder: Path, done: Sequence[Step]) -> None:
    (folder / "docs").mkdir()
    (folder / "AGENTS.md").write_text("Be kind.\n")
    for name in FILES:
        (folder / name).write_text(f"the first text of {name}\n" * 8)
    with Promptuary.open(folder, exact=True, embedder="none", window=WINDOW) as promptuary:
        for number, step in enumerate(done):
            if step.edited:
                (folder / step.edited).write_text(f"text {number} of {step.edited}\n" * 8)
            words = [f"Message {number}:", *(f"@file:{name}" for name in sorted(step.attached))]
            turn = promptuary.threads.prepare(" ".join([*words, *(["#b.md"] * step.tracked)]), thread=step.thread)
            if step.ending == "finish":
                promptuary.threads.finish(turn, f"Answer {number}. " + "It says a lot about this. " * 6)
            elif step.ending == "abandon":
                promptuary.threads.abandon(turn)


Row = tuple[str, int, str, str, str, str, tuple[int, int] | None]


def everything_said(store: ThreadStore, thread: str) -> list[Item]:
    """Return every item that ever stood in a history."""
    found: dict[str, Item] = {}
    waiting = list(store.history(thread))
    while waiting:
        item = waiting.pop()
        if item.id not in found:
            found[item.id] = item
            waiting += store.items(item.stands_for)
    return list(found.values())


def behind(item: Item, every: dict[str, Item]) -> Iterator[Item]:
    """Yield the items that an item stands for, and those that these stand for."""
    for name in item.stands_for:
        if name in every:
            yield every[name]
            yield from behind(every[name], every)


def scanned(turn: TurnRecord, items: Sequence[Item]) -> Iterator[Row]:
    """Yield the sources of a turn from its receipt and its prompt alone."""
    place = (turn.thread, turn.number)
    for entry in turn.receipt.entries:
        if entry.status in {"in", "degraded"} and entry.layer not in {"history", "message"} and entry.source:
            yield (*place, entry.source, "direct", entry.layer, entry.revision, entry.lines)
    sent = {message["content"] for message in turn.messages[:-1]}
    every = {item.id: item for item in items}
    for item in items:
        if item.content not in sent:
            continue
        for one in item.attachments:
            yield (*place, one.source, "history", "references", one.revision, one.lines)
        own = {one.source for one in item.attachments}
        for old in behind(item, every):
            for one in old.attachments:
                if one.source not in own:
                    yield (*place, one.source, "summary", "references", one.revision, one.lines)


def scan(store: ThreadStore) -> set[Row]:
    return {
        row
        for thread in THREADS
        for turn in store.turns(thread)
        for row in scanned(turn, everything_said(store, thread))
    }


def indexed(store: ThreadStore) -> set[Row]:
    """Return what the index says, asked by source and by turn, which must be the same."""
    by_source: set[Row] = {
        (use.thread, use.number, *use.origin)
        for address in store.addresses()
        for use in store.uses([address], limit=10_000)
    }
    by_turn: set[Row] = {
        (use.thread, use.number, *use.origin)
        for thread in THREADS
        for turn in store.turns(thread)
        for use in store.sources(thread, turn.number)
    }
    assert by_source == by_turn
    return by_turn


@settings(max_examples=300 if TORTURE else 8, deadline=None)
@given(done=steps())
def test_audit_agrees_with_a_scan_of_the_ledger(done: list[Step]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        carry_out(folder, done)
        path = folder / ".promptuary" / "state.db"
        with closing(StateDatabase(path)) as state:
            store = state.threads(LOCAL)
            expected = scan(store)
            assert indexed(store) == expected
            assert any(row[3] == "direct" for row in expected)


def test_the_generated_histories_reach_summaries(tmp_path: Path) -> None:
    """The control: what the property is about happens in such threads."""
    carry_out(tmp_path, [Step("main", frozenset({"a.py"}), tracked=False, ending="finish", edited="a.py")] * 12)
    with closing(StateDatabase(tmp_path / ".promptuary" / "state.db")) as state:
        found = indexed(state.threads(LOCAL))
        assert found == scan(state.threads(LOCAL))

    assert {row[3] for row in found} == {"direct", "history", "summary"}
