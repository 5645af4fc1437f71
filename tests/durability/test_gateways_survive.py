"""A gateway that is killed at any moment answers every message, and repeats an answer only where it says so."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from promptuary.gateways.delivery import REPEATED
from promptuary.testing.chat_server import ChatServer, Says
from promptuary.testing.platforms.telegram import TOKEN, FakeTelegram
from tests.conftest import Figure
from tests.gateways import configure


def started() -> subprocess.Popen[bytes]:
    environment = os.environ | {"TELEGRAM_BOT_TOKEN": TOKEN, "PROMPTUARY_EMBEDDER": "none"}
    return subprocess.Popen(
        [sys.executable, "-m", "promptuary", "gateway", "telegram", "-q"], env=environment, stderr=subprocess.PIPE
    )


@pytest.mark.timeout(1800)
def test_every_message_is_answered_however_often_it_is_killed(figure: Figure) -> None:
    chance, kills = random.Random(3), 0
    chats = figure(8, 200)
    with (
        FakeTelegram() as fake,
        ChatServer(lambda asked: Says(f"Answer to {asked['messages'][-1]['content']}", pause=0.15)) as server,
    ):
        gateway = f'[gateways.telegram]\nallow = ["*"]\nbase_url = "{fake.url()}"\nedit_every = 0.05\n'
        configure(server.openai_url, Path(os.environ["HOME"]), gateway)
        for chat in range(1, chats + 1):
            fake.say(chat, f"question {chat}")

        def answered() -> set[int]:
            return {
                chat
                for chat in range(1, chats + 1)
                for text in fake.texts(str(chat))
                if f"Answer to question {chat}" in text
            }

        until = time.monotonic() + 1500
        while len(answered()) < chats and time.monotonic() < until:
            program = started()
            # In the short form one kill, anywhere; then it comes to its end.
            few = 60.0 if kills else chance.uniform(1.2, 3.0)
            fake.wait_for(lambda: len(answered()) >= chats, timeout=few if chats < 50 else chance.uniform(6.0, 20.0))
            program.kill()
            program.communicate()
            kills += 1
        program = started()  # what was sent and not noted, or was being edited, comes to its end now
        fake.wait_for(lambda: False, timeout=4.0)
        program.terminate()
        program.communicate()

    assert answered() == set(range(1, chats + 1))
    for chat in range(1, chats + 1):
        texts = fake.texts(str(chat))
        unmarked = [text for text in texts if REPEATED not in text]
        assert len(unmarked) <= 1, texts
        assert len(texts) <= 1 + kills
    repeated = sum(REPEATED in one.text for one in fake.sent)
    print(f"{chats} conversations, {kills} kills, {len(fake.sent)} messages, {repeated} marked as repeated")
