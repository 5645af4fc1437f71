"""The commands, their arguments and their help. Every start of the program imports this, so it imports little."""

import argparse
from collections.abc import Iterator
from typing import Final, NoReturn

from promptuary._version import __version__
from promptuary.cli.experiences.actions import add_experience_actions
from promptuary.cli.flags import (
    COMPACTION_FLAGS,
    FETCHING_FLAGS,
    FILE_KINDS,
    INDEX_FLAGS,
    LAYER_FLAGS,
    MEMORY_FLAGS,
    MODEL_FLAGS,
    READING_FLAGS,
    RERANK_FLAGS,
    SEARCH_FLAGS,
    WATCH_FLAGS,
    WINDOW_FLAGS,
)
from promptuary.cli.memory.actions import add_memory_actions, add_remember
from promptuary.cli.parsing import (
    Command,
    Help,
    add_common,
    add_flags,
    add_parser,
    add_text,
    brief,
    count,
    did_you_mean,
    section,
    seldom,
)
from promptuary.cli.sessions.actions import add_session_actions
from promptuary.core.text import one_line

_DESCRIPTION = """\
Promptuary builds prompts. Write a message with references in it: Promptuary fetches
what they name, fits it into the model's context window, and reports what went in, what
was shortened or left out, and why.

references:
  @file:src/app.py  @file:src/app.py:10-50  @file:src/app.py#main  @folder:src
  @glob:src/**/*.py  @diff  @staged  @status  @git:5  @git:main..HEAD
  @commit:abc123  @symbol:Class.method  @url:https://...  @clipboard
  #docs/style.md  [[a note]]
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

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is no choice, and name the one that is spelled most like it."""
        if action.choices is not None and value not in action.choices:
            choices = [str(one) for one in action.choices]
            listed = f"choose from {', '.join(choices)}"
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}{did_you_mean(str(value), choices)} ({listed})"
            )


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "context window", WINDOW_FLAGS)
    add_flags(parser, "compaction of a thread's history", COMPACTION_FLAGS)
    add_flags(parser, "reading and fetching", {**FETCHING_FLAGS, **READING_FLAGS})
    add_flags(parser, "index and recall", SEARCH_FLAGS)
    add_flags(parser, "memory", MEMORY_FLAGS)
    add_flags(parser, "layers", LAYER_FLAGS)


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
    parser.add_argument("-t", "--thread", metavar="NAME", help="the thread (default: main)")


def _add_form(parser: argparse.ArgumentParser) -> None:
    forms = ("text", "openai", "openai-responses", "anthropic")
    parser.add_argument("--for", dest="form", choices=forms, metavar="FORM", help="%(choices)s (default: text)")


def _add_copy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--copy", action="store_true", help="copy the message instead of printing it")


def _add_reply(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--response", action="store_true", help="the text is JSON, as the provider's API returned it")
    parser.add_argument("--cost", type=float, metavar="N", help="what you were charged for the turn; totals add it up")


def _add_context_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("add", "drop", "pin", "unpin", "list", "tokens", "find", "clear"),
        help="one of: %(choices)s",
        metavar="ACTION",
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="paths, references or, for find, words")


