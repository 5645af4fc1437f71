"""Programs that write through one server at once lose nothing, also when it is killed while they do."""

import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from promptuary.client import BlockingClient
from promptuary.server.tokens import SCOPES, Token, TokenStore
from promptuary.workspace.programs.agents.sockets import listening_port
from tests.conftest import Figure

EDITOR = """
import sys
from promptuary.base.errors import NoteConflictError
from promptuary.client import BlockingClient
url, token, note, name, times = sys.argv[1:]
conflicts = 0
with BlockingClient(url, token=token) as p:
    for number in range(int(times)):
        found = p.memory.get(note)
        if not number:  # both have read the same text before one of them writes
            print("ready", flush=True)
            sys.stdin.readline()
        while True:
            mine = f"{found.body.strip()}\\n{name}{number}"
            try:
                p.memory.write(mine, id=note, if_rev=found.header.rev)
                break
            except NoteConflictError as conflict:
                conflicts += 1
                assert conflict.current is not None and conflict.current.body.strip() != found.body.strip()
                found = conflict.current
print(conflicts)
"""
WRITERS = 4


class Server:
    """``promptuary serve`` of a folder, which may be killed and started again on the same port."""

    def __init__(self, workspace: Path) -> None:
        with listening_port(0, backlog=1) as found:
            self.port: int = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.secret = TokenStore.open().create(Token("", name="test", scopes=frozenset(SCOPES)))[1]
        self._workspace = workspace
        self.process = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "promptuary", "serve", "--port", str(self.port), "-q"]
        return subprocess.Popen(command, cwd=self._workspace, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        self.process = self._started()

    def wait(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                self.ask("GET", "/healthz")
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)
            else:
                return
        raise AssertionError(f"the server does not answer; it ended with {self.process.poll()}")

    def ask(self, method: str, path: str, body: object = None, key: str = "") -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {self.secret}", "content-type": "application/json"}
        headers |= {"idempotency-key": key} if key else {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            found = answer.read()
            return answer.status, json.loads(found) if found[:1] in b"{[" else found
        finally:
            connection.close()

    def ask_until_answered(self, path: str, body: object, key: str) -> tuple[int, Any]:
        """Post a request, again and again with the same key while nobody answers."""
        deadline = time.monotonic() + 600  # on a busy machine, a server that has just started may not get far
        while time.monotonic() < deadline:
            try:
                return self.ask("POST", f"/api/v1{path}", body, key)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
        raise AssertionError(f"{path} was never answered")


@contextmanager
def served(workspace: Path) -> Iterator[Server]:
    server = Server(workspace)
    try:
        server.wait()
        yield server
    finally:
        server.kill()


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_two_programs_that_edit_one_note_lose_no_edit_and_a_conflict_has_both_texts(
    workspace: Path, figure: Figure
) -> None:
    times = figure(20, 250)
    with served(workspace) as server, BlockingClient(server.url, token=server.secret) as p:
        note = p.memory.write("begun", title="Both write here").header.id
        programs = [
            subprocess.Popen(
                [sys.executable, "-c", EDITOR, server.url, server.secret, note, name, str(times)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            )
            for name in "ab"
        ]
        assert [program.stdout and program.stdout.readline() for program in programs] == ["ready\n"] * 2
        for program in programs:
            assert program.stdin is not None
            print(file=program.stdin, flush=True)
        said = [program.communicate()[0] for program in programs]
        found = p.memory.get(note)

    assert found is not None
    lines = found.body.split()
    assert [program.returncode for program in programs] == [0, 0]
    assert sorted(lines[1:]) == sorted(f"{name}{number}" for name in "ab" for number in range(times))
    assert [line for line in lines if line.startswith("a")] == [f"a{number}" for number in range(times)]
    conflicts = sum(map(int, said))
    assert conflicts > 0
    print(f"two programs edited one note {2 * times} times: {conflicts} conflicts, no edit lost")


class Written:
    """What a writer was told: the notes and turns that are there for certain, and those in doubt."""

    def __init__(self) -> None:
        self.notes, self.turns, self.finished, self.doubts = set[str](), set[str](), set[str](), set[str]()


def write(server: Server, name: str, stopped: threading.Event) -> Written:
    """Write notes and turns until ``stopped``; each request has a key, and is sent until it is answered."""
    written, number = Written(), 0
    while not stopped.is_set():
        number += 1
        this = f"{name}-{number}"
        status, value = server.ask_until_answered("/notes", {"content": this, "title": f"note {this}"}, f"n{this}")
        (written.notes if status == 200 else written.doubts).add(this)
        assert status == 200 or value["code"] == "BEGUN_BEFORE", value
        status, value = server.ask_until_answered(f"/threads/{this}/turns", {"text": f"hello {this}"}, f"p{this}")
        assert status == 200 or value["code"] == "BEGUN_BEFORE", value
        (written.turns if status == 200 else written.doubts).add(this)
        if status != 200:
            continue
        path = f"/threads/{this}/turns/{value['number']}/finish"
        status, value = server.ask_until_answered(path, {"reply": f"done {this}"}, f"f{this}")
        assert status == 200 or value["code"] == "BEGUN_BEFORE", value
        (written.finished if status == 200 else written.doubts).add(this)
    return written


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_a_server_that_is_killed_under_load_loses_nothing_acknowledged_and_does_nothing_twice(
    workspace: Path, figure: Figure
) -> None:
    kills, seed, stopped = figure(4, 200), random.Random(11), threading.Event()
    with served(workspace) as server, ThreadPoolExecutor(WRITERS) as writers:
        running = [writers.submit(write, server, f"w{number}", stopped) for number in range(WRITERS)]
        try:
            for _ in range(kills):
                server.wait()
                time.sleep(seed.uniform(0.02, 1.2))
                server.kill()
                server.start_again()
        finally:
            stopped.set()
        told = [one.result() for one in running]
        server.wait()
        with BlockingClient(server.url, token=server.secret) as p:
            titles = [header.title for header in p.memory.list(limit=None).headers]
            prepared = set().union(*(one.turns for one in told))
            doubts = set().union(*(one.doubts for one in told))
            threads = {one: p.threads.turns(thread=one) for one in prepared | doubts}
            replies = {
                one: [item.content for item in p.threads.history(thread=one) if item.role == "assistant"]
                for one in threads
            }
    notes, finished = set().union(*(one.notes for one in told)), set().union(*(one.finished for one in told))

    assert len(titles) == len(set(titles))
    assert {f"note {one}" for one in notes} <= set(titles) <= {f"note {one}" for one in notes | doubts}
    assert {one for one, turns in threads.items() if len(turns) > 1} == set()
    assert prepared <= {one for one, turns in threads.items() if turns}
    assert {one: [f"done {one}"] for one in finished} == {one: replies[one] for one in finished}
    assert {one: found for one, found in replies.items() if len(found) > 1} == {}
    assert min(len(notes), len(finished)) >= kills // 2  # else it was not killed under load
    print(
        f"{kills} times killed: {len(notes)} notes, {len(prepared)} turns and {len(finished)} replies acknowledged, "
        f"none lost, none twice; {len(doubts)} in doubt"
    )
