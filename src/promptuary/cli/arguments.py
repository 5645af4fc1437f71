"""What each command takes: its positions and its flags. ``cli.command_table`` says which command takes which."""

import argparse

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
from promptuary.cli.parsing import (
    add_flags,
    brief,
    count,
    port,
    section,
    seldom,
)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the settings of a message and of a turn."""
    add_flags(parser, "context window", WINDOW_FLAGS)
    _add_other_settings(parser)


def _add_other_settings(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "compaction of a thread's history", COMPACTION_FLAGS)
    add_flags(parser, "reading and fetching", {**FETCHING_FLAGS, **READING_FLAGS})
    add_flags(parser, "index and recall", SEARCH_FLAGS)
    add_flags(parser, "memory", MEMORY_FLAGS)
    add_flags(parser, "layers", LAYER_FLAGS)


def add_index_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags that concern an index: it fetches no pages and recalls nothing into a window."""
    flag, arguments = FETCHING_FLAGS["allow_hosts"]
    for_endpoint = {**arguments, "help": "allow plain http to this host, if it is the endpoint; repeatable"}
    add_flags(parser, "reading", READING_FLAGS)
    add_flags(parser, "index", {**INDEX_FLAGS, "allow_hosts": (flag, for_endpoint)})


def add_search_settings(parser: argparse.ArgumentParser) -> None:
    """Add the settings of a search."""
    add_index_settings(parser)
    add_flags(parser, "reranking", RERANK_FLAGS)


def add_watch_settings(parser: argparse.ArgumentParser) -> None:
    """Add the settings of watching."""
    add_index_settings(parser)
    add_flags(parser, "watching", WATCH_FLAGS)


def add_thread(parser: argparse.ArgumentParser) -> None:
    """Add which thread a command is about."""
    parser.add_argument("-t", "--thread", metavar="NAME", help="the thread (default: main)")


def add_new_turn(parser: argparse.ArgumentParser) -> None:
    """Add the thread that a message becomes a turn of."""
    parser.add_argument("-t", "--thread", metavar="NAME", help="prepare a turn of this thread, and record it")


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add the form in which a message is printed."""
    forms = ("text", "openai", "openai-responses", "anthropic")
    parser.add_argument("--for", dest="form", choices=forms, metavar="FORM", help="%(choices)s (default: text)")


def add_copy(parser: argparse.ArgumentParser) -> None:
    """Add copying to the clipboard."""
    parser.add_argument("--copy", action="store_true", help="copy the message instead of printing it")


def add_reply(parser: argparse.ArgumentParser) -> None:
    """Add what is known of an answer besides its text."""
    parser.add_argument("--response", action="store_true", help="the text is JSON, as the provider's API returned it")
    parser.add_argument("--cost", type=float, metavar="N", help="what you were charged for the turn; totals add it up")


def add_answering(parser: argparse.ArgumentParser) -> None:
    """Add who answers, with which tools."""
    parser.add_argument(
        "--model", dest="answer_model", metavar="NAME", help="who answers: gpt-5-mini, ollama/llama3.2, …"
    )
    parser.add_argument("--no-tools", action="store_true", help="let the model call no tools")
    parser.add_argument("--yes", action="store_true", help="let tools write notes without asking")
    parser.add_argument(
        "--max-requests",
        type=count,
        default=50,
        metavar="N",
        help=seldom(parser, "stop a model that calls tools after N requests (default: 50)"),
    )


def add_asked_thread(parser: argparse.ArgumentParser) -> None:
    """Add the thread that a question is asked in."""
    parser.add_argument(
        "-t", "--thread", metavar="NAME", help="ask in this thread, and keep it (default: keep nothing)"
    )


def add_answer_settings(parser: argparse.ArgumentParser) -> None:
    """Add the settings of a turn that is answered: the model that answers decides about window and vocabulary."""
    window = {name: flag for name, flag in WINDOW_FLAGS.items() if name not in {"model", "answer_model"}}
    parser.set_defaults(model=None)
    add_flags(parser, "context window", window)
    _add_other_settings(parser)


def add_chat(parser: argparse.ArgumentParser) -> None:
    """Add the thread of a chat."""
    parser.add_argument("-t", "--thread", metavar="NAME", help="go on in this thread, or begin it (default: main)")


def add_context_action(parser: argparse.ArgumentParser) -> None:
    """Add what is done with the attachments of a thread."""
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


def add_thread_action(parser: argparse.ArgumentParser) -> None:
    """Add what is done with threads."""
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


def add_model_action(parser: argparse.ArgumentParser) -> None:
    """Add what is done with models for search."""
    parser.add_argument(
        "action", choices=("list", "add", "remove", "show"), metavar="ACTION", help="one of: %(choices)s"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="a model of the list, or OWNER/NAME; with @REVISION")
    flag, arguments = FETCHING_FLAGS["allow_hosts"]
    add_flags(parser, "fetching", {**MODEL_FLAGS, "allow_hosts": (flag, arguments)})


def add_max(parser: argparse.ArgumentParser) -> None:
    """Add which rows a menu has."""
    parser.add_argument("--max", type=count, default=20, metavar="N", help="print at most N items (default: 20)")
    parser.add_argument("--ignored", action="store_true", help="include files that ignore files hide")


def add_index_action(parser: argparse.ArgumentParser) -> None:
    """Add what is indexed, and how."""
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


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add what a search is narrowed by, and how its hits are printed."""
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


