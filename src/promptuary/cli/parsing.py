"""What the parsers of all commands share. Imported on every start, so it imports as little as possible."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from promptuary.cli.flags import SETTING_FLAGS


class Help(argparse.HelpFormatter):
    """Wraps a text of one line, and leaves a text of several lines unchanged."""

    def __init__(self, prog: str) -> None:
        # argparse creates a formatter for every argument; without a width, each one queries the terminal.
        super().__init__(prog, max_help_position=28, width=_width())

    def add_argument(self, action: argparse.Action) -> None:
        """Widen the first column for the names of commands, whose indentation argparse does not count."""
        super().add_argument(action)
        names = self._iter_indented_subactions(action)
        longest = max((len(self._format_action_invocation(one)) + self._current_indent for one in names), default=0)
        self._action_max_length = max(self._action_max_length, longest)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Print a metavar once: ``-w, --workspace DIR``."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return (
            "\n".join(indent + line for line in text.splitlines())
            if "\n" in text
            else super()._fill_text(text, width, indent)
        )


def _width() -> int:
    """Return the width of help: that of the terminal (``COLUMNS`` or the system's) less a margin."""
    try:
        return int(os.environ["COLUMNS"]) - 2
    except (KeyError, ValueError):
        try:
            return os.get_terminal_size(sys.__stdout__.fileno()).columns - 2 if sys.__stdout__ else 78
        except (OSError, ValueError):
            return 78


class Command(NamedTuple):
    """A command or an action: name, usage, its line in lists (``help``), its own help, and what adds its arguments.

    ``home`` is its module below ``promptuary.cli``, if it has not the name of the command. What is ``hidden`` works,
    but is for programs, and the lists of commands do not show it.
    """

    name: str
    usage: str
    help: str
    description: str
    examples: tuple[str, ...]
    arguments: tuple[Callable[[argparse.ArgumentParser], None], ...]
    home: str = ""
    hidden: bool = False

    @property
    def module(self) -> str:
        """The module that runs it."""
        return f"promptuary.cli.{self.home or self.name}"

    @property
    def function(self) -> str:
        """The function of that module: ``main``, or in a module for several commands the one with its name."""
        return "main" if self.module.endswith(f".{self.name}") else self.name


_OFTEN = frozenset({"model", "window"})
"""The settings whose flags every help shows."""

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_parser(
    commands: "argparse._SubParsersAction[Parser]",
    command: Command,
    above: str,
    *,
    words_only: bool = False,
    every_flag: bool = True,
) -> Parser:
    """Add and return the parser of a command of ``above``; with ``words_only``, without the flags of settings."""
    # No abbreviations: --model of one command would be --model-url of another. argparse lists only what has help.
    listed: dict[str, Any] = {} if command.hidden else {"help": command.help}
    added = commands.add_parser(
        command.name,
        **listed,
        usage=f"{above} {command.name} {command.usage}",
        description=command.description,
        epilog="\n".join(["examples:", *(f"  {example}" for example in command.examples)]),
        formatter_class=Help,
        allow_abbrev=False,
        add_help=False,
    )
    shown = "show help" if every_flag else argparse.SUPPRESS
    added.add_argument("-h", "--help", action="help", help=shown)
    # argparse needs a tenth of a millisecond to create an argument, and there are many flags.
    added.words_only, added.every_flag = words_only, every_flag  # type: ignore[attr-defined]
    if not every_flag:
        # The short help has one section, whose title names the long help.
        added._positionals = added._optionals  # noqa: SLF001
        added._optionals.title = f"options ({above} {command.name} --help-all shows all flags)"  # noqa: SLF001
    for add in command.arguments:
        add(added)
    return added


def add_actions(
    parser: argparse.ArgumentParser,
    actions: Sequence[Command],
    above: str,
    add_more: Callable[[argparse.ArgumentParser], None],
    summary: Mapping[str, str],
) -> None:
    """Add the actions of a command, each with the common flags, which may also precede the action.

    ``summary`` is the list of actions in the short help: names that belong together, and what they do.
    """
    common = {action.dest for action in parser._actions}  # noqa: SLF001  (argparse has no other way to ask)
    title = "actions" if is_shown(parser) else f"actions ({above} --help-all lists every action)"
    chosen = parser.add_subparsers(dest="action", metavar="ACTION", title=title, required=True, prog=above)
    for one in actions:
        added = add_parser(chosen, one, above, every_flag=is_shown(parser))
        add_common(added)
        add_more(added)
        for argument in added._actions:  # noqa: SLF001
            if argument.dest in common and argument.dest != "help":
                # Otherwise the default would replace a value given before the action.
                argument.default = argparse.SUPPRESS
    if not is_shown(parser):
        for argument in parser._actions:  # noqa: SLF001
            argument.help = argument.help if argument is chosen else argparse.SUPPRESS
        named = chosen._ChoicesPseudoAction  # noqa: SLF001
        chosen._choices_actions = [named(names, (), meaning) for names, meaning in summary.items()]  # noqa: SLF001


def add_common(parser: argparse.ArgumentParser, *, prints: bool = True) -> None:
    """Add the flags that every command has; ``--json`` only if the command ``prints`` a result."""
    parser.add_argument(
        "-w",
        "--workspace",
        metavar="DIR",
        help=brief(
            parser,
            "workspace (default: found from the current folder up)",
            "workspace (default: the nearest parent with .promptuary, .git or promptuary.toml)",
        ),
    )
    if prints:
        parser.add_argument("--json", action="store_true", help="print JSON")
    else:
        parser.set_defaults(json=False)
    parser.add_argument("-q", "--quiet", action="store_true", help="print no tables or notes to stderr")
    parser.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help=seldom(parser, "set any setting; repeatable")
    )
    parser.add_argument("--debug", action="store_true", help=seldom(parser, "log details and tracebacks to stderr"))


