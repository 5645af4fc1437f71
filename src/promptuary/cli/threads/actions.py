"""The actions of ``promptuary thread`` with their arguments and help. Imported on every start of the program."""

import argparse
from typing import Final

from promptuary.cli.flags import READING
from promptuary.cli.parsing import THREAD, Actions, Command, SettingFlags, arg, count, flag, limit, many, one_of, under


def _turn(text: str) -> int:
    """Return the number of a turn, as a type for argparse."""
    try:
        return count(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; use --thread NAME for the thread") from None


_NAME: Final = (
    arg("name NAME", "the thread", nargs="?"),
    arg("-t --thread NAME", "the thread, instead of NAME", seldom=True),
)
_TURN: Final = (arg("number TURN", "turn number (default: the last)", nargs="?", type=_turn), THREAD)
_LIMITS: Final = tuple(
    under(
        "what its turns may see",
        many("--root PATH", "a file or folder; repeatable (default: the workspace)"),
        one_of(
            many("--note ID", "only this note; repeatable (default: all)"),
            flag("--no-notes", "no notes; its turns may still write new ones"),
        ),
        one_of(
            many("--experience ID", "only this experience; repeatable (default: all)"),
            flag("--no-experiences", "no experiences"),
        ),
        flag("--no-memory", "no notes and no experiences; store none either"),
    )
)
_RENAME: Final = (
    arg("words NAME", "the present name, and the new one", nargs="*"),
    arg("-t --thread NAME", "the thread, instead of OLD", seldom=True),
)
_EXPORT: Final = (
    arg("words FILE", "the file (default or -: print it)", nargs="*"),
    THREAD,
    arg("--format FORM", "%(choices)s", dest="form", choices=("json", "md")),
    flag("--force", "overwrite the file"),
)
_IMPORT: Final = (
    arg("words FILE", "an exported thread; - reads stdin", nargs="*"),
    arg("-t --thread NAME", "name of the new thread (default: as in the file)"),
)
_AUDIT: Final = (
    arg("source SOURCE", "a file, note (id or path), experience, commit or URL; omit with --turn", nargs="?"),
    arg("--turn N", "print the sources of this turn", type=count),
    arg("-t --thread NAME", "with --turn: the thread (default: main)"),
    flag("--finished", "only turns that got an answer"),
    limit(100, "rows"),
)
_REPLAY: Final = (
    flag("--fetch", "fetch web pages again and compare them"),
    arg("--window TOKENS", "prepare the turn again for this window, and print the differences", dest="rerun_window"),
    arg("--model NAME", "send the prompt to [models.NAME] and print its answer", dest="rerun_model"),
)
_FORGET: Final = (
    arg("source FILE|URL", "a file or web page that prompts contain"),
    flag("--dry-run", "only print the turns that contain it"),
    flag("-y --yes", "confirm; this cannot be undone"),
)
_PRUNE: Final = (
    arg("--older-than AGE", "remove turns older than this: 90d, 12w, 6m, 1y", required=True),
    arg("-t --thread NAME", "only this thread (default: all)"),
    flag("--dry-run", "only print what would be removed"),
)

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
        (THREAD, flag("--all", "compacted messages, not their summary")),
    ),
    Command(
        "show",
        "[TURN] [options]",
        "print what went into a turn and why",
        "Print what went into a turn, how many tokens it took, what was shortened or left out, and why. Sources that "
        "have changed since are listed on stderr.",
        ("promptuary thread show", "promptuary thread show 3 --thread review"),
        _TURN,
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
        (*_TURN, *_REPLAY),
    ),
    Command(
        "abandon",
        "[options]",
        "end the last turn of a thread without an answer",
        "End the turn that expand --thread prepared last. It does not become part of the history, but thread show and "
        "thread replay can still print it. Exit code 1 if no turn is pending.",
        ("promptuary thread abandon --thread review",),
        (THREAD,),
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
        (*_NAME, *_LIMITS),
    ),
    Command(
        "limits",
        "[NAME] [options]",
        "print what a thread may see, what has changed since, and the window of its last turn",
        "Print what a thread may see, what was added, changed or removed since that was pinned, the token usage of the "
        "thread, and the share of each layer in the window of its last turn. Without NAME, list the threads that have "
        "limits, newest first. Exit code 1 if there are none.",
        ("promptuary thread limits", "promptuary thread limits release"),
        _NAME,
    ),
    Command(
        "refresh",
        "NAME [options]",
        "pin the current revisions of what a thread may see",
        "Pin the current revisions of what a thread may see, and print the differences. Its roots and filters stay.",
        ("promptuary thread refresh release",),
        _NAME,
    ),
    Command(
        "archive",
        "NAME [options]",
        "accept no more turns in a thread, or accept them again",
        "Archive a thread that was created with limits: it can be read, but new turns are rejected until --undo.",
        ("promptuary thread archive release", "promptuary thread archive release --undo"),
        (*_NAME, flag("--undo", "let the thread accept turns again")),
    ),
    Command(
        "rename",
        "OLD NEW [options]",
        "rename a thread",
        "Rename a thread. Exit code 1 if there is no such thread, or the new name is taken.",
        ("promptuary thread rename main review",),
        _RENAME,
    ),
    Command(
        "rm",
        "NAME [options]",
        "remove a thread",
        "Remove a thread permanently, with its history, prompts, receipts and limits. Notes and experiences that it "
        "produced stay. Asks first.",
        ("promptuary thread rm release", "promptuary thread rm release --yes"),
        (*_NAME, flag("-y --yes", "do not ask")),
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
        _EXPORT,
    ),
    Command(
        "import",
        "FILE [options]",
        "create a thread from an exported file",
        "Create a thread from an exported file, and print what was not imported.",
        ("promptuary thread import review.json --thread review-2",),
        _IMPORT,
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
        _AUDIT,
    ),
    Command(
        "prune",
        "--older-than AGE [options]",
        "remove old turns, with their prompts and receipts",
        "Remove turns older than AGE permanently, with their prompts, receipts and unused texts. A thread that was "
        "used since keeps its history and its turn numbers; other threads are removed completely. Exit code 1 if there "
        "is nothing to remove.",
        ("promptuary thread prune --older-than 90d --dry-run", "promptuary thread prune --older-than 1y -t review"),
        _PRUNE,
    ),
    Command(
        "forget",
        "FILE|URL [options]",
        "remove a file or web page from all stored prompts",
        "Replace the content of a file or web page with a marker in the stored prompts and histories of all your "
        "threads, and print these turns. This cannot be undone and needs --yes. Messages about it, the file itself and "
        "the index stay. Exit code 1 if no prompt contains it.",
        ("promptuary thread forget src/keys.py --dry-run", "promptuary thread forget https://example.com/page --yes"),
        _FORGET,
    ),
)

THREAD_ACTIONS: Final = Actions(ACTIONS, _SUMMARY, (SettingFlags((*READING, "memory_folder")),))
