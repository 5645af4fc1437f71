"""Gateways that are stopped while they send: what may have arrived is found, known by its key, or sent with a mark."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from promptuary.gateways.answering import UNCERTAIN
from promptuary.gateways.delivery import REPEATED, SUPERSEDED, knows_key
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.inbox_store import SentPart
from promptuary.gateways.port import Capabilities
from promptuary.testing.chat_server import ChatServer, Says
from tests.gateways import PLATFORMS, SEND, Rig, configure, made_fake, running, user_id

SEND_FILE = {"telegram": "sendDocument", "discord": "send", "slack": "files.completeUploadExternal"}
WORDS = "One two three four five six seven eight nine ten."


@pytest.fixture
def says() -> Iterator[list[Says]]:
    """Return what the model says: the last of the list."""
    replies = [Says(WORDS, pause=0.02)]
    with ChatServer(lambda _: replies[-1]) as server:
        configure(server.openai_url, Path(os.environ["HOME"]))
        yield replies


class Restarted:
    """A gateway that runs for some blocks, and is stopped between them."""

    def __init__(self, platform: str, fake: Any) -> None:
        self.rig = Rig(platform, fake)

    @asynccontextmanager
    async def running(self) -> Any:
        allow, connected = [user_id(self.rig.platform, 42)], self.connected
        async with running(self.rig.platform, self.rig.fake, self.rig.states, allow=allow) as gateway:
            self.rig.gateway = gateway
            await self.rig.until(lambda: self.connected > connected)
            yield

    @property
    def connected(self) -> int:
        return sum(state.startswith("connected") for state in self.rig.states)

    async def stopped_at(self, method: str, say: str = "", *, after: int = 0) -> None:
        """Stop it when the platform has done what a method asks for, and has not said so."""
        fake = self.rig.fake
        fake.faults[method].extend([*("" for _ in range(after)), "held"])
        unanswered = fake.unanswered
        async with self.running():
            if say:
                self.rig.say(42, say)
            await self.rig.until(lambda: fake.unanswered > unanswered)
        fake.faults[method].clear()

    async def finished(self, count: int) -> list[str]:
        async with self.running():
            return await self.rig.answers(42, count)


def restarted(platform: str, steps: Callable[[Restarted], Any]) -> None:
    with made_fake(platform) as fake:
        asyncio.run(steps(Restarted(platform, fake)))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_mark_outlives_any_number_of_restarts(platform: str, says: list[Says]) -> None:
    says.append(Says("\n".join(f"line {number:04}" for number in range(550))))

    async def steps(bot: Restarted) -> None:
        await bot.stopped_at(SEND[platform], "Count.")
        # The first message is sent again, and known; the second one is being sent.
        await bot.stopped_at(SEND[platform], after=0 if platform == "slack" else 1)
        texts = await bot.finished(2)
        if platform == "telegram":  # which cannot tell whether they arrived
            assert [REPEATED in text for text in texts] == [False, True, False, True]
            texts = [text for text in texts if REPEATED in text]
        assert REPEATED not in "".join(texts) or platform == "telegram"
        lines = [line for text in texts for line in text.splitlines() if line.startswith("line")]
        assert lines == [f"line {number:04}" for number in range(550)]

    restarted(platform, steps)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_restart_while_sending_repeats_one_message_at_most(platform: str, says: list[Says]) -> None:
    async def steps(bot: Restarted) -> None:
        await bot.stopped_at(SEND[platform], "Count.")
        if platform != "slack":  # which is asked what arrived, and sends nothing
            await bot.stopped_at(SEND[platform])
        texts = await bot.finished(1)
        assert [REPEATED in text for text in texts] == ([False, True, True] if platform == "telegram" else [False])
        assert texts[-1].endswith(WORDS)

    restarted(platform, steps)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_whose_receipt_got_lost_is_not_sent_again_unmarked(platform: str, says: list[Says]) -> None:
    says.append(Says("Here."))

    async def steps(bot: Restarted) -> None:
        bot.rig.fake.faults[SEND[platform]].append("lost")
        async with bot.running():
            bot.rig.say(42, "Are you there?")
            await bot.rig.until(lambda: bot.rig.fake.unanswered)
            count = 2 if platform == "telegram" else 1
            texts = await bot.rig.answers(42, count)
        assert texts == (["Here.", f"{REPEATED}\n\nHere."] if platform == "telegram" else ["Here."])

    restarted(platform, steps)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_file_that_may_have_arrived_is_sent_again_with_the_mark(platform: str, says: list[Says]) -> None:
    says.append(Says("A long line of an answer.\n" * 1200))

    async def steps(bot: Restarted) -> None:
        if platform == "discord":  # by the same method, after the messages that were shown
            await bot.stopped_at(SEND[platform], "Write.", after=5)
        else:
            await bot.stopped_at(SEND_FILE[platform], "Write.")
        await bot.finished(1)
        files = [one for one in bot.rig.messages(42) if one.file]
        assert {one.file for one in files} == {b"A long line of an answer.\n" * 1199 + b"A long line of an answer."}
        assert [one.text for one in files] == ([""] if platform == "discord" else ["", REPEATED])

    restarted(platform, steps)


def test_what_was_shown_of_an_answer_that_is_now_shorter_is_withdrawn(says: list[Says]) -> None:
    async def steps(bot: Restarted) -> None:
        says.append(Says("Word after word, and so on.\n" * 300, pause=0.001))
        await bot.stopped_at("sendMessage", "Write.", after=2)
        says.append(Says("In short: no."))
        texts = await bot.finished(1)
        assert texts[0].endswith("In short: no.")
        assert texts[1] == SUPERSEDED

    restarted("telegram", steps)


def test_a_key_is_known_for_a_while() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    capabilities = Capabilities(2000, 1.0, key_seconds=60.0)
    for seconds, known in ((0, True), (59, True), (61, False), (-10, False)):
        sent = SentPart(since=(now - timedelta(seconds=seconds)).isoformat())
        assert knows_key(capabilities, sent, now) is known
    assert not knows_key(capabilities, SentPart(since=""), now)
    assert not knows_key(Capabilities(4096, 1.0), SentPart(since=now.isoformat()), now)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platform_that_cannot_be_reached_at_first_is_tried_again(platform: str, says: list[Says]) -> None:
    says.append(Says("Here."))

    async def steps(bot: Restarted) -> None:
        first_call = {"telegram": "getMe", "discord": "me", "slack": "auth.test"}[platform]
        await bot.stopped_at(SEND[platform], "Are you there?")
        bot.rig.fake.faults[first_call].extend(["drop", "drop"])
        assert (await bot.finished(1))[-1].endswith("Here.")
        assert sum("cannot be reached; trying again" in state for state in bot.rig.states) >= 1

    restarted(platform, steps)


@pytest.mark.parametrize("platform", ["discord", "slack"])
def test_what_was_missed_is_read_in_chats_that_are_new(platform: str, says: list[Says]) -> None:
    says.append(Says("Here."))

    async def steps(bot: Restarted) -> None:
        rig = bot.rig
        rig.mention(42, "before the first start")  # nobody knows since when to read
        rig.fake.forget()
        async with bot.running():
            rig.say(42, "Hello")
            await rig.answers(42, 1)
        rig.mention(42, "Are you there?")
        rig.say(42, "not for the bot", group=True)
        rig.mention(99, "And I?")
        if platform == "slack":
            rig.say(99, "And here?")
        rig.fake.forget()
        async with bot.running():
            assert await rig.answers(None, 1) == ["Here."]
            assert rig.messages(99) == []

    restarted(platform, steps)


def test_a_document_of_a_message_that_was_answered_does_not_go_with_the_next_one(
    says: list[Says], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = asyncio.Event()

    async def never(*_: object) -> None:
        recorded.set()
        await asyncio.Event().wait()

    async def steps(bot: Restarted) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(AsyncInbox, "store_answer", never)  # the model has answered, and nothing is sent yet
            async with bot.running():
                bot.rig.say(42, "What is it?", document=("cats.md", b"They purr.\n"))
                await asyncio.wait_for(recorded.wait(), 15.0)
        await bot.finished(1)
        async with bot.running():
            bot.rig.say(42, "/context list")
            assert "cats.md" not in (await bot.rig.answers(42, 2))[-1]

    restarted("telegram", steps)


def test_a_command_that_may_be_done_is_not_done_again(says: list[Says], monkeypatch: pytest.MonkeyPatch) -> None:
    done = asyncio.Event()

    async def never(*_: object) -> None:
        done.set()
        await asyncio.Event().wait()

    async def steps(bot: Restarted) -> None:
        says.append(Says("Ok."))
        async with bot.running():
            for text in ("One", "Two"):
                bot.rig.say(42, text)
            await bot.rig.answers(42, 2)
        with monkeypatch.context() as patched:
            patched.setattr(AsyncInbox, "store_answer", never)  # it is done, and that is not noted yet
            async with bot.running():
                bot.rig.say(42, "/undo")
                await asyncio.wait_for(done.wait(), 15.0)
        assert (await bot.finished(3))[-1] == UNCERTAIN
        async with bot.running():
            bot.rig.say(42, "/undo")
            assert (await bot.rig.answers(42, 4))[-1] == "turn 1 is taken back: One"

    restarted("telegram", steps)
