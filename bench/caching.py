"""What the additions of the proxy cost under a provider's prompt cache, beside the client alone.

A coding agent of 10 turns with 5 requests each sends everything again with every request, and marks its system prompt
and its last block for the cache. What was read from the cache costs a tenth, what is written into it 1.25 times the
price. The requests are real: they are read, recorded and added to as the server does it.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.report import Row, report
from promptuary.blocking import Promptuary
from promptuary.server.proxy.messages import MESSAGES

TURNS, REQUESTS = 10, 5
READ, WRITTEN = 0.1, 1.25
MARK = {"type": "ephemeral"}
_REFERENCES = (0, 3, 6)
"""The turns whose messages refer to a file of some 3,000 tokens."""

Block = tuple[str, int, bool]
"""What a block says, its tokens, and whether it is marked."""


def main() -> None:
    alone, with_proxy, in_front = costs()
    rows = [
        Row("the client alone", alone / 1000, "k"),
        Row("with references and memory of the proxy", with_proxy / 1000, "k", with_proxy / alone),
        Row("the same with memory in front of the system prompt", in_front / 1000, "k", in_front / alone),
    ]
    report("10 turns x 5 requests of a coding agent, in the price of tokens", rows)


def costs() -> tuple[float, float, float]:
    """Return the price of a session: alone, through the proxy, and with memory in front of the system prompt."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "big.py").write_text("".join(f"value_{n} = compute({n}, {n * 7})\n" for n in range(500)))
        with Promptuary.open(root, exact=True, embedder="none") as promptuary:
            for number in range(40):
                text = f"# Service {number}\n\nService {number} is deployed on port {8000 + number}."
                promptuary.memory.remember(_text(text, 250))
            alone, added, front = _Cache(), _Cache(), _Cache()
            for body, typed in _session():
                alone.send(_blocks(body))
                request = MESSAGES.parse(json.dumps(body).encode())
                recorded = promptuary.threads.record(request.messages, thread="agent", typed=typed)
                assert recorded is not None
                added.send(_blocks(json.loads(MESSAGES.insert(request, recorded.added, recorded.live))))
                memory = (recorded.live, _tokens(recorded.live), False)
                front.send([memory, *_blocks(json.loads(MESSAGES.insert(request, recorded.added, "")))])
            return alone.price, added.price, front.price


class _Cache:
    """A cache of prefixes, and the price of what was sent."""

    def __init__(self) -> None:
        self._known: set[tuple[str, ...]] = set()
        self.price = 0.0

    def send(self, blocks: Sequence[Block]) -> None:
        """Add the price of a request."""
        keys = [tuple(text for text, _, _ in blocks[:end]) for end in range(len(blocks) + 1)]
        marks = [place + 1 for place, block in enumerate(blocks) if block[2]]
        last = max(marks, default=0)
        hit = max((end for end in range(last + 1) if keys[end] in self._known), default=0)
        sizes = [tokens for _, tokens, _ in blocks]
        self.price += READ * sum(sizes[:hit]) + WRITTEN * sum(sizes[hit:last]) + sum(sizes[last:])
        self._known.update(keys[end] for end in marks)


def _session() -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the requests of a session, each with the words that were typed since the one before."""
    system = [{"type": "text", "text": _text("You are an agent.", 18_000), "cache_control": MARK}]
    said: list[dict[str, Any]] = []
    for turn in range(TURNS):
        refers = " See @file:big.py" if turn in _REFERENCES else ""
        typed = f"{_text(f'On which port is service {turn} deployed?', 190)}{refers}"
        said.append({"role": "user", "content": [{"type": "text", "text": typed}]})
        for step in range(REQUESTS):
            if step:
                name = f"call_{turn}_{step}"
                call = {"type": "tool_use", "id": name, "name": "look", "input": {"at": _text(name, 140)}}
                result = {"type": "tool_result", "tool_use_id": name, "content": _text(f"result of {name}", 1_500)}
                said += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
            marked = json.loads(json.dumps(said))
            marked[-1]["content"][-1]["cache_control"] = MARK
            tools = [{"name": "look", "input_schema": {"type": "object"}}]
            body = {"model": "m", "max_tokens": 9_000, "tools": tools, "system": system, "messages": marked}
            yield body, "" if step else typed
        said.append({"role": "assistant", "content": [{"type": "text", "text": _text(f"answer {turn}", 500)}]})


def _blocks(body: dict[str, Any]) -> list[Block]:
    """Return the blocks of a request in the order of its cache."""
    every = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
    found = []
    for block in every:
        plain = {key: value for key, value in block.items() if key != "cache_control"}
        text = json.dumps(plain)
        found.append((text, _tokens(text), "cache_control" in block))
    return found


def _text(start: str, tokens: int) -> str:
    return start + " word" * (tokens - 8)


def _tokens(text: str) -> int:
    return len(text) // 5  # what is made up here is mostly " word"


if __name__ == "__main__":
    main()
