"""What the parsers of all commands share. Imported on every start, so it imports as little as possible."""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class Argument(NamedTuple):
    """An argument of a command: its names, its help, and the other arguments that argparse takes.

    A ``seldom`` one is only in the long help, and ``brief`` is the help that the short one has. Those of a ``section``
    stand together in the long help.
    """

    names: tuple[str, ...]
    text: str
    options: Mapping[str, Any]
    seldom: bool
    brief: str
    section: str


class OneOf(NamedTuple):
    """Arguments of which at most one may be given."""

    arguments: tuple[Argument, ...]


class SettingFlags(NamedTuple):
    """The flags of settings, by the names of these."""

    settings: tuple[str, ...]


class Actions(NamedTuple):
    """The actions of a command, what each of them takes besides its own arguments, and their list in the short help.

    That list has the names that belong together, and what they do. ``common`` are the flags that all of them have, if
    these are not those of a workspace.
    """

    actions: "tuple[Command, ...]"
    summary: Mapping[str, str]
    more: tuple[Argument | SettingFlags, ...] = ()
    common: tuple[Argument, ...] = ()


class Command(NamedTuple):
    """A command or an action: name, usage, its line in lists (``help``), its own help, and its arguments.

    ``home`` is its module below ``promptuary.cli``, if it has not the name of the command. What is ``hidden`` works,
    but is for programs, and the lists of commands do not show it.
    """

    name: str
    usage: str
    help: str
    description: str
    examples: tuple[str, ...]
    arguments: tuple[Argument | OneOf | SettingFlags | Actions, ...]
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


class Asked(NamedTuple):
    """What a command line asks for, so that only that is made: argparse needs a tenth of a millisecond an argument.

    ``words_only`` promises that there is no long flag, so that settings need none, and without ``shows_help`` nobody
    reads theirs. Without ``every_flag``, the help omits rarely used flags.
    """

    command: str = ""
    action: str = ""
    words_only: bool = False
    shows_help: bool = True
    every_flag: bool = True


def arg(names: str, text: str, *, seldom: bool = False, brief: str = "", section: str = "", **options: Any) -> Argument:
    """Return an argument by its names and the word for its value, if that is shown: ``-t --thread NAME``."""
    *spelled, last = names.split()
    if spelled and not last.startswith("-"):
        options["metavar"] = last
    else:
        spelled.append(last)
    return Argument(tuple(spelled), text, options, seldom, brief, section)


def flag(names: str, text: str, **more: Any) -> Argument:
    """Return a flag without a value."""
    return arg(names, text, action="store_true", **more)


def many(names: str, text: str, **more: Any) -> Argument:
    """Return an argument that may be given several times."""
    return arg(names, text, action="append", **more)


def limit(most: int, what: str = "") -> Argument:
    """Return the flag that says how many are printed."""
    return arg("--limit N", f"print at most N{what and f' {what}'} (default: {most})", type=count, default=most)


def one_of(*arguments: Argument) -> OneOf:
    """Return arguments of which at most one may be given."""
    return OneOf(arguments)


def under(section: str, *arguments: Argument | OneOf) -> Iterator[Argument | OneOf]:
    """Yield arguments that stand together in the long help, below a title."""
    for one in arguments:
        match one:
            case OneOf(several):
                yield OneOf(tuple(choice._replace(section=section) for choice in several))
            case Argument():
                yield one._replace(section=section)


TEXT = arg(
    "text TEXT",
    "the text (default or -: read stdin); after -- it may start with dashes",
    brief="the text (default or -: read stdin)",
    nargs="*",
)
THREAD = arg("-t --thread NAME", "the thread (default: main)")
_WORKSPACE = arg(
    "-w --workspace DIR",
    "workspace (default: the nearest parent with .promptuary, .git or promptuary.toml)",
    brief="workspace (default: found from the current folder up)",
)
_JSON = flag("--json", "print JSON")
_QUIET = flag("-q --quiet", "print no tables or notes to stderr")
_SET = many("--set NAME=VALUE", "set any setting; repeatable", seldom=True)
_DEBUG = flag("--debug", "log details and tracebacks to stderr", seldom=True)
_SERVER = arg(
    "--server URL",
    "use the workspace at this promptuary serve; -w NAME chooses one of several; none: the folder",
    seldom=True,
)
COMMON = (_WORKSPACE, _JSON, _QUIET, _SET, _DEBUG)
"""The flags of every command that opens a workspace in its folder."""
COMMON_AT_SERVERS = (*COMMON, _SERVER)
"""Those of one that also works with a workspace at a server."""
COMMON_OF_TALKERS = (_WORKSPACE, _QUIET, _SET, _DEBUG)
"""Those of one that prints no result to standard output: a chat or a server."""
COMMON_WITHOUT_SETTINGS = (_WORKSPACE, _JSON, _QUIET, _DEBUG)
"""Those of a command that no setting changes."""
COMMON_WITHOUT_WORKSPACE = (_JSON, _QUIET, _DEBUG)
"""Those of a command that concerns no workspace, or several."""

