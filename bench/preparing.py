"""``prepare`` in a long thread where nothing changed, and what is left of it beyond what it cannot do without.

Each turn is prepared and abandoned, so the history stays as long as it is. Every run measures, in turn: the whole of
``prepare``; within it, the store's ``apply``, which ends when the turn is on the disk; and beside it, the same files
read and hashed with no checks at all. What remains after those two is the overhead: layers, references, history, room,
the receipt. That nothing is counted twice is counted, not assumed: ``encoded`` is the characters that reached the
tokenizer in one ``prepare`` after the first. Then messages, layers and files each grow tenfold alone: what ten times as
many cost may be ten times what as few cost, and no more. Beside the clock stands the time of the processor, in all
threads: it is the steadier of the two on a machine that others use.
"""

import asyncio
import hashlib
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.report import Row, report
from promptuary import Counter, Promptuary
from promptuary.base.ids import new_id
from promptuary.base.messages import Item
from promptuary.layers.layer import Layer, LayerContext, RecallRequest
from promptuary.threads.records import ThreadChange
from promptuary.workspace.data_folder.private_folder import private_folder
from tests.stores import FileStore

ROUNDS = 60
WARM_UP = 3
GOAL = 15.0
"""Milliseconds of overhead at the full size, on a quiet machine."""


@dataclass(frozen=True, slots=True)
class Size:
    """What stands in the window; our own two layers are among the layers."""

    layers: int
    files: int
    messages: int


FULL = Size(20, 50, 500)
SIZES = (Size(4, 5, 50), Size(4, 10, 100), FULL)
GROWTH = (
    ("messages", Size(4, 5, 50), Size(4, 5, 500)),
    ("layers", Size(2, 5, 50), Size(20, 5, 50)),
    ("files", Size(4, 5, 50), Size(4, 50, 50)),
)


