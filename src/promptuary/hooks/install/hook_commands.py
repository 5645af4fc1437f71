"""Finds and removes our commands among the hooks of a settings file, one by one. Pure.

Agents keep hooks in groups: a list of commands, perhaps with a matcher. A group is the person's: they may have written
it, or have added their own commands to it. So a change affects one command, and a group is removed only when it has no
command left. Which commands are ours, and what to do with them, is decided elsewhere.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from promptuary.hooks.install import jsonc

NAME: Final = "promptuary"
"""The name of the server in the settings of other programs."""


class HookCommand(Struct, frozen=True):
    """A command of a hook: its path in the file, its value, its source text, and its group without the commands."""

    path: jsonc.Path
    value: Mapping[str, Any]
    raw: str
    around: Mapping[str, Any]


def commands_like(text: str, path: tuple[str, ...], wanted: Mapping[str, Any]) -> list[HookCommand]:
    """Return every command below ``path`` that runs what ``wanted`` runs, of any installation, in order."""
    arguments = own_arguments(hook_words(wanted))
    found: list[HookCommand] = []
    for group, (value, _) in enumerate(jsonc.items(text, path)):
        commands = value.get("hooks") if isinstance(value, Mapping) else None
        ours = [
            place
            for place, one in enumerate(commands if isinstance(commands, list) else [])
            if isinstance(one, Mapping) and (one == wanted or own_arguments(hook_words(one)) == arguments is not None)
        ]
        inside: jsonc.Path = (*path, group, "hooks")
        written = jsonc.items(text, inside) if ours else []
        around = {key: one for key, one in value.items() if key != "hooks"} if ours else {}
        found.extend(HookCommand((*inside, place), *written[place], around) for place in ours)
    return found


def without_command(text: str, one: HookCommand, *, keep: int) -> str:
    """Return ``text`` without a command, and without its group if that has no other command.

    The first ``keep`` steps of the path of groups stay, even if they become empty.
    """
    *group, _, _ = one.path
    is_only = len(jsonc.items(text, one.path[:-1])) == 1
    return (
        jsonc.without(text, tuple(group), keep=keep) if is_only else jsonc.without(text, one.path, keep=len(one.path))
    )


def hook_words(value: Mapping[str, Any]) -> list[str]:
    """Return the words of the command of a hook; none if it has no command that a shell would accept."""
    command = value.get("command")
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # an unclosed quotation mark
        return []


def own_arguments(words: Sequence[str]) -> list[str] | None:
    """Return the arguments of this program in a command that starts it as install writes it, by an absolute path."""
    if not words or not words[0].startswith("/"):
        return None
    if list(words[1:3]) == ["-m", NAME]:
        return list(words[3:])
    return list(words[1:]) if os.path.basename(words[0]) == NAME else None  # noqa: PTH119  (a text, not a file)
