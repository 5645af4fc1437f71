"""``promptuary thread``: the threads, what was said in them, and what each turn was made of."""

import argparse
import sys
from typing import Final

from promptuary.blocking import Promptuary
from promptuary.cli.common import confirmed, opened, print_json, print_new_notes
from promptuary.cli.terminal import headed
from promptuary.cli.threads.exchanging import export, import_
from promptuary.cli.threads.replaying import Again, again, print_drift, replay
from promptuary.core.errors import ConflictError, PromptuaryError, SourceError
from promptuary.core.json import history_json, pruned_json, renamed_json, replay_json, threads_json
from promptuary.core.table import Column, table
from promptuary.core.text import one_line, visible

DONE, NOTHING = 0, 1
_WITHOUT_WORDS: Final = frozenset({"list", "history", "rm"})


def main(options: argparse.Namespace) -> int:
    """Show threads, a receipt, or a prompt."""
    wanted = again(options) if options.action == "replay" else Again(None, None)
    if options.words and options.action in _WITHOUT_WORDS:
        raise PromptuaryError(f"thread {options.action} takes no words; use --thread NAME for the thread")
    with opened(options) as promptuary:
        try:
            code = _shown(promptuary, options, wanted)
        except SourceError as error:
            print(f"promptuary: {one_line(error.reason)}", file=sys.stderr)
            code = NOTHING
        except ConflictError as error:  # there is no such thread, or a name is taken
            print(f"promptuary: {one_line(str(error))}", file=sys.stderr)
            code = NOTHING
        print_new_notes(promptuary, options)
        return code


def _shown(promptuary: Promptuary, options: argparse.Namespace, wanted: Again) -> int:
    match options.action:
        case "list":
            return _threads(promptuary, as_json=options.json)
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


def _threads(promptuary: Promptuary, *, as_json: bool) -> int:
    threads = promptuary.threads.list()
    if as_json:
        print_json(threads_json(threads))
    elif threads:
        rows = [(one_line(one.id), str(one.turns), str(one.items), one.updated) for one in threads]
        columns = (Column("thread"), Column("turns", right=True), Column("messages", right=True), Column("last used"))
        print(headed(table(columns, rows), sys.stdout))
    else:
        print("no thread yet: promptuary expand --thread NAME TEXT begins one", file=sys.stderr)
    return DONE if threads else NOTHING


def _history(promptuary: Promptuary, options: argparse.Namespace) -> int:
    items = promptuary.threads.history(thread=_thread(options), everything=options.all)
    if options.json:
        print_json(history_json(items))
    for one in items if not options.json else ():
        said = f"[{one.role}]\n{one.content}\n"
        print(visible(said)[0] if sys.stdout.isatty() else said)
    if not items:
        print("nothing was said in this thread yet", file=sys.stderr)
    return DONE if items else NOTHING


def _rename(promptuary: Promptuary, options: argparse.Namespace) -> int:
    names = options.words if options.thread is None else [options.thread, *options.words]
    if len(names) != 2:
        raise PromptuaryError("name the thread and its new name: promptuary thread rename OLD NEW")
    before, after = names
    promptuary.threads.rename(thread=before, name=after)
    if options.json:
        print_json(renamed_json(before, after))
    else:
        print(f"thread {one_line(before)} is now {one_line(after)}")
    return DONE


def _remove(promptuary: Promptuary, options: argparse.Namespace) -> int:
    if options.thread is None:
        raise PromptuaryError("name the thread to remove: promptuary thread rm --thread NAME")
    name = one_line(options.thread)
    if options.thread not in {one.id for one in promptuary.threads.list()}:
        raise PromptuaryError(f"there is no thread {name}; promptuary thread list names those that there are")
    over = [one_line(one.name) for one in promptuary.sessions.list() if one.thread == options.thread]
    if not confirmed(f"Remove thread {name} with all its turns for good?", options):
        print("promptuary: nothing was removed; --yes removes it without asking", file=sys.stderr)
        return NOTHING
    gone = promptuary.threads.remove(thread=options.thread)
    if options.json:
        print_json(pruned_json(gone, dry_run=False))
    else:
        print(f"thread {name} is removed: {gone.turns:,} turns, {gone.messages:,} messages")
    if over and not options.quiet:
        print(f"note: session {', '.join(over)} is still there, and begins anew", file=sys.stderr)
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
