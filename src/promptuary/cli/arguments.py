"""Functions that add arguments to a parser. ``cli.command_table`` says which command uses which of them."""

import argparse

from promptuary.cli.flags import ANSWERED_TURN, FILE_KINDS, INDEX, SEARCH, TURN
from promptuary.cli.parsing import (
    add_flags,
    brief,
    count,
    port,
    section,
    seldom,
)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the settings of a message and of a turn."""
    add_flags(parser, TURN)


def add_index_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags that concern an index, which fetches no pages and recalls nothing."""
    add_flags(parser, INDEX)


def add_search_settings(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, SEARCH)


def add_thread(parser: argparse.ArgumentParser) -> None:
    """Add the thread that a command works on."""
    parser.add_argument("-t", "--thread", metavar="NAME", help="the thread (default: main)")


def add_new_turn(parser: argparse.ArgumentParser) -> None:
    """Add the thread that a message becomes a turn of."""
    parser.add_argument("-t", "--thread", metavar="NAME", help="prepare and record a turn of this thread")


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add the output format of a message."""
    forms = ("text", "openai", "openai-responses", "anthropic")
    parser.add_argument("--for", dest="form", choices=forms, metavar="FORM", help="format: %(choices)s (default: text)")


def add_copy(parser: argparse.ArgumentParser) -> None:
    """Add the flag that copies to the clipboard."""
    parser.add_argument("--copy", action="store_true", help="copy the result to the clipboard instead of printing it")


def add_reply(parser: argparse.ArgumentParser) -> None:
    """Add the format and the cost of an answer."""
    parser.add_argument("--response", action="store_true", help="read the JSON response of the provider's API")
    parser.add_argument("--cost", type=float, metavar="N", help="cost of the turn, for the totals of the thread")


def add_answering(parser: argparse.ArgumentParser) -> None:
    """Add the model that answers, and the limits of its tools."""
    parser.add_argument(
        "--model", dest="answer_model", metavar="NAME", help="model that answers: gpt-5-mini, ollama/llama3.2, …"
    )
    parser.add_argument("--no-tools", action="store_true", help="offer no tools to the model")
    parser.add_argument("--yes", action="store_true", help="let tools write notes without asking")
    parser.add_argument(
        "--max-requests",
        type=count,
        default=50,
        metavar="N",
        help=seldom(parser, "stop after N requests to the model in one turn (default: 50)"),
    )


def add_asked_thread(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--thread", metavar="NAME", help="ask in this thread (default: store nothing)")


def add_answer_settings(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, ANSWERED_TURN)


def add_chat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--thread", metavar="NAME", help="continue or start this thread (default: main)")


def add_config_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("get", "set", "edit", "path"), metavar="ACTION", help="one of: %(choices)s"
    )
    parser.add_argument("words", nargs="*", default=[], metavar="WORD", help="the name of a setting, and its value")
    parser.add_argument("--here", action="store_true", help="the file of the workspace, not your own")


def add_context_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("add", "drop", "pin", "unpin", "list", "find", "clear"),
        help="one of: %(choices)s",
        metavar="ACTION",
    )
    parser.add_argument("words", nargs="*", default=[], metavar="WORD", help="paths or references; for find, words")


def add_model_action(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=("list", "add", "remove", "show"), metavar="ACTION", help="one of: %(choices)s"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="listed model or OWNER/NAME, optionally with @REVISION")
    add_flags(parser, ("allow_hosts",))


def add_max(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a menu."""
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="print at most N items (default: 20)")
    parser.add_argument("--ignored", action="store_true", help="include files that .gitignore and the like exclude")


