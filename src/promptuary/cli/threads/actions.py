"""The actions of ``promptuary thread`` with their arguments and help. Imported on every start of the program."""

import argparse
from typing import Final

from promptuary.cli.flags import READING
from promptuary.cli.parsing import Command, add_actions, add_flags, count, section, seldom


def add_thread_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action with its flags."""
    add_actions(parser, ACTIONS, "promptuary thread", _add_reading, _SUMMARY)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, (*READING, "memory_folder"))


def _add_thread(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--thread", metavar="NAME", help="the thread (default: main)")


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the thread")
    parser.add_argument("-t", "--thread", metavar="NAME", help=seldom(parser, "the thread, instead of NAME"))


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _turn(text: str) -> int:
    """Return the number of a turn, as a type for argparse."""
    try:
        return count(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; use --thread NAME for the thread") from None


def _add_turn(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", nargs="?", type=_turn, metavar="TURN", help="turn number (default: the last)")
    _add_thread(parser)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    sets = section(parser, "what its turns may see")
    sets.add_argument(
        "--root", action="append", metavar="PATH", help="a file or folder; repeatable (default: the workspace)"
    )
    notes = sets.add_mutually_exclusive_group()
    notes.add_argument("--note", action="append", metavar="ID", help="only this note; repeatable (default: all)")
    notes.add_argument("--no-notes", action="store_true", help="no notes; its turns may still write new ones")
    experiences = sets.add_mutually_exclusive_group()
    experiences.add_argument(
        "--experience", action="append", metavar="ID", help="only this experience; repeatable (default: all)"
    )
    experiences.add_argument("--no-experiences", action="store_true", help="no experiences")
    sets.add_argument("--no-memory", action="store_true", help="no notes and no experiences; store none either")


def _add_undo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--undo", action="store_true", help="let the thread accept turns again")


def _add_all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="compacted messages, not their summary")


def _add_names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="NAME", help="the present name, and the new one")
    parser.add_argument("-t", "--thread", metavar="NAME", help=seldom(parser, "the thread, instead of OLD"))


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="FILE", help="the file (default or -: print it)")
    _add_thread(parser)
    parser.add_argument("--format", dest="form", choices=("json", "md"), metavar="FORM", help="%(choices)s")
    parser.add_argument("--force", action="store_true", help="overwrite the file")


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="FILE", help="an exported thread; - reads stdin")
    parser.add_argument("-t", "--thread", metavar="NAME", help="name of the new thread (default: as in the file)")


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help="a file, note (id or path), experience, commit or URL; omit with --turn",
    )
    parser.add_argument("--turn", type=count, metavar="N", help="print the sources of this turn")
    parser.add_argument("-t", "--thread", metavar="NAME", help="with --turn: the thread (default: main)")
    parser.add_argument("--finished", action="store_true", help="only turns that got an answer")
    parser.add_argument("--limit", type=count, default=100, metavar="N", help="print at most N rows (default: 100)")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fetch", action="store_true", help="fetch web pages again and compare them")
    parser.add_argument(
        "--window",
        dest="rerun_window",
        metavar="TOKENS",
        help="prepare the turn again for this window, and print the differences",
    )
    parser.add_argument(
        "--model", dest="rerun_model", metavar="NAME", help="send the prompt to [models.NAME] and print its answer"
    )


def _add_forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE|URL", help="a file or web page that prompts contain")
    parser.add_argument("--dry-run", action="store_true", help="only print the turns that contain it")
    parser.add_argument("-y", "--yes", action="store_true", help="confirm; this cannot be undone")


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", required=True, metavar="AGE", help="remove turns older than this: 90d, 12w, 6m, 1y"
    )
    parser.add_argument("-t", "--thread", metavar="NAME", help="only this thread (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")


_SUMMARY: Final = {
    "list, history": "list threads, print the messages of one",
    "show, replay": "print a turn with the reasons, or its prompt",
    "abandon": "end the last turn without an answer",
    "create": "create a thread with limits",
    "limits, refresh": "print what a thread may see, pin it anew",
    "archive": "accept no more turns, or accept them again",
    "rename, rm": "rename a thread, remove one",
    "export, import": "exchange threads as files",
    "audit": "print which answers a source influenced",
    "prune, forget": "remove old turns, or a source from all prompts",
}

ACTIONS: Final = (
    Command(
        "list",
        "[options]",
        "list the threads",
        "List the threads, the last used first. With --quiet, print only their names. Exit code 1 if there are none.",
        ("promptuary thread list",),
        (),
    ),
    Command(
        "history",
        "[options]",
        "print the messages of a thread",
        "Print the messages of a thread as the model sees them: with --all also those that a summary replaces. Exit "
        "code 1 if there are none.",
        ("promptuary thread history --thread review",),
        (_add_thread, _add_all),
    ),
    Command(
        "show",
        "[TURN] [options]",
        "print what went into a turn and why",
        "Print what went into a turn, how many tokens it took, what was shortened or left out, and why. Sources that "
        "have changed since are listed on stderr.",
        ("promptuary thread show", "promptuary thread show 3 --thread review"),
        (_add_turn,),
    ),
    Command(
        "replay",
        "[TURN] [options]",
        "print the exact prompt of a turn and the changes of its sources, or run it again",
        "Print the exact prompt of a turn. Sources that have changed, are missing or were forgotten are listed on "
        "stderr. With --window, prepare the turn again with the history of that time, and print the differences. With "
        "--model, send the prompt to one of your chat models. Nothing is recorded.",
        (
            "promptuary thread replay 3 --thread review",
            "promptuary thread replay 3 --thread review --window 8k",
            "promptuary thread replay 3 --thread review --model fast",
        ),
        (_add_turn, _add_replay),
    ),
    Command(
        "abandon",
        "[options]",
        "end the last turn of a thread without an answer",
        "End the turn that expand --thread prepared last. It does not become part of the history, but thread show and "
        "thread replay can still print it. Exit code 1 if no turn is pending.",
        ("promptuary thread abandon --thread review",),
        (_add_thread,),
    ),
    Command(
        "create",
        "NAME [options]",
        "create a thread that may see only some files, notes and experiences",
        "Create a thread, and pin the current revisions of the files, notes and experiences that its turns may see. "
        "They see nothing else. A thread without limits needs no creation: expand --thread starts it.",
        (
            "promptuary thread create release --root src --root docs",
            "promptuary thread create alone --no-memory",
        ),
        (_add_name, _add_limits),
    ),
    Command(
        "limits",
        "[NAME] [options]",
        "print what a thread may see, what has changed since, and the window of its last turn",
        "Print what a thread may see, what was added, changed or removed since that was pinned, the token usage of the "
        "thread, and the share of each layer in the window of its last turn. Without NAME, list the threads that have "
        "limits, newest first. Exit code 1 if there are none.",
        ("promptuary thread limits", "promptuary thread limits release"),
        (_add_name,),
    ),
    Command(
        "refresh",
        "NAME [options]",
        "pin the current revisions of what a thread may see",
        "Pin the current revisions of what a thread may see, and print the differences. Its roots and filters stay.",
        ("promptuary thread refresh release",),
        (_add_name,),
    ),
    Command(
        "archive",
        "NAME [options]",
        "accept no more turns in a thread, or accept them again",
        "Archive a thread that was created with limits: it can be read, but new turns are rejected until --undo.",
        ("promptuary thread archive release", "promptuary thread archive release --undo"),
        (_add_name, _add_undo),
    ),
    Command(
        "rename",
        "OLD NEW [options]",
        "rename a thread",
        "Rename a thread. Exit code 1 if there is no such thread, or the new name is taken.",
        ("promptuary thread rename main review",),
        (_add_names,),
    ),
    Command(
        "rm",
        "NAME [options]",
        "remove a thread",
        "Remove a thread permanently, with its history, prompts, receipts and limits. Notes and experiences that it "
        "produced stay. Asks first.",
        ("promptuary thread rm release", "promptuary thread rm release --yes"),
        (_add_name, _add_yes),
    ),
    Command(
        "export",
        "[FILE] [options]",
        "write a thread to a file, as JSON or Markdown",
        "Write a thread as JSON, or with --format md as Markdown, to FILE or to standard output.",
        (
            "promptuary thread export --thread review review.json",
            "promptuary thread export --thread review --format md",
        ),
        (_add_export,),
    ),
    Command(
        "import",
        "FILE [options]",
        "create a thread from an exported file",
        "Create a thread from an exported file, and print what was not imported.",
        ("promptuary thread import review.json --thread review-2",),
        (_add_import,),
    ),
    Command(
        "audit",
        "SOURCE [options]",
        "print which answers a file, note, commit or web page influenced",
        "Print the turns whose prompts contained SOURCE, newest first: attached or added by a layer (direct), in the "
        "history that was sent (history) or in a summary of it (summary); and whether SOURCE has changed since. With "
        "--turn, print all sources of a turn. Exit code 1 if no prompt contained SOURCE.",
        (
            "promptuary thread audit src/app.py",
            "promptuary thread audit memory:4f1c",
            "promptuary thread audit --turn 3 -t review",
        ),
        (_add_audit,),
    ),
    Command(
        "prune",
        "--older-than AGE [options]",
        "remove old turns, with their prompts and receipts",
        "Remove turns older than AGE permanently, with their prompts, receipts and unused texts. A thread that was "
        "used since keeps its history and its turn numbers; other threads are removed completely. Exit code 1 if there "
        "is nothing to remove.",
        ("promptuary thread prune --older-than 90d --dry-run", "promptuary thread prune --older-than 1y -t review"),
        (_add_prune,),
    ),
    Command(
        "forget",
        "FILE|URL [options]",
        "remove a file or web page from all stored prompts",
        "Replace the content of a file or web page with a marker in the stored prompts and histories of all your "
        "threads, and print these turns. This cannot be undone and needs --yes. Messages about it, the file itself and "
        "the index stay. Exit code 1 if no prompt contains it.",
        ("promptuary thread forget src/keys.py --dry-run", "promptuary thread forget https://example.com/page --yes"),
        (_add_forget,),
    ),
)
