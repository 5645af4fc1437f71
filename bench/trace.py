"""The way that everyday work takes through our code: ``python -m bench.trace [--json] [FLOW ...]``.

Each flow runs in a process of its own, in a workspace with 100 indexed files, 20 notes and a small history. Counted are
the modules of ours that it passes through, the pairs of packages between which one calls the other, the scans of its
message, the reads of the database and of the index, the starts of git, and the threads that it starts.
Imports do not count.
"""  # noqa: A005  (run as ``bench.trace``)

import argparse
import asyncio
import functools
import inspect
import json
import operator
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import promptuary
from bench.beside import write_files
from promptuary.blocking import Promptuary

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = f"{Path(promptuary.__file__).parent}{os.sep}"
MESSAGE = "hello, how does the retry work?"
NOTES = 20
TURNS = 3
RUNNERS = ("concurrency", "calls")
"""Modules of ours that run in threads and event loops what others pass to them."""


class Trace:
    """Everything that is counted while it is ``on``."""

    def __init__(self) -> None:
        self.on = False
        self.modules: set[str] = set()
        self.edges: set[tuple[str, str]] = set()
        self.functions: Counter[str] = Counter()
        self.scans = 0
        self.reads: Counter[str] = Counter()
        self.index_reads: Counter[str] = Counter()
        self.git: list[str] = []
        self.threads: list[str] = []
        self._names: dict[CodeType, str] = {}
        self._code = functools.cache(operator.attrgetter("co_code"))

    def install(self) -> None:
        """Watch this process from now on: calls in every thread that starts later, and in this one."""
        sys.addaudithook(self._audit)
        connect = sqlite3.connect

        def connect_traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*arguments, **options)
            file = Path(str(arguments[0])).name
            connection.set_trace_callback(lambda sql: self._statement(file, sql))
            return connection

        sqlite3.connect = connect_traced  # type: ignore[assignment]
        start = threading.Thread.start

        def start_traced(thread: threading.Thread) -> None:
            if self.on:
                self.threads.append(_starter())
            start(thread)

        threading.Thread.start = start_traced  # type: ignore[assignment, method-assign]
        threading.setprofile(self._call)
        sys.setprofile(self._call)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event == "subprocess.Popen":
            command = [str(argument) for argument in arguments[1]]
            if any(Path(word).name == "git" for word in command):
                self.git.append(" ".join(command))

    def _statement(self, file: str, sql: str) -> None:
        words = " ".join(line.strip() for line in sql.splitlines() if not line.startswith("--"))
        if self.on and words.upper().startswith(("SELECT", "WITH")):
            (self.reads if file == "state.db" else self.index_reads)[words[:160]] += 1

    def _call(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self.on:
            return
        name = self._name(frame.f_code)
        if not name:
            return
        self.modules.add(name)
        self.functions[f"{name}:{frame.f_code.co_qualname}"] += 1
        if frame.f_code.co_name == "scan_closely" and MESSAGE in str(frame.f_locals.get("text")):
            self.scans += 1
        if self._code(frame.f_code)[frame.f_lasti + 1] & 3:  # the argument of RESUME: a coroutine goes on, and whoever
            return  # woke it did not call it
        above = frame.f_back
        while above is not None and not self._name(above.f_code):
            above = above.f_back
        caller = self._name(above.f_code) if above is not None else ""
        # What runs a function in a thread, in a loop or in a transaction was given it by another package.
        passed = caller.endswith(RUNNERS) or "<locals>" in frame.f_code.co_qualname
        if caller and not passed and _package(caller) != _package(name):
            self.edges.add((_package(caller), _package(name)))

    def _name(self, code: CodeType) -> str:
        """Return the module of a function of ours; of other code, and of the bodies of modules and classes, ``""``."""
        name = self._names.get(code)
        if name is None:
            ours = code.co_filename.startswith(HOME) and bool(code.co_flags & inspect.CO_OPTIMIZED)
            name = code.co_filename.removeprefix(HOME).removesuffix(".py").replace(os.sep, ".") if ours else ""
            self._names[code] = name
        return name

    def counts(self) -> dict[str, int]:
        """Return the numbers."""
        return {
            "modules": len(self.modules),
            "edges": len(self.edges),
            "scans": self.scans,
            "reads": self.reads.total(),
            "index reads": self.index_reads.total(),
            "git": len(self.git),
            "threads": len(self.threads),
        }

    def details(self) -> dict[str, Any]:
        """Return what the numbers count."""
        return {
            "modules": sorted(self.modules),
            "edges": [f"{caller} -> {callee}" for caller, callee in sorted(self.edges)],
            "reads": dict(self.reads.most_common()),
            "index reads": dict(self.index_reads.most_common()),
            "git": self.git,
            "threads": self.threads,
            "functions": dict(self.functions.most_common()),
        }

    @contextmanager
    def recorded(self) -> "Iterator[None]":
        """Count what happens in the block."""
        self.on = True
        try:
            yield
        finally:
            self.on = False


def _package(name: str) -> str:
    return name.partition(".")[0]


def _starter() -> str:
    """Return the functions of ours on the way to the start of a thread."""
    frames: list[str] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None and len(frames) < 6:
        if frame.f_code.co_filename.startswith(HOME):
            frames.append(f"{frame.f_code.co_filename.removeprefix(HOME)}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    return " < ".join(frames)


def trace_plain_turn(trace: Trace) -> None:
    with Promptuary.open(".", exact=True, embedder="none") as p, trace.recorded():
        p.threads.finish(p.threads.prepare(MESSAGE, thread="bench"), "It waits twice as long each time.")


def trace_turn_with_a_tool(trace: Trace) -> None:
    from promptuary.testing.scripted import ScriptedStream

    called = promptuary.ToolCall("call-1", "read_file", '{"path": "src/module_1.py"}')
    model = ScriptedStream([[called], ["It waits twice as long each time."]])
    with Promptuary.open(".", exact=True, embedder="none") as p, trace.recorded():
        p.threads.run(MESSAGE, model, p.threads.tools(thread="bench"), thread="bench")


def trace_expand(trace: Trace) -> None:
    with Promptuary.open(".", exact=True, embedder="none") as p, trace.recorded():
        p.expand(f"{MESSAGE} @file:docs/page_7.md")


def trace_remember(trace: Trace) -> None:
    with Promptuary.open(".", exact=True, embedder="none") as p, trace.recorded():
        p.memory.write("The lamp of room 7 is green.", title="Room 7", kind="project")


def trace_telegram(trace: Trace) -> None:
    from promptuary.testing.chat_server import ChatServer, Says
    from tests.gateways import configure, rigged

    async def talk() -> None:
        async with rigged("telegram", workspace=str(Path.cwd())) as rig:
            await rig.until(lambda: "getUpdates" in rig.fake.calls)
            with trace.recorded():
                rig.say(42, MESSAGE)
                await rig.answers(42, 1)

    with ChatServer([Says("It waits twice as long each time.")]) as server:
        configure(server.openai_url, Path.home())
        asyncio.run(talk())


FLOWS: Mapping[str, Callable[[Trace], None]] = {
    "plain turn": trace_plain_turn,
    "turn with a tool call": trace_turn_with_a_tool,
    "expand": trace_expand,
    "remember": trace_remember,
    "telegram": trace_telegram,
}


def fill(folder: Path) -> None:
    """Make the workspace: a repository with files that are indexed, notes, and a thread."""
    write_files(folder, "retry")
    time.sleep(2.5)  # what changed a moment ago is looked at again
    with Promptuary.open(folder, exact=True, embedder="none") as p:
        p.search.index(["docs", "src"])
        for number in range(NOTES):
            p.memory.write(f"We deploy part {number} on Fridays.", title=f"Fact {number}", kind="project")
        for number in range(TURNS):
            turn = p.threads.prepare(f"What is on page {number}?", thread="bench")
            p.threads.finish(turn, f"The checklist of week {number}.")


def run_flow(name: str) -> dict[str, Any]:
    """Run a flow in this process."""
    trace = Trace()
    trace.install()
    FLOWS[name](trace)
    sys.setprofile(None)
    return {"counts": trace.counts(), "details": trace.details()}


def measure(name: str) -> dict[str, Any]:
    """Return what a flow passes through, in a new process, with a new home and a new workspace."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as place:
        work, home = Path(place, "work"), Path(place, "home")
        work.mkdir()
        home.mkdir()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(root)}

        def run(task: str) -> str:
            command = [sys.executable, "-c", "import bench.trace; bench.trace.main()", "--here", task]
            return subprocess.run(
                command, cwd=work, env=environment, stdout=subprocess.PIPE, text=True, check=True
            ).stdout

        run("--fill")
        result: dict[str, Any] = json.loads(run(name))
        return result


def main() -> None:
    if sys.argv[1:2] == ["--here"]:
        if sys.argv[2] == "--fill":
            fill(Path.cwd())
        else:
            print(json.dumps(run_flow(sys.argv[2])))
        return
    parser = argparse.ArgumentParser(description="Count what everyday work passes through.")
    parser.add_argument("flows", nargs="*", help=f"which ones (default: all of {', '.join(FLOWS)})")
    parser.add_argument("--json", action="store_true", help="print everything that was counted, as JSON")
    options = parser.parse_args()
    results = {name: measure(name) for name in options.flows or FLOWS}
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for name, result in results.items():
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in result['counts'].items())}")


if __name__ == "__main__":
    main()
