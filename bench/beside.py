"""This version beside another checkout, in one run: ``python -m bench.beside --base OTHER/.venv/bin/python``.

First the CPU time of a start: the commands that people and agents start most, in a workspace with 1,000 notes and 100
indexed files. Then the CPU time of turns, notes and the ledger in a process that runs, and the size of what 500 turns
leave behind. Each checkout has a workspace and a home of its own, which its own program made; the two take turns, so
that whatever else the machine does slows both down. Ratios are to the other checkout: below 1 is faster or smaller.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.report import Row, report
from promptuary.testing.chat_server import ChatServer, Says

NOTES = 1_000
FILES = 100
WORKER = Path(__file__).with_name("beside_worker.py")
HOOK = json.dumps({"session_id": "bench", "prompt": "When do we deploy part 7?"})

STARTS: Mapping[str, Callable[[int], Sequence[str]]] = {
    "--version": lambda _: ["--version"],
    "expand hello": lambda _: ["expand", "hello"],
    "expand @file:": lambda _: ["expand", "Review @file:src/module_3.py:1-20"],
    "expand --thread": lambda n: ["expand", "--thread", "bench", f"When do we deploy part {n}? #docs/page_7.md"],
    "thread list": lambda _: ["thread", "list"],
    "remember": lambda n: ["remember", f"Bench fact {n}: the lamp of room {n} is green."],
    "memory search": lambda n: ["memory", "search", f"when do we deploy part {n}?"],
    "search --lexical": lambda _: ["search", "--lexical", "release checklist"],
    "complete": lambda _: ["complete", "look at @file:module_"],
    "a cold hook": lambda _: ["hook", "claude-code", "UserPromptSubmit"],
    "ask": lambda n: ["ask", f"How do we deploy part {n}?"],
}


class Checkout:
    """A program with a workspace and a home of its own."""

    def __init__(self, python: str, place: Path, model_url: str, embedder: str) -> None:
        self.python, self.workspace, home = python, place / "work", place / "home"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            **({"PROMPTUARY_EMBEDDER": embedder} if embedder else {}),
        }
        write_files(self.workspace)
        config = home / ".config/promptuary/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(
            f'answer_model = "served"\n[models.served]\nmodel = "gpt-4o"\nbase_url = "{model_url}"\nwindow = 128000\n'
        )
        _write_notes(place / "vault")
        self.run(["memory", "import", "--form", "markdown", str(place / "vault")])
        self.run(["index", "docs", "src"])
        for _ in range(NOTES // 50):  # each embeds some notes that have no vector yet: what is measured finds none
            self.run(["memory", "search", "deploy"])

    def run(self, arguments: Sequence[str]) -> float:
        """Run a command; return its CPU time in milliseconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [self.python, "-P", "-m", "promptuary", *arguments],
            cwd=self.workspace,
            env=self._environment,
            input=HOOK if "hook" in arguments else "",
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000

    def start_worker(self) -> subprocess.Popen[str]:
        """Start the process that does what is measured while it runs."""
        return subprocess.Popen(
            [self.python, "-P", str(WORKER)],
            cwd=self.workspace,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure this version beside another checkout.")
    parser.add_argument("--base", required=True, help="the Python of the other checkout")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each command (default: 15)")
    parser.add_argument("--jobs", type=int, default=40, help="rounds of each job in a running process (default: 40)")
    parser.add_argument("--embedder", default="", help="the embedder setting of both (default: what is installed)")
    parser.add_argument("--only", choices=("starts", "running"), help="only one of the two tables")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, ChatServer([Says("On Fridays.")]) as server:
        pair = [
            Checkout(python, Path(folder) / name, server.openai_url, options.embedder)
            for name, python in (("base", options.base), ("this", sys.executable))
        ]
        if options.only != "running":
            measure_starts(pair, options.rounds)
        if options.only != "starts":
            measure_running(pair, options.jobs)


def measure_starts(pair: Sequence[Checkout], rounds: int) -> None:
    rows = []
    base_sum = this_sum = 0.0
    for what, command in STARTS.items():
        taken: list[list[float]] = [[], []]
        for number in range(-1, rounds):
            for side, checkout in enumerate(pair):
                value = checkout.run(command(number + 1))
                if number >= 0:  # the first run writes byte code and fills caches
                    taken[side].append(value)
        base, this = (statistics.median(one) for one in taken)
        base_sum, this_sum = base_sum + base, this_sum + this
        rows.append(_row(what, base, this, "ms"))
    rows.append(_row("sum", base_sum, this_sum, "ms"))
    report(
        f"CPU time of a start, {NOTES:,} notes and {FILES} files indexed (medians of {rounds} interleaved runs)", rows
    )


def measure_running(pair: Sequence[Checkout], rounds: int) -> None:
    workers = [checkout.start_worker() for checkout in pair]
    try:
        jobs: list[str] = [_ask(worker, "jobs") for worker in workers][-1]
        rows = []
        for job in jobs:
            taken: list[list[dict[str, float]]] = [[], []]
            takes_long = job.endswith(" turns")
            for number in range(0 if takes_long else -1, 1 if takes_long else rounds):
                for side, worker in enumerate(workers):
                    value = _ask(worker, f"{job}\t{number + 1}")
                    if number >= 0:
                        taken[side].append(value)
            for key, unit in (("cpu", "ms"), ("clock", "ms"), ("size", "kB")):
                if key in taken[0][0]:
                    base, this = (statistics.median(value[key] for value in one) for one in taken)
                    rows.append(_row(f"{job}, {key}", base, this, unit))
        report(f"Turns, notes and the ledger in a running process (medians of {rounds} interleaved rounds)", rows)
    finally:
        for worker in workers:
            worker.communicate()


def _ask(worker: subprocess.Popen[str], line: str) -> Any:
    """Send a line to a worker, and return its answer."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    print(line, file=worker.stdin, flush=True)
    return json.loads(worker.stdout.readline())


def _row(what: str, base: float, this: float, unit: str) -> Row:
    return Row(f"{what} (the other: {base:,.2f})", this, unit, this / base if base else None)


def write_files(folder: Path, function: str = "function") -> None:
    """Write a repository with notes and code, whose functions are called ``function`` and a number."""
    for number in range(FILES // 2):
        page = f"# Page {number}\n\nThe release checklist of week {number}: tag, build, announce.\n" * 3
        code = "\n".join(
            f"def {function}_{line}(value: int) -> int:\n    return value + {line}\n" for line in range(20)
        )
        for name, text in ((f"docs/page_{number}.md", page), (f"src/module_{number}.py", code)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)


def _write_notes(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(NOTES):
        text = f"# Fact {number}\n\nWe deploy part {number} on Fridays, to host h{number % 7}, never before noon.\n"
        (folder / f"fact-{number}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
