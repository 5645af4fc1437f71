"""The tables ``[gateways.NAME]``: which bots there are, who may write to them, and what each chat may refer to. Pure.

They are read only from the person's own configuration, because they give other people access to files. A token is never
in them; they name the environment variable, or say that the keyring has it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from promptuary.base.errors import ConfigError
from promptuary.config.values import cut, integer, nearest, number
from promptuary.workspace.access import REMOTE_KINDS, Access

PLATFORMS: Final = ("telegram", "discord", "slack")
EVERYBODY: Final = "*"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_TOKENS: Final = {"telegram": "TELEGRAM_BOT_TOKEN", "discord": "DISCORD_BOT_TOKEN", "slack": "SLACK_BOT_TOKEN"}


class ChatRules(Struct, frozen=True):
    """Who the people of a chat are, and what they may refer to.

    Without a ``workspace`` there are no files. ``kinds`` of references: empty means all; ``folders`` of the workspace:
    empty means all of it. ``allow`` are ids of users; empty means those of the gateway. ``hosts`` are hosts that
    ``@url`` may fetch from although they are not public.
    """

    workspace: str = ""
    kinds: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    max_file_size: int = 256 * 1024
    allow: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class NamedGateway(Struct, frozen=True):
    """A bot: its platform, where its token is, who may write to it, and the rules of its chats.

    ``token_env`` names an environment variable; with ``keyring`` the keyring has the token under the name of the
    gateway. Slack needs a second one for its socket, ``app_token_env``. ``rate`` is how many messages a person may send
    in a minute; ``edit_every`` is the interval in seconds in which an incoming answer is edited; ``base_url`` is for
    another server with the platform's API. ``people`` gives users the name that their memories are stored under.
    """

    name: str
    platform: str
    token_env: str = ""
    app_token_env: str = "SLACK_APP_TOKEN"  # noqa: S105  (the name of a variable)
    keyring: bool = False
    model: str = ""
    allow: tuple[str, ...] = ()
    rate: int = 20
    edit_every: float = 0.0
    base_url: str = ""
    people: Mapping[str, str] = field(default_factory=dict)
    rules: ChatRules = ChatRules()
    chats: Mapping[str, ChatRules] = field(default_factory=dict)

    def rules_of(self, chat: str) -> ChatRules:
        """Return the rules of a chat: its own, else those of the gateway."""
        return self.chats.get(chat, self.rules)

    def allows(self, chat: str, user: str) -> bool:
        """Return whether a user may write in a chat: only if the user is named, or everybody is allowed."""
        allowed = self.rules_of(chat).allow or self.allow
        return EVERYBODY in allowed or user in allowed


_RULES: Final = ("workspace", "kinds", "folders", "max_file_size", "allow", "hosts")
_OWN: Final = ("platform", "token_env", "app_token_env", "keyring", "model", "rate", "edit_every", "base_url", "people")
_KEYS: Final = (*_OWN, *_RULES, "chats")


def named_gateways(tables: object, where: str) -> tuple[NamedGateway, ...]:
    """Return the gateways of a table of tables. Raises ``ConfigError``, whose message begins with ``where``."""
    if not isinstance(tables, Mapping):
        raise ConfigError(f"{where} must be a table of gateways, such as [gateways.telegram]")
    return tuple(_gateway(str(name), given, where) for name, given in tables.items())


def _gateway(name: str, given: object, where: str) -> NamedGateway:
    if _NAME.fullmatch(name) is None:
        raise ConfigError(f"{where}: {cut(name)!r} cannot be a name; use letters, digits, '.', '-' and '_'")
    here = f"{where}: {name}"
    if not isinstance(given, Mapping):
        raise ConfigError(f"{here} must be a table, such as [gateways.{name}]")
    _check_keys(given, _KEYS, here)
    platform = _text(given, "platform", here) or name
    if platform not in PLATFORMS:
        raise ConfigError(f'{here} needs platform = "…", one of: {", ".join(PLATFORMS)}')
    token_env = _variable(given, "token_env", here) or _TOKENS[platform]
    app_token_env = _variable(given, "app_token_env", here) or "SLACK_APP_TOKEN"
    rules = _rules(given, here)
    chats = given.get("chats", {})
    if not isinstance(chats, Mapping) or not all(isinstance(one, Mapping) for one in chats.values()):
        raise ConfigError(f'{here}.chats must be tables, such as [gateways.{name}.chats."-100123"]')
    for chat, one in chats.items():
        _check_keys(one, _RULES, f"{here}.chats.{cut(str(chat))}")
    people = given.get("people", {})
    if not isinstance(people, Mapping) or not all(isinstance(one, str) and one.strip() for one in people.values()):
        raise ConfigError(f'{here}.people gives ids a name, as in people = {{ 42 = "ada" }}')
    return NamedGateway(
        name,
        platform,
        token_env,
        app_token_env,
        keyring=_flag(given, "keyring", here),
        model=_text(given, "model", here),
        allow=rules.allow,
        rate=integer(given.get("rate", 20), f"{here}.rate", least=1, most=10_000),
        edit_every=number(given.get("edit_every", 0.0), f"{here}.edit_every", least=0.0, most=600.0),
        base_url=_text(given, "base_url", here),
        people={str(user): person for user, person in people.items()},
        rules=rules,
        chats={str(chat): _rules(one, f"{here}.chats.{cut(str(chat))}") for chat, one in chats.items()},
    )


def _rules(given: Mapping[str, Any], where: str) -> ChatRules:
    workspace = _text(given, "workspace", where)
    if workspace and not workspace.startswith(("/", "~")):
        # A relative path would depend on where the gateway is started.
        raise ConfigError(f"{where}.workspace must be a full path: write it from / or from ~, as in ~/{cut(workspace)}")
    kinds, folders = _names(given, "kinds", where), _names(given, "folders", where)
    if (kinds or folders) and not workspace and "url" not in kinds:
        raise ConfigError(f"{where} names kinds or folders without a workspace; set workspace, too")
    unknown = [kind for kind in kinds if kind not in REMOTE_KINDS]
    if unknown:
        near = nearest(unknown[0], sorted(REMOTE_KINDS))
        advice = f"did you mean {near}?" if near else f"use some of: {', '.join(sorted(REMOTE_KINDS))}"
        raise ConfigError(f"{where}.kinds: {cut(unknown[0])!r} is not a kind of reference for chats; {advice}")
    try:
        Access.limited(folders=folders)
    except ConfigError as error:
        raise ConfigError(f"{where}.folders: {error}") from error
    size = integer(given.get("max_file_size", 256 * 1024), f"{where}.max_file_size", least=1, most=10**9)
    return ChatRules(workspace, kinds, folders, size, _names(given, "allow", where), _names(given, "hosts", where))


def _check_keys(given: Mapping[Any, object], known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key in {"token", "app_token"}:
            # If somebody writes the token itself here, the error message must not contain it.
            raise ConfigError(f"{where}.{key}: a token does not belong in a file; set {key}_env or keyring = true")
        if key not in known:
            meant = nearest(str(key), known)
            advice = f"did you mean {meant}?" if meant else f"use {', '.join(known)}"
            raise ConfigError(f"{where}.{cut(str(key))} is unknown; {advice}")


def _variable(given: Mapping[str, Any], key: str, where: str) -> str:
    name = _text(given, key, where)
    if name and _VARIABLE.fullmatch(name) is None:
        raise ConfigError(f"{where}.{key} must be the name of an environment variable, not the token itself")
    return name


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise ConfigError(f"{where}.{key} must be text")
    return value.strip()


def _flag(given: Mapping[str, Any], key: str, where: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{where}.{key} must be true or false")
    return value


def _names(given: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """Return a list of names; ids are often written as numbers."""
    value = given.get(key, [])
    listed = [value] if isinstance(value, str | int) else value
    if not isinstance(listed, list) or not all(isinstance(one, str | int) for one in listed):
        raise ConfigError(f"{where}.{key} must be a list")
    return tuple(str(one).strip() for one in listed)
