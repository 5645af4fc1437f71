"""What a turn of the command line teaches is learnt, however long the model takes: by a process of its own."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from promptuary.blocking import Promptuary
from promptuary.testing.chat_server import ChatServer, Refuses, Reply, Says

SECONDS = 2.5
"""How long the model thinks about what to remember: longer than a command waits at its end."""
DECISION = {
    **dict.fromkeys(("id", "audience", "tags", "supersedes")),
    "action": "upsert",
    "kind": "project",
    "title": "Deploy",
    "content": "The deploy runs on Friday evenings.",
    "reason": "said so",
    "evidence": "we deploy on Friday evenings",
}


class Thoughtful:
    """A model that answers at once, and takes its time over what to remember."""

    def __init__(self) -> None:
        self.asked_to_remember = 0
        self.fails = False
        self._lock = threading.Lock()

    def __call__(self, request: Mapping[str, Any]) -> Reply:
        if "response_format" not in request:
            return Says("Fine.")
        with self._lock:
            self.asked_to_remember += 1
        time.sleep(SECONDS)
        return Refuses(400, "no such model") if self.fails else Says(json.dumps({"decisions": [DECISION]}))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Thoughtful]:
    monkeypatch.setenv("PROMPTUARY_EMBEDDER", "none")
    thoughtful = Thoughtful()
    with ChatServer(thoughtful) as server:
        path = Path.home() / ".config" / "promptuary" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            'answer_model = "m"\n[models.m]\nprovider = "openai"\nmodel = "gpt-4.1"\n'
            f'base_url = "{server.openai_url}"\ntimeout = 30\n'
        )
        yield thoughtful


def promptuary(workspace: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "promptuary", *words, "-w", str(workspace)],
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ,
    )


def until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 40
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.2)
    return held


def titles(workspace: Path) -> list[str]:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        return [one.title for one in p.memory.list()]


def waiting(workspace: Path) -> int:
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        return len(p.memory.catch_up())


def test_a_slow_model_is_asked_once_and_its_note_is_written(workspace: Path, model: Thoughtful) -> None:
    began = time.monotonic()
    asked = promptuary(workspace, "ask", "-t", "t", "we deploy on Friday evenings", "--set", "writeback_model=m")
    took = time.monotonic() - began

    assert (asked.returncode, asked.stdout) == (0, "Fine.\n"), asked.stderr
    assert took < 30
    assert until(lambda: titles(workspace) == ["Deploy"])
    assert until(lambda: not waiting(workspace))
    assert model.asked_to_remember == 1


def test_so_it_is_after_a_reply_that_was_recorded(workspace: Path, model: Thoughtful) -> None:
    with (Path.home() / ".config" / "promptuary" / "config.toml").open("a") as config:
        config.write('[writeback]\nmodel = "m"\n')
    promptuary(workspace, "expand", "-t", "t", "we deploy on Friday evenings")
    replied = promptuary(workspace, "reply", "-t", "t", said="Fine.")

    assert replied.returncode == 0, replied.stderr
    assert until(lambda: titles(workspace) == ["Deploy"])
    assert until(lambda: not waiting(workspace))
    assert model.asked_to_remember == 1


def test_what_could_not_be_learnt_is_told_by_doctor_and_by_the_next_command(workspace: Path, model: Thoughtful) -> None:
    model.fails = True
    promptuary(workspace, "ask", "-t", "t", "we deploy on Friday evenings", "--set", "writeback_model=m")
    with Promptuary.open(workspace, exact=True, embedder="none") as p:
        assert until(lambda: any(one.tries for one in p.memory.catch_up()))

    doctor = promptuary(workspace, "doctor")
    assert "1 waiting turn" in doctor.stderr
    assert "WRITEBACK_FAILED" in doctor.stdout
    following = promptuary(workspace, "ask", "-t", "t", "thanks")
    assert "note: 1 earlier turn could not be learnt from yet: " in following.stderr
    assert "promptuary doctor" in following.stderr


def test_what_waits_can_be_learnt_at_once(workspace: Path, model: Thoughtful) -> None:
    with Promptuary.open(workspace, exact=True, embedder="none", writeback_model="m") as p:
        p.memory.learn_later()
        p.threads.finish(p.threads.prepare("we deploy on Friday evenings"), "Fine.")
        assert len(p.memory.catch_up()) == 1
    assert model.asked_to_remember == 0
    done = promptuary(workspace, "memory", "learn", "--json", "--set", "writeback_model=m")

    assert (done.returncode, json.loads(done.stdout)) == (0, {"learnt": 1, "waiting": 0}), done.stderr
    assert titles(workspace) == ["Deploy"]
