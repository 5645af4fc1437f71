"""Runs gateways by name, several in one process, and checks whether one can run."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from msgspec import Struct

from promptuary.base.errors import BadTokenError, ConfigError, PlatformError, PlatformUnreachableError, PromptuaryError
from promptuary.base.text import one_line
from promptuary.config.api_keys import KeyPlace
from promptuary.config.gateways import NamedGateway
from promptuary.config.settings import Settings, load
from promptuary.gateways.gateway import Gateway
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.model import model_trouble
from promptuary.gateways.port import Platform
from promptuary.gateways.workspaces import OpenWorkspaces

logger = logging.getLogger(__name__)

_NOBODY: Final = 'set allow = ["ID"]; the bot tells everybody who writes to it their id'

OnState = Callable[[str, str], None]
"""Called with the name of a gateway and a sentence for the operator."""


def find_gateways(settings: Settings, names: Sequence[str]) -> list[NamedGateway]:
    """Return the gateways with these names, or the only one. Raises ``ConfigError`` if one is not configured."""
    known = {gateway.name: gateway for gateway in settings.gateways}
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
    token = KeyPlace(config.token_env, config.name if config.keyring else "").read(config.name)
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
            platform = Slack(token, KeyPlace(config.app_token_env, entry).read(f"{config.name} app"), config.base_url)
    return platform


async def run_gateways(names: Sequence[str], on_state: OnState) -> None:
    """Run gateways until the task is cancelled. If one cannot run, or fails, that is reported, and the others continue.

    Raises ``ConfigError`` if none can run, or all have failed.
    """
    inbox = await AsyncInbox.open()
    try:
        settings = load(inbox.place)
        configs = find_gateways(settings, names)
        workspaces = OpenWorkspaces(inbox)
        platforms: list[Platform] = []
        try:
            running: list[Coroutine[Any, Any, str]] = []
            failures: list[str] = []
            for config in configs:
                try:
                    await _check_workspaces(config, workspaces)
                    platforms.append(open_platform(config))
                except ConfigError as error:
                    failures.append(str(error))
                    if len(configs) > 1:
                        on_state(config.name, f"cannot run: {error}")
                else:
                    running.append(_run(config, platforms[-1], inbox, workspaces, _Sentences(config.name, on_state)))
                    for sentence in _missing(config, settings):
                        on_state(config.name, sentence)
            failures += await _all_of(running)
            raise ConfigError(failures[0] if len(configs) == 1 else "no gateway can run")
        finally:
            for platform in platforms:
                await platform.close()
            await workspaces.close()
    finally:
        await inbox.close()


async def _all_of(running: Sequence[Coroutine[Any, Any, str]]) -> list[str]:
    tasks = [asyncio.ensure_future(one) for one in running]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _check_workspaces(config: NamedGateway, workspaces: OpenWorkspaces) -> None:
    for chat, rules in (("", config.rules), *config.chats.items()):
        try:
            await workspaces.check(rules)
        except ConfigError as error:
            table = f'[gateways.{config.name}.chats."{one_line(chat)}"]' if chat else f"[gateways.{config.name}]"
            raise ConfigError(f"{table}: {error}") from error


class _Sentences:
    """Reports the states of a gateway, none twice in a row: a platform may be unreachable for hours."""

    def __init__(self, name: str, on_state: OnState) -> None:
        self._name, self._on_state, self._last = name, on_state, ""

    def __call__(self, sentence: str) -> None:
        if sentence != self._last:
            self._last = sentence
            self._on_state(self._name, sentence)


async def _run(
    config: NamedGateway, platform: Platform, inbox: AsyncInbox, workspaces: OpenWorkspaces, tell: Callable[[str], None]
) -> str:
    """Run a gateway, and return why it ended."""
    try:
        await Gateway(config, platform, inbox, workspaces, on_state=tell).run()
    except PromptuaryError as error:
        reason = str(error)
    except Exception as error:  # a bug in one adapter must not end the others
        logger.exception("the gateway %s failed", config.name)
        reason = f"it failed unexpectedly ({type(error).__name__})"
    else:
        reason = "the platform closed the connection"
    tell(f"stopped: {reason}")
    return reason


def _missing(config: NamedGateway, settings: Settings) -> list[str]:
    """Return sentences about the settings that are missing before anybody gets an answer."""
    trouble = model_trouble(config, settings)
    lines = [f"nobody gets an answer: {trouble}"] if trouble else []
    if not config.allow and not any(chat.allow for chat in config.chats.values()):
        lines.append(f"nobody may write to it yet: {_NOBODY}")
    return lines


class GatewayCheck(Struct, frozen=True):
    """What a gateway is, a line each, and whether a model can answer in it."""

    lines: Sequence[str]
    can_answer: bool


async def check_gateway(name: str) -> GatewayCheck:
    """Describe a gateway: the bot, who may write to it, and what each chat may refer to.

    Raises ``ConfigError`` if the token is not accepted, or a part of the configuration cannot be used.
    """
    inbox = await AsyncInbox.open()
    settings = load(inbox.place)
    try:
        (config,) = find_gateways(settings, [name] if name else [])
        workspaces = OpenWorkspaces(inbox)
        platform = open_platform(config)
        try:
            lines = list(await platform.check())
            await _check_workspaces(config, workspaces)
        except BadTokenError as error:
            raise ConfigError(str(error)) from error
        except PlatformUnreachableError as error:
            raise PlatformError(f"{config.platform.title()} cannot be reached: {error}") from error
        finally:
            await platform.close()
            await workspaces.close()
    finally:
        await inbox.close()
    trouble = model_trouble(config, settings)
    return GatewayCheck([*lines, *_describe(config, settings, trouble)], can_answer=not trouble)


def _describe(config: NamedGateway, settings: Settings, trouble: str) -> list[str]:
    lines = [f"model: {trouble or config.model or settings.answer_model}"]
    if not config.allow and not any(one.allow for one in config.chats.values()):
        lines.append(f"people: nobody; {_NOBODY}")
    else:
        lines.append(f"people: {', '.join(config.allow) if config.allow else 'those of each chat'}")
    for chat, rules in (("every other chat", config.rules), *config.chats.items()):
        where = rules.workspace or "no files, only @url and notes"
        kinds = ", ".join(f"@{kind}" for kind in rules.kinds)
        parts = [f"folders {', '.join(rules.folders)}" if rules.folders else "", kinds]
        lines.append(f"{chat}: {'; '.join(filter(None, [where, *parts]))}")
    return lines
