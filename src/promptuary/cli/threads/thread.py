"""``promptuary thread``: lists, shows, replays, renames, exports, imports and removes threads."""

import argparse
import sys
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import confirmed, opened, print_json, print_new_notes
from promptuary.cli.terminal import headed
from promptuary.cli.threads.exchanging import export, import_
from promptuary.cli.threads.replaying import Again, again, print_drift, replay
from promptuary.cli.threads.waiting import unknown
from promptuary.core.errors import ConflictError, PromptuaryError, SourceError
from promptuary.core.table import Column, table
from promptuary.core.text import counted, one_line, visible
from promptuary.present.threads import history_json, pruned_json, replay_json

DONE, NOTHING = 0, 1
_WITHOUT_WORDS: Final = frozenset({"list", "history", "rm"})


def main(options: argparse.Namespace) -> int:
    """Run one action on threads."""
    wanted = again(options) if options.action == "replay" else Again(None, None)
    if options.words and options.action in _WITHOUT_WORDS:
        raise PromptuaryError(f"thread {options.action} takes no arguments; use --thread NAME for the thread")
    with opened(options) as promptuary:
        try:
            code = _shown(promptuary, options, wanted)
        except SourceError as error:
            print(f"promptuary: {one_line(error.reason)}", file=sys.stderr)
            code = NOTHING
        except ConflictError as error:  # no such thread, or the name is taken
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
            code = NOTHING
        print_new_notes(promptuary, options)
        return code


def _shown(promptuary: Promptuary, options: argparse.Namespace, wanted: Again) -> int:
    match options.action:
        case "list":
            return _threads(promptuary, options)
        case "history":
            return _history(promptuary, options)
        case "rename":
            return _rename(promptuary, options)
        case "export":
            return export(promptuary, _thread(options), options)
        case "import":
            return import_(promptuary, options)
        case "rm":
            return _remove(promptuary, options)
        case "replay":
            return replay(promptuary, _thread(options), options, wanted)
        case _:
            return _receipt(promptuary, options)


def _thread(options: argparse.Namespace) -> str:
    return "main" if options.thread is None else str(options.thread)


def _threads(promptuary: Promptuary, options: argparse.Namespace) -> int:
    threads = promptuary.threads.list()
    if options.json:
        print_json({"threads": threads})
    elif threads and options.quiet:  # for shells, which complete names
        print("\n".join(one_line(one.id) for one in threads))
    elif threads:
        rows = [(one_line(one.id), str(one.turns), str(one.items), one.updated) for one in threads]
        columns = (Column("thread"), Column("turns", right=True), Column("messages", right=True), Column("last used"))
        print(headed(table(columns, rows), sys.stdout))
    else:
        print("no threads yet: promptuary expand --thread NAME TEXT starts one", file=sys.stderr)
    return DONE if threads else NOTHING


def _history(promptuary: Promptuary, options: argparse.Namespace) -> int:
    items = promptuary.threads.history(thread=_thread(options), everything=options.all)
    if options.json:
        print_json({"messages": history_json(items)})
    for one in items if not options.json else ():
        said = f"[{one.role}]\n{one.content}\n"
        print(visible(said)[0] if sys.stdout.isatty() else said)
    if not items:
        missing = unknown(promptuary, _thread(options))
        print(f"promptuary: {missing}" if missing else "this thread has no messages yet", file=sys.stderr)
    return DONE if items else NOTHING


def _rename(promptuary: Promptuary, options: argparse.Namespace) -> int:
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


def _remove(promptuary: Promptuary, options: argparse.Namespace) -> int:
    if options.thread is None:
        raise PromptuaryError("thread rm needs a thread: promptuary thread rm --thread NAME")
    name = one_line(options.thread)
    if missing := unknown(promptuary, options.thread):
        raise PromptuaryError(missing)
    over = [one_line(one.name) for one in promptuary.sessions.list() if one.thread == options.thread]
    if not confirmed(f"Remove thread {name} with all its turns permanently?", options):
        print("promptuary: nothing was removed; add --yes to confirm", file=sys.stderr)
        return NOTHING
    gone = promptuary.threads.remove(thread=options.thread)
    if options.json:
        print_json(pruned_json(gone, dry_run=False))
    else:
        print(f"removed thread {name}: {counted(gone.turns, 'turn')}, {counted(gone.messages, 'message')}")
    if over and not options.quiet:
        print(f"note: session {', '.join(over)} still exists and starts with an empty thread", file=sys.stderr)
    return DONE


def _receipt(promptuary: Promptuary, options: argparse.Namespace) -> int:
    found = promptuary.threads.replay(thread=_thread(options), number=options.number)
    turn = found.turn
    if options.json:
        print_json(replay_json(found, prompt=False))
        return DONE
    print(f"{found.heading(dated=True)}: {one_line(turn.text)[:200]}")
    print(turn.receipt.explain())
    print_drift(found)
    return DONE
