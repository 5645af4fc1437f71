"""The agent of the documents, with the real client of OpenAI, over thirty turns, a restart and a kill."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from promptuary import Counter
from promptuary.base.messages import CALL_OVERHEAD, MESSAGE_OVERHEAD
from promptuary.blocking import Promptuary
from promptuary.testing.loopback import Loopback, Step, answer
from tests.conftest import Files
from tests.current_files import current_files

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
BODY = "".join(f"line {number} of a file that is long enough to be worth a diff\n" for number in range(40))
TURNS = 30
COUNTER = Counter()


def agent() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


@dataclass
class Model:
    """Stands in for a model: edits a tracked file in some turns, and looks whether what it is told is true."""

    root: Path
    kill_at: int
    requests: list[list[dict[str, Any]]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    agent: "subprocess.Popen[str] | None" = None
    server: Loopback | None = None

    def reply(self) -> Iterable[Step]:
        """Answer a request; the agent waits for it, so the files are what they were when it was made."""
        assert self.server is not None
        messages = json.loads(self.server.bodies[-1])["messages"]
        again = bool(self.requests) and self.requests[-1] == messages
        if not again:
            self.requests.append(messages)
        try:
            told = current_files(messages)
            assert told == {name: (self.root / name).read_text() for name in ("a.py", "b.md")}, "not what the files are"
            assert cost(messages) <= 7_000, f"{cost(messages)} tokens"
        except AssertionError as error:
            self.wrong.append(f"request {len(self.requests)}: {error}")
        if len(self.requests) == self.kill_at and not again:
            assert self.agent is not None
            self.agent.send_signal(signal.SIGKILL)
            return [b""]
        return [answer(json.dumps(self._completion(messages)), "application/json", headers={"Connection": "close"})]

    def _completion(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked = max(place for place, one in enumerate(messages) if one["role"] == "user" and "Turn" in one["content"])
        done = sum(one["role"] == "tool" for one in messages[asked:])
        number = int(messages[asked]["content"].split("Turn ")[1].split()[0])
        message: dict[str, Any] = {"role": "assistant", "content": f"Turn {number} is done. " + "It went well. " * 20}
        if done < number % 3:
            name, line = ("a.py", "b.md")[number % 2], number % 40
            text = (
                (self.root / name).read_text().replace(f"line {line} of", f"turn {number}, step {done}, line {line} of")
            )
            arguments = json.dumps({"path": name, "text": text})
            call = {"id": f"c{number}-{done}", "type": "function"}
            call["function"] = {"name": "write_file", "arguments": arguments}  # type: ignore[assignment]
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice]}


def cost(messages: Iterable[dict[str, Any]]) -> int:
    """Return what a request of OpenAI's API costs."""
    tokens = 0
    for message in messages:
        tokens += MESSAGE_OVERHEAD + COUNTER.count(message["content"])
        for call in message.get("tool_calls", ()):
            function = call["function"]
            tokens += CALL_OVERHEAD + COUNTER.count(function["name"]) + COUNTER.count(function["arguments"])
    return tokens


def test_the_agent_has_forty_lines() -> None:
    assert len([line for line in agent().splitlines() if line.strip()]) <= 40


def test_an_agent_lives_through_thirty_turns_a_restart_and_a_kill(files: Files, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    root = files({"a.py": BODY, "b.md": BODY, "AGENTS.md": "Be brief.\n"})
    (tmp_path / "agent.py").write_text(agent(), encoding="utf-8")
    model = Model(root, kill_at=30)

    def run(numbers: Iterable[int]) -> list[str]:
        lines = "".join(
            f"Turn {number} {'begins: look at #a.py and #b.md' if number == 1 else ''}\n" for number in numbers
        )
        environment = {**os.environ, "OPENAI_BASE_URL": model.server.url("/v1"), "OPENAI_API_KEY": "none"}  # type: ignore[union-attr]
        with subprocess.Popen(
            [sys.executable, str(tmp_path / "agent.py")],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as model.agent:
            out, errors = model.agent.communicate(lines)
        assert model.agent.returncode in {0, -signal.SIGKILL}, errors
        return out.splitlines()

    with Loopback({"/v1/chat/completions": model.reply}) as model.server:
        said = run(range(1, 8))
        assert len(said) == 7
        said += run(range(8, TURNS + 1))  # in which it is killed
        killed = len(said)
        assert killed < TURNS
        said += run(range(killed + 2, TURNS + 1))

    assert model.wrong == []
    assert [line.split(".")[0] for line in said] == [f"Turn {number} is done" for number in range(1, TURNS + 1)]
    assert any("# Changed Files" in str(one) for one in model.requests)
    with Promptuary.open(root) as promptuary:
        totals = promptuary.threads.totals(thread="agent")
        turns = promptuary.threads.turns(thread="agent")
    assert (totals.turns, totals.finished, len(turns)) == (TURNS, TURNS, len(model.requests))
    assert [turn.receipt.tokens for turn in turns] == [cost(one) for one in model.requests]
    assert totals.tokens == sum(map(cost, model.requests))
