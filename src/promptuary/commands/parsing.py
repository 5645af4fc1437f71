"""Parses a line as a slash command, and detects slips: text that is almost a command is never sent to a model. Pure."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from msgspec import Struct

from promptuary.base.text import beginning, one_line
from promptuary.commands.registry import COMMANDS, Action, SlashCommand, allowed_commands, find_command, is_allowed

# Telegram adds ``@name`` in a group. A path such as /etc/hosts is not a command.
_COMMAND: Final = re.compile(r"\s*/([A-Za-z][A-Za-z-]*)(?:@\w+)?(?=\s|$)")
_PROMPT: Final = re.compile(r"\s*/([A-Za-z0-9][A-Za-z0-9._:-]*)(?:@\w+)?(?=\s|$)")
"""What may name a prompt; if there is none of that name, it is a message, such as one about /README.md."""
_LITERAL: Final = re.compile(r"\s*//(?=\S)")
_SHOWN: Final = 60
MARK: Final = "/"
"""What a command begins with, unless a platform reserves that for itself."""
AS_MESSAGE: Final = "a message that begins with // is sent with one /"
_NUMBER: Final = "[NUMBER]"
_OTHER_NAMES: Final = {
    "add": "context add",
    "drop": "context drop",
    "pin": "context pin",
    "tokens": "context tokens",
    "ls": "context list",
    "clear": "context clear",
    "remember": "memory remember",
    "forget": "memory forget",
    "notes": "memory list",
    "receipt": "why",
    "explain": "why",
    "threads": "thread",
    "resume": "thread",
    "models": "model",
    "export": "save",
    "exit": "quit",
    "q": "quit",
    "bye": "quit",
    "commands": "help",
}
"""Names that other programs use, and the command that each means here."""


class Invocation(Struct, frozen=True):
    """A command, its action if it has actions, and the rest of the line as typed."""

    command: str
    action: str
    rest: str
    mark: str = MARK

    @property
    def spelled(self) -> str:
        """The command and its action as they are written on this surface."""
        return f"{self.mark}{self.command} {self.action}".rstrip()

    @property
    def words(self) -> Sequence[str]:
        """The words of the rest; quotes keep a name with spaces together."""
        try:
            return shlex.split(self.rest)
        except ValueError:  # an apostrophe, not a quotation mark
            return self.rest.split()


class CommandSlip(Struct, frozen=True):
    """A line that is almost a command, or a command that is not available here, and a sentence that says what to do."""

    reason: str


def is_command(line: str) -> bool:
    """Return whether ``line`` is meant as a command, known or not; any other text is a message."""
    return _COMMAND.match(line) is not None or line.strip() == "/"


def split_name(line: str) -> tuple[str, str] | None:
    """Return the name of the prompt that a line may name, and the rest of it; ``None`` for any other text."""
    found = _PROMPT.match(line)
    return None if found is None else (found[1], line[found.end() :].strip())


def is_typo(name: str) -> bool:
    """Return whether ``name`` is neither that of a command, nor near to one, nor what other programs call one."""
    names = [command.name for command in COMMANDS]
    return name not in _OTHER_NAMES and not near_names(name, names)


def unescaped(text: str) -> str:
    """Return a message as it is sent: two slashes at its beginning escape one, which then begins no command."""
    return text.replace("//", "/", 1) if _LITERAL.match(text) and is_command(text.replace("//", "/", 1)) else text


def as_message(mark: str) -> str:
    """Return how to write a message that begins like a command."""
    return AS_MESSAGE.replace(MARK, mark)


def parse(line: str, allowed: frozenset[str], mark: str = MARK) -> Invocation | CommandSlip:
    """Parse a line that is a command. ``mark`` is what commands begin with on this surface."""
    found = _COMMAND.match(line)
    if found is None:
        return CommandSlip(f"which command? {mark}help lists them")
    name, rest = found[1].lower(), line[found.end() :].strip()
    command = find_command(name)
    if command is None:
        return _unknown(name, rest, allowed, mark)
    if not command.actions:
        return _checked(Invocation(name, "", rest, mark), command, allowed)
    word, more = (*rest.split(None, 1), "", "")[:2]
    if not word:
        return _checked(Invocation(name, command.actions[0].name, "", mark), command.actions[0], allowed)
    action = command.action(word.lower())
    if action is None:
        return _unknown_action(command, word, rest, allowed, mark)
    return _checked(Invocation(name, action.name, more, mark), action, allowed)


def _checked(found: Invocation, taken: SlashCommand | Action, allowed: frozenset[str]) -> Invocation | CommandSlip:
    spelled = found.spelled
    if not is_allowed(found.command, found.action, allowed):
        return CommandSlip(f"{spelled} is not available here")
    if taken.needed and not found.rest:
        return CommandSlip(f"{spelled} needs {taken.takes} after it: {taken.meaning}")
    if found.rest and not taken.takes:
        return CommandSlip(f"{spelled} takes no words; {as_message(found.mark)}")
    if found.rest and taken.takes == _NUMBER and not _is_number(found.rest):
        return CommandSlip(f"{spelled} takes a turn's number, as in {spelled} 2; {as_message(found.mark)}")
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < len(text) < 10


def _unknown(name: str, rest: str, allowed: frozenset[str], mark: str) -> CommandSlip:
    there = [command.name for command in allowed_commands(allowed)]
    others = {other: meant for other, meant in _OTHER_NAMES.items() if meant.partition(" ")[0] in there}
    meant = others.get(name) or "".join(near_names(name, [*there, *others]))
    meant = others.get(meant, meant)
    listed = f"{mark}help lists the commands"
    advice = f"did you mean {mark}{meant}{f' {rest}' if rest else ''}?" if meant else listed
    return CommandSlip(f"there is no command {mark}{name[:_SHOWN]}; {_one_line(advice)}")


def _unknown_action(command: SlashCommand, word: str, rest: str, allowed: frozenset[str], mark: str) -> CommandSlip:
    names = [one.name for one in command.actions if is_allowed(command.name, one.name, allowed)]
    near = near_names(word.lower(), names)
    meant = f"{near[0]}{rest[len(word) :]}" if near else f"{command.fallback} {rest}"
    said = f"{mark}{command.name} takes {', '.join(names)}; did you mean {mark}{command.name} {meant}?"
    return CommandSlip(_one_line(said))


def near_names(word: str, names: Iterable[str]) -> list[str]:
    """Return the name that ``word`` probably means: a list of one or none."""
    known = list(names)
    begun = [one for one in known if one.startswith(word)]
    return begun[:1] if len(begun) == 1 else get_close_matches(word, known, n=1, cutoff=0.6)


def _one_line(text: str) -> str:
    return beginning(one_line(text), 4 * _SHOWN)


class Choice(Struct, frozen=True):
    """A row of the ``/`` menu: the text that replaces what was typed from ``start`` on, and what it means."""

    text: str
    start: int
    meaning: str


def choices(line: str, allowed: frozenset[str]) -> Iterator[Choice]:
    """Yield what can complete ``line``: the names of commands, then those of their actions."""
    text = line.lstrip()
    if not text.startswith("/") or "\n" in text:
        return
    indent = len(line) - len(text)
    name, space, rest = text[1:].partition(" ")
    if not space:
        for command in allowed_commands(allowed):
            if command.name.startswith(name.lower()):
                yield Choice(f"/{command.name}", indent, command.meaning)
        return
    taken = next((one for one in allowed_commands(allowed) if one.name == name.lower()), None)
    if taken is None or " " in rest.strip() or (rest.strip() and rest.endswith(" ")):
        return
    if taken.name == "help":
        names = [(one.name, one.meaning) for one in COMMANDS if one.name in {c.name for c in allowed_commands(allowed)}]
    else:
        names = [(one.name, one.meaning) for one in taken.actions]
    start = len(line) - len(rest.lstrip())
    for one, meaning in names:
        if one.startswith(rest.strip().lower()):
            yield Choice(one, start, meaning)