class Standing(Layer):
    """A layer with a small state and a paragraph that stays the same."""

    band = "stable"

    def __init__(self, number: int) -> None:
        self.id, self.slot = f"standing-{number}", 500 + number
        self._text = f"Rule {number}. " + "Prefer plain values and pure functions; say what a thing is for. " * 4

    async def init(self, context: LayerContext) -> None:
        context.state = {"seen": [f"note {number} of {self.id}" for number in range(20)]}

    async def recall(self, request: RecallRequest, context: LayerContext) -> str:
        return self._text if context.counter.count(self._text) <= request.budget else ""


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds by the clock, and of the processor: what others do on the machine adds to the first above all."""

    clock: float
    processor: float

    def __sub__(self, other: "Took") -> "Took":
        return Took(self.clock - other.clock, self.processor - other.processor)


@dataclass(slots=True)
class Spent:
    """What each run took, and the characters that were encoded in it."""

    whole: list[Took] = field(default_factory=list)
    applying: list[Took] = field(default_factory=list)
    reading: list[Took] = field(default_factory=list)
    encoded: list[int] = field(default_factory=list)

    @property
    def overhead(self) -> list[Took]:
        """What neither the disk nor the files explain, run by run."""
        each = zip(self.whole, self.applying, self.reading, strict=True)
        return [whole - applying - reading for whole, applying, reading in each]


def main() -> None:
    rows = []
    for size in SIZES:
        spent = measure(size, ROUNDS)
        label, rest = f"{size.layers} layers, {size.files} files, {size.messages} messages", spent.overhead
        overhead = _ms(rest)
        rows += [
            Row(f"{label}: prepare, median", _ms(spent.whole), "ms"),
            Row(f"{label}: prepare, p99", _ms(spent.whole, 99), "ms"),
            Row(f"{label}: files read and hashed", _ms(spent.reading), "ms"),
            Row(f"{label}: written to the disk", _ms(spent.applying), "ms"),
            Row(f"{label}: overhead, median", overhead, "ms", overhead / GOAL if size is FULL else None),
            Row(f"{label}: overhead, least", min(one.clock for one in rest) * 1000, "ms"),
            Row(f"{label}: overhead, processor, median", _median_processor(rest), "ms"),
            Row(f"{label}: encoded in a run, most", max(spent.encoded), "chars"),
        ]
    report(f"Preparing a turn where nothing changed (goal: {GOAL:g} ms of overhead at the full size)", rows)
    report("What ten times as many cost, beside as few (linear: at most 10x)", list(_growth()))


def _growth() -> Iterator[Row]:
    for what, few, many in GROWTH:
        small, large = (_median_processor(measure(size, ROUNDS // 2).overhead) for size in (few, many))
        yield Row(f"{getattr(few, what)} {what}, processor", small, "ms", 1.0)
        yield Row(f"{getattr(many, what)} {what}, processor", large, "ms", large / small)


def measure(size: Size, rounds: int) -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        names = fill(Path(folder), size)
        return asyncio.run(_prepared(Path(folder), size, names, rounds))


def fill(folder: Path, size: Size) -> list[str]:
    """Put files of real source and a history into a new workspace."""
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = [path for path in sorted(library.rglob("*.py")) if 1024 <= path.stat().st_size <= 6 * 1024]
    names: list[str] = []
    for path in sources[:: len(sources) // size.files][: size.files]:
        names.append(f"{len(names):02}_{path.name}")
        (folder / names[-1]).write_bytes(path.read_bytes())
    (folder / "AGENTS.md").write_text("# Rules\n\nTests first. Small functions. Say why, not what.\n" * 5)
    store = FileStore(private_folder(folder) / "state.db")
    store.apply(ThreadChange("main", items=[_said(number) for number in range(size.messages)]))
    store.close()
    return names


def _said(number: int) -> Item:
    said = f"Step {number}: the parser reads one field after the other, and what it cannot read it names. " * 5
    return Item(new_id("item"), "assistant" if number % 2 else "user", said)


async def _prepared(folder: Path, size: Size, names: list[str], rounds: int) -> Spent:
    spent = Spent()
    layers = [Standing(number) for number in range(size.layers - 2)]
    with _watched(spent):
        async with Promptuary.open(folder, exact=True, layers=layers, window=1_000_000) as promptuary:
            for name in names:
                await promptuary.threads.attach(f"#{name}")
            for number in range(WARM_UP + rounds):
                if number == WARM_UP:
                    spent.whole, spent.applying, spent.reading, spent.encoded = [], [], [], []
                spent.encoded.append(0)
                began = _now(time.process_time)
                turn = await promptuary.threads.prepare(f"What comes after step {number}?")
                spent.whole.append(_now(time.process_time) - began)
                spent.reading.append(_reading(folder, names))
                assert len(turn.prompt.history) == size.messages
                assert len(turn.prompt.stable) == size.layers
                applied = len(spent.applying)
                await promptuary.threads.abandon(turn)
                del spent.applying[applied:]
    return spent


@contextmanager
def _watched(spent: Spent) -> Iterator[None]:
    """Time every change that is written, and note what reaches the tokenizer."""
    apply, encode = FileStore.apply, vars(Counter)["_encode"]

    def applied(store: FileStore, change: ThreadChange) -> None:
        began = _now(time.thread_time)
        apply(store, change)
        spent.applying.append(_now(time.thread_time) - began)

    def encoded(counter: Counter, text: str) -> Any:
        if spent.encoded:
            spent.encoded[-1] += len(text)
        return encode(counter, text)

    with patch.object(FileStore, "apply", applied), patch.object(Counter, "_encode", encoded):
        yield


def _now(processor: Callable[[], float]) -> Took:
    return Took(time.perf_counter(), processor())


def _reading(folder: Path, names: list[str]) -> Took:
    began = _now(time.thread_time)
    for name in names:
        data = (folder / name).read_bytes()
        hashlib.sha256(data).hexdigest()
        data.decode()
    return _now(time.thread_time) - began


def _ms(runs: list[Took], percent: int = 50) -> float:
    return statistics.quantiles([one.clock for one in runs], n=100, method="inclusive")[percent - 1] * 1000


def _median_processor(runs: list[Took]) -> float:
    return statistics.median(one.processor for one in runs) * 1000


if __name__ == "__main__":
    main()
