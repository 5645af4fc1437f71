"""Many chats at once through the Telegram gateway: none waits for the slow model of another, and memory is flat.

``python -m bench.gateways [CHATS] [ROUNDS]``. The gateway is a process of its own, started as a person starts it; the
platform and the model are in this one. In the first round a tenth of the chats has a model that takes long; the others'
answers are timed. Everything is on loopback, with the real client library.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.process import Process
from promptuary.testing.chat_server import ChatServer, Reply, Says
from tests.gateways import configure
from tests.platforms.telegram import TOKEN, FakeTelegram

SLOW = 60.0


def replies(asked: Mapping[str, Any]) -> Reply:
    return Says("ok", pause=SLOW if "slow" in str(asked["messages"][-1]["content"]) else 0.0)


def one_round(fake: FakeTelegram, gateway: Process, chats: int, number: int) -> None:
    began, before, processor = time.monotonic(), len(fake.sent), gateway.seconds()
    slow = chats // 10 if number == 0 else 0
    for chat in range(1, chats + 1):
        # A chat whose model is slow has a message that waits in the later rounds; so it is another one then.
        fake.say(chat + 1_000_000 if chat <= slow else chat, "a slow one" if chat <= slow else f"quick {number}")
    times: dict[str, float] = {}
    quick = chats - slow

    def seen() -> bool:
        for one in fake.sent[before:]:
            if int(one.chat) < 1_000_000:
                times.setdefault(one.chat, time.monotonic() - began)
        return len(times) >= quick

    done = fake.wait_for(seen, 600.0)
    ordered = sorted(times.values())
    turn = (gateway.seconds() - processor) / len(times) * 1000
    median, late = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    print(
        f"round {number}: {len(times)}/{quick} quick chats answered ({done}), "
        f"median {median:.1f} s, p95 {late:.1f} s, last {ordered[-1]:.1f} s; {turn:.1f} ms of processor a turn; "
        f"{gateway.memory():.0f} MB, {gateway.descriptors()} descriptors, {gateway.threads()} threads",
        flush=True,
    )


def main() -> None:
    chats, rounds = (int(one) for one in (*sys.argv[1:], "500", "6")[:2])
    os.environ["HOME"] = tempfile.mkdtemp()
    print(f"{chats} chats at once, a tenth of them with a model that takes {SLOW:.0f} s in the first round")
    with FakeTelegram() as fake, ChatServer(replies) as server:
        gateway = f'[gateways.telegram]\nallow = ["*"]\nrate = 10000\nbase_url = "{fake.url()}"\n'
        configure(server.openai_url, Path(os.environ["HOME"]), gateway)
        command = [sys.executable, "-m", "promptuary", "gateway", "telegram"]
        with subprocess.Popen([*command, "-q"], env=os.environ | {"TELEGRAM_BOT_TOKEN": TOKEN}) as program:
            fake.wait_for(lambda: "getUpdates" in fake.calls)
            for number in range(rounds):
                one_round(fake, Process(program.pid), chats, number)
            program.terminate()


if __name__ == "__main__":
    main()