def add_index_action(parser: argparse.ArgumentParser) -> None:
    """Add the folders and the actions of ``index``."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="FOLDER",
        help=brief(
            parser,
            "folders (default: the indexed ones); - reads stdin",
            "folders to index (default: the indexed ones, else the workspace); - reads one per line from stdin",
        ),
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--rebuild", action="store_true", help="rebuild the index; searches use the old one meanwhile")
    action.add_argument("--remove", action="store_true", help="remove the folders from the index")
    action.add_argument("--list", action="store_true", help="list the indexed folders")
    parser.add_argument("--prune", action="store_true", help="also remove the files of a missing or empty folder")
    parser.add_argument("--label", metavar="NAME", help="label the folders, for search --label NAME")
    parser.add_argument("--no-embed", action="store_true", help="skip embedding; search new files by words only")
    parser.add_argument("--yes", action="store_true", help="do not ask before indexing a home folder")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the filters and output formats of ``search``."""
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="print at most N passages (default: 10)")
    parser.add_argument(
        "--per-file",
        type=count,
        default=2,
        metavar="N",
        help=seldom(parser, "print at most N passages per file (default: 2)"),
    )
    only = section(parser, "filters")
    only.add_argument(
        "--path", action="append", metavar="GLOB", help="only matching paths; !GLOB excludes paths; repeatable"
    )
    only.add_argument(
        "--kind", action="append", choices=FILE_KINDS, metavar="KIND", help="only %(choices)s files; repeatable"
    )
    only.add_argument(
        "--tag", action="append", metavar="TAG", help="only notes with this tag or a nested one; repeatable"
    )
    only.add_argument("--since", metavar="DATE", help="only files since 2026-01-31, or 7d, 2w, 3m, 1y ago")
    only.add_argument("--until", metavar="DATE", help=seldom(parser, "only files up to and including this date"))
    only.add_argument(
        "--label", action="append", metavar="NAME", help=seldom(parser, "only folders with this label; repeatable")
    )
    parser.add_argument("--lexical", action="store_true", help="search by words only, not by meaning")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("-l", "--files", action="store_true", help="print only the paths, each once")
    shape.add_argument("--lines", action="store_true", help="print path:line: text, for editors and fzf")
    parser.add_argument("--explain", action="store_true", help=seldom(parser, "explain the rank of each result"))
    parser.add_argument("--full", action="store_true", help="print whole passages instead of excerpts")


def add_fix(parser: argparse.ArgumentParser) -> None:
    """Add what ``doctor`` may do besides looking."""
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--fix", action="store_true", help="make the repairs that lose no data")
    action.add_argument("--adopt", action="store_true", help="trust the database of a folder that was moved or copied")


def add_shell(parser: argparse.ArgumentParser) -> None:
    """Add the shell of a completion script."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="one of: %(choices)s")


def _add_where_kept(parser: argparse.ArgumentParser, here: str, everywhere: str) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--here", action="store_true", help=f"{here} (default)")
    where.add_argument("--everywhere", action="store_true", help=everywhere)


def add_backup(parser: argparse.ArgumentParser) -> None:
    """Add the file of a backup, and the workspaces in it."""
    parser.add_argument("file", metavar="FILE", help="the backup, a zip archive")
    _add_where_kept(parser, "this workspace and your user", "every workspace that you have used, and your user")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def add_restore(parser: argparse.ArgumentParser) -> None:
    add_backup(parser)
    parser.add_argument("--config", action="store_true", help="install the configuration of the backup, too")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be restored")


def add_purge(parser: argparse.ArgumentParser) -> None:
    _add_where_kept(parser, "only this workspace", "every workspace that you have used, and your user")
    parser.add_argument("--models", action="store_true", help="with --everywhere: also remove fetched models")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_mcp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http",
        nargs="?",
        type=port,
        const=8765,
        metavar="PORT",
        help="serve HTTP on 127.0.0.1 (default port: 8765; 0: any) instead of stdio",
    )
    parser.add_argument("--root", action="append", metavar="DIR", help="let clients use this folder too; repeatable")
    parser.add_argument(
        "--with-hooks", action="store_true", help="offer fewer tools, to an agent whose hooks do what the others do"
    )
    parser.add_argument(
        "--resources",
        action="store_true",
        help="also offer notes, sessions and files as resources, for which some clients add tools to every request",
    )


def add_gateways(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="NAME", help="configured gateways (default: the only one), or check NAME"
    )


def add_hook(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="the agent, and its name for the event")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)


def add_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "agent",
        choices=("claude-code", "codex", "gemini", "cursor", "zed", "vscode"),
        metavar="AGENT",
        help="one of: %(choices)s",
    )
    parser.add_argument("--undo", action="store_true", help="remove what install wrote, and restore what it replaced")
    parser.add_argument("--dry-run", action="store_true", help="only print the change")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--no-hooks", action="store_true", help="add only the MCP server, and remove hooks that install wrote before"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also replace (with --undo: remove) an entry that install did not write or that was changed",
    )
