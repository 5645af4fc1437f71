"""What the parsers of all commands share. Every start of the program imports this, so it imports little."""

import argparse
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from promptuary.cli.flags import Flag


class Help(argparse.HelpFormatter):
    """Wraps prose, and leaves a text of several lines as it is written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return (
            "\n".join(indent + line for line in text.splitlines())
            if "\n" in text
            else super()._fill_text(text, width, indent)
        )


class Command(NamedTuple):
    """A command, or an action of one: its name and usage, its line in a list, its own help, what adds its arguments.

    ``family`` is the folder of its module, if it has one.
    """

    name: str
    usage: str
    help: str
    description: str
    examples: tuple[str, ...]
    arguments: tuple[Callable[[argparse.ArgumentParser], None], ...]
    family: str = ""

    @property
    def module(self) -> str:
        """The module that runs it."""
        return ".".join(filter(None, ("promptuary.cli", self.family, self.name)))


Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_parser(commands: "argparse._SubParsersAction[Parser]", command: Command, above: str) -> Parser:
    """Add the parser of a command to those of ``above``, and return it."""
    # No abbreviations: --max of one command would be --max-file-size of another.
    added = commands.add_parser(
        command.name,
        usage=f"{above} {command.name} {command.usage}",
        help=command.help,
        description=command.description,
        epilog="\n".join(["examples:", *(f"  {example}" for example in command.examples)]),
        formatter_class=Help,
        allow_abbrev=False,
    )
    for add in command.arguments:
        add(added)
    return added


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the flags of every command."""
    parser.add_argument(
        "--workspace",
        "-w",
        metavar="DIR",
        help="the workspace, where paths start (default: the nearest parent with .promptuary, .git or "
        "promptuary.toml, else the current folder)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", "-q", action="store_true", help="print no table and no notes on stderr")
    parser.add_argument("--debug", action="store_true", help="log details and tracebacks to stderr")


def add_flags(parser: argparse.ArgumentParser, title: str, flags: Mapping[str, Flag]) -> None:
    """Add the flags of settings, in a group of the help."""
    group = parser.add_argument_group(title)
    for setting, (flag, arguments) in flags.items():
        group.add_argument(flag, dest=setting, **arguments)


def add_text(parser: argparse.ArgumentParser) -> None:
    """Add a text, which may also come from standard input."""
    parser.add_argument(
        "text",
        nargs="*",
        metavar="TEXT",
        help="the text; read from standard input if it is - or missing; write -- before a text with dashes",
    )


def count(text: str) -> int:
    """Return a number from 1 on, as argparse wants a type."""
    if not text.isascii() or not text.isdecimal() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a whole number from 1 on")
    return int(text)