class _TurnOrNames(argparse.Action):
    """The words after an action of ``thread``: the number of a turn where one is shown, else names."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002  (argparse passes it)
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002  (likewise)
    ) -> None:
        """Take the words, and refuse a word that is no number where one is wanted."""
        words = [str(one) for one in values] if isinstance(values, list) else []
        setattr(namespace, self.dest, words)
        if not words or namespace.action not in {"show", "replay"}:
            return
        try:
            (word,) = words
            namespace.number = count(word)
        except (ValueError, argparse.ArgumentTypeError) as error:
            wrong = error if len(words) == 1 else "takes the number of one turn"
            raise argparse.ArgumentError(self, f"{wrong}; --thread names the thread") from None


def _add_thread_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("list", "show", "replay", "history", "rename", "export", "import", "rm"),
        metavar="ACTION",
        help="one of: %(choices)s",
    )
    parser.add_argument(
        "words",
        nargs="*",
        action=_TurnOrNames,
        metavar="WORD",
        help="number of a turn (default: the last), names, or a file",
    )
    parser.set_defaults(number=None)
    parser.add_argument(
        "--fetch", action="store_true", help=seldom(parser, "with replay: fetch pages again to compare them")
    )
    parser.add_argument("--yes", action="store_true", help="with rm: do not ask")
    parser.add_argument("--all", action="store_true", help="with history: compacted messages, not their summary")
    parser.add_argument(
        "--format", dest="form", choices=("json", "md"), metavar="FORM", help=seldom(parser, "with export: %(choices)s")
    )
    parser.add_argument("--force", action="store_true", help=seldom(parser, "with export: replace the file"))


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
        help=brief(
            parser,
            "folders (default: the indexed ones); - reads stdin",
            "folders to index (default: those indexed before, else the workspace); - reads one per line from stdin",
        ),
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--rebuild", action="store_true", help="rebuild the index; the old one answers meanwhile")
    action.add_argument("--remove", action="store_true", help="remove the folders from the index")
    action.add_argument("--list", action="store_true", help="list the indexed folders")
    parser.add_argument("--prune", action="store_true", help="also remove the files of a folder that is gone or empty")
    parser.add_argument("--label", metavar="NAME", help="label the folders, for search --label NAME")
    parser.add_argument("--no-embed", action="store_true", help="do not embed: search by words only until the next run")
    parser.add_argument("--yes", action="store_true", help="do not ask before indexing a home folder")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N passages (default: 10)")
    parser.add_argument(
        "--per-file",
        type=count,
        default=2,
        metavar="N",
        help=seldom(parser, "at most N passages of one file (default: 2)"),
    )
    only = section(parser, "filters")
    only.add_argument(
        "--path", action="append", metavar="GLOB", help="only paths that match, or with !GLOB do not; repeatable"
    )
    only.add_argument(
        "--kind", action="append", choices=FILE_KINDS, metavar="KIND", help="only files that are %(choices)s"
    )
    only.add_argument(
        "--tag", action="append", metavar="TAG", help="only notes with this tag, or one below it; repeatable"
    )
    only.add_argument("--since", metavar="DATE", help="only files since 2026-01-31, or 7d, 2w, 3m, 1y ago")
    only.add_argument("--until", metavar="DATE", help=seldom(parser, "only files up to and including this date"))
    only.add_argument(
        "--label", action="append", metavar="NAME", help=seldom(parser, "only folders with this label; repeatable")
    )
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("-l", "--files", action="store_true", help="print only the paths, each once, for other programs")
    shape.add_argument("--lines", action="store_true", help="print path:line: text, a line each, for editors and fzf")
    parser.add_argument("--explain", action="store_true", help=seldom(parser, "explain the rank of each result"))
    parser.add_argument("--full", action="store_true", help="print whole passages, not a few lines")


def _add_fix(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired without losing anything")


def _add_shell(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="one of: %(choices)s")


def _add_once(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="update the index once and exit")


def _add_where_kept(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--here", action="store_true", help="for this workspace, and for you (default)")
    where.add_argument("--everywhere", action="store_true", help="for every workspace that you have used")


def _add_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file of the backup, a zip archive")
    _add_where_kept(parser)
    parser.add_argument("--force", action="store_true", help="replace what is there already")


def _add_restore(parser: argparse.ArgumentParser) -> None:
    _add_backup(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print what it would do")


def _add_purge(parser: argparse.ArgumentParser) -> None:
    _add_where_kept(parser)
    parser.add_argument("--models", action="store_true", help="with --everywhere: the models that you fetched, too")
    parser.add_argument("--dry-run", action="store_true", help="only print what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")


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
            "promptuary expand --copy 'What does this mean? @clipboard'",
        ),
        (add_text, _add_thread, _add_form, _add_copy, add_common, _add_settings),
    ),
    Command(
        "reply",
        "[options] [TEXT ...]",
        "record what the model answered to the last turn of a thread",
        "Record the answer to the turn that expand --thread prepared last: the next turn of the thread remembers both. "
        "Prints what came of it: notes that are proposed, and experiences. With --response, the text is JSON as the "
        "API of OpenAI or Anthropic returned it, with its tool calls. Exit code 1 if no turn waits.",
        (
            "promptuary reply --thread review 'It looks fine.'",
            "promptuary expand -t review 'Why?' | your-model | promptuary reply -t review",
            "promptuary reply --thread review --response - < response.json",
        ),
        (add_text, _add_thread, _add_reply, add_common),
        "threads",
    ),
    Command(
        "abandon",
        "[options]",
        "end the last turn of a thread without an answer",
        "End the turn that expand --thread prepared last: nothing of it enters the history, and the ledger keeps it. "
        "Exit code 1 if no turn waits.",
        ("promptuary abandon --thread review",),
        (_add_thread, add_common),
        "threads",
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
        "list prints the threads, history what was said in one, show what went into a turn and why, replay the exact "
        "prompt of a turn and which of its sources have changed since. replay --window prepares the turn anew and "
        "prints what differs. rename OLD NEW gives a thread another name; export [FILE] writes one as JSON (or "
        "--format md), import FILE makes a new one of that; rm removes one.",
        (
            "promptuary thread show 3 --thread review",
            "promptuary thread export --thread review review.json",
        ),
        (_add_thread_action, _add_thread, add_common, _add_settings),
        "threads",
    ),
    Command(
        "session",
        "ACTION [options] ...",
        "say what a conversation may see, and see what answers were based on",
        "A session is a name over a thread: which files, notes and experiences its turns may see, pinned at their "
        "revisions, and nothing else. audit SOURCE prints which answers a file, a note, a commit or a page influenced, "
        "in sessions and in all other threads. promptuary session ACTION --help tells more.",
        (
            "promptuary session create release --root src --root docs",
            "promptuary session show release",
            "promptuary session audit src/app.py",
        ),
        (add_common, add_session_actions),
        "sessions",
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
        "phrase to find its words together; end a word with * to find what begins with it. Exit code 1: nothing found; "
        "2: failed.",
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
        "experience",
        "ACTION [options] ...",
        "store, find, judge and forget what worked before and what went wrong",
        "Experiences: what was wanted, what was done about it and how it ended. Turns with tools record them, and you "
        "can; turns are shown the ones that are like what is wanted. One that is not used weakens. An experience is "
        "named by its id, or how its id begins. promptuary experience ACTION --help tells more.",
        (
            "promptuary experience find 'how do I build the docs?'",
            "promptuary experience list --plot",
            "promptuary experience feedback helped 4f1c",
        ),
        (add_common, add_experience_actions),
        "experiences",
    ),
    Command(
        "backup",
        "FILE [options]",
        "write all that is kept to one file",
        "Write threads, notes and configuration to FILE, a zip archive for you alone: those of this workspace and your "
        "own, or with --everywhere of every workspace that you have used. Others may write meanwhile. What can be made "
        "again is not in it: indexes, caches, models.",
        ("promptuary backup ~/promptuary.zip", "promptuary backup --everywhere /mnt/disk/all.zip"),
        (_add_backup, add_common),
        "keeping",
    ),
    Command(
        "restore",
        "FILE [options]",
        "bring back what a backup has",
        "Check a backup as a whole, print what it would bring and where to, and bring it. If something else is there "
        "already, nothing is done, unless --force says to replace it. Restore only backups of your own: what they hold "
        "reaches models as your words. Exit code 1 if nothing was done.",
        ("promptuary restore ~/promptuary.zip --dry-run", "promptuary restore ~/promptuary.zip"),
        (_add_restore, add_common),
        "keeping",
    ),
    Command(
        "purge",
        "[options]",
        "remove all that is kept",
        "Print what is kept for this workspace (or, with --everywhere, for every workspace and for you) and how large "
        "it is, ask, and remove it: threads, notes, indexes, caches. Your configuration stays, and models unless you "
        "add --models. Exit code 1 if nothing was removed.",
        ("promptuary purge --dry-run", "promptuary purge --everywhere --yes"),
        (_add_purge, add_common),
        "keeping",
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
        "completion",
        "SHELL",
        "print a script that completes commands, flags and references in a shell",
        "Print a script for bash, zsh or fish, with which the tab key completes commands, actions, flags, names of "
        "threads and references, in quotes or not: promptuary expand @file:sr<tab>. A # must be quoted.",
        (
            'eval "$(promptuary completion bash)"     # in ~/.bashrc; zsh alike, in ~/.zshrc',
            "promptuary completion fish > ~/.config/fish/completions/promptuary.fish",
        ),
        (_add_shell, add_common),
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


def flags_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield every flag of a parser and of the parsers below it."""
    for action in parser._actions:  # noqa: SLF001  (argparse has no other way to ask)
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from flags_of(below)


