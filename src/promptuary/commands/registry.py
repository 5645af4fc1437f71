"""Which slash commands there are, what each takes, and which of them a surface allows. Pure.

It does not know what a command does (``run`` does), nor how a line is read (``parsing`` does).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a command does: its name, what follows it, and a sentence for people.

    ``takes`` is how the words are shown that follow; ``needed`` says that there must be some.
    """

    name: str
    meaning: str
    takes: str = ""
    needed: bool = False


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command. Without ``actions`` its words follow its name; else the first of ``actions`` is the default."""

    name: str
    meaning: str
    takes: str = ""
    needed: bool = False
    actions: tuple[Action, ...] = ()
    fallback: str = ""
    """The action that is suggested if the first word is none."""

    def action(self, name: str) -> Action | None:
        """Return the action of this name."""
        return next((one for one in self.actions if one.name == name), None)

    def usage(self, mark: str) -> str:
        """Return how it is written, where commands begin with ``mark``."""
        return f"{mark}{self.name} {'…' if self.actions else self.takes}".rstrip()

    @property
    def described(self) -> str:
        """What it is for, and which actions it has."""
        actions = ", ".join(one.name for one in self.actions)
        return f"{self.meaning}: {actions}" if actions else self.meaning


COMMANDS: Final = (
    SlashCommand(
        "context",
        "what is kept in view of this thread, and what goes with the next message",
        actions=(
            Action("list", "show what is in view"),
            Action("add", "keep files in view, or queue references for the next message", "PATH…", needed=True),
            Action("drop", "take them out of view", "PATH…", needed=True),
            Action("pin", "put files before all others", "PATH…", needed=True),
            Action("unpin", "let pinned files stand among the others again", "PATH…", needed=True),
            Action("tokens", "show what everything in view and the history cost"),
            Action("find", "find files by a part of their names", "WORDS", needed=True),
            Action("clear", "take everything out of view"),
        ),
        fallback="add",
    ),
    SlashCommand(
        "memory",
        "the notes that are remembered",
        actions=(
            Action("list", "list notes, pinned ones first, then the newest"),
            Action("search", "find the notes that answer a question", "WORDS", needed=True),
            Action("show", "show a note", "ID", needed=True),
            Action("write", "write a note", "TEXT", needed=True),
            Action("remember", "write a note, whose kind is guessed", "TEXT", needed=True),
            Action("archive", "keep a note, and recall it no more", "ID", needed=True),
            Action("restore", "bring an archived note back", "ID", needed=True),
            Action("history", "show what happened to a note", "ID", needed=True),
            Action("undo", "undo the last change of a note", "ID", needed=True),
            Action("forget", "remove a note for good: shows what goes, and does it with yes", "ID [yes]", needed=True),
            Action("proposals", "show what was learnt and waits for you"),
            Action("accept", "write what a proposal says", "ID…", needed=True),
            Action("reject", "drop a proposal", "ID…", needed=True),
        ),
        fallback="search",
    ),
    SlashCommand("search", "search the indexed files", "WORDS", needed=True),
    SlashCommand("find", "find files by a part of their names", "WORDS", needed=True),
    SlashCommand("why", "what the last turn was made of: a table, and a bar of the window", "[NUMBER]"),
    SlashCommand("replay", "a past turn exactly as it was sent", "[NUMBER]"),
    SlashCommand("compact", "make room: put a summary in the place of what was said first"),
    SlashCommand("undo", "take the last turn back: your message and its answer leave the history"),
    SlashCommand("model", "show which models there are, or talk to another one", "[NAME]"),
    SlashCommand("thread", "show your threads, or go on in another one", "[NAME]"),
    SlashCommand("copy", "put the last answer into the clipboard"),
    SlashCommand(
        "save", "write this thread to a file: Markdown, or JSON if its name ends so", "FILE [--force]", needed=True
    ),
    SlashCommand("help", "show the commands, or one of them", "[COMMAND]"),
    SlashCommand("quit", "end the chat"),
)
"""Every command, in the order of the help."""

EVERYTHING: Final = frozenset(command.name for command in COMMANDS)
"""For a surface on which the person sits at this machine."""

FROM_AFAR: Final = EVERYTHING - {"copy", "save", "quit", "thread"}
"""For a surface whose person is elsewhere: nothing touches the files, the clipboard or the program here."""


def find_command(name: str) -> SlashCommand | None:
    """Return the command of this name."""
    return next((one for one in COMMANDS if one.name == name), None)


def is_allowed(command: str, action: str, allowed: frozenset[str]) -> bool:
    """Return whether a surface allows a command, or this action: ``allowed`` has ``memory`` or ``memory list``."""
    return command in allowed or (bool(action) and f"{command} {action}" in allowed)


def allowed_commands(allowed: frozenset[str]) -> Iterator[SlashCommand]:
    """Yield the commands of which a surface allows something, each with the actions that it allows."""
    for command in COMMANDS:
        if command.name in allowed:
            yield command
        elif actions := tuple(one for one in command.actions if is_allowed(command.name, one.name, allowed)):
            yield SlashCommand(command.name, command.meaning, actions=actions)
