"""The commands, their arguments and their help. Every start of the program imports this, so it imports little."""

import argparse
from typing import Final, NoReturn

from promptuary._version import __version__
from promptuary.cli.flags import (
    COMPACTION_FLAGS,
    FETCHING_FLAGS,
    FILE_KINDS,
    INDEX_FLAGS,
    MEMORY_FLAGS,
    MODEL_FLAGS,
    READING_FLAGS,
    RERANK_FLAGS,
    SEARCH_FLAGS,
    WATCH_FLAGS,
    WINDOW_FLAGS,
)
from promptuary.cli.memory.actions import add_memory_actions, add_remember
from promptuary.cli.parsing import Command, Help, add_common, add_flags, add_parser, add_text, count
from promptuary.core.text import one_line

_DESCRIPTION = """\
Promptuary builds prompts. Write a message with references in it: Promptuary fetches
what they name, fits it into the model's context window, and reports what went in, what
was shortened or left out, and why.

references:
  @file:src/app.py  @file:src/app.py:10-50  @file:src/app.py#main  @folder:src
  @glob:src/**/*.py  @diff  @staged  @status  @git:5  @git:main..HEAD
  @commit:abc123  @symbol:Class.method  @url:https://...  #docs/style.md
  @search:"how do we deploy"  @memory:"deploy"  @remember:"we deploy on Mondays"
"""
_EPILOG = """\
examples:
  promptuary expand 'Review @diff against @docs/style.md' | your-model
  promptuary index && promptuary search 'how do we deploy'

promptuary COMMAND --help shows the arguments and examples of a command.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose error messages are printable, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "context window", WINDOW_FLAGS)
    add_flags(parser, "compaction of a thread's history", COMPACTION_FLAGS)
    add_flags(parser, "reading and fetching", {**FETCHING_FLAGS, **READING_FLAGS})
    add_flags(parser, "index and recall", SEARCH_FLAGS)
    add_flags(parser, "memory", MEMORY_FLAGS)


def _add_index_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags that concern an index: it fetches no pages and recalls nothing into a window."""
    flag, arguments = FETCHING_FLAGS["allow_hosts"]
    for_endpoint = {**arguments, "help": "allow plain http to this host, if it is the endpoint; repeatable"}
    add_flags(parser, "reading", READING_FLAGS)
    add_flags(parser, "index", {**INDEX_FLAGS, "allow_hosts": (flag, for_endpoint)})


def _add_search_settings(parser: argparse.ArgumentParser) -> None:
    _add_index_settings(parser)
    add_flags(parser, "reranking", RERANK_FLAGS)


def _add_watch_settings(parser: argparse.ArgumentParser) -> None:
    _add_index_settings(parser)
    add_flags(parser, "watching", WATCH_FLAGS)


def _add_thread(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", "-t", metavar="NAME", help="the thread (default: main)")


def _add_form(parser: argparse.ArgumentParser) -> None:
    forms = ("text", "openai", "openai-responses", "anthropic")
    parser.add_argument(
        "--for", dest="form", choices=forms, help="print the prompt of the thread as this provider takes it"
    )


def _add_context_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("add", "drop", "pin", "unpin", "list", "tokens", "find", "clear"),
        help="one of: %(choices)s",
        metavar="ACTION",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="paths, references or, for find, words")


def _add_thread_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("list", "show", "replay", "history"), metavar="ACTION", help="one of: %(choices)s"
    )
    parser.add_argument("number", nargs="?", type=count, metavar="TURN", help="number of a turn (default: the last)")
    parser.add_argument(
        "--all", action="store_true", help="with history: show compacted messages in the place of their summary"
    )


def _add_model_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("list", "add", "remove", "show"), metavar="ACTION", help="one of: %(choices)s"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a model of the list, or OWNER/NAME; with @REVISION")
    flag, arguments = FETCHING_FLAGS["allow_hosts"]
    add_flags(parser, "fetching", {**MODEL_FLAGS, "allow_hosts": (flag, arguments)})