def add_common_of_talkers(parser: argparse.ArgumentParser) -> None:
    """Add the common flags to a command that prints no result to standard output: a chat or a server."""
    add_common(parser, prints=False)


def add_flags(parser: argparse.ArgumentParser, settings: Sequence[str]) -> None:
    """Add the flags of settings in a group of the help; none if the arguments contain no flag."""
    if getattr(parser, "words_only", False):
        return
    from promptuary.config.settings import setting_help  # noqa: PLC0415  (most command lines have no flag)

    group = section(parser, "settings (promptuary config lists them all; --set NAME=VALUE sets the others)")
    for name in settings:
        flag, arguments = SETTING_FLAGS[name]
        repeatable = "; repeatable" if arguments.get("action") == "append" else ""
        shown = is_shown(parser) or name in _OFTEN
        meaning = f"{setting_help(name).replace('%', '%%')}{repeatable}" if shown else argparse.SUPPRESS
        group.add_argument(flag, dest=name, help=meaning, **arguments)


def section(parser: argparse.ArgumentParser, title: str) -> argparse._ActionsContainer:
    """Return a group for arguments that belong together; the short help has only one group."""
    return parser.add_argument_group(title) if is_shown(parser) else parser


def is_shown(parser: argparse.ArgumentParser) -> bool:
    """Return whether the help shows rarely used flags."""
    return bool(getattr(parser, "every_flag", True))


def brief(parser: argparse.ArgumentParser, short: str, whole: str) -> str:
    """Return the help of an argument: ``whole`` with ``--help-all``, else ``short``."""
    return whole if is_shown(parser) else short


def seldom(parser: argparse.ArgumentParser, text: str) -> str:
    """Return the help of a rarely used flag, which only ``--help-all`` shows."""
    return text if is_shown(parser) else argparse.SUPPRESS


def add_text(parser: argparse.ArgumentParser) -> None:
    """Add a text, which may also be read from standard input."""
    parser.add_argument(
        "text",
        nargs="*",
        metavar="TEXT",
        help=brief(
            parser,
            "the text (default or -: read stdin)",
            "the text (default or -: read stdin); after -- it may start with dashes",
        ),
    )


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a suggestion: the name with the nearest spelling to ``word``; empty if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415  (only for mistakes)

    near = get_close_matches(word, list(names), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


# What argparse treats as a word although it starts with a dash.
_DASHED_WORD = re.compile(r"-|-\d+|-\d*\.\d+|-.* .*", re.DOTALL)


def is_flag(word: str) -> bool:
    """Return whether a word of the command line looks like a flag."""
    return word.startswith("-") and not _DASHED_WORD.fullmatch(word)


def in_order(parser: argparse.ArgumentParser, given: Sequence[str]) -> list[str]:
    """Return the arguments in an order that argparse accepts: command, action, flags with values, other words.

    Argparse matches all positionals at the first word, so it would reject the 3 of ``thread show -t review 3``.
    """
    if not any(is_flag(one) for one in given):
        return list(given)
    valued = _takes_value(parser)
    flags: list[str] = []
    words: list[str] = []
    rest = iter(given)
    for one in rest:
        if one == "--":
            return [*_leading(parser, words, flags), "--", *rest]
        if not is_flag(one):
            words.append(one)
            continue
        flags.append(one)
        if _awaits_value(one, valued):
            flags.extend(value for value in [next(rest, None)] if value is not None)
    return _leading(parser, words, flags)


def _leading(parser: argparse.ArgumentParser, words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return the command and the action, then the flags, then the other words."""
    leading = 0
    below: argparse.ArgumentParser | None = parser
    while below is not None and (chosen := _choice(below)) is not None and leading < len(words):
        below = chosen.choices.get(words[leading])
        leading += 1
    return [*words[:leading], *flags, *words[leading:]]


def _choice(parser: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser] | None":
    """Return the argument that selects a subparser."""
    of_parsers = argparse._SubParsersAction  # noqa: SLF001  (argparse has no other way to ask)
    return next((one for one in parser._actions if isinstance(one, of_parsers)), None)  # noqa: SLF001


def chosen_parser(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.ArgumentParser:
    """Return the parser of the command and the action in ``options``, whose usage belongs to an error."""
    for name in (str(options.command), str(getattr(options, "action", ""))):
        chosen = _choice(parser)
        parser = chosen.choices.get(name, parser) if chosen else parser
    return parser


def _takes_value(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Return each flag of a parser and its subparsers, and whether it takes a value."""
    chosen = _choice(parser)
    below = [_takes_value(one) for one in chosen.choices.values()] if chosen else []
    own = {flag: one.nargs != 0 for one in parser._actions for flag in one.option_strings}  # noqa: SLF001
    return {flag: valued for flags in [*below, own] for flag, valued in flags.items()}


def _awaits_value(flag: str, valued: Mapping[str, bool]) -> bool:
    """Return whether the next word is the value of ``flag``; ``-qt`` is short for ``-q -t``, ``-tx`` for ``-t x``."""
    if flag.startswith("--"):
        return valued.get(flag, False)
    first = next((at for at, letter in enumerate(flag) if valued.get(f"-{letter}")), None)
    return first == len(flag) - 1


def port(text: str) -> int:
    """Return a port number, as a type for argparse; 0 means any free port."""
    if not text.isascii() or not text.isdecimal() or len(text) > 5 or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a port; use a number from 0 to 65535")
    return int(text)


def count(text: str) -> int:
    """Return a positive number, as a type for argparse."""
    if not text.isascii() or not text.isdecimal() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a positive whole number")
    return int(text)
