"""The chat as a person feels it: from a key to the menu, from the start to the prompt, from a token to the screen.

    python -m bench chat

Keys are pressed in the real prompt while 200,000 files, all of them new to git, are being listed and a slow model
answers. Beside the clock stands the CPU time that all threads of the process took from the key to the menu, also for
what has nothing to do with the key: on a busy machine it says more than the clock. The start is that of
the real program in a pseudo-terminal: CPU time until the prompt takes keys, beyond that of the interpreter. The first
token is timed from the moment at which a service on loopback sends it until a pseudo-terminal gets it.
"""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, DummyCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from bench.big_tree import big_tree
from bench.completion import percentile
from bench.report import Row, report
from promptuary.chat.chat import prefer_input_latency
from promptuary.chat.prompt.menu_prompt import MenuPrompt
from promptuary.engine import Promptuary
from promptuary.testing.loopback import Loopback, Step
from promptuary.testing.scripted import ScriptedStream

FILES = (20_000, 200_000)
QUERIES = (
    "config",
    "usrcfg",
    "router.py",
    "src/config",
    "payment",
    "readme",
    "token_st",
    "webhook",
    "schema.sql",
    "audit",
)
STARTS, TOKENS = 5, 20
READY = "❯ ".encode()
ANSWER = "Tok"


class Nowhere:
    """A terminal that shows nothing, and costs what writing to one costs."""

    encoding = "utf-8"

    def write(self, text: str) -> None:
        self.last = len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


def main() -> None:
    rows = []
    for files in FILES:
        keys = asyncio.run(pressed(big_tree(files)))
        clock, processor = [one[0] for one in keys], [one[1] for one in keys]
        name = f"a key to the redrawn menu, {files:,} files"
        rows += [
            Row(f"{name}, p50", percentile(clock, 0.5), "ms"),
            Row("p99 (goal 50 on a quiet machine)", percentile(clock, 0.99), "ms", percentile(clock, 0.99) / 50),
            Row("CPU time meanwhile, p50", percentile(processor, 0.5), "ms"),
            Row("CPU time meanwhile, p99", percentile(processor, 0.99), "ms", percentile(processor, 0.99) / 50),
        ]
    with TemporaryDirectory() as folder:
        starts, tokens = started(Path(folder))
    bare = least(lambda: cpu_of([sys.executable, "-c", "pass"]))
    own = min(starts) - bare
    report(
        f"Chat ({sum(map(len, QUERIES))} keys while files are being listed, and a slow model answers)",
        [
            *rows,
            Row("CPU until the first prompt, beyond the interpreter's (goal 400)", own * 1e3, "ms", own / 0.4),
            Row("first token on the screen after it was sent, median (goal 30)", percentile(tokens, 0.5), "ms"),
            Row("the slowest", max(tokens) * 1e3, "ms"),
        ],
    )


class Noted(Completer):
    """A completer that notes for which text it was asked last, and answered."""

    def __init__(self, inner: Completer) -> None:
        self.completed, self._inner = "", inner

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del document, complete_event
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        async for one in self._inner.get_completions_async(document, complete_event):
            yield one
        self.completed = document.text


async def pressed(folder: Path) -> list[tuple[float, float]]:
    """Return how long each key of the queries takes until its menu is drawn, and the CPU time meanwhile."""
    times: list[tuple[float, float]] = []
    with create_pipe_input() as keyboard:
        async with Promptuary.open(folder, exact=True) as p:
            slow = asyncio.ensure_future(p.threads.run("Hello", ScriptedStream([["word\n"] * 3_000], delay=0.02)))
            output = Vt100_Output(Nowhere(), lambda: Size(rows=40, columns=100))  # type: ignore[arg-type]
            prompt = MenuPrompt(p, keyboard=keyboard, output=output)
            noted = prompt.session.completer = Noted(prompt.session.completer or DummyCompleter())
            asked = asyncio.ensure_future(prompt.ask())
            await prompt.drawn.wait()
            prefer_input_latency()  # as the chat does
            await p.warm_up()  # the listing has begun, and goes on
            for query in QUERIES:
                keyboard.send_text(" @")
                await asyncio.sleep(0.1)
                for key in query:
                    times.append(await one_key(prompt, noted, keyboard, key))
                    await asyncio.sleep(0.06)
            prompt.close()
            for task in (asked, slow):
                task.cancel()
            await asyncio.gather(asked, slow, return_exceptions=True)
    return times


async def one_key(prompt: MenuPrompt, noted: "Noted", keyboard: PipeInput, key: str) -> tuple[float, float]:
    """Press a key, and return the seconds until the menu of the new text is drawn, and the CPU time meanwhile."""
    buffer, drawn = prompt.session.default_buffer, asyncio.Event()
    wanted = buffer.text + key

    def look(_: object) -> None:
        if noted.completed == wanted:
            drawn.set()

    prompt.session.app.after_render += look
    began, processor = time.perf_counter(), time.process_time()
    keyboard.send_text(key)
    await drawn.wait()
    taken = time.perf_counter() - began, time.process_time() - processor
    prompt.session.app.after_render -= look
    return taken


def started(folder: Path) -> tuple[list[float], list[float]]:
    """Return the CPU seconds of several starts until the prompt, and how long first tokens took to the screen."""
    project, home = folder / "project", folder / "home"
    (home / ".config/promptuary").mkdir(parents=True)
    project.mkdir()
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    sent: list[float] = []
    loopback = Loopback()
    loopback.routes["/v1/chat/completions"] = lambda: answer(sent)
    settings = f'answer_model = "m"\n[models.m]\nbase_url = "{loopback.url("/v1")}"\nmodel = "m"\n'
    (home / ".config/promptuary/config.toml").write_text(settings, encoding="utf-8")
    starts, tokens = [], []
    try:
        for number in range(STARTS):
            with Program(project, home) as program:
                program.wait_for(READY)
                starts.append(program.cpu())
                for _ in range(TOKENS if number == STARTS - 1 else 0):
                    program.press(b"hi\r")
                    tokens.append(program.wait_for(ANSWER.encode()) - sent[-1])
                    program.wait_for(READY)
    finally:
        loopback.close()
    return starts, tokens


def answer(sent: list[float]) -> Iterator[Step]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    yield 0.2
    sent.append(time.perf_counter())
    yield chunk({"content": ANSWER})
    yield 0.2
    yield chunk({}, "stop") + b"data: [DONE]\n\n"


def chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return (
        b"data: " + json.dumps({"id": "1", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
    )


class Program:
    """The chat in a pseudo-terminal, read byte by byte: an emulator would cost more than what is measured."""

    def __init__(self, project: Path, home: Path) -> None:
        self._terminal, other = pty.openpty()
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PROMPTUARY_"))
        }
        environment |= {"HOME": str(home), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        command = [sys.executable, "-m", "promptuary", "chat", "--no-tools"]
        self._process = subprocess.Popen(
            command, cwd=project, env=environment, stdin=other, stdout=other, stderr=other, start_new_session=True
        )
        os.close(other)

    def press(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def wait_for(self, what: bytes) -> float:
        """Return when ``what`` was on the terminal."""
        seen = b""
        while what not in seen:
            if not select.select([self._terminal], [], [], 60)[0]:
                raise TimeoutError(f"{what!r} is not shown, but {seen[-500:]!r}")
            seen += os.read(self._terminal, 65536)
        return time.perf_counter()

    def cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)


def cpu_of(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def least(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(STARTS))


if __name__ == "__main__":
    main()
