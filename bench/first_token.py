"""How soon after its arrival a piece of an answer is shown: ``promptuary ask``, beside a bare loop over it.

A service on loopback sends an answer piece by piece, with a pause before each, and notes when it sends one. The command
runs as a person runs it, its output in a pipe; the clock of this process notes when each piece comes out of it. The
delay is from the one to the other: the way through the kernel twice, the parser of the stream, the run, the output.
The peer is the least that any client does: a socket, lines that begin with ``data:``, ``json.loads``, ``print``.
Pieces are told apart by their numbers. The first ones are the ones that matter, so several answers are asked for.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.report import Row, report
from promptuary.testing.loopback import Loopback, Step

ANSWERS = 8
PIECES = 25
PAUSE = 0.03
GOAL = 30.0
"""Milliseconds from the arrival of the first piece to its being shown, on a quiet machine."""

_BARE = """
import json, socket, sys
host, port = sys.argv[1], int(sys.argv[2])
body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "?"}]}).encode()
link = socket.create_connection((host, port))
head = f"POST /v1/chat/completions HTTP/1.1\\r\\nHost: {host}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
link.sendall(head.encode() + body)
for line in link.makefile("rb"):
    if line.startswith(b"data: {"):
        for choice in json.loads(line[6:])["choices"]:
            print(choice["delta"].get("content", ""), end="", flush=True)
"""


class Service:
    """A chat service that notes when it sends each piece."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self.loopback = Loopback({"/v1/chat/completions": self._steps})

    def _steps(self) -> Iterator[Step]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        for number in range(PIECES):
            yield PAUSE
            self.sent.append(time.monotonic())
            yield f'data: {{"choices": [{{"index": 0, "delta": {{"content": "<{number}>"}}}}]}}\n\n'.encode()
        yield b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def shown(command: Sequence[str], environment: dict[str, str], folder: Path) -> list[float]:
    """Run a command, and return when each piece came out of it."""
    times: list[float] = []
    options = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as child:  # type: ignore[call-overload]
        seen = b""
        while data := os.read(child.stdout.fileno(), 65_536):
            seen += data
            now = time.monotonic()
            times += [now] * (seen.count(b">") - len(times))
    return times


def delays(service: Service, command: Sequence[str], environment: dict[str, str], folder: Path) -> list[float]:
    """Return the milliseconds from sending to showing, for each piece of one answer."""
    service.sent.clear()
    times = shown(command, environment, folder)
    return [(out - sent) * 1000 for sent, out in zip(service.sent, times, strict=True)]


def main() -> None:
    """Measure, and print the delays of first pieces and of all."""
    with tempfile.TemporaryDirectory() as place:
        folder, service = Path(place), Service()
        url = service.loopback.url("/v1")
        settings = folder / "config" / "promptuary" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'answer_model = "m"\n[models.m]\nbase_url = "{url}"\nmodel = "gpt-4o"\n', encoding="utf-8")
        environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "HOME": place}
        ours = [sys.executable, "-m", "promptuary", "ask", "-q", "Well?"]
        bare = [sys.executable, "-c", _BARE, service.loopback.host, str(service.loopback.port)]
        measured: dict[str, list[list[float]]] = {"promptuary ask": [], "a bare loop": []}
        for _ in range(ANSWERS):  # in turn, so that whatever else the machine does meets both
            measured["promptuary ask"].append(delays(service, ours, environment, folder))
            measured["a bare loop"].append(delays(service, bare, environment, folder))
        service.loopback.close()
    rows = []
    bare_first = statistics.median(one[0] for one in measured["a bare loop"])
    for name, answers in measured.items():
        first, every = [one[0] for one in answers], [delay for one in answers for delay in one]
        rows.append(
            Row(
                f"{name}: first piece, median",
                statistics.median(first),
                "ms",
                bare_first and statistics.median(first) / bare_first,
            )
        )
        rows.append(Row(f"{name}: first piece, slowest of {ANSWERS} (goal for ask: {GOAL:g})", max(first), "ms"))
        rows.append(Row(f"{name}: every piece, median", statistics.median(every), "ms"))
    report("first token", rows)


if __name__ == "__main__":
    main()