_OFTEN = frozenset({"model", "window"})
"""The settings whose flags every help shows."""

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)


def add_parser(commands: "argparse._SubParsersAction[Parser]", command: Command, above: str, asked: Asked) -> Parser:
    """Add and return the parser of a command of ``above``."""
    # No abbreviations: --no-e would be a flag of one command and not of another. argparse lists only what has help.
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
    added.add_argument("-h", "--help", action="help", help="show help" if asked.every_flag else argparse.SUPPRESS)
    if not asked.every_flag:
        # The short help has one section, whose title names the long help.
        added._positionals = added._optionals  # noqa: SLF001
        added._optionals.title = f"options ({above} {command.name} --help-all shows all flags)"  # noqa: SLF001
    for argument in command.arguments:
        _add(added, argument, f"{above} {command.name}", asked)
    return added


def _add(
    parser: argparse.ArgumentParser, argument: Argument | OneOf | SettingFlags | Actions, name: str, asked: Asked
) -> None:
    match argument:
        case Argument():
            _add_argument(_section(parser, argument.section, asked), argument, asked)
        case OneOf(arguments):
            group = _section(parser, arguments[0].section, asked).add_mutually_exclusive_group()
            for one in arguments:
                _add_argument(group, one, asked)
        case SettingFlags(settings):
            _add_settings(parser, settings, asked)
        case Actions():
            _add_actions(parser, argument, name, asked)


def _add_argument(group: argparse._ActionsContainer, argument: Argument, asked: Asked) -> None:
    short = argparse.SUPPRESS if argument.seldom else argument.brief or argument.text
    group.add_argument(*argument.names, help=argument.text if asked.every_flag else short, **argument.options)


def _section(parser: argparse.ArgumentParser, title: str, asked: Asked) -> argparse._ActionsContainer:
    """Return a group for arguments that belong together; the short help has only one group."""
    if not title or not asked.every_flag:
        return parser
    there = [group for group in parser._action_groups if group.title == title]  # noqa: SLF001
    return there[0] if there else parser.add_argument_group(title)


def _add_settings(parser: argparse.ArgumentParser, settings: Sequence[str], asked: Asked) -> None:
    if asked.words_only:
        return
    title = "settings (promptuary config lists them all; --set NAME=VALUE sets the others)"
    group = _section(parser, title, asked)
    for name in settings:
        spelled, options = SETTING_FLAGS[name]
        meaning = (
            _setting_help(name) if asked.shows_help and (asked.every_flag or name in _OFTEN) else argparse.SUPPRESS
        )
        group.add_argument(spelled, dest=name, help=meaning, **options)


def _setting_help(name: str) -> str:
    from promptuary.config.settings import setting_help  # noqa: PLC0415  (few command lines ask for help)

    repeatable = "; repeatable" if SETTING_FLAGS[name][1].get("action") == "append" else ""
    return f"{setting_help(name).replace('%', '%%')}{repeatable}"


def _add_actions(parser: argparse.ArgumentParser, family: Actions, above: str, asked: Asked) -> None:
    """Add the actions of a command, each with the common flags, which may also precede the action."""
    common = {argument.dest for argument in parser._actions}  # noqa: SLF001  (argparse has no other way to ask)
    title = "actions" if asked.every_flag else f"actions ({above} --help-all lists every action)"
    chosen = parser.add_subparsers(dest="action", metavar="ACTION", title=title, required=True, prog=above)
    known = [action for action in family.actions if action.name == asked.action]
    for action in known or family.actions:
        taken = (*action.arguments, *(family.common or COMMON_AT_SERVERS), *family.more)
        added = add_parser(chosen, action._replace(arguments=taken), above, asked)
        for argument in added._actions:  # noqa: SLF001
            if argument.dest in common and argument.dest != "help":
                # Otherwise the default would replace a value given before the action.
                argument.default = argparse.SUPPRESS
    if not asked.every_flag:
        for argument in parser._actions:  # noqa: SLF001
            argument.help = argument.help if argument is chosen else argparse.SUPPRESS
        named = chosen._ChoicesPseudoAction  # noqa: SLF001
        listed = family.summary.items()
        chosen._choices_actions = [named(names, (), meaning) for names, meaning in listed]  # noqa: SLF001


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
