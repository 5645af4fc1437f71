"""A gateway that is killed at any moment answers every message, and repeats an answer only where it says so."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from promptuary.gateways.delivery import REPEATED
from promptuary.testing.chat_server import ChatServer, Says
from tests.conftest import TORTURE, Figure
from tests.gateways import PLATFORMS, SEND, TOKENS, Rig, base_url, configure, made_fake

WAITING = "SELECT chat FROM received WHERE status != 'answered'"


def started(platform: str) -> subprocess.Popen[bytes]:
    environment = os.environ | TOKENS | {"PROMPTUARY_EMBEDDER": "none"}
    command = [sys.executable, "-m", "promptuary", "gateway", platform, "-q"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def ask_inbox(query: str) -> list[Any]:
    path = Path(os.environ["HOME"]) / ".local/state/promptuary/gateways/inbox.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=30.0)) as connection:
        return connection.execute(query).fetchall()


class Killed:
    """A gateway that is killed again and again while people write to it."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self.rig, self.kills = rig, 0
        self.uncertain: Counter[str] = Counter()
        """In which chats a message was being sent when a kill came, and how often."""
        self._chance = random.Random(seed)

    def run_until(self, check: Any, *, longest: float) -> None:
        """Start it, and kill it at a random moment after its first call, or once a check is true."""
        before = len(self.rig.fake.calls)
        program = started(self.rig.platform)
        assert self.rig.fake.wait_for(lambda: len(self.rig.fake.calls) > before, timeout=60.0)
        self.rig.fake.wait_for(check, timeout=self._chance.uniform(0.0, longest))
        program.kill()
        program.communicate()
        self.kills += 1
        for (chat,) in ask_inbox("SELECT chat FROM sent JOIN received USING (number) WHERE sent.message = ''"):
            self.uncertain[str(chat)] += 1

    def finish(self, check: Any) -> None:
        """Start it for the last time, and let it answer everything that is left."""
        program = started(self.rig.platform)
        self.rig.fake.wait_for(check, timeout=600.0)
        until = time.monotonic() + 60.0
        while ask_inbox(WAITING) and time.monotonic() < until:
            self.rig.fake.wait_for(lambda: False, timeout=0.1)
        program.terminate()
        program.communicate()


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("platform", PLATFORMS if TORTURE else PLATFORMS[:1])
def test_every_message_is_answered_however_often_it_is_killed(platform: str, figure: Figure) -> None:
    chats, kills = figure(8, 200), figure(3, 40)
    people = range(1, chats + 1)
    with (
        made_fake(platform) as fake,
        ChatServer(lambda asked: Says(f"Answer to {asked['messages'][-1]['content']}", pause=0.1)) as server,
    ):
        base = base_url(platform, fake)
        gateway = f'[gateways.{platform}]\nallow = ["*"]\nbase_url = "{base}"\nedit_every = 0.05\nrate = 1000\n'
        configure(server.openai_url, Path(os.environ["HOME"]), gateway)
        fake.late[SEND[platform]] = 0.2  # so that kills fall between sending and recording, too
        rig = Rig(platform, fake)
        killed = Killed(rig, seed=3)
        if platform == "discord":  # where what is missed is read in chats that are known
            greet(rig, people)

        def answered() -> set[int]:
            return {one for one in people for text in rig.texts(one) if f"Answer to question {one}" in text}

        for one in people:
            rig.say(one, f"question {one}")
        while len(answered()) < chats and killed.kills < kills:
            killed.run_until(lambda: len(answered()) >= chats, longest=figure(1, 6))
        killed.finish(lambda: len(answered()) >= chats)

        assert answered() == set(people)
        assert ask_inbox(WAITING) == []
        said = {one: [text for text in rig.texts(one) if not text.startswith("greeted")] for one in people}
    for one, texts in said.items():
        assert sum(REPEATED not in text for text in texts) <= 1, texts
        assert len(texts) <= 1 + killed.uncertain[rig.chat(one)], texts
    count, marked = sum(map(len, said.values())), sum(REPEATED in text for texts in said.values() for text in texts)
    print(
        f"{platform}: {chats} conversations, {killed.kills} kills, {killed.uncertain.total()} of them while a message "
        f"was being sent; {count} messages, {marked} marked as perhaps repeated"
    )


def greet(rig: Rig, people: range) -> None:
    """Let everybody have a chat with the bot."""
    program = started(rig.platform)
    assert rig.fake.wait_for(lambda: rig.fake.sessions, timeout=60.0)
    for one in people:
        rig.say(one, "/help")
    assert rig.fake.wait_for(lambda: all(rig.texts(one) for one in people), timeout=120.0)
    assert rig.fake.wait_for(lambda: not ask_inbox(WAITING), timeout=120.0)
    program.terminate()
    program.communicate()
    for message in rig.fake.sent:
        message.text = f"greeted: {message.text}"
