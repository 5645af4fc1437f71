"""The actions of ``promptuary session`` with their arguments and help. Imported on every start of the program."""

import argparse
from typing import Final

from promptuary.cli.flags import MEMORY_FLAGS, READING_FLAGS
from promptuary.cli.parsing import Command, add_actions, add_flags, count, section


def add_session_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action with its flags."""
    add_actions(parser, ACTIONS, "promptuary session", _add_reading, _SUMMARY)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "reading", {**READING_FLAGS, "memory_folder": MEMORY_FLAGS["memory_folder"]})


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of a session")


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-t", "--thread", metavar="NAME", help="name of its thread, which must be new (default: NAME)")
    sets = section(parser, "what it may see")
    sets.add_argument(
        "--root", action="append", metavar="PATH", help="a file or folder; repeatable (default: the workspace)"
    )
    notes = sets.add_mutually_exclusive_group()
    notes.add_argument("--note", action="append", metavar="ID", help="only this note; repeatable (default: all)")
    notes.add_argument("--no-notes", action="store_true", help="no notes; the session may still write new ones")
    experiences = sets.add_mutually_exclusive_group()
    experiences.add_argument(
        "--experience", action="append", metavar="ID", help="only this experience; repeatable (default: all)"
    )
    experiences.add_argument("--no-experiences", action="store_true", help="no experiences")
    sets.add_argument("--no-memory", action="store_true", help="no notes and no experiences; store none either")


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
    parser.add_argument("name", metavar="NAME", help="a session or a thread")
    parser.add_argument("number", nargs="?", type=count, metavar="TURN", help="turn number (default: the last)")
    parser.add_argument("--fetch", action="store_true", help="fetch web pages again and compare them")
    parser.add_argument(
        "--window", metavar="TOKENS", help="prepare the turn again for this window, and print the differences"
    )
    parser.add_argument("--model", metavar="NAME", help="send the prompt to [models.NAME] and print its answer")


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
    "create, list, show": "create a session, show what it may see",
    "refresh": "pin the current revisions",
    "archive, restore": "archive a session, or restore it",
    "rm": "remove a session and its thread",
    "audit": "print which answers a source influenced",
    "replay": "print the prompt of a turn, or run it again",
    "prune": "remove old turns with their prompts",
    "forget": "remove a file or page from all stored prompts",
}

ACTIONS: Final = (
    Command(
        "create",
        "NAME [options]",
        "create a session",
        "Create a session with a new thread, and pin the current revisions of the files, notes and experiences that "
        "its turns may see. Its turns see nothing else.",
        (
            "promptuary session create release --root src --root docs",
            "promptuary session create alone --no-memory",
        ),
        (_add_name, _add_sets),
    ),
    Command(
        "list",
        "[options]",
        "list the sessions, with the tokens of their last turns",
        "List the sessions, newest first. Exit code 1 if there are none.",
        ("promptuary session list", "promptuary session list --json"),
        (),
    ),
    Command(
        "show",
        "NAME [options]",
        "show what a session may see, what has changed since, and the window of its last turn",
        "Print a session: what is pinned, what was added, changed or removed since, the token usage of its thread, and "
        "the share of each layer in the window of its last turn.",
        ("promptuary session show release",),
        (_add_name,),
    ),
    Command(
        "refresh",
        "NAME [options]",
        "pin the current revisions",
        "Pin the current revisions of what a session may see, and print the differences. Its roots and filters stay.",
        ("promptuary session refresh release",),
        (_add_name,),
    ),
    Command(
        "archive",
        "NAME [options]",
        "archive a session",
        "Archive a session: its thread can be read, but new turns are rejected until you restore the session.",
        ("promptuary session archive release",),
        (_add_name,),
    ),
    Command(
        "restore",
        "NAME [options]",
        "restore an archived session",
        "Restore an archived session, so that its thread accepts turns again.",
        ("promptuary session restore release",),
        (_add_name,),
    ),
    Command(
        "rm",
        "NAME [options]",
        "remove a session and its thread",
        "Remove a session permanently, with the history, prompts and receipts of its thread. Notes and experiences "
        "that it produced stay. Asks first.",
        ("promptuary session rm release", "promptuary session rm release --yes"),
        (_add_name, _add_yes),
    ),
    Command(
        "replay",
        "NAME [TURN] [options]",
        "print the exact prompt of a turn and the changes of its sources, or run it again",
        "Print the exact prompt of a turn. Sources that have changed, are missing or were forgotten are listed on "
        "stderr. With --window, prepare the turn again with the history of that time, and print the differences. With "
        "--model, send the prompt to one of your chat models. Nothing is recorded.",
        (
            "promptuary session replay review 3",
            "promptuary session replay review 3 --window 8k",
            "promptuary session replay review 3 --model fast",
        ),
        (_add_replay,),
    ),
    Command(
        "prune",
        "--older-than AGE [options]",
        "remove old turns, with their prompts and receipts",
        "Remove turns older than AGE permanently, with their prompts, receipts and unused texts. A thread that was "
        "used since keeps its history and its turn numbers; other threads are removed completely. Exit code 1 if there "
        "is nothing to remove.",
        ("promptuary session prune --older-than 90d --dry-run", "promptuary session prune --older-than 1y -t review"),
        (_add_prune,),
    ),
    Command(
        "forget",
        "FILE|URL [options]",
        "remove a file or web page from all stored prompts",
        "Replace the content of a file or web page with a marker in the stored prompts and histories of all your "
        "threads, and print these turns. This cannot be undone and needs --yes. Messages about it, the file itself and "
        "the index stay. Exit code 1 if no prompt contains it.",
        ("promptuary session forget src/keys.py --dry-run", "promptuary session forget https://example.com/page --yes"),
        (_add_forget,),
    ),
    Command(
        "audit",
        "SOURCE [options]",
        "print which answers a file, note, commit or web page influenced",
        "Print the turns whose prompts contained SOURCE, newest first: attached or added by a layer (direct), in the "
        "history that was sent (history) or in a summary of it (summary); and whether SOURCE has changed since. With "
        "--turn, print all sources of a turn. Exit code 1 if no prompt contained SOURCE.",
        (
            "promptuary session audit src/app.py",
            "promptuary session audit memory:4f1c",
            "promptuary session audit --turn 3 -t review",
        ),
        (_add_audit,),
    ),
)