def _add_max(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max", type=count, default=20, metavar="N", help="print at most N items (default: 20)")
    parser.add_argument("--ignored", action="store_true", help="include files that ignore files hide")


def _add_index_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="FOLDER",
        help="folders to index (default: those indexed before, else the workspace); - reads one per line from stdin",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--rebuild", action="store_true", help="rebuild the index; the old one answers meanwhile")
    action.add_argument("--remove", action="store_true", help="remove the folders from the index")
    action.add_argument("--list", action="store_true", help="list the indexed folders")
    parser.add_argument("--prune", action="store_true", help="also remove the files of a folder that is gone or empty")
    parser.add_argument("--label", metavar="NAME", help="label the folders; search --label NAME searches only these")
    parser.add_argument("--no-embed", action="store_true", help="do not embed: search by words only until the next run")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N passages (default: 10)")
    only = parser.add_argument_group("filters")
    only.add_argument(
        "--path", action="append", metavar="GLOB", help="only paths that match, or with !GLOB do not; repeatable"
    )
    only.add_argument("--kind", action="append", choices=FILE_KINDS, help="only files of this kind; repeatable")
    only.add_argument(
        "--since", metavar="DATE", help="only files since a date (2026-01-31) or a time ago (7d, 2w, 3m, 1y)"
    )
    only.add_argument("--until", metavar="DATE", help="only files up to and including this date")
    only.add_argument("--label", action="append", metavar="NAME", help="only folders with this label; repeatable")
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    parser.add_argument("--explain", action="store_true", help="explain the rank of each result")
    parser.add_argument("--full", action="store_true", help="print whole passages, not a few lines")


def _add_fix(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired without losing anything")


def _add_once(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="update the index once and exit")


COMMANDS: Final = (
    Command(
        "expand",
        "[options] [TEXT ...]",
        "print a message with everything that it refers to",
        "Print the message with everything that it refers to, as it would be sent; a table of tokens goes to stderr. "
        "With --thread, print the whole prompt of a turn: instructions, tracked files, recalled passages and history, "
        "too. Exit code 1 if a reference could not be included or not everything fits.",
        (
            "promptuary expand 'Review @file:src/app.py:10-50 against @diff'",
            "promptuary expand --thread review --for anthropic 'Go on with #src/app.py'",
            "git log -1 | promptuary expand --json -",
        ),
        (add_text, _add_thread, _add_form, add_common, _add_settings),
    ),
    Command(
        "complete",
        "[options] [TEXT ...]",
        "print what the @ and # menus offer at the end of a text",
        "Print one menu item per line: what to insert, its kind and its size. Exit code 1 if there is none.",
        ("promptuary complete 'look at @file:app'", "promptuary complete --json 'since @git:'"),
        (add_text, add_common, _add_max, _add_settings),
    ),
    Command(
        "context",
        "ACTION [options] [WORD ...]",
        "manage the files and references that are attached to a thread",
        "add PATH tracks a file: every turn sees its current content. add @diff, or another reference, attaches it to "
        "the next message. drop, pin and unpin take the same words; list and tokens print what is attached; find WORDS "
        "finds files; clear removes everything.",
        (
            "promptuary context add docs/style.md --thread review",
            "promptuary context add @diff --thread review",
            "promptuary context list --thread review",
        ),
        (_add_context_action, _add_thread, add_common, _add_settings),
        "threads",
    ),
    Command(
        "thread",
        "ACTION [TURN] [options]",
        "show threads, their messages, and what went into each turn",
        "list prints the threads, history what was said in one (--all: compacted messages, too), show what went into a "
        "turn and why, replay the exact prompt of a turn and which of its sources have changed since.",
        ("promptuary thread list", "promptuary thread show 3 --thread review"),
        (_add_thread_action, _add_thread, add_common, _add_settings),
        "threads",
    ),
    Command(
        "index",
        "[options] [FOLDER ...]",
        "index folders of notes and code for search",
        "Index folders, or update the index: first the words, which is fast, then the vectors for search by meaning. "
        "Ctrl-C loses nothing: the next run continues. Files that the workspace's rules exclude (secrets, binaries, "
        "ignored files) are left out. Exit code 1 if not everything could be indexed.",
        (
            "promptuary index",
            "promptuary index ~/notes --label notes",
            "promptuary index --list",
        ),
        (_add_index_action, add_common, _add_index_settings),
        "search",
    ),
    Command(
        "search",
        "[options] [TEXT ...]",
        "search the indexed files, by words and by meaning",
        "Print the best passages with their files and lines. Files that changed are indexed again first. Quote a "
        "phrase to find its words together; end a word with * to find words that begin with it. Exit code 1 if nothing "
        "is found, 2 if the search failed.",
        (
            "promptuary search 'how do we deploy'",
            "promptuary search --kind markdown --since 2w '\"page cache\" micro*'",
        ),
        (add_text, _add_filters, add_common, _add_search_settings),
        "search",
    ),
    Command(
        "watch",
        "[options]",
        "keep the index up to date until Ctrl-C",
        "Watch the indexed folders (the workspace, if there are none), index what changes, and embed in between. "
        "Prints a line for each step; with --json, a JSON object per line.",
        ("promptuary watch", "promptuary watch --once"),
        (_add_once, add_common, _add_watch_settings),
        "search",
    ),
    Command(
        "model",
        "ACTION [NAME] [options]",
        "fetch models for search by meaning, and show which there are",
        "list prints the models that have a name, add fetches one (or the repository OWNER/NAME) into your data "
        "folder, show compares its files with their hashes, remove deletes them. The first fetch pins the revision and "
        "the hash of every file; add NAME@REVISION pins another. Ctrl-C loses nothing: the next add continues. Exit "
        "code 1 if show finds a file that is missing or changed, or remove nothing to remove.",
        (
            "promptuary model list",
            "promptuary model add bge-small-en-v1.5",
            "promptuary model show bge-small-en-v1.5",
        ),
        (_add_model_action, add_common),
        "search",
    ),
    Command(
        "memory",
        "ACTION [options] ...",
        "write, find, change and forget notes that last",
        "Durable memory: notes as Markdown files that you and your agents write, and that turns recall. A note is "
        "named by its id, the first four or more characters of its id, or its path. promptuary memory ACTION --help "
        "tells more.",
        (
            "promptuary memory write --kind project 'We deploy on Fridays, never before noon.'",
            "promptuary memory search 'when do we deploy?'",
            "promptuary memory history 4f1c",
        ),
        (add_common, add_memory_actions),
        "memory",
    ),
    Command(
        "remember",
        "[options] [TEXT ...]",
        "write a note in one go",
        "Write a note: about you, how to work, or what was decided, where the text says so plainly, else a reference. "
        "It is private unless you share it. Prints where the note is and how to undo it.",
        ("promptuary remember 'always use tabs'", "promptuary remember --shared 'We decided to use Postgres.'"),
        (add_text, add_remember, add_common),
        "memory",
    ),
    Command(
        "adopt",
        "[options]",
        "take over the threads of a folder that was moved, or after your home has changed",
        "Threads are stored in .promptuary/state.db for you, in this folder. A database that git tracks, that somebody "
        "else made, or that was made in another folder is not used before you adopt it. Adopt only what is yours: what "
        "it holds reaches models as your own words.",
        ("promptuary adopt",),
        (add_common,),
        "threads",
    ),
    Command(
        "doctor",
        "[--fix] [options]",
        "compare the database and the notes with every promise about them",
        "Look for notes that nobody owns, files that name another owner, ids that are there twice, broken links, files "
        "that others may read, private notes in git, lists and an index that are out of date, a damaged database, and "
        "turns that could not be learnt from. With --fix, repair what can be repaired without losing anything. Exit "
        "code 1 if something is left to do.",
        ("promptuary doctor", "promptuary doctor --fix"),
        (_add_fix, add_common),
    ),
    Command(
        "config",
        "[options]",
        "print the settings in effect, and where each comes from",
        "Print every setting with its value and its origin: a flag, the environment, a file, the model or the default.",
        ("promptuary config", "promptuary config --model gpt-4o"),
        (add_common, _add_settings),
    ),
)


def make_parser(asked: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command that is ``asked`` for; if it is unknown, of all commands."""
    parser = _Parser(prog="promptuary", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=Help)
    parser.add_argument("--version", action="version", version=f"promptuary {__version__}")
    # With prog given, argparse need not format a usage line to find it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", prog="promptuary")
    known = [command for command in COMMANDS if command.name == asked]
    for command in known or COMMANDS:
        added = add_parser(commands, command, "promptuary")
        added.set_defaults(module=command.module)
    return parser
