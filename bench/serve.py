"""What ``promptuary serve`` adds to a request that a client could have sent straight to the model service.

``python -m bench serve [--seconds N] [--litellm VENV] [--only PART …]``. Service, server and clients are processes of
their own on loopback. A conversation grows by a message and its answer at each request, as that of a chat client does,
and begins anew now and then. CPU is that of the server's process. Parts: starting, requests, large, load, killed.
"""

import argparse
import asyncio
import json
import os
import re
import secrets
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.memory import FOLDER, fill
from bench.passages import passages
from bench.process import Process
from bench.report import Row, report
from promptuary.base.errors import RelayError
from promptuary.workspace.web.relay import Relay, RelayLimits

PARTS = ("starting", "requests", "large", "load", "killed")
NOTES = 10_000
REQUESTS = 200
WARM = 40
ANEW = 50
"""Requests after which a conversation begins anew."""
CLIENTS = 64
BODY, LARGE = 100_000, 4_000_000
STARTS = 5
PROMPTUARY = str(Path(sys.executable).with_name("promptuary"))

SERVICE = """
import sys
from tests.server.upstream import Says, Upstream
with Upstream(Says("Hello there", pause=0.0)) as upstream:
    print(upstream.port, flush=True)
    sys.stdin.read()
"""

BARE = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
app = Starlette(routes=[Route("/healthz", lambda request: PlainTextResponse("ok"))])
uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", ws="none", log_level="critical")
"""

PASS_ON = """
import sys, uvicorn
from promptuary.workspace.web.relay import Relay
relay = Relay()
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["path"] == "/healthz":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})
        return
    answer = await relay.open(scope["method"], sys.argv[2] + scope["path"], scope["headers"], body)
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    async for data in answer.chunks:
        await send({"type": "http.response.body", "body": data, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", lifespan="off", log_level="critical")
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--litellm", default="")
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    options = parser.parse_args(sys.argv[sys.argv.index("serve") + 1 :] if "serve" in sys.argv else sys.argv[1:])
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, _service() as service:
        place = Path(folder)
        if "starting" in options.only:
            rows += starting(place / "starting", service)
        if "requests" in options.only:
            rows += requests(place / "requests", service, options.litellm)
        if "large" in options.only:
            rows += large(place / "large", service)
        if "load" in options.only:
            rows += load(place / "load", service, options.seconds, options.litellm)
        if "killed" in options.only:
            rows += killed(place / "killed", service)
    report("promptuary serve, beside the same requests without it (medians)", rows)


# Programs


@dataclass(frozen=True, slots=True)
class Server:
    """A program that answers requests for completions at ``url``."""

    url: str
    process: Process
    headers: tuple[tuple[bytes, bytes], ...] = ()
    model: str = "m"


@contextmanager
def _service() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVICE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        try:
            yield f"http://127.0.0.1:{program.stdout.readline().strip()}"
        finally:
            program.kill()


@contextmanager
def _program(command: Sequence[str], port: int, **options: Any) -> Iterator[Process]:
    """Run a program until it is no longer needed; it is there when it answers."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as program:
        try:
            _wait_for(f"http://127.0.0.1:{port}", program)
            yield Process(program.pid)
        finally:
            program.kill()


def _wait_for(url: str, program: "subprocess.Popen[bytes]", path: str = "/healthz") -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and program.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}{path}", timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError(f"{program.args!r} does not answer")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def prepare_workspace(folder: Path, service: str, notes: int = 0) -> dict[str, str]:
    """Make a workspace and a home with a model at ``service``; return the environment."""
    home, workspace = folder / "home", folder / "work"
    (home / ".config" / "promptuary").mkdir(parents=True)
    workspace.mkdir()
    (workspace / "a.md").write_text("# A\n\nOne fact.\n")
    model = f'[models.m]\nbase_url = "{service}/v1"\nmodel = "m"\nwindow = 2000000\n'
    (home / ".config" / "promptuary" / "config.toml").write_text(f'embedder = "none"\n{model}')
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "OPENAI_API_KEY": "none"}
    if notes:
        fill(workspace / FOLDER, passages(notes))
        subprocess.run(
            [PROMPTUARY, "memory", "adopt", "--all", "-q"],
            cwd=workspace,
            env=environment,
            check=True,
            capture_output=True,
        )
    return environment


@contextmanager
def promptuary(folder: Path, service: str, notes: int = 0, record: str = "") -> Iterator[Server]:
    environment = prepare_workspace(folder, service, notes)
    secret = create_token(folder, environment, record)
    port = free_port()
    command = [PROMPTUARY, "serve", "--port", str(port), "-q"]
    with _program(command, port, cwd=folder / "work", env=environment) as process:
        yield Server(f"http://127.0.0.1:{port}", process, ((b"authorization", b"Bearer " + secret),))


def create_token(folder: Path, environment: dict[str, str], record: str = "") -> bytes:
    command = [PROMPTUARY, "token", "create", "bench", *(["--record", record] if record else [])]
    done = subprocess.run(command, cwd=folder / "work", env=environment, check=True, capture_output=True, text=True)
    found = re.search(r"pt_\S+", done.stdout)
    assert found, done.stdout
    return found[0].encode()


@contextmanager
def pass_on(service: str) -> Iterator[Server]:
    port = free_port()
    with _program([sys.executable, "-c", PASS_ON, str(port), service], port) as process:
        yield Server(f"http://127.0.0.1:{port}", process)


@contextmanager
def litellm(venv: str, folder: Path, service: str) -> Iterator[Server]:
    folder.mkdir(parents=True)
    model = {"model_name": "m", "litellm_params": {"model": "openai/m", "api_base": f"{service}/v1", "api_key": "none"}}
    (folder / "config.yaml").write_text(json.dumps({"model_list": [model]}))
    port, key = free_port(), f"sk-{secrets.token_hex(32)}"
    command = [f"{venv}/bin/litellm", "--config", str(folder / "config.yaml"), "--port", str(port)]
    environment = {"HOME": str(folder), "PATH": f"{venv}/bin:{os.environ['PATH']}", "LITELLM_MASTER_KEY": key}
    environment["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it is fetched at each start otherwise
    with _program(command, port, env=environment, cwd=folder) as process:
        yield Server(f"http://127.0.0.1:{port}", process, ((b"authorization", b"Bearer " + key.encode()),))


# Clients


class Conversation:
    """A chat that grows with each request, and begins anew now and then."""

    def __init__(self, size: int, number: int, anew: int = ANEW) -> None:
        self._size, self._number, self._anew, self._count = size, number, anew, 0
        self._messages: list[dict[str, str]] = []

    def next_body(self, model: str) -> bytes:
        """Return the next request."""
        if self._count % self._anew == 0:
            text = "The quick brown fox jumps over the lazy dog, and then it sleeps. "
            piece = (text * 40)[:2_000]
            filler = [
                {
                    "role": "user" if at % 2 == 0 else "assistant",
                    "content": f"{self._number}/{self._count}/{at}: {piece}",
                }
                for at in range(max(self._size // 2_050, 1) // 2 * 2)
            ]
            self._messages = [{"role": "system", "content": "You are a careful assistant."}, *filler]
        self._messages.append({"role": "user", "content": f"What about number {self._count} of {self._number}?"})
        self._count += 1
        body = {"model": model, "stream": True, "messages": self._messages}
        sent = json.dumps(body).encode()
        self._messages.append({"role": "assistant", "content": "Hello there"})
        return sent


@dataclass(slots=True)
class Times:
    """What clients saw: seconds to the first byte and to the last, turns that were named, and errors."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    turns: list[tuple[str, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


async def ask(relay: Relay, server: Server, body: bytes, times: Times) -> None:
    began = time.perf_counter()
    headers = [(b"content-type", b"application/json"), *server.headers]
    try:
        answer = await relay.open("POST", f"{server.url}/v1/chat/completions", headers, body)
        named = dict(answer.headers)
        if b"x-promptuary-turn" in named:
            times.turns.append((named[b"x-promptuary-thread"].decode(), int(named[b"x-promptuary-turn"])))
        first, data = 0.0, b""
        async for piece in answer.chunks:
            first = first or time.perf_counter() - began
            data += piece
    except RelayError as error:
        times.errors.append(str(error))
        return
    if answer.status != 200 or b"[DONE]" not in data:
        times.errors.append(f"{answer.status} {data[:200]!r}")
        return
    times.first.append(first)
    times.whole.append(time.perf_counter() - began)


def one_after_the_other(server: Server, size: int, count: int, warm: int) -> tuple[Times, float]:
    """Return what a single client saw, and the server's CPU seconds for a request."""

    async def work() -> tuple[Times, float]:
        relay, chat, times = Relay(), Conversation(size, 1), Times()
        for _ in range(warm):
            await ask(relay, server, chat.next_body(server.model), Times())
        await asyncio.sleep(0.5)  # until what is recorded aside is recorded
        before = server.process.seconds()
        for _ in range(count):
            await ask(relay, server, chat.next_body(server.model), times)
        await asyncio.sleep(0.5)
        taken = (server.process.seconds() - before) / count
        await relay.aclose()
        return times, taken

    return uvloop.run(work())


def many_clients(server: Server, seconds: float, stop: Callable[[], bool] = lambda: False) -> tuple[Times, list[float]]:
    """Return what many clients saw, and the megabytes of the server along the way."""

    async def client(relay: Relay, number: int, times: Times, until: float) -> None:
        chat = Conversation(10_000, number, anew=20)
        while time.monotonic() < until and not stop():
            await ask(relay, server, chat.next_body(server.model), times)

    async def watch(memory: list[float], until: float) -> None:
        while time.monotonic() < until:
            await asyncio.sleep(0.5)
            memory.append(server.process.memory())

    async def work() -> tuple[Times, list[float]]:
        relay, times, memory = Relay(limits=RelayLimits(idle_connections=CLIENTS)), Times(), list[float]()
        until = time.monotonic() + seconds
        await asyncio.gather(*[client(relay, number, times, until) for number in range(CLIENTS)], watch(memory, until))
        await relay.aclose()
        return times, memory

    return uvloop.run(work())


# Parts


def starting(folder: Path, service: str) -> list[Row]:
    environment = prepare_workspace(folder, service)
    create_token(folder, environment)
    bare, ours = list[float](), list[float]()
    for _ in range(STARTS):
        port = free_port()
        with _program([sys.executable, "-c", BARE, str(port)], port) as process:
            bare.append(process.seconds())
        port = free_port()
        command = [PROMPTUARY, "serve", "--port", str(port), "-q"]
        with _program(command, port, cwd=folder / "work", env=environment) as process:
            ours.append(process.seconds())
    least, own = min(bare) * 1000, min(ours) * 1000
    return [
        Row("to the first answer, CPU: bare starlette and uvicorn", least, "ms"),
        Row("  promptuary serve (at most 150 ms more)", own, "ms", own / least),
    ]


def requests(folder: Path, service: str, venv: str) -> list[Row]:
    straight, _ = one_after_the_other(Server(service, Process(os.getpid())), BODY, REQUESTS, WARM)
    rows = [Row("100 kB, three events: straight to the service, first byte", _median(straight.first), "ms")]

    def add(what: str, server: Server) -> None:
        times, taken = one_after_the_other(server, BODY, REQUESTS, WARM)
        if times.errors:
            print(f"{what}: {len(times.errors)} errors, such as {times.errors[0]}", file=sys.stderr)
        more = _median(times.first) - _median(straight.first)
        rows.append(Row(f"{what}: CPU a request", taken * 1000, "ms"))
        rows.append(Row("  first byte, more than straight", more, "ms"))

    with pass_on(service) as server:
        add("a pass-through that looks at nothing", server)
    with promptuary(folder / "off", service, record="off") as server:
        add("promptuary, record = off", server)
    with promptuary(folder / "without", service) as server:
        add("promptuary, no notes", server)
    with promptuary(folder / "with", service, NOTES) as server:
        add(f"promptuary, recall over {NOTES:,} notes", server)
    if venv:
        with litellm(venv, folder / "litellm", service) as server:
            add("LiteLLM's proxy", server)
    return rows


def large(folder: Path, service: str) -> list[Row]:
    body = Conversation(LARGE, 1).next_body("m")
    parsed: dict[str, Callable[[bytes], object]] = {"json": json.loads, "msgspec": msgspec.json.decode}
    rows = []
    for name, parse in parsed.items():
        began = time.process_time()
        for _ in range(5):
            parse(body)
        rows.append(Row(f"4 MB: bare parsing with {name}, CPU", (time.process_time() - began) / 5 * 1000, "ms"))
    with pass_on(service) as server:
        _, taken = one_after_the_other(server, LARGE, 10, 3)
        rows.append(Row("  a pass-through that looks at nothing, CPU a request", taken * 1000, "ms"))
    with promptuary(folder, service) as server:
        times, taken = one_after_the_other(server, LARGE, 10, 3)
        rows.append(Row("  promptuary, CPU a request", taken * 1000, "ms", taken * 1000 / rows[0].value))
        rows.append(Row("  first byte", _median(times.first), "ms"))
    return rows


def load(folder: Path, service: str, seconds: float, venv: str) -> list[Row]:
    rows = []

    def add(what: str, server: Server) -> None:
        many_clients(server, min(seconds / 4, 10.0))
        before = server.process.seconds()
        times, memory = many_clients(server, seconds)
        if times.errors:
            print(f"{what}: such as {times.errors[0]}", file=sys.stderr)
        done = max(len(times.whole), 1)
        rows.append(Row(f"{CLIENTS} clients for {seconds:.0f} s, {what}", done / seconds, "/s"))
        rows.append(Row("  p50", _median(times.whole), "ms"))
        rows.append(Row("  p99", sorted(times.whole or [0.0])[int(done * 0.99) - 1] * 1000, "ms"))
        rows.append(Row("  errors", len(times.errors), ""))
        rows.append(Row("  CPU a request", (server.process.seconds() - before) / done * 1000, "ms"))
        quarter = max(len(memory) // 4, 1)
        begin, end = statistics.median(memory[:quarter]), statistics.median(memory[-quarter:])
        rows.append(Row("  memory at the end, and to the beginning", end, "MB", end / begin))

    with pass_on(service) as server:
        add("a pass-through that looks at nothing", server)
    with promptuary(folder / "ours", service) as server:
        add("promptuary", server)
    if venv:
        with litellm(venv, folder / "litellm", service) as server:
            add("LiteLLM's proxy", server)
    return rows


def killed(folder: Path, service: str) -> list[Row]:
    """Kill the server in the middle of many requests, and look for the turns that it had named."""
    ended = list[bool]()
    with promptuary(folder, service) as server:

        def stop() -> bool:
            if time.monotonic() > until and not ended:
                ended.append(True)
                os.kill(server.process.pid, signal.SIGKILL)
            return bool(ended)

        until = time.monotonic() + 4.0
        times, _ = many_clients_until_killed(server, 5.0, stop)
    recorded = read_turns(folder / "work")
    lost = [turn for turn in times.turns if turn not in recorded]
    return [
        Row("kill -9 under load: turns that answers named", len(times.turns), ""),
        Row("  of them not in the ledger", len(lost), ""),
    ]


def many_clients_until_killed(server: Server, seconds: float, stop: Callable[[], bool]) -> tuple[Times, list[float]]:
    try:
        return many_clients(server, seconds, stop)
    except OSError:  # the memory of a process that is no more
        raise RuntimeError("the server ended by itself") from None


def read_turns(workspace: Path) -> set[tuple[str, int]]:
    """Return the thread and number of every turn in the ledger."""
    with sqlite3.connect(workspace / ".promptuary" / "state.db") as database:
        rows = database.execute("SELECT name, number FROM turn JOIN thread USING (tenant, owner, thread)")
        return {(name, number) for name, number in rows}


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) * 1000 if values else float("nan")


if __name__ == "__main__":
    main()
