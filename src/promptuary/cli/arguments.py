"""What the commands are called and what they take. As light as argparse: every start of the program reads it."""

import argparse
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from promptuary._version import __version__
from promptuary.core.text import one_line

_DESCRIPTION = """\
Write a message with references in it; Promptuary fetches exactly what they point at,
safely, fits it into the model's window, and shows what went in, what was cut and why.

  @file:src/app.py  @file:src/app.py:10-50  @file:src/app.py#main  @folder:src
  @glob:src/**/*.py  @diff  @staged  @status  @git:5  @git:main..HEAD
  @commit:abc123  @symbol:Class.method  @url:https://...  #docs/style.md
  @search:"how do we deploy"  @memory:"deploy"
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors may quote anything that was typed."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


Flag = tuple[str, Mapping[str, Any]]
"""A flag and what argparse is to know of it."""

WINDOW_FLAGS: Final[Mapping[str, Flag]] = {
    "window": ("--window", {"metavar": "TOKENS", "help": "the model's window (128000, 200k)"}),
    "model": ("--model", {"metavar": "NAME", "help": "take window and vocabulary from a model's name"}),
    "vocabulary": ("--vocabulary", {"metavar": "NAME", "help": "count with this vocabulary (o200k_base ...)"}),
    "warn_share": ("--warn", {"metavar": "SHARE", "help": "warn above this part of the window (25%%)"}),
    "limit_share": ("--limit", {"metavar": "SHARE", "help": "never inject more than this part (50%%)"}),
    "reply_reserve": ("--reserve", {"metavar": "TOKENS", "help": "in a thread: keep this for the reply (4096)"}),
    "compact_share": ("--compact", {"metavar": "SHARE", "help": "in a thread: compact a history above this (70%%)"}),
}
FETCHING_FLAGS: Final[Mapping[str, Flag]] = {
    "allow_hosts": (
        "--allow-host",
        {"metavar": "HOST", "action": "append", "help": "fetch from this host even if its address is private; repeat"},
    ),
    "timeout": ("--timeout", {"metavar": "SECONDS", "help": "give up on a reference after this long (30)"}),
    "fetch_timeout": ("--fetch-timeout", {"metavar": "SECONDS", "help": "give up on a page after this long (15)"}),
}
READING_FLAGS: Final[Mapping[str, Flag]] = {
    "allowed_extensions": (
        "--allow-extension",
        {"metavar": ".EXT", "action": "append", "help": "read files with this extension too; repeat"},
    ),
    "allow_sensitive": (
        "--allow-sensitive",
        {"metavar": "NAME", "action": "append", "help": "read this file although its name says secrets; repeat"},
    ),
    "max_file_size": ("--max-file-size", {"metavar": "SIZE", "help": "read files up to this size (1MB)"}),
    "follow_symlinks": (
        "--follow-symlinks",
        {"action": argparse.BooleanOptionalAction, "help": "follow links that stay inside"},
    ),
}
INDEX_FLAGS: Final[Mapping[str, Flag]] = {
    "chunk_tokens": ("--chunk-tokens", {"metavar": "TOKENS", "help": "cut files into pieces of this size (256)"}),
    "chunk_overlap": ("--chunk-overlap", {"metavar": "TOKENS", "help": "this much of a piece stands in the next (32)"}),
    "embedder": (
        "--embedder",
        {"metavar": "NAME", "help": "search by meaning with this: auto, none, minilm, endpoint, or a plug-in (auto)"},
    ),
    "embed_url": ("--embed-url", {"metavar": "URL", "help": "the endpoint that embeds, up to /embeddings"}),
    "embed_model": ("--embed-model", {"metavar": "NAME", "help": "the model of that endpoint"}),
    "embed_key": ("--embed-key", {"metavar": "VARIABLE", "help": "the environment variable that holds its key"}),
}
WATCH_FLAGS: Final[Mapping[str, Flag]] = {
    "watch_debounce": (
        "--watch-debounce",
        {"metavar": "SECONDS", "help": "wait until nothing has changed for this long (0.2)"},
    ),
}
RECALL_FLAGS: Final[Mapping[str, Flag]] = {
    "recall_tokens": ("--recall", {"metavar": "TOKENS", "help": "in a thread: give this much to what is found (2000)"}),
}
FILE_KINDS: Final = ("markdown", "code", "text", "data")
"""As in ``core.recall``, which takes longer to load than all of this."""
MEMORY_FLAGS: Final[Mapping[str, Flag]] = {**INDEX_FLAGS, **WATCH_FLAGS, **RECALL_FLAGS}
SETTING_FLAGS: Final[Mapping[str, Flag]] = {**WINDOW_FLAGS, **FETCHING_FLAGS, **READING_FLAGS, **MEMORY_FLAGS}
"""The flag of every setting."""


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace",
        "-w",
        metavar="DIR",
        help="the folder that paths start from (default: the "
        "nearest parent with .promptuary, .git or promptuary.toml, else the current folder)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quiet", "-q", action="store_true", help="neither table nor notes on stderr")
    parser.add_argument("--debug", action="store_true", help="log what happens, with traces")


def _add_settings(parser: argparse.ArgumentParser) -> None:
    _add_flags(parser, "how much may go in", WINDOW_FLAGS)
    _add_flags(parser, "what may be read", {**FETCHING_FLAGS, **READING_FLAGS})
    _add_flags(parser, "what is remembered", MEMORY_FLAGS)


def _add_index_settings(parser: argparse.ArgumentParser) -> None:
    """Add what decides about an index: pages are not fetched for one, and nothing is recalled into a window."""
    flag, described = FETCHING_FLAGS["allow_hosts"]
    told = {**described, "help": "send to this host in plain http, if it is the endpoint; repeat"}
    _add_flags(parser, "what may be read", READING_FLAGS)
    _add_flags(parser, "what is remembered", {**INDEX_FLAGS, "allow_hosts": (flag, told)})


def _add_watch_settings(parser: argparse.ArgumentParser) -> None:
    _add_index_settings(parser)
    _add_flags(parser, "when it is done", WATCH_FLAGS)


def _add_flags(parser: argparse.ArgumentParser, title: str, flags: Mapping[str, Flag]) -> None:
    group = parser.add_argument_group(title)
    for setting, (flag, described) in flags.items():
        group.add_argument(flag, dest=setting, **described)


def _add_text(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "text", nargs="*", metavar="TEXT", help="the text; - or nothing reads standard input, -- ends the flags"
    )


def _add_thread(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", "-t", metavar="NAME", help="the thread to work in (main)")


def _add_form(parser: argparse.ArgumentParser) -> None:
    forms = ("text", "openai", "openai-responses", "anthropic")
    parser.add_argument("--for", dest="form", choices=forms, help="with --thread: print the prompt for this provider")


def _add_context_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("add", "drop", "pin", "unpin", "list", "tokens", "find", "clear"),
        help="what to do with what is kept in view",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="paths, references, or words to find files by")


def _add_thread_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "show", "replay", "history"), help="what to show")
    parser.add_argument("number", nargs="?", type=_count, metavar="TURN", help="which turn (the last)")
    parser.add_argument(
        "--all", action="store_true", help="with history: show compacted messages in the place of their summary"
    )


def _add_max(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max", type=_count, default=20, metavar="N", help="how many offers at most (20)")
    parser.add_argument("--ignored", action="store_true", help="offer what ignore files hide, too")


def _add_index_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="FOLDER",
        help="folders to index (those indexed before, else the workspace); - reads a list of them, one a line",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--rebuild", action="store_true", help="make the index anew; the old one answers until then")
    action.add_argument("--remove", action="store_true", help="take the named folders out of the index again")
    action.add_argument("--list", action="store_true", help="show what is indexed")
    parser.add_argument("--prune", action="store_true", help="forget what is gone even if a whole folder is")
    parser.add_argument(
        "--label", metavar="NAME", help="label the named folders; search --label NAME searches only these"
    )
    parser.add_argument("--no-embed", action="store_true", help="leave search by meaning for later")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_count, default=10, metavar="N", help="how many results at most (10)")
    only = parser.add_argument_group("what may be found")
    only.add_argument(
        "--path", action="append", metavar="GLOB", help="only files at these paths, or with !GLOB not; repeat"
    )
    only.add_argument("--kind", action="append", choices=FILE_KINDS, help="only files of this kind; repeat")
    only.add_argument("--since", metavar="DATE", help="only files since 2026-01-31, or 7d, 2w, 3m, 1y ago")
    only.add_argument("--until", metavar="DATE", help="only files up to this date, which is included")
    only.add_argument("--label", action="append", metavar="NAME", help="only folders with this label; repeat")
    parser.add_argument("--lexical", action="store_true", help="search by words alone")
    parser.add_argument("--explain", action="store_true", help="show why each result stands where it does")
    parser.add_argument("--full", action="store_true", help="show whole passages instead of a few lines")


def _add_once(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="bring everything up to date once, and end")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < len(text) < 10 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:60]!r} is not a whole number from 1 on")
    return int(text)


class Command(NamedTuple):
    """A command: its name, what it says of itself, and who adds its arguments."""

    name: str
    help: str
    description: str
    arguments: tuple[Callable[[argparse.ArgumentParser], None], ...]


COMMANDS: Final = (
    Command(
        "expand",
        "show what would be sent: the message with everything it points at",
        "Print the message with everything it points at; the token table goes to stderr. "
        "With --thread: the whole prompt of a turn, with what stands in the window of that thread. "
        "Exit code 1 if a reference could not be included or nothing fits.",
        (_add_text, _add_thread, _add_form, _add_common, _add_settings),
    ),
    Command(
        "complete",
        "show what the @ and # menus would offer at the end of a text",
        "Print one offer a line: what to insert, then what it is.",
        (_add_text, _add_common, _add_max, _add_settings),
    ),
    Command(
        "context",
        "manage what is kept in view of a thread",
        "add PATH keeps a file in view, add @diff (or any other reference) sends it along with the next message; "
        "drop, pin and unpin take the same words; list and tokens show what there is; find WORDS finds files.",
        (_add_context_action, _add_thread, _add_common, _add_settings),
    ),
    Command(
        "thread",
        "show threads, what was said in them, and what went into each turn",
        "list shows the threads, history what was said in one (--all: compacted messages, too), show what went into a "
        "turn and why, replay the exact prompt of a turn and which of its sources have changed since.",
        (_add_thread_action, _add_thread, _add_common, _add_settings),
    ),
    Command(
        "index",
        "make folders searchable: by words at once, then by meaning",
        "Index folders and bring what is indexed up to date: words first, which is quick, then vectors for search by "
        "meaning, which can be stopped at any time and goes on the next time. Files outside the workspace's rules "
        "(secrets, binaries, what ignore files hide) are left out. Exit code 1 if only a part could be done.",
        (_add_index_action, _add_common, _add_index_settings),
    ),
    Command(
        "search",
        "find passages in the indexed files, by words and by meaning",
        "Print the best passages, each with its file and lines; files that changed are indexed again first. "
        "Quotes keep words together, a star ends the beginning of a word. Exit code 1 if nothing is found, "
        "2 if that could not be told.",
        (_add_text, _add_filters, _add_common, _add_index_settings),
    ),
    Command(
        "watch",
        "keep the index up to date until Ctrl-C",
        "Watch the indexed folders (the workspace, if there are none yet), sync what changes and embed in between. "
        "Prints a line for everything it does; with --json an object a line.",
        (_add_once, _add_common, _add_watch_settings),
    ),
    Command(
        "config",
        "show the settings that hold here, and where each comes from",
        "Print every setting with its value and where it comes from; with flags, what they would change.",
        (_add_common, _add_settings),
    ),
)


def make_parser(asked: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of every command; who knows which is ``asked`` for spares the others."""
    parser = _Parser(prog="promptuary", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"promptuary {__version__}")
    # Told its name, it need not lay out a usage line to find it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", prog="promptuary")
    known = [command for command in COMMANDS if command.name == asked]
    for command in known or COMMANDS:
        # No abbreviations: --max of one command would be --max-file-size of another.
        added = commands.add_parser(
            command.name, help=command.help, description=command.description, allow_abbrev=False
        )
        for add in command.arguments:
            add(added)
    return parser
