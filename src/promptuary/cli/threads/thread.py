"""``promptuary thread``: runs one action on threads; the modules beside it have those that this one has not."""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Final

from promptuary.base.errors import (
    ConflictError,
    PromptuaryError,
    SourceError,
    UnknownExperienceError,
    UnknownNoteError,
    UnknownSessionError,
)
from promptuary.base.table import Column
from promptuary.base.text import one_line, visible
from promptuary.blocking import Promptuary
from promptuary.cli.common import open_workspace, print_json, print_new_notes
from promptuary.cli.terminal import headed_table
from promptuary.cli.threads import audit, create, delete, exchange, limits, replay
from promptuary.cli.threads.pending import DONE, NOTHING, pending_turn, thread_of, unknown
from promptuary.present.threads import history_json


def main(options: argparse.Namespace) -> int:
    """Run one action on threads."""
    with open_workspace(options) as promptuary:
        try:
            code = _ACTIONS[options.action](promptuary, options)
        except SourceError as error:
            print(f"promptuary: {one_line(error.reason)}", file=sys.stderr)
            code = NOTHING
        # ConflictError: there is no such thread, or its new name is taken.
        except (ConflictError, UnknownSessionError, UnknownNoteError, UnknownExperienceError) as error:
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
            code = NOTHING
        print_new_notes(promptuary, options)
        return code


def list_threads(promptuary: Promptuary, options: argparse.Namespace) -> int:
    threads = promptuary.threads.list()
    if options.json:
        print_json({"threads": threads})
    elif threads and options.quiet:  # for shells, which complete names
        print("\n".join(one_line(thread.id) for thread in threads))
    elif threads:
        rows = [(one_line(thread.id), str(thread.turns), str(thread.items), thread.updated) for thread in threads]
        columns = (Column("thread"), Column("turns", right=True), Column("messages", right=True), Column("last used"))
        print(headed_table(columns, rows, sys.stdout))
    else:
        print("no threads yet: promptuary expand --thread NAME TEXT starts one", file=sys.stderr)
    return DONE if threads else NOTHING


def history(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the messages of a thread."""
    items = promptuary.threads.history(thread=thread_of(options), everything=options.all)
    if options.json:
        print_json({"messages": history_json(items)})
    for item in items if not options.json else ():
        said = f"[{item.role}]\n{item.content}\n"
        print(visible(said)[0] if sys.stdout.isatty() else said)
    if not items:
        missing = unknown(promptuary, thread_of(options))
        print(f"promptuary: {missing}" if missing else "this thread has no messages yet", file=sys.stderr)
    return DONE if items else NOTHING


def rename(promptuary: Promptuary, options: argparse.Namespace) -> int:
    names = options.words if options.thread is None else [options.thread, *options.words]
    if len(names) != 2:
        raise PromptuaryError("thread rename needs two names: promptuary thread rename OLD NEW")
    before, after = names
    promptuary.threads.rename(thread=before, name=after)
    if options.json:
        print_json({"thread": after, "before": before})
    else:
        print(f"renamed thread {one_line(before)} to {one_line(after)}")
    return DONE


def abandon(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """End the pending turn of a thread; it does not become part of the history."""
    turn = pending_turn(promptuary, thread_of(options))
    if turn is None:
        return NOTHING
    promptuary.threads.undo(thread=turn.thread)  # so that what it took waits again, and what it named is not in view
    if options.json:
        print_json({"thread": turn.thread, "turn": turn.number, "status": "abandoned"})
    else:
        print(f"abandoned turn {turn.number} of thread {one_line(turn.thread)}")
    return DONE


_ACTIONS: Final[Mapping[str, Callable[[Promptuary, argparse.Namespace], int]]] = {
    "list": list_threads,
    "history": history,
    "show": replay.show,
    "replay": replay.replay,
    "abandon": abandon,
    "create": create.create,
    "limits": limits.limits,
    "refresh": create.refresh,
    "archive": create.archive,
    "rename": rename,
    "rm": delete.remove,
    "export": exchange.export,
    "import": exchange.import_,
    "audit": audit.audit,
    "prune": delete.prune,
    "forget": delete.forget,
}
