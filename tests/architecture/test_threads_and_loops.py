"""Threads start in one place, and nothing of a store happens on an event loop."""

import ast
import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from promptuary.base.messages import Message, ToolCall
from promptuary.base.principals import LOCAL
from promptuary.database.binding import BoundDatabase
from promptuary.engine import AsyncThreads, Promptuary
from promptuary.state import StateDatabase
from promptuary.testing.scripted import ScriptedStream
from tests.architecture.source import modules, walk
from tests.conftest import Files
from tests.off_loop import CalledOnLoopError, off_loop

STARTERS = {
    "ProcessPoolExecutor",
    "Thread",
    "ThreadPoolExecutor",
    "Timer",
    "multiprocessing",
    "run_in_executor",
    "start_new_thread",
    "to_thread",
}
"""What starts a thread or a process, in the standard library."""
MODULES = {"_thread", "asyncio", "concurrent.futures", "concurrent.futures.thread", "multiprocessing", "threading"}


def starters(tree: ast.Module) -> Iterator[str]:
    """Yield the names of what starts threads: taken from a module of the standard library, or as a method of a loop."""
    for node in walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield from (one.name for one in node.names if one.name in STARTERS)
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in STARTERS)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTERS:
            yield node.func.attr


def test_threads_are_started_by_one_module() -> None:
    found = {one.name: names for one in modules() if (names := list(starters(one.tree)))}

    assert set(found) == {"promptuary.base.concurrency"}


@pytest.mark.parametrize(
    "source",
    [
        "import threading\nthreading.Thread(target=f).start()",
        "from threading import Thread",
        "import threading as t\nt.Timer(1, f)",
        "from concurrent.futures import ThreadPoolExecutor",
        "import multiprocessing",
        "import asyncio\nasyncio.to_thread(f)",
        "loop.run_in_executor(None, f)",
    ],
)
def test_a_thread_is_seen_however_it_is_started(source: str) -> None:
    assert list(starters(ast.parse(source)))


def test_a_guarded_store_answers_a_thread_and_refuses_a_loop() -> None:
    database: StateDatabase = off_loop(StateDatabase())
    store = database.threads(LOCAL)

    async def on_a_loop() -> object:
        return store.threads()

    assert list(store.threads()) == []
    assert asyncio.run(asyncio.to_thread(store.threads)) == store.threads()
    with pytest.raises(CalledOnLoopError, match=r"\.threads was called on a running event loop"):
        asyncio.run(on_a_loop())


def test_no_thread_is_read_or_written_on_the_loop_of_a_caller(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[bool] = []
    """For each database, whether it is in a file; turns that are only rehearsed have one in memory."""

    def guarded(database: type[Any]) -> Callable[..., Any]:
        def open_database(*arguments: Any, **options: Any) -> Any:
            with pytest.raises(RuntimeError, match="no running event loop"):
                asyncio.get_running_loop()
            opened.append(any(arguments) or "database" in options)
            return off_loop(database(*arguments, **options))

        return open_database

    monkeypatch.setattr("promptuary.state.StateDatabase", guarded(StateDatabase))
    monkeypatch.setattr("promptuary.threads.options.BoundDatabase", guarded(BoundDatabase))
    workspace = files({"a.md": "One.\n"})

    asyncio.run(everything_with_threads(workspace))
    assert [opened.count(True), opened.count(False)] == [2, 5]


async def everything_with_threads(workspace: Path) -> None:
    async with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        threads = promptuary.threads
        turn = await threads.prepare("See #a.md and @file:a.md")
        call = {"role": "assistant", "tool_calls": [{"id": "1", "name": "look", "arguments": "{}"}]}
        turn = await threads.extend(turn, [call, {"role": "tool", "tool_call_id": "1", "content": "looked"}])
        await threads.pending()
        await threads.finish(turn, "Seen.")
        await threads.abandon(await threads.prepare("Never mind."))
        calls = [
            ToolCall("1", "read_file", '{"path": "a.md"}'),
            ToolCall("2", "search_recall_memories", '{"query": "a"}'),
        ]
        given: list[Message] = [{"role": "user", "content": "See @file:a.md"}]
        for keep in ("full", "off"):
            recorded = await threads.record(given, thread="given", keep=keep)
            assert recorded is not None
            await threads.finish(recorded.turn, "Seen.")
            await threads.recorded_as([*given, {"role": "assistant", "content": "Seen."}], keep=keep)
        await threads.preview("Look.")
        await threads.preview("Look.", thread=None)
        await threads.run("Look.", ScriptedStream([["Seen."]]), thread=None)
        await threads.run("Look.", ScriptedStream([calls, ["Seen."]]), await threads.tools())
        await threads.attach("a.md")
        await threads.attach("@folder:.")
        await threads.attach_document("b.md", b"Two.")
        await threads.pin("a.md")
        await threads.attachments()
        await threads.detach("a.md")
        await threads.detach_all()
        await threads.totals()
        await threads.audit("a.md")
        await threads.sources()
        await threads.rerun(number=3, window=4_000)
        await threads.forget("a.md", dry_run=True)
        await threads.prune(90)
        await threads.stats()
        await threads.needs_compaction()
        await threads.list()
        await threads.turns()
        await threads.recent()
        await threads.seen()
        await threads.sent(number=1, message=0)
        await threads.history(everything=True)
        await threads.replay()
        await threads.import_(await threads.export(), thread="copy")
        await threads.compact()
        await threads.undo()
        await threads.rename(thread="main", name="renamed")
        await threads.remove(thread="renamed")
    async with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        await promptuary.threads.attachments()
        await promptuary.threads.list()


def test_every_method_of_threads_is_tried_on_a_loop() -> None:
    tried = {
        node.func.attr
        for node in ast.walk(ast.parse(inspect.getsource(everything_with_threads)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }

    assert {name for name in vars(AsyncThreads) if not name.startswith("_")} <= tried
