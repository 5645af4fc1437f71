"""Asking which turns a source influenced, over 100,000 turns, beside one indexed query and a scan of every receipt.

The turns are made in the store itself, many to a transaction; each has instructions, a file out of 2,000, the file of a
message before, and the history of six messages. ``python -m bench ledger``; ``BENCH_TURNS`` makes fewer.
"""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from bench.report import Row, report
from promptuary.base.blocks import Attachment, Detail
from promptuary.base.messages import Item, Message
from promptuary.base.principals import LOCAL
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord
from promptuary.threads.store.store import ThreadStore

TURNS = int(os.environ.get("BENCH_TURNS", "100000"))
THREADS = 1_000
FILES = 2_000
CARRIED = 6
AT_ONCE = 500
ROUNDS = 50


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        with closing(StateDatabase(path)) as state:
            began = time.perf_counter()
            fill(state, TURNS)
            made = time.perf_counter() - began
            store = state.threads(LOCAL)
            once = _turn_cost(state)
            rows = _asked(store, path)
        with closing(sqlite3.connect(path)) as raw:
            size = path.stat().st_size / 1e6
            index = _index_bytes(raw) / 1e6
    report(
        f"Which of {TURNS:,} turns did a file influence (limit: one query of an index)",
        [
            Row(f"make {TURNS:,} turns", made, "s"),
            Row("the database", size, "MB"),
            Row("of which the index of sources", index, "MB"),
            Row("store one turn, with a commit", once * 1000, "ms"),
            *rows,
        ],
    )


def fill(state: StateDatabase, turns: int) -> None:
    """Store turns, many to a transaction."""
    store = state.threads(LOCAL)
    history: list[list[Item]] = [[] for _ in range(THREADS)]
    for first in range(0, turns, AT_ONCE):
        with state.transaction():
            for number in range(first, min(first + AT_ONCE, turns)):
                store.apply(_change(number, history[number % THREADS]))


def _change(number: int, history: list[Item]) -> ThreadChange:
    thread, path = f"thread {number % THREADS}", f"file:src/module_{number * 7 % FILES}.py"
    name = f"turn {number}"
    text = f"# Attached context\n\n## {path}\nline {number}\n\n# Message\n\nWhat does it do, for the {number}th time?"
    messages: list[Message] = [{"role": "system", "content": "Be kind."}]
    messages += [{"role": item.role, "content": item.content} for item in history]
    messages.append({"role": "user", "content": text})
    entries = [
        ReceiptEntry("instructions", "AGENTS.md", "in", 10, 0.0, "file:AGENTS.md", "0" * 64),
        ReceiptEntry("references", path, "in", 40, 0.0, path, f"{number // 5000:064}", lines=(1, 40)),
    ]
    receipt = Receipt(name, thread, 128_000, 4_096, 2_000, entries=entries)
    turn = TurnRecord(name, thread, number // THREADS + 1, "2026-01-01T00:00:00", "finished", text, messages, receipt)
    attached = Attachment(path, path, f"{number // 5000:064}", Detail.FULL, (1, 40), 20, 30)
    item = Item(f"item {number}", "user", text, turn=name, attachments=(attached,))
    gone = history[:-CARRIED] if len(history) > CARRIED else []
    change = ThreadChange(thread, turn=turn, items=[item])
    history.append(item)
    del history[: len(gone)]
    return change


def _turn_cost(state: StateDatabase) -> float:
    store, history, taken = state.threads(LOCAL), list[Item](), []
    for number in range(TURNS, TURNS + 60):
        change = _change(number * THREADS, history)
        renamed = replace(change, thread="alone", turn=replace(change.turn, thread="alone"))  # type: ignore[type-var]
        began = time.perf_counter()
        store.apply(renamed)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _asked(store: ThreadStore, path: Path) -> list[Row]:
    one, every = "file:src/module_700.py", "file:AGENTS.md"
    began = time.perf_counter()
    scanned = _scan(path, one)
    scan = time.perf_counter() - began
    found = {(use.thread, use.number) for use in store.uses([one], limit=1_000_000) if use.origin.how == "direct"}
    assert len(found) == scanned, (len(found), scanned)
    with closing(sqlite3.connect(path)) as raw:
        query = (
            "SELECT turn_source.turn FROM source JOIN turn_source ON turn_source.tenant = source.tenant "
            "AND turn_source.owner = source.owner AND turn_source.source = source.source "
            "WHERE source.tenant = 1 AND source.owner = 1 AND source.address = ? "
            "ORDER BY turn_source.turn DESC LIMIT 100"
        )
        bare = _median(lambda: raw.execute(query, (one,)).fetchall())
    asked = _median(lambda: store.uses([one]))
    whole = _median(lambda: store.uses([one], limit=1_000_000))
    common = _median(lambda: store.uses([every]))
    turn = _median(lambda: store.sources("thread 0", TURNS // THREADS // 2))
    return [
        Row("one query of the index, 100 rows", bare * 1000, "ms", 1.0),
        Row("audit of a file, 100 rows", asked * 1000, "ms", asked / bare),
        Row(f"audit of a file, all its turns ({len(found):,} direct)", whole * 1000, "ms", whole / bare),
        Row("audit of a file that every turn has, 100 rows", common * 1000, "ms", common / bare),
        Row("what one turn was based on", turn * 1000, "ms", turn / bare),
        Row("scan of every receipt", scan * 1000, "ms", scan / bare),
    ]


def _scan(path: Path, address: str) -> int:
    """Return how many turns have a source, from their receipts alone."""
    with closing(StateDatabase(path)) as state:
        store = state.threads(LOCAL)
        return sum(
            any(entry.source == address for entry in turn.receipt.entries)
            for info in store.threads()
            for turn in store.turns(info.id)
        )


def _index_bytes(raw: sqlite3.Connection) -> int:
    names = ("source", "source_part", "turn_source", "item_source", "carried_source")
    try:
        marks = ", ".join("?" * len(names))
        query = (
            f"SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_master WHERE tbl_name IN ({marks}))"
        )
        return int(raw.execute(query, names).fetchone()[0])
    except sqlite3.OperationalError:  # not every SQLite has it
        return 0


def _median(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)
