"""The engine without ``async``: from any thread, beside any loop, until it is closed."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from promptuary import Expansion, Turn
from promptuary.base.errors import ConfigError, PromptuaryError
from promptuary.blocking import Promptuary
from promptuary.references.messages import Messages
from promptuary.testing.loopback import Loopback
from tests.conftest import Files


def loops() -> int:
    return sum(thread.name == "promptuary-blocking" for thread in threading.enumerate())


def turn_of(promptuary: Promptuary) -> Turn:
    """Prepare a turn in a thread of its own."""
    return promptuary.threads.prepare("@a.md", thread=threading.current_thread().name)


@pytest.fixture
def project(files: Files) -> Path:
    return files({"a.md": "Be brief.\n"})


def test_it_works_inside_a_running_event_loop(project: Path) -> None:
    async def cell() -> str:
        with Promptuary.open(project) as promptuary:
            return promptuary.expand("Mind @a.md").messages[-1]["content"]

    assert "Be brief." in asyncio.run(cell())


def test_it_may_be_used_from_several_threads(project: Path) -> None:
    found: list[str] = []
    with Promptuary.open(project) as promptuary:
        threads = [
            threading.Thread(
                target=lambda: found.append(turn_of(promptuary).messages[-1]["content"]), name=f"T{number}"
            )
            for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert loops() == 1

    assert ["Be brief." in one for one in found] == [True] * 8
    assert loops() == 0


def test_a_second_close_is_harmless_and_use_after_it_is_told(project: Path) -> None:
    promptuary = Promptuary.open(project)
    promptuary.close()
    promptuary.close()

    with pytest.raises(PromptuaryError, match="is closed; open the workspace again"):
        promptuary.expand("x")
    with pytest.raises(PromptuaryError, match="is closed"):
        promptuary.complete("@")


def test_what_needs_no_loop_starts_none(project: Path) -> None:
    promptuary = Promptuary.open(project)
    assert "Be brief." in promptuary.expand("@a.md").messages[-1]["content"]
    assert promptuary.complete("@a", timeout=30).items
    assert (promptuary.threads.list(), promptuary.threads.history()) == ((), ())

    assert loops() == 0
    promptuary.close()


def test_an_expansion_runs_in_the_thread_of_its_caller(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    expand = Messages.expand

    def noting(messages: Messages, text: str, **options: Any) -> Expansion:
        threads.append(threading.current_thread())
        return expand(messages, text, **options)

    monkeypatch.setattr(Messages, "expand", noting)
    with Promptuary.open(project) as promptuary:
        promptuary.expand("@a.md")

    assert threads == [threading.current_thread()]


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # it is forgotten on purpose
def test_one_that_is_forgotten_ends_its_thread(project: Path) -> None:
    promptuary = Promptuary.open(project)
    promptuary.threads.prepare("x")
    assert loops() == 1
    del promptuary
    gc.collect()

    deadline = time.monotonic() + 10
    while loops() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert loops() == 0


def test_closing_ends_what_another_thread_waits_for(project: Path) -> None:
    told: list[str] = []

    def wait() -> None:
        try:
            promptuary.expand(f"@url:{server.url('/slow')}")
        except PromptuaryError as error:
            told.append(str(error))

    with Loopback({"/slow": lambda: [30.0]}) as server:
        promptuary = Promptuary.open(project, allow_hosts=[server.host])
        thread = threading.Thread(target=wait)
        thread.start()
        while not server.requests:
            time.sleep(0.01)
        promptuary.close()
        thread.join(10)

    assert told == ["This Promptuary was closed while it was at work."]


def test_an_interrupt_is_prompt(project: Path) -> None:
    program = (
        "import sys\nfrom promptuary.blocking import Promptuary\n"
        "with Promptuary.open('.', allow_hosts=[sys.argv[1]]) as promptuary:\n"
        "    try: promptuary.expand(sys.argv[2])\n"
        "    except KeyboardInterrupt: print('interrupted')\n"
    )
    with Loopback({"/slow": lambda: [30.0]}) as server:
        running = subprocess.Popen(
            [sys.executable, "-c", program, server.host, f"@url:{server.url('/slow')}"],
            cwd=project,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not server.requests and running.poll() is None:
            time.sleep(0.01)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)

    assert (out, err) == ("interrupted\n", "")
    assert time.monotonic() - began < 15  # the page would take 30


def test_a_loop_that_cannot_start_is_an_error_and_not_a_wait(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(coroutine: Any) -> None:
        coroutine.close()
        raise OSError("too many open files")

    monkeypatch.setattr(asyncio, "run", failing)
    promptuary = Promptuary.open(project)
    with pytest.raises(PromptuaryError, match="could not be started: too many open files"):
        promptuary.threads.prepare("hello")


def test_what_is_no_principal_is_refused_when_the_workspace_is_opened(project: Path) -> None:
    for wrong in ("ada", None):
        with pytest.raises(ConfigError, match="principal must be a Principal"):
            Promptuary.open(project, principal=wrong)  # type: ignore[arg-type]


def test_a_receipt_is_the_same_wherever_it_comes_from(project: Path) -> None:
    with Promptuary.open(project) as promptuary:
        turn = promptuary.threads.prepare("Mind @a.md")
        assert promptuary.threads.replay().turn.receipt == turn.receipt
        receipt = promptuary.threads.finish(turn, "yes")
        assert promptuary.threads.replay().turn.receipt == receipt
