"""What each view of the page costs the server, and weighs, with 100,000 turns and 10,000 notes in the workspace.

``python -m bench page [--turns N] [--notes N] [--rounds N]``. Beside each view is its share of what it may cost: 150 ms
of CPU to the last byte (there is no time between the first and the last), and 150 kB gzipped with the files that it
loads, which a browser keeps. One turn has a message of a million tokens, whose text is not loaded with its page. The
views are those of the table of pages.
"""

import argparse
import gzip
import http.client
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from bench.ledger import THREADS
from bench.ledger import fill as fill_turns
from bench.memory import FOLDER, fill
from bench.passages import passages
from bench.process import Process
from bench.report import Row, report
from bench.serve import PROMPTUARY, _program, free_port
from promptuary.base.messages import Item, Message
from promptuary.base.principals import LOCAL
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.server.page.pages import PAGES
from promptuary.server.page.view import Page, address
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord

MILLISECONDS, KILOBYTES = 150.0, 150.0
BIG: Mapping[str, str] = {"thread": "big", "turn": "1", "number": "1", "message": "0"}
LARGE_TEXT = "These five words are said. " * 166_667
"""A million tokens."""
_STATIC = re.compile(rb'(?:href|src)="(/static/[^"]+)"')


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20)
    asked = parser.parse_args(sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        environment, names = prepare(Path(folder), asked.turns, asked.notes)
        port = free_port()
        command = [PROMPTUARY, "serve", "--port", str(port), "-q", "--set", "embedder=none"]
        with _program(command, port, cwd=Path(folder) / "work", env=environment) as program:
            visitor = Visitor(port, token(Path(folder) / "work", environment))
            rows = list(measured(visitor, Process(program.pid), names, asked.rounds))
    report(f"A view of the page, with {asked.turns:,} turns and {asked.notes:,} notes", rows)


class Visitor:
    """A browser that is signed in, over a connection that stays open."""

    def __init__(self, port: int, secret: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        headers = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", "/sign-in", urlencode({"token": secret}), headers)
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def get(self, path: str) -> tuple[int, bytes]:
        """Load a page, and return its status and its body."""
        self._connection.request("GET", path, headers={"cookie": self._cookie, "accept": "text/html"})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        self._connection.close()


def measured(visitor: Visitor, server: Process, names: Mapping[str, str], rounds: int) -> Iterator[Row]:
    """Yield the CPU of the server for each view, and what it weighs."""
    for path in addresses(names):
        status, body = visitor.get(path)
        if status != 200:
            yield Row(f"{path}: {status}", 0.0, "")
            continue
        visitor.get(path)
        before = server.seconds()
        for _ in range(rounds):
            visitor.get(path)
        cpu = (server.seconds() - before) / rounds * 1000
        kilobytes = weight(visitor, body) / 1000
        yield Row(f"{path}: CPU of the server", cpu, "ms", cpu / MILLISECONDS)
        yield Row(f"{path}: weight", kilobytes, "kB", kilobytes / KILOBYTES)


def weight(visitor: Visitor, body: bytes) -> int:
    """Return how many bytes a page has, gzipped, with the files that it loads."""
    files = {found.decode() for found in _STATIC.findall(body)}
    return len(gzip.compress(body)) + sum(len(gzip.compress(visitor.get(file)[1])) for file in files)


def addresses(names: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of every view, and of those of a turn also for the largest one."""
    for page in PAGES:
        if page.method == "GET":
            found = [_filled(page, names), _filled(page, {**names, **BIG})]
            found += [f"{page.path}?as_of={datetime.now(UTC).date()}"] if page.path == "/memory" else []
            yield from dict.fromkeys(path for path in found if path)


def _filled(page: Page, names: Mapping[str, str]) -> str:
    parts = re.findall(r"\{(\w+)\}", page.path)
    path = page.path
    for part in parts:
        path = path.replace(f"{{{part}}}", address("", names.get(part, "nothing"))[1:])
    queries = {"/sources": {"of": "file:src/module_700.py"}, "/search": {"q": "deploy"}}
    query = queries.get(page.path)
    return f"{path}?{urlencode(query)}" if query else path


def prepare(folder: Path, turns: int, notes: int) -> tuple[dict[str, str], dict[str, str]]:
    """Make a workspace with turns and notes; return the environment of its server, and names of what is in it."""
    workspace = folder / "work"
    (workspace / ".promptuary").mkdir(parents=True)
    environment = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    fill(workspace / FOLDER, passages(notes))
    _run(["memory", "adopt", "--all", "-q"], workspace, environment)
    listed = _run(["memory", "list", "--limit", "1", "--json"], workspace, environment)
    note = re.search(r'"id": ?"([^"]+)"', listed)
    with closing(StateDatabase(workspace / ".promptuary" / "state.db")) as state:
        fill_turns(state, turns)
        store_large_turn(state)
    found = {"key": note[1], "id": note[1], "note": note[1]} if note else {}
    middle = str(max(1, turns // THREADS // 2))
    return environment, {"thread": "thread 7", "turn": middle, "number": middle, "message": "1", **found}


def store_large_turn(state: StateDatabase) -> None:
    """Store a turn whose message has a million tokens."""
    messages: list[Message] = [{"role": "user", "content": LARGE_TEXT}]
    entries = [ReceiptEntry("references", "big.txt", "in", 1_000_000, 0.0, "big.txt", "0" * 64, lines=(1, 40))]
    receipt = Receipt("big turn", "big", 2_000_000, 4_096, 1_000_000, entries=entries)
    now = "2026-01-02T00:00:00.000Z"
    turn = TurnRecord("big turn", "big", 1, now, "finished", LARGE_TEXT, messages, receipt)
    item = Item("big item", "user", LARGE_TEXT, turn="big turn")
    state.threads(LOCAL).apply(ThreadChange("big", turn=turn, items=[item]))


def token(workspace: Path, environment: Mapping[str, str]) -> str:
    """Return a token that may see every view."""
    scopes = [word for scope in ("read", "write", "admin") for word in ("--scope", scope)]
    return _run(["token", "create", "bench", *scopes], workspace, environment).strip()


def _run(words: list[str], workspace: Path, environment: Mapping[str, str]) -> str:
    command = [PROMPTUARY, *words]
    return subprocess.run(command, cwd=workspace, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
