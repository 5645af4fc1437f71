"""500 chats at once through the Telegram gateway: none waits for the slow model of another, and memory is flat.

``python -m bench.gateways [CHATS] [ROUNDS]``. A tenth of the chats has a model that takes long; the others' answers are
timed. Everything is on loopback, with the real client library.
"""

import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptuary.testing.chat_server import ChatServer, Reply, Says
from promptuary.testing.platforms.telegram import FakeTelegram
from tests.gateways import configure, running

SLOW = 20.0


def replies(asked: Mapping[str, Any]) -> Reply:
    return Says("ok", pause=SLOW if "slow" in str(asked["messages"][-1]["content"]) else 0.0)


def memory() -> float:
    """Return the megabytes of the process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def measured(chats: int, rounds: int) -> None:
    with FakeTelegram() as fake, ChatServer(replies) as server:
        configure(server.openai_url, Path(os.environ["HOME"]))
        async with running("telegram", fake, [], allow=["*"], rate=10_000, edit_every=1.0):
            for number in range(rounds):
                await one_round(fake, chats, number)


async def one_round(fake: FakeTelegram, chats: int, number: int) -> None:
    began, before = time.monotonic(), len(fake.sent)
    slow = set(range(1, chats + 1, 10)) if number == 0 else set[int]()
    for chat in range(1, chats + 1):
        fake.say(chat, "a slow one" if chat in slow else f"quick {number}")
    times: dict[str, float] = {}
    quick = chats - len(slow)

    def seen() -> bool:
        for one in fake.sent[before:]:
            if int(one.chat) not in slow:
                times.setdefault(one.chat, time.monotonic() - began)
        return len(times) >= quick

    done = await asyncio.to_thread(fake.wait_for, seen, 600.0)
    ordered = sorted(times.values())
    late = ordered[int(len(ordered) * 0.95)] if ordered else 0.0
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    middle = statistics.median(ordered) if ordered else 0.0
    print(
        f"round {number}: {len(times)}/{quick} quick chats answered ({done}), median {middle:.1f} s, "
        f"p95 {late:.1f} s, last {ordered[-1]:.1f} s; {memory():.0f} MB, {descriptors} descriptors"
    )


def main() -> None:
    chats, rounds = (int(one) for one in (*sys.argv[1:], "500", "3")[:2])
    os.environ["HOME"] = tempfile.mkdtemp()
    print(f"{chats} chats at once, a tenth of them with a model that takes {SLOW:.0f} s in the first round")
    asyncio.run(measured(chats, rounds))


if __name__ == "__main__":
    main()
