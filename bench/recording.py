"""What it costs a turn to be recorded as experiences: ``finish`` with and without, and the parts of the difference.

The same turns, of so many calls of tools, are finished in two workspaces in turn, one of which records. Between them
stand the parts: deciding what a turn teaches, and writing it in the transaction that is open anyway. The writing of
notes after a turn is the same in both. Beside the clock stands the time of the processor, which is the steadier of the
two on a machine that others use.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

from bench.report import Row, report
from promptuary.base.messages import Item, Message, ToolCall
from promptuary.blocking import Promptuary
from promptuary.experiences.learn.learner import ExperienceLearner, lessons
from promptuary.memory.writeback.snapshot import FinishedTurn, Foreign

ROUNDS = 120
WARM_UP = 5
CALLS = (2, 10, 50)
GOAL = 2.0
"""Milliseconds that recording may add to a turn, on a quiet machine."""


def reply(turn: int, calls: int) -> list[Message]:
    """Return a reply with ``calls`` calls; the first fails and is made good by the next."""
    messages: list[Message] = []
    for number in range(calls):
        name, failed = f"c{number}", number == 0
        command = {"command": f"{'' if failed else 'uv run '}pytest tests/unit/part{turn}_{number // 2}"}
        result = "ModuleNotFoundError: No module named 'numpy'" if failed else "3 passed in 0.12s\n" * 20
        call = {"id": name, "name": "bash", "arguments": json.dumps(command)}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})  # type: ignore[list-item]
        messages.append({"role": "tool", "content": result, "tool_call_id": name})
    return [*messages, {"role": "assistant", "content": "Done."}]


def items(turn: int, calls: int) -> list[Item]:
    said = [
        Item(
            str(at),
            one["role"],
            one["content"],
            tuple(ToolCall(**call) for call in one.get("tool_calls", ())),
            one.get("tool_call_id", ""),
        )
        for at, one in enumerate(reply(turn, calls))
    ]
    return [Item("u", "user", f"Run the tests of part {turn} and tell me what fails."), *said]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def finished(promptuary: Promptuary, turn: int, calls: int) -> float:
    """Return how many milliseconds it takes to finish a turn, in a thread of its own."""
    name = f"t{turn}"
    prepared = promptuary.threads.prepare(f"Run the tests of part {turn} and tell me what fails.", thread=name)
    said = reply(turn, calls)
    return timed(lambda: promptuary.threads.finish(prepared, said))


def measured(calls: int) -> Sequence[Row]:
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / "off", Path(place) / "on"]
        for folder in folders:
            folder.mkdir()
        written: list[float] = []
        processor: list[float] = []
        record = ExperienceLearner.record

        def clocked(self: ExperienceLearner, done: FinishedTurn, foreign: Foreign) -> bool:
            start = time.thread_time()
            written.append(timed(lambda: record(self, done, foreign)))
            processor.append((time.thread_time() - start) * 1000)
            return False

        options = {"embedder": "none", "experience_tokens": 0}
        with (
            patch.object(ExperienceLearner, "record", clocked),
            Promptuary.open(folders[0], exact=True, experiences=False, **options) as off,  # type: ignore[arg-type]
            Promptuary.open(folders[1], exact=True, **options) as on,  # type: ignore[arg-type]
        ):
            pairs = [(finished(off, turn, calls), finished(on, turn, calls)) for turn in range(ROUNDS + WARM_UP)]
    without, with_it = (statistics.median(side) for side in zip(*pairs[WARM_UP:], strict=True))
    added = statistics.median(two - one for one, two in pairs[WARM_UP:])
    deciding = statistics.median(timed(lambda: lessons(items(0, calls))) for _ in range(ROUNDS))
    return [
        Row(f"{calls} calls: finish without recording", without, "ms"),
        Row(f"{calls} calls: finish with recording", with_it, "ms", with_it / without),
        Row(f"{calls} calls: the difference, at the median", added, "ms", added / GOAL),
        Row(f"{calls} calls:   in the transaction: deciding and writing", statistics.median(written[WARM_UP:]), "ms"),
        Row(f"{calls} calls:   the same, in time of the processor", statistics.median(processor[WARM_UP:]), "ms"),
        Row(f"{calls} calls:   of that, deciding", deciding, "ms"),
    ]


def main() -> None:
    rows = [row for calls in CALLS for row in measured(calls)]
    report(
        f"Recording experiences ({ROUNDS} turns each; the ratio of the difference is to the goal of {GOAL} ms)", rows
    )


if __name__ == "__main__":
    main()
