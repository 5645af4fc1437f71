"""Runs gateways by name, several in one process, and tries whether one could run."""

import asyncio
from collections.abc import Callable, Sequence

from promptuary.config.gateways import NamedGateway
from promptuary.config.keys import service_key
from promptuary.config.settings import Settings, load
from promptuary.core.errors import BadTokenError, ConfigError
from promptuary.engine import AsyncInbox
from promptuary.gateways.gateway import Gateway
from promptuary.gateways.port import Platform
from promptuary.gateways.workspaces import OpenWorkspaces

OnState = Callable[[str, str], None]
"""Is told the name of a gateway and a sentence for whoever runs it."""


def found_gateways(settings: Settings, names: Sequence[str]) -> list[NamedGateway]:
    """Return the gateways of these names, or the only one. Raises ``ConfigError`` if one is not configured."""
    known = {one.name: one for one in settings.gateways}
    if not known:
        raise ConfigError(
            "no gateway is configured: write [gateways.telegram] with allow = [YOUR-ID] into your own configuration; "
            "docs/gateways.md has the steps for each platform"
        )
    if not names and len(known) == 1:
        return list(known.values())
    if not names:
        raise ConfigError(f"name the gateways to run: {', '.join(known)}")
    for name in names:
        if name not in known:
            raise ConfigError(f"no gateway is called {name[:60]!r}; there is {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


def open_platform(config: NamedGateway) -> Platform:
    """Return the bot of a gateway. Raises ``ConfigError`` if its token or its extra is missing."""
    token = service_key(config.token_env, config.name, config.name if config.keyring else "")
    match config.platform:
        case "telegram":
            from promptuary.gateways.telegram import Telegram  # noqa: PLC0415  (an extra, and slow)

            platform: Platform = Telegram(token, config.base_url)
        case "discord":
            from promptuary.gateways.discord import Discord  # noqa: PLC0415  (an extra, and slow)

            platform = Discord(token, config.base_url)
        case _:
            from promptuary.gateways.slack import Slack  # noqa: PLC0415  (an extra, and slow)

            entry = f"{config.name}-app" if config.keyring else ""
            platform = Slack(token, service_key(config.app_token_env, f"{config.name} app", entry), config.base_url)
    return platform


async def run_gateways(names: Sequence[str], on_state: OnState) -> None:
    """Run gateways until the task is cancelled. Raises ``ConfigError`` before anything runs if one cannot be."""
    inbox = await AsyncInbox.open()
    try:
        configs = found_gateways(load(inbox.place), names)
        workspaces = OpenWorkspaces(inbox)
        platforms: list[Platform] = []
        try:
            for config in configs:
                for rules in (config.rules, *config.chats.values()):
                    await workspaces.check(rules)
                platforms.append(open_platform(config))
            async with asyncio.TaskGroup() as group:
                for config, platform in zip(configs, platforms, strict=True):
                    group.create_task(_run(config, platform, inbox, workspaces, on_state))
        except* BadTokenError as refused:
            raise ConfigError(str(refused.exceptions[0])) from None
        finally:
            for platform in platforms:
                await platform.close()
            await workspaces.close()
    finally:
        await inbox.close()


async def _run(
    config: NamedGateway, platform: Platform, inbox: AsyncInbox, workspaces: OpenWorkspaces, on_state: OnState
) -> None:
    gateway = Gateway(config, platform, inbox, workspaces, on_state=lambda text: on_state(config.name, text))
    await gateway.run()


async def check_gateway(name: str) -> list[str]:
    """Return what a gateway is and may do: the bot, who may write to it, and what each chat may refer to.

    Raises ``ConfigError`` if the token is not accepted, or something of the configuration cannot be used.
    """
    inbox = await AsyncInbox.open()
    settings = load(inbox.place)
    try:
        (config,) = found_gateways(settings, [name] if name else [])
        workspaces = OpenWorkspaces(inbox)
        platform = open_platform(config)
        try:
            lines = list(await platform.check())
            for rules in (config.rules, *config.chats.values()):
                await workspaces.check(rules)
        except BadTokenError as error:
            raise ConfigError(str(error)) from error
        finally:
            await platform.close()
            await workspaces.close()
    finally:
        await inbox.close()
    return [*lines, *_described(config, settings)]


def _described(config: NamedGateway, settings: Settings) -> list[str]:
    model = config.model or settings.answer_model
    lines = [f"model: {model}" if model else "model: none; set answer_model, or model of the gateway"]
    if not config.allow and not any(one.allow for one in config.chats.values()):
        lines.append('people: nobody; set allow = ["ID"], which the bot tells to who writes to it')
    else:
        lines.append(f"people: {', '.join(config.allow) if config.allow else 'those of each chat'}")
    for chat, rules in (("every other chat", config.rules), *config.chats.items()):
        where = rules.workspace or "no files, only @url and notes"
        kinds = ", ".join(f"@{kind}" for kind in rules.kinds)
        parts = [f"folders {', '.join(rules.folders)}" if rules.folders else "", kinds]
        lines.append(f"{chat}: {'; '.join(filter(None, [where, *parts]))}")
    return lines
