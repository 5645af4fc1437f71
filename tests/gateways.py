"""A gateway on a fake platform, with the platform's real client library: the same steps for each platform."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptuary.config.gateways import named_gateways
from promptuary.gateways.gateway import Gateway
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.port import Platform
from promptuary.gateways.workspaces import OpenWorkspaces
from tests.platforms import discord as fake_discord
from tests.platforms import slack as fake_slack
from tests.platforms import telegram as fake_telegram
from tests.platforms.server import BotMessage

PLATFORMS = ("telegram", "discord", "slack")
SEND = {"telegram": "sendMessage", "discord": "send", "slack": "chat.postMessage"}
GROUP = {"telegram": -100, "discord": 555, "slack": "C1"}
MENTION = {"telegram": "@promptuary_bot ", "discord": "<@900> ", "slack": "<@UBOT> "}
TOKENS = {
    "TELEGRAM_BOT_TOKEN": fake_telegram.TOKEN,
    "DISCORD_BOT_TOKEN": fake_discord.TOKEN,
    "SLACK_BOT_TOKEN": fake_slack.TOKEN,
    "SLACK_APP_TOKEN": fake_slack.APP_TOKEN,
}


def base_url(platform: str, fake: Any) -> str:
    """Return the address of the API of a fake."""
    return str(fake.url("" if platform == "telegram" else "/api"))


def made_fake(platform: str) -> Any:
    """Return a fake of a platform, which is a context manager."""
    kinds = {"telegram": fake_telegram.FakeTelegram, "discord": fake_discord.FakeDiscord, "slack": fake_slack.FakeSlack}
    return kinds[platform]()


def made_platform(platform: str, fake: Any) -> Platform:
    """Return the adapter, with its real client library, that talks to a fake."""
    if platform == "telegram":
        from promptuary.gateways.telegram import Telegram

        return Telegram(fake_telegram.TOKEN, fake.url())
    if platform == "discord":
        from promptuary.gateways.discord import Discord

        return Discord(fake_discord.TOKEN, fake.url("/api"))
    from promptuary.gateways.slack import Slack

    return Slack(fake_slack.TOKEN, fake_slack.APP_TOKEN, fake.url("/api"))


def user_id(platform: str, person: int) -> str:
    return f"U{person}" if platform == "slack" else str(person)


@dataclass(slots=True)
class Rig:
    """A platform with people and a bot on it."""

    platform: str
    fake: Any
    gateway: Gateway | None = None
    states: list[str] = field(default_factory=list)

    def say(self, person: int, text: str, *, group: bool = False, **more: Any) -> Any:
        """Let a person write to the bot, or to a group that the bot is in."""
        user: Any = f"U{person}" if self.platform == "slack" else person
        chat = {"chat": GROUP[self.platform]} if group else {}
        return self.fake.say(user, text, **chat, **more)

    def mention(self, person: int, text: str) -> Any:
        """Let a person write to the bot in the group."""
        return self.say(person, MENTION[self.platform] + text, group=True)

    def chat(self, person: int) -> str:
        if self.platform == "telegram":
            return str(person)
        return str(fake_discord.direct(person)) if self.platform == "discord" else fake_slack.direct(f"U{person}")

    def messages(self, person: int | None) -> list[BotMessage]:
        """Return what the bot said to a person, or in the group."""
        chat = str(GROUP[self.platform]) if person is None else self.chat(person)
        return [one for one in self.fake.sent if one.chat == chat]

    def texts(self, person: int | None) -> list[str]:
        return [one.text for one in self.messages(person)]

    async def until(self, check: Callable[[], object], timeout: float = 15.0) -> None:
        """Wait until something is true."""
        assert await asyncio.to_thread(self.fake.wait_for, check, timeout), (
            [one.text[:80] for one in self.fake.sent],
            self.states,
        )

    async def answers(self, person: int | None, count: int) -> list[str]:
        """Wait until the bot has sent some messages to somebody, and has nothing left to do; return their texts."""
        await self.until(lambda: len(self.messages(person)) >= count)
        assert self.gateway is not None
        await self.gateway.idle()
        return self.texts(person)


@asynccontextmanager
async def running(
    platform: str, fake: Any, states: list[str], *, slow_seconds: float = 20.0, **table: Any
) -> AsyncIterator[Gateway]:
    """Run a gateway in this process until the end of the block."""
    inbox = await AsyncInbox.open()
    workspaces = OpenWorkspaces(inbox)
    (config,) = named_gateways({platform: {"edit_every": 0.02, **table}}, "test")
    bot = made_platform(platform, fake)
    gateway = Gateway(config, bot, inbox, workspaces, on_state=states.append, slow_seconds=slow_seconds)
    task = asyncio.create_task(gateway.run())
    try:
        yield gateway
    finally:
        task.cancel()
        ended = (await asyncio.gather(task, return_exceptions=True))[0]
        await bot.close()
        await workspaces.close()
        await inbox.close()
        if ended is not None and not isinstance(ended, asyncio.CancelledError):
            raise ended


@asynccontextmanager
async def rigged(platform: str, *, people: tuple[int, ...] = (42, 43), **table: Any) -> AsyncIterator[Rig]:
    """Run a gateway on a fake platform; some people may write to it."""
    with made_fake(platform) as fake:
        rig = Rig(platform, fake)
        allow = [user_id(platform, person) for person in people]
        async with running(platform, fake, rig.states, allow=allow, **table) as gateway:
            rig.gateway = gateway
            if platform == "discord":  # which tells of what is said while somebody listens
                await rig.until(lambda: fake.sessions)
            yield rig


def configure(base_url: str, home: Path, more: str = "") -> None:
    """Write the person's own configuration: a model at ``base_url``."""
    folder = home / ".config" / "promptuary"
    folder.mkdir(parents=True, exist_ok=True)
    model = f'[models.m]\nbase_url = "{base_url}"\nmodel = "x"\nwindow = 32000\n'
    (folder / "config.toml").write_text(f'answer_model = "m"\nembedder = "none"\n{model}{more}')
