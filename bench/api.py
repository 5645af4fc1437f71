"""The API under load: 1,000 principals, 16 clients, mixed calls, beside the same calls in one process without a server.

``python -m bench api [--principals N] [--clients N] [--seconds S]``. Each client picks a principal at random for each
call. Memory and open files are those of the server; they are compared with those after a third of the time.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.process import Process
from bench.report import Row, report
from promptuary.base.principals import Principal
from promptuary.server.tokens import Scope, Token, TokenStore
from promptuary.server.workspaces import Workspaces
from promptuary.workspace.programs.agents.sockets import listening_port

Times = list[float]
MIX = ("expand", "search", "search", "list", "list", "remember", "turn", "turn")
"""What is called, each as often as it is here."""


class HttpCaller:
    """Calls the API as one client does, over a connection that stays open."""

    def __init__(self, port: int, secrets: list[str]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._secrets = secrets

    def __call__(self, what: str, who: int, number: int) -> None:
        ask = partial(self._ask, who)
        match what:
            case "expand":
                ask("POST", "/expand", {"text": "Look at @file:a.txt"})
            case "search":
                ask("POST", "/notes/search", {"query": "colour of the painted door"})
            case "list":
                ask("GET", "/notes?limit=20")
            case "remember":
                ask("POST", "/remember", {"text": f"The door of house {number} is painted blue.", "scope": "project"})
            case _:
                turn = ask("POST", f"/threads/t{number % 3}/turns", {"text": "And @file:a.txt?"})
                ask("POST", f"/threads/t{number % 3}/turns/{turn['number']}/finish", {"reply": "Fine."})

    def _ask(self, who: int, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self._secrets[who]}", "Content-Type": "application/json"}
        self._connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        found = answer.read()
        if answer.status != 200:
            raise AssertionError(f"{method} {path}: {answer.status} {found[:300]!r}")
        return json.loads(found)


@contextmanager
def serving(workspace: Path) -> Iterator[tuple[int, Process]]:
    with listening_port(0, backlog=1) as found:
        port: int = found.getsockname()[1]
    command = [sys.executable, "-m", "promptuary", "serve", "--port", str(port), "-q", "--set", "embedder=none"]
    program = subprocess.Popen(command, cwd=workspace, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                break
            except OSError:
                time.sleep(0.05)
        yield port, Process(program.pid)
    finally:
        program.terminate()
        program.wait()


def load(
    make_caller: Callable[[int], Callable[[str, int, int], None]], clients: int, principals: int, seconds: float
) -> tuple[Times, float]:
    """Call for some seconds, and return how long each call took, and the rate."""
    times = [Times() for _ in range(clients)]
    failed: list[BaseException] = []

    def work(number: int) -> None:
        chance, call, count = random.Random(number), make_caller(number), 0
        try:
            while time.monotonic() < end:
                began, count = time.monotonic(), count + 1
                call(chance.choice(MIX), chance.randrange(principals), number * 1_000_000 + count)
                times[number].append(time.monotonic() - began)
        except BaseException as error:
            failed.append(error)
            raise

    began, end = time.monotonic(), time.monotonic() + seconds
    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    every = sorted(one for part in times for one in part)
    return every, len(every) / (time.monotonic() - began)


def over_http(workspace: Path, arguments: argparse.Namespace) -> list[Row]:
    store = TokenStore.open()
    scopes: frozenset[Scope] = frozenset({"read", "write"})
    secrets = [
        store.create(Token("", f"user{number}", Principal(f"user{number}"), scopes))[1]
        for number in range(arguments.principals)
    ]
    store.close()
    with serving(workspace) as (port, server):
        third = arguments.seconds / 3
        load(lambda _: HttpCaller(port, secrets), arguments.clients, arguments.principals, third)
        memory, files, processor = server.memory(), server.descriptors(), server.seconds()
        times, rate = load(lambda _: HttpCaller(port, secrets), arguments.clients, arguments.principals, 2 * third)
        used = (server.seconds() - processor) / len(times) * 1e3
        return [
            *rows("a server", times, rate, used),
            Row("memory of the server after a third of the time", memory, "MB"),
            Row("memory at the end", server.memory(), "MB"),
            Row("open files after a third of the time", files, ""),
            Row("open files at the end", server.descriptors(), ""),
            Row("threads at the end", server.threads(), ""),
        ]


class InProcess:
    """The same calls by the methods themselves, on one event loop."""

    def __init__(self, workspaces: Workspaces, loop: asyncio.AbstractEventLoop) -> None:
        self._workspaces, self._loop = workspaces, loop

    def __call__(self, what: str, who: int, number: int) -> None:
        asyncio.run_coroutine_threadsafe(self._call(what, who, number), self._loop).result()

    async def _call(self, what: str, who: int, number: int) -> None:
        async with self._workspaces.of(Token("", "bench", Principal(f"user{who}")), "app") as p:
            match what:
                case "expand":
                    await p.expand("Look at @file:a.txt")
                case "search":
                    await p.memory.find("colour of the painted door")
                case "list":
                    await p.memory.list(limit=20)
                case "remember":
                    await p.memory.remember(f"The door of house {number} is painted blue.", scope="project")
                case _:
                    turn = await p.threads.prepare("And @file:a.txt?", thread=f"t{number % 3}")
                    await p.threads.finish(turn, "Fine.")


def in_process(workspace: Path, arguments: argparse.Namespace) -> list[Row]:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    workspaces, own = Workspaces({"app": workspace}, {"embedder": "none"}), Process(os.getpid())
    third = arguments.seconds / 3
    load(lambda _: InProcess(workspaces, loop), arguments.clients, arguments.principals, third)
    processor = own.seconds()
    times, rate = load(lambda _: InProcess(workspaces, loop), arguments.clients, arguments.principals, 2 * third)
    used = (own.seconds() - processor) / len(times) * 1e3
    asyncio.run_coroutine_threadsafe(workspaces.close(), loop).result()
    return rows("in process", times, rate, used)


def rows(where: str, times: Times, rate: float, processor: float) -> list[Row]:
    return [
        Row(f"calls a second, {where}", rate, ""),
        Row(f"median of a call, {where}", times[len(times) // 2] * 1e3, "ms"),
        Row(f"p99 of a call, {where}", times[int(len(times) * 0.99)] * 1e3, "ms"),
        Row(f"processor of a call, {where}", processor, "ms"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--principals", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60)
    arguments, _ = parser.parse_known_args()
    found = list[Row]()
    for measure in (over_http, in_process):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HOME"] = folder
            for name in [name for name in os.environ if name.startswith("XDG_")]:
                del os.environ[name]
            (workspace := Path(folder) / "app").mkdir()
            (workspace / "a.txt").write_text("the text of a\n" * 50)
            found += measure(workspace, arguments)
    report(f"{arguments.principals:,} principals, {arguments.clients} clients, mixed calls", found)


if __name__ == "__main__":
    main()
