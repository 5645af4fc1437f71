"""What each view of the page costs the server, and weighs, with 100,000 turns and 10,000 notes in the workspace.

``python -m bench page [--turns N] [--notes N] [--rounds N]``. Beside each view is its share of what it may cost: 150 ms
of CPU to the last byte (there is no time between the first and the last), and 150 kB gzipped with the files that it
loads, which a browser keeps. One turn has a message of a million tokens, whose text is not loaded with its page. The
views are those of the table of pages, each with what it can be asked for; one that does not answer ends the run.
"""

import argparse
import gzip
import http.client
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from bench.ledger import THREADS
from bench.ledger import fill as fill_turns
from bench.memory import FOLDER, fill
from bench.passages import passages
from bench.process import Process
from bench.report import Row, report
from bench.serve import PROMPTUARY, _program, free_port
from promptuary.base.clock import now
from promptuary.base.messages import Item, Message
from promptuary.base.principals import LOCAL
from promptuary.blocking import Promptuary
from promptuary.client import BlockingClient
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.memory.values import NoteDraft
from promptuary.memory.writeback.values import Proposal
from promptuary.server.page.pages import PAGES
from promptuary.server.page.view import Page, address
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange, TurnRecord

MILLISECONDS, KILOBYTES = 150.0, 150.0
PROPOSALS, EXPERIENCES = 100, 100
FILE = "large.txt"
BIG: Mapping[str, str] = {"thread": "big", "number": "1", "message": "0", "block": "0", "item": "big item"}
LARGE_TEXT = "These five words are said. " * 166_667
"""A million tokens."""
TODAY = datetime.now(UTC).date().isoformat()
ASKED: Mapping[str, Sequence[Mapping[str, str]]] = {
    "/turns": [{}, {"thread": "thread 7"}],
    "/sources": [{}, {"of": "file:src/module_700.py"}, {"of": "file:AGENTS.md"}],
    "/memory": [{}, {"as_of": TODAY}, {"age": "-year"}, {"q": "deploy a package"}],
    "/search": [{}, {"q": "deploy a package"}],
    "/file": [{"path": FILE}],
}
"""What views are asked for, if not just by their path; every turn has the file ``AGENTS.md``."""
PARTS: Mapping[str, Mapping[str, str]] = {"/threads/{thread}/messages/{message}": {"message": "item"}}
"""What a part of a path is called in the names, where it is called otherwise."""
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
    goals = f"goals: {MILLISECONDS:.0f} ms, {KILOBYTES:.0f} kB; beside each: its share of the goal"
    report(f"A view of the page, with {asked.turns:,} turns and {asked.notes:,} notes ({goals})", rows)


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
    """Yield the CPU of the server for each view, and what it weighs; of a list, also for its second page."""
    for path in addresses(names):
        body = load(visitor, path)
        yield from _of_view(visitor, server, path, body, rounds)
        if following := second_page(body):
            yield from _of_view(visitor, server, following, load(visitor, following), rounds)


def _of_view(visitor: Visitor, server: Process, path: str, body: bytes, rounds: int) -> Iterator[Row]:
    visitor.get(path)
    before = server.seconds()
    for _ in range(rounds):
        visitor.get(path)
    cpu = (server.seconds() - before) / rounds * 1000
    kilobytes = weight(visitor, body) / 1000
    yield Row(f"{path}: CPU of the server", cpu, "ms", cpu / MILLISECONDS)
    yield Row(f"{path}: weight", kilobytes, "kB", kilobytes / KILOBYTES)


def load(visitor: Visitor, path: str) -> bytes:
    """Return the body of a view, which must be there."""
    status, body = visitor.get(path)
    if status != 200:
        raise RuntimeError(f"{path} answers {status}: nothing would be measured")
    return body


def second_page(body: bytes) -> str:
    """Return the address of the page of a list after this one, "" if there is none."""
    found = re.search(rb'class="more"><a class="button" href="([^"]*[?&;]cursor=[^"]*)"', body)
    return unescape(found[1].decode()) if found else ""


def weight(visitor: Visitor, body: bytes) -> int:
    """Return how many bytes a page has, gzipped, with the files that it loads."""
    files = {found.decode() for found in _STATIC.findall(body)}
    return len(gzip.compress(body)) + sum(len(gzip.compress(visitor.get(file)[1])) for file in files)


def addresses(names: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of every view, and of those of a turn and a thread also for the largest one."""
    for page in PAGES:
        if page.method == "GET":
            paths = dict.fromkeys([filled(page, names), filled(page, {**names, **BIG})])
            for query in ASKED.get(page.path, [{}]):
                yield from (f"{path}?{urlencode(query)}" if query else path for path in paths)


def filled(page: Page, names: Mapping[str, str]) -> str:
    """Return the path of a view with a name for each of its parts."""
    other = PARTS.get(page.path, {})
    return re.sub(r"\{(\w+)\}", lambda part: address("", names[other.get(part[1], part[1])])[1:], page.path)


def prepare(folder: Path, turns: int, notes: int) -> tuple[dict[str, str], dict[str, str]]:
    """Make a workspace with turns and notes; return the environment of its server, and names of what is in it."""
    workspace = folder / "work"
    (workspace / ".promptuary").mkdir(parents=True)
    environment = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    fill(workspace / FOLDER, passages(notes))
    _run(["memory", "adopt", "--all", "-q"], workspace, environment)
    (workspace / FILE).write_text("a line of some words, as they are in files\n" * 20_000)
    with closing(StateDatabase(workspace / ".promptuary" / "state.db")) as state:
        fill_turns(state, turns)
        store_large_turn(state)
        store_proposals(state)
    os.environ["HOME"] = environment["HOME"]
    with Promptuary.open(workspace, exact=True, embedder="none") as promptuary:
        return environment, names_of(turns) | store_rest(promptuary)


def names_of(turns: int) -> dict[str, str]:
    """Return the names of a turn in the middle of those that are stored, of one of its messages, blocks and texts."""
    middle = max(1, turns // THREADS // 2)
    return {"thread": "thread 7", "number": str(middle), "message": "1", "block": "1", "item": "item 7"}


def store_rest(promptuary: Promptuary | BlockingClient) -> dict[str, str]:
    """Store what the other views show, and return the names of that, and of a note."""
    add = promptuary.experiences.add
    made = [add("task_solution", f"reach the goal {number}", {"by": f"way {number}"}) for number in range(EXPERIENCES)]
    promptuary.sessions.create("release")
    note = promptuary.memory.list(limit=1).headers[0].id
    return {"key": note, "experience": made[0].id, "session": "release", "proposal": "proposal 0"}


def store_proposals(state: StateDatabase) -> None:
    """Store proposals that wait for a person."""
    for number in range(PROPOSALS):
        draft = NoteDraft(content=f"We decided to use the version {number}.", title=f"Version {number}", kind="project")
        state.proposals(LOCAL).add(Proposal(f"proposal {number}", "write", now(), "extract", draft, f"print {number}"))


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
