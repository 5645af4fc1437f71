"""The actions of ``promptuary session``, their arguments and their help. Every start of the program imports this."""

import argparse
from typing import Final

from promptuary.cli.flags import MEMORY_FLAGS, READING_FLAGS
from promptuary.cli.parsing import Command, add_actions, add_flags, count, section


def add_session_actions(parser: argparse.ArgumentParser) -> None:
    """Add every action, each with the flags that it takes."""
    add_actions(parser, ACTIONS, "promptuary session", _add_reading, _SUMMARY)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_flags(parser, "reading", {**READING_FLAGS, "memory_folder": MEMORY_FLAGS["memory_folder"]})


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of a session")


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def _add_sets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--thread", "-t", metavar="NAME", help="its thread, a new one (default: called like it)")
    sets = section(parser, "what it may see")
    sets.add_argument(
        "--root", action="append", metavar="PATH", help="a file or folder; repeatable (default: the workspace)"
    )
    notes = sets.add_mutually_exclusive_group()
    notes.add_argument("--note", action="append", metavar="ID", help="only this note; repeatable (default: all)")
    notes.add_argument("--no-notes", action="store_true", help="no notes; what is said may still be remembered")
    experiences = sets.add_mutually_exclusive_group()
    experiences.add_argument(
        "--experience", action="append", metavar="ID", help="only this experience; repeatable (default: all)"
    )
    experiences.add_argument("--no-experiences", action="store_true", help="no experiences")
    sets.add_argument("--no-memory", action="store_true", help="neither notes nor experiences, and nothing is learnt")


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help="a file, a note (id or path), an experience, a commit, a URL; none with --turn",
    )
    parser.add_argument("--turn", type=count, metavar="N", help="print what this turn was based on")
    parser.add_argument("--thread", "-t", metavar="NAME", help="with --turn: the thread (default: main)")
    parser.add_argument("--finished", action="store_true", help="only turns that got an answer")
    parser.add_argument("--limit", type=count, default=100, metavar="N", help="print at most N rows (default: 100)")


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the session, or a thread")
    parser.add_argument("number", nargs="?", type=count, metavar="TURN", help="number of a turn (default: the last)")
    parser.add_argument("--fetch", action="store_true", help="fetch pages again to compare them")
    parser.add_argument(
        "--window", metavar="TOKENS", help="prepare the turn anew for this window, and print what differs"
    )
    parser.add_argument("--model", metavar="NAME", help="ask this chat model ([models.NAME]), and print its answer")


def _add_forget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE|URL", help="a file or a page that was in prompts")
    parser.add_argument("--dry-run", action="store_true", help="only print the turns that had it")
    parser.add_argument("--yes", "-y", action="store_true", help="do it; it cannot be undone")


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", required=True, metavar="AGE", help="how old turns must be to be removed: 90d, 12w, 6m, 1y"
    )
    parser.add_argument("--thread", "-t", metavar="NAME", help="only this thread (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")


_SUMMARY: Final = {
    "create, list, show": "make a session; see what it may see",
    "refresh": "pin again, as everything is now",
    "archive, restore": "put a session away, or bring it back",
    "rm": "remove a session with its thread",
    "audit": "print which answers a source influenced",
    "replay": "print what a turn sent, or run it again",
    "prune": "remove old turns with their prompts",
    "forget": "take a file or page out of every stored prompt",
}

ACTIONS: Final = (
    Command(
        "create",
        "NAME [options]",
        "make a session, and pin what it may see",
        "Make a session over a new thread: the files, notes and experiences that its turns may see, pinned as they are "
        "now. Turns of the thread see nothing else.",
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
        "Print every session, the newest first. Exit code 1 if there is none.",
        ("promptuary session list", "promptuary session list --json"),
        (),
    ),
    Command(
        "show",
        "NAME [options]",
        "show what a session may see, what has changed since, and the window of its last turn",
        "Print a session: what it was pinned with, what is added, changed or gone since, what its thread has used, and "
        "who has how much of the window in its last turn.",
        ("promptuary session show release",),
        (_add_name,),
    ),
    Command(
        "refresh",
        "NAME [options]",
        "pin again, as everything is now",
        "Pin what a session may see as it is now, and print what was different. Its roots and its choices stay.",
        ("promptuary session refresh release",),
        (_add_name,),
    ),
    Command(
        "archive",
        "NAME [options]",
        "put a session away",
        "Archive a session: its thread can be read, but no turn is prepared in it until the session is restored.",
        ("promptuary session archive release",),
        (_add_name,),
    ),
    Command(
        "restore",
        "NAME [options]",
        "bring back a session that was archived",
        "Bring back a session that was archived.",
        ("promptuary session restore release",),
        (_add_name,),
    ),
    Command(
        "rm",
        "NAME [options]",
        "remove a session with its thread",
        "Remove a session for good, with the turns of its thread: their history, prompts and receipts. Notes and "
        "experiences that came of it stay. It asks first.",
        ("promptuary session rm release", "promptuary session rm release --yes"),
        (_add_name, _add_yes),
    ),
    Command(
        "replay",
        "NAME [TURN] [options]",
        "print exactly what a turn sent, and what became of its sources; or run it again",
        "Print the exact prompt of a turn; stderr names every source that has changed since, is gone or was forgotten. "
        "With --window, prepare the turn anew, against the history as it stood before it, and print what is in or out "
        "and was not so then. With --model, ask one of your chat models. Nothing of this is recorded.",
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
        "Remove the turns that are older than AGE for good: their prompts, their receipts, and every text that nobody "
        "uses any more. A thread that was used since keeps its history and the numbers of its turns; any other goes "
        "as a whole. Exit code 1 if there is nothing to remove.",
        ("promptuary session prune --older-than 90d --dry-run", "promptuary session prune --older-than 1y -t review"),
        (_add_prune,),
    ),
    Command(
        "forget",
        "FILE|URL [options]",
        "take the content of a file or a page out of every stored prompt",
        "Take a file or a page out of the stored prompts and histories of all your threads for good, and print the "
        "turns that had it; a mark stands in its place. What was said about it, the file itself and the index stay. "
        "Needs --yes. Exit code 1 if it was in no prompt.",
        ("promptuary session forget src/keys.py --dry-run", "promptuary session forget https://example.com/page --yes"),
        (_add_forget,),
    ),
    Command(
        "audit",
        "SOURCE [options]",
        "print which answers a file, a note, a commit or a page influenced",
        "Print the turns that had SOURCE in their prompts, the newest first: attached or shown by a layer (direct), "
        "still in the history that was sent (history), or in a summary of it (summary); and whether it is still what "
        "the model saw. With --turn, print all that a turn was based on. Exit code 1 if SOURCE was in no prompt.",
        (
            "promptuary session audit src/app.py",
            "promptuary session audit memory:4f1c",
            "promptuary session audit --turn 3 -t review",
        ),
        (_add_audit,),
    ),
)
