"""The agents and editors: which files contain their settings, and what is written into these. Opens nothing."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.hooks.agents import AGENTS
from promptuary.hooks.install.entries import SettingsEntry
from promptuary.hooks.install.hook_commands import NAME

_HOOK_SECONDS: Final = 10


class SettingsFile(Struct, frozen=True):
    """A settings file, and the entries that belong in it."""

    path: Path
    entries: tuple[SettingsEntry, ...]


def settings_files(
    client: str, command: Sequence[str], *, hooks: bool = True, variables: Sequence[str] = (), keys: Sequence[str] = ()
) -> list[SettingsFile]:
    """Return the settings files of a client with the entries that belong in them. ``command`` starts this program.

    ``variables`` and ``keys`` are names of environment variables that the server needs. Their values are not written:
    some are secret.
    """
    server: dict[str, Any] = {"command": command[0], "args": [*command[1:], "mcp"]}
    if hooks and client in AGENTS:
        server["args"].append("--with-hooks")
    match client:
        case "claude-code":
            chosen = _folder("CLAUDE_CONFIG_DIR")
            top = Path(chosen) / ".claude.json" if chosen else _home() / ".claude.json"
            folder = settings_folder(client)
            own = SettingsEntry("member", ("mcpServers", NAME), {"type": "stdio", **server, "env": {}})
            return _with_hooks([SettingsFile(top, (own,))], folder / "settings.json", client, command, hooks=hooks)
        case "codex":
            folder = settings_folder(client)
            # Codex gives a server no variable that is not named here.
            passed: dict[str, Any] = {"env_vars": [*variables, *keys]} if variables or keys else {}
            entry = SettingsEntry("table", ("mcp_servers", NAME), {**server, **passed})
            table = SettingsFile(folder / "config.toml", (entry,))
            return _with_hooks([table], folder / "hooks.json", client, command, hooks=hooks)
        case "gemini":
            path = _home() / ".gemini" / "settings.json"
            # Gemini hides variables that look like secrets, unless an entry names them.
            passed = {"env": {name: f"${name}" for name in keys}} if keys else {}
            entries = (
                SettingsEntry("member", ("mcpServers", NAME), {**server, **passed}),
                *(_hooks(client, command) if hooks else ()),
            )
            return [SettingsFile(path, entries)]
        case "cursor":
            path = _home() / ".cursor" / "mcp.json"
            return [SettingsFile(path, (SettingsEntry("member", ("mcpServers", NAME), server),))]
        case "zed":
            value = {"source": "custom", **server, "env": {}}
            path = _config_home() / "zed" / "settings.json"
            return [SettingsFile(path, (SettingsEntry("member", ("context_servers", NAME), value),))]
        case "vscode":
            path = _code_home() / "Code" / "User" / "mcp.json"
            # A person attaches resources to a message there, and they cost nothing otherwise.
            value = {"type": "stdio", **server, "args": [*server["args"], "--resources"]}
            return [SettingsFile(path, (SettingsEntry("member", ("servers", NAME), value),))]
        case _:
            raise PromptuaryError(f"{client[:60]!r} is not a known agent")


def settings_folder(client: str) -> Path:
    """Return the folder in which a client keeps the person's settings."""
    match client:
        case "claude-code":
            return Path(_folder("CLAUDE_CONFIG_DIR") or _home() / ".claude")
        case "codex":
            return Path(_folder("CODEX_HOME") or _home() / ".codex")
        case "opencode":
            return _config_home() / "opencode"
        case _:
            return _home() / f".{client}"


def _with_hooks(
    files: list[SettingsFile], path: Path, client: str, command: Sequence[str], *, hooks: bool
) -> list[SettingsFile]:
    return [*files, SettingsFile(path, _hooks(client, command))] if hooks else files


def _hooks(client: str, command: Sequence[str]) -> tuple[SettingsEntry, ...]:
    # Gemini's unit is milliseconds.
    seconds = _HOOK_SECONDS * 1_000 if client == "gemini" else _HOOK_SECONDS
    events: Mapping[str, str] = AGENTS[client].events
    return tuple(
        SettingsEntry("item", ("hooks", event), {"hooks": [_hook(client, event, command, seconds)]})
        for event, when in events.items()
        if when != "end"
    )


def _hook(client: str, event: str, command: Sequence[str], seconds: int) -> dict[str, Any]:
    named = {"name": NAME} if client == "gemini" else {}
    return {**named, "type": "command", "command": shlex.join([*command, "hook", client, event]), "timeout": seconds}


def _home() -> Path:
    return Path(os.path.expanduser("~"))  # noqa: PTH111  (no error for a user without a home)


def _folder(variable: str) -> str:
    chosen = os.environ.get(variable, "")
    return chosen if chosen.startswith("/") else ""


def _config_home() -> Path:
    return Path(_folder("XDG_CONFIG_HOME") or _home() / ".config")


def _code_home() -> Path:
    return _home() / "Library" / "Application Support" if sys.platform == "darwin" else _config_home()
