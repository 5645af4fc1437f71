"""The slash commands, their arguments, and which of them a surface allows. Pure.

It does not know what a command does (``run`` does), nor how a line is parsed (``parsing`` does).
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct


class Action(Struct, frozen=True):
    """An action of a command: its name, its meaning for people, and its arguments.

    ``takes`` is how the help shows the arguments; ``needed`` says that at least one is required.
    """

    name: str
    meaning: str
    takes: str = ""
    needed: bool = False


class SlashCommand(Struct, frozen=True):
    """A slash command. Without ``actions`` it takes arguments itself; else the first of ``actions`` is the default."""

    name: str
    meaning: str
    takes: str = ""
    needed: bool = False
    actions: tuple[Action, ...] = ()
    fallback: str = ""
    """The action that is suggested if the first word is not an action."""

    def action(self, name: str) -> Action | None:
        """Return the action with this name; ``None`` if there is none."""
        return next((one for one in self.actions if one.name == name), None)

    def usage(self, mark: str) -> str:
        """Return how to write it, where commands begin with ``mark``."""
        return f"{mark}{self.name} {'…' if self.actions else self.takes}".rstrip()

    @property
    def described(self) -> str:
        """Its meaning, and its actions."""
        actions = ", ".join(one.name for one in self.actions)
        return f"{self.meaning}: {actions}" if actions else self.meaning


COMMANDS: Final = (
    SlashCommand(
        "context",
        "manage the files in view and the references for the next message",
        actions=(
            Action("list", "list what is in view"),
            Action("add", "keep files in view, or queue references for the next message", "PATH…", needed=True),
            Action("drop", "remove files from view, or references from the queue", "PATH…", needed=True),
            Action("pin", "put files before all others", "PATH…", needed=True),
            Action("unpin", "put pinned files back among the others", "PATH…", needed=True),
            Action("tokens", "show the token cost of everything in view and of the history"),
            Action("find", "find files by a part of their names", "WORDS", needed=True),
            Action("clear", "remove everything from view and from the queue"),
        ),
        fallback="add",
    ),
    SlashCommand(
        "memory",
        "read, write and review notes",
        actions=(
            Action("list", "list notes, pinned ones first, then the newest"),
            Action("search", "find the notes that answer a question", "WORDS", needed=True),
            Action("show", "show a note", "ID", needed=True),
            Action("write", "write a note", "TEXT", needed=True),
            Action("remember", "write a note and guess its kind", "TEXT", needed=True),
            Action("archive", "keep a note, but stop recalling it", "ID", needed=True),
            Action("restore", "bring an archived note back", "ID", needed=True),
            Action("history", "show what happened to a note", "ID", needed=True),
            Action("undo", "undo the last change of a note", "ID", needed=True),
            Action("forget", "remove a note for good: lists what would go; add yes to do it", "ID [yes]", needed=True),
            Action("proposals", "list the proposals that wait for your decision"),
            Action("accept", "apply proposals to the notes", "ID…", needed=True),
            Action("reject", "reject proposals", "ID…", needed=True),
            Action("adopt", "trust notes that agents wrote, or that came with the folder", "ID…", needed=True),
        ),
        fallback="search",
    ),
    SlashCommand("search", "search the indexed files", "WORDS", needed=True),
    SlashCommand("find", "find files by a part of their names", "WORDS", needed=True),
    SlashCommand("why", "show what the last turn was made of: a table and a bar of the window", "[NUMBER]"),
    SlashCommand("replay", "show a past turn exactly as it was sent", "[NUMBER]"),
    SlashCommand("compact", "make room: replace the oldest messages with a summary"),
    SlashCommand("undo", "undo the last turn: remove your message and its answer from the history"),
    SlashCommand("model", "list the models, or switch to another one", "[NAME]"),
    SlashCommand("thread", "list your threads, or switch to another one", "[NAME]"),
    SlashCommand("prompts", "list the prompts by name: /NAME sends one"),
    SlashCommand("copy", "copy the last answer to the clipboard"),
    SlashCommand(
        "save", "save this thread as Markdown, or as JSON if FILE ends with .json", "FILE [--force]", needed=True
    ),
    SlashCommand("help", "list the commands, or explain one", "[COMMAND]"),
    SlashCommand("quit", "end the chat"),
)
"""Every command, in the order of the help."""

EVERYTHING: Final = frozenset(command.name for command in COMMANDS)
"""For a surface whose person sits at this machine."""

FROM_AFAR: Final = EVERYTHING - {"copy", "save", "quit", "thread"}
"""For a remote surface: no command writes files, uses the clipboard, switches threads or ends the program here."""


def find_command(name: str) -> SlashCommand | None:
    """Return the command with this name; ``None`` if there is none."""
    return next((one for one in COMMANDS if one.name == name), None)


def is_allowed(command: str, action: str, allowed: frozenset[str]) -> bool:
    """Return whether ``allowed`` has the command (``memory``) or this action of it (``memory list``)."""
    return command in allowed or (bool(action) and f"{command} {action}" in allowed)


def allowed_commands(allowed: frozenset[str]) -> Iterator[SlashCommand]:
    """Yield each command that is allowed at least in part, with its allowed actions."""
    for command in COMMANDS:
        if command.name in allowed:
            yield command
        elif actions := tuple(one for one in command.actions if is_allowed(command.name, one.name, allowed)):
            yield SlashCommand(command.name, command.meaning, actions=actions)
