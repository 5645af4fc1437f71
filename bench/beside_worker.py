"""Turns, notes and the ledger of one checkout, measured in its own process for ``bench.beside``.

Knows the public interface alone, since it is run by the Python of either checkout. Each line of standard input is a
job and the number of its round; the answer is a line of JSON with milliseconds of the processor and of the clock.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from promptuary.blocking import Promptuary

TURNS = 40
"""Turns that the threads have before anything is measured."""
MANY = 500


def fill(p: Promptuary) -> None:
    """Make the threads that turns and the ledger are measured in."""
    for path in ("docs/page_1.md", "docs/page_2.md", "src/module_1.py"):
        p.threads.attach(path, thread="turns")
    for thread in ("turns", "ledger"):
        for number in range(TURNS):
            turn = p.threads.prepare(f"Question {number} about @file:src/module_{number}.py:1-20", thread=thread)
            p.threads.finish(turn, f"Answer {number}.")


def jobs(p: Promptuary) -> dict[str, Callable[[int], object]]:
    """Return what is measured."""

    def take_turn(number: int) -> None:
        turn = p.threads.prepare(f"When do we deploy part {number}? @file:src/module_9.py:1-20", thread="turns")
        p.threads.finish(turn, "On Fridays.")

    def prepare(number: int) -> None:
        p.threads.abandon(p.threads.prepare(f"When do we deploy part {number}?", thread="turns"))

    notes: list[str] = []

    def write(number: int) -> None:
        note = p.memory.write(f"Room {number} has a green lamp.", title=f"Room {number}", kind="project")
        notes.append(note.header.id)

    return {
        "prepare and abandon a turn": prepare,
        "prepare and finish a turn": take_turn,
        "write a note": write,
        "update a note": lambda number: p.memory.write(f"Room {number} has a red lamp.", id=notes[number]),
        "find notes": lambda number: p.memory.find(f"when do we deploy part {number}?", lexical_only=True),
        "list notes": lambda _: p.memory.list(limit=50),
        "history of a note": lambda number: p.memory.history(notes[number]),
        "history of a thread": lambda _: p.threads.history(thread="ledger"),
        "turns of a thread": lambda _: p.threads.turns(thread="ledger"),
        "audit a file": lambda number: p.threads.audit(f"src/module_{number % TURNS}.py"),
        "replay a turn": lambda number: p.threads.replay(thread="ledger", number=number % TURNS + 1),
        "sources of a turn": lambda number: p.threads.sources(thread="ledger", number=number % TURNS + 1),
        "list threads": lambda _: p.threads.list(),
        f"{MANY} turns": lambda _: many_turns(),
    }


def many_turns() -> int:
    """Take turns in a new workspace; return how many bytes its database has afterwards."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "page.md").write_text("# Page\n\nThe release checklist: tag, build, announce.\n" * 10)
        with Promptuary.open(folder, exact=True, embedder="none") as p:
            for number in range(MANY):
                turn = p.threads.prepare(f"Question {number} about @file:page.md", thread=f"thread-{number % 10}")
                p.threads.finish(turn, f"Answer {number}.")
        return sum(file.stat().st_size for file in (Path(folder) / ".promptuary").glob("state.db*"))


def main() -> None:
    with Promptuary.open(".", exact=True) as p:
        fill(p)
        every = jobs(p)
        for line in sys.stdin:
            name, _, number = line.rstrip("\n").partition("\t")
            if name == "jobs":
                print(json.dumps(list(every)), flush=True)
                continue
            clock, cpu = time.perf_counter(), time.process_time()
            result = every[name](int(number))
            taken = {"cpu": (time.process_time() - cpu) * 1000, "clock": (time.perf_counter() - clock) * 1000}
            if name == f"{MANY} turns" and isinstance(result, int):
                taken["size"] = result / 1000
            print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    main()