def overview() -> str:
    """Return the commands with a line each: what there is to see for who types no command."""
    longest = max(len(command.name) for command in COMMANDS)
    lines = (f"  {command.name:{longest}}  {command.help}" for command in COMMANDS)
    return "\n".join(
        [
            "usage: promptuary COMMAND [options] ...",
            "",
            *lines,
            "",
            "promptuary expand 'Review @file:src/app.py against @diff' prints a message with what it refers to.",
            "promptuary help COMMAND shows the arguments and examples of a command.",
        ]
    )


def make_parser(
    asked: str | None = None, *, words_only: bool = False, every_flag: bool = True
) -> argparse.ArgumentParser:
    """Return the parser of the command that is ``asked`` for; if it is unknown, of all commands.

    ``words_only`` says that no long flag is among the arguments, so that those of settings need not be made. Unless
    ``every_flag`` is wanted, the help shows no flag that is seldom needed.
    """
    parser = _Parser(prog="promptuary", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=Help)
    parser.add_argument("--version", action="version", version=f"promptuary {__version__}")
    # With prog given, argparse need not format a usage line to find it.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", prog="promptuary")
    known = [command for command in COMMANDS if command.name == asked]
    for command in known or (COMMANDS if asked != "--version" else ()):
        added = add_parser(commands, command, "promptuary", words_only=words_only, every_flag=every_flag)
        added.set_defaults(module=command.module)
    return parser