def add_fix(parser: argparse.ArgumentParser) -> None:
    """Add repairing."""
    parser.add_argument("--fix", action="store_true", help="repair what can be repaired without losing anything")


def add_shell(parser: argparse.ArgumentParser) -> None:
    """Add for which shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="one of: %(choices)s")


def add_once(parser: argparse.ArgumentParser) -> None:
    """Add not staying."""
    parser.add_argument("--once", action="store_true", help="update the index once and exit")


def _add_where_kept(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--here", action="store_true", help="for this workspace, and for you (default)")
    where.add_argument("--everywhere", action="store_true", help="for every workspace that you have used")


def add_backup(parser: argparse.ArgumentParser) -> None:
    """Add which file a backup is, and what it holds."""
    parser.add_argument("file", metavar="FILE", help="the file of the backup, a zip archive")
    _add_where_kept(parser)
    parser.add_argument("--force", action="store_true", help="replace what is there already")


def add_restore(parser: argparse.ArgumentParser) -> None:
    """Add how a backup is brought back."""
    add_backup(parser)
    parser.add_argument("--dry-run", action="store_true", help="only print what it would do")


def add_purge(parser: argparse.ArgumentParser) -> None:
    """Add what is removed."""
    _add_where_kept(parser)
    parser.add_argument("--models", action="store_true", help="with --everywhere: the models that you fetched, too")
    parser.add_argument("--dry-run", action="store_true", help="only print what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def add_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``mcp``."""
    parser.add_argument(
        "--http",
        nargs="?",
        type=port,
        const=8765,
        metavar="PORT",
        help="serve HTTP on 127.0.0.1 (default port: 8765; 0: any) instead of standard streams",
    )
    parser.add_argument("--root", action="append", metavar="DIR", help="let clients use this folder, too; repeatable")


def add_gateways(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``gateway``."""
    parser.add_argument(
        "words", nargs="*", metavar="NAME", help="gateways of your configuration (default: the only one), or check NAME"
    )


def add_hook(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``hook``."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="the agent, and the event as it calls it")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)


def add_install(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``install``."""
    parser.add_argument(
        "agent",
        choices=("claude-code", "codex", "gemini", "cursor", "zed", "vscode"),
        metavar="AGENT",
        help="one of: %(choices)s",
    )
    parser.add_argument("--undo", action="store_true", help="take out what install wrote, and put back what was there")
    parser.add_argument("--dry-run", action="store_true", help="only print the change")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--no-hooks", action="store_true", help="the MCP server alone; hooks that install wrote before are taken out"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also replace, or with --undo take out, an entry that is not as install wrote it",
    )
