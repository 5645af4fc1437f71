"""An agent at work: whatever its stable layers want, the results of its tools and its own calls have room."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from promptuary.base.messages import Message
from promptuary.blocking import Promptuary
from promptuary.context.receipt import ReceiptEntry
from promptuary.threads.prepared import Turn
from tests.conftest import Figure, Files
from tests.properties.test_turn_properties import cost_of

pytestmark = pytest.mark.torture

WORDS = [f"word{number}" for number in range(50)]


@dataclass(frozen=True)
class Work:
    """What an agent has in view, and how large the results of its tools are."""

    files: Mapping[str, str]
    first: str
    window: int
    sizes: tuple[int, ...]


def functions(name: str) -> str:
    return "".join(
        f'def {name}_{number}(value):\n    """Return value number {number}."""\n    return value + {number}\n\n'
        for number in range(1_600)
    )


def rules(size: int) -> str:
    lines = (f"- Rule {number}: prefer what was asked for over what comes to mind.\n" for number in range(size))
    return "".join(lines)[:size]


LARGE_FILES = Work(
    {f"{name}.py": functions(name) for name in "abc"}, "Look at #a.py, #b.py, #c.py", 128_000, (100, 3_000, 20_000)
)
LONG_RULES = Work({"AGENTS.md": rules(30_000)}, "Look around.", 8_192, (50, 500, 1_500, 4_000))
BOTH = Work({"AGENTS.md": rules(12_000), "a.py": functions("a")}, "Look at #a.py", 16_000, (50, 1_000, 5_000))


def step(rng: random.Random, key: str, work: Work) -> list[Message]:
    """Return a message with one call or several, and their results."""
    keys = [f"{key}.{number}" for number in range(rng.choice([1, 1, 1, 3]))]
    calls: Any = [{"id": one, "name": "read", "arguments": f'{{"path": "{one}"}}'} for one in keys]
    results: list[Message] = [
        {"role": "tool", "tool_call_id": one, "content": " ".join(rng.choices(WORDS, k=rng.choice(work.sizes) // 2))}
        for one in keys
    ]
    return [{"role": "assistant", "content": "Reading on.", "tool_calls": calls}, *results]


def shortened(turn: Turn, *, loop: bool) -> list[ReceiptEntry]:
    """Return what is shortened of the results in the loop, or of the layers."""
    entries = [one for one in turn.receipt.entries if one.status == "degraded" and one.layer != "history"]
    return [one for one in entries if (one.layer == "loop") == loop]


def is_fair(turn: Turn, calls: list[str]) -> None:
    receipt = turn.receipt
    assert receipt.failures == ()
    assert receipt.tokens == cost_of(turn.messages) <= receipt.window - receipt.reserve
    assert not receipt.blocked
    sent = [call["id"] for message in turn.messages for call in message.get("tool_calls", ())]
    assert [one for one in calls if one not in sent] == []
    results, excerpts = shortened(turn, loop=True), shortened(turn, loop=False)
    if any(one.tokens < 1_000 for one in results):
        assert [one for one in excerpts if one.tokens > 1_000] == []
    assert receipt.warnings or not results


@pytest.mark.parametrize("work", [LARGE_FILES, LONG_RULES, BOTH], ids=["large files", "long rules", "both"])
def test_results_and_own_calls_have_room_whatever_fills_the_window_and_the_prefix_changes_once_a_turn(
    files: Files, figure: Figure, work: Work
) -> None:
    rng, numbers = random.Random(work.window), figure(3 if work is LARGE_FILES else 8, 30)
    with Promptuary.open(files(work.files), embedder="none", window=work.window) as promptuary:
        for number in range(numbers):
            turn = promptuary.threads.prepare(work.first if number == 0 else f"And step {number}?")
            prefixes, calls = {str(turn.prompt.stable)}, list[str]()
            for again in range(rng.randrange(3, 8)):
                said = step(rng, f"{number}.{again}", work)
                calls += [call["id"] for call in said[0]["tool_calls"]]
                turn = promptuary.threads.extend(turn, said)
                is_fair(turn, calls)
                prefixes.add(str(turn.prompt.stable))
            assert len(prefixes) <= 2
            promptuary.threads.finish(turn, "Done. " * 30)
