"""``promptuary thread``: the threads, what was said in them, and what each turn was made of."""

import argparse
import sys

from promptuary.blocking import Promptuary
from promptuary.cli.common import opened, print_json, print_new_notes
from promptuary.core.errors import SourceError
from promptuary.core.json import history_json, replay_json, threads_json
from promptuary.core.messages import Message
from promptuary.core.table import Column, table
from promptuary.core.text import one_line, visible

DONE, NOTHING = 0, 1


def main(options: argparse.Namespace) -> int:
    """Show threads, a receipt, or a prompt."""
    with opened(options) as promptuary:
        code = _shown(promptuary, options)
        print_new_notes(promptuary, options)
        return code


def _shown(promptuary: Promptuary, options: argparse.Namespace) -> int:
    if options.action == "list":
        return _threads(promptuary, as_json=options.json)
    return _history(promptuary, options) if options.action == "history" else _turn(promptuary, options)


def _thread(options: argparse.Namespace) -> str:
    return "main" if options.thread is None else str(options.thread)


def _threads(promptuary: Promptuary, *, as_json: bool) -> int:
    threads = promptuary.threads.list()
    if as_json:
        print_json(threads_json(threads))
    elif threads:
        rows = [(one_line(one.id), str(one.turns), str(one.items), one.updated) for one in threads]
        columns = (Column("thread"), Column("turns", right=True), Column("messages", right=True), Column("last used"))
        print(table(columns, rows))
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


def _turn(promptuary: Promptuary, options: argparse.Namespace) -> int:
    try:
        replay = promptuary.threads.replay(thread=_thread(options), number=options.number)
    except SourceError as error:
        print(f"promptuary: {one_line(error.reason)}", file=sys.stderr)
        return NOTHING
    turn = replay.turn
    if options.json:
        print_json(replay_json(replay, prompt=options.action == "replay"))
        return DONE
    if options.action == "show":
        print(f"turn {turn.number} ({turn.status}, {turn.created}): {one_line(turn.text)[:200]}")
        print(turn.receipt.explain())
    else:
        prompt = "\n\n".join(f"[{message['role']}]\n{_said(message)}" for message in turn.messages)
        print(visible(prompt)[0] if sys.stdout.isatty() else prompt)
    for one in replay.drift:
        print(f"since then: {one_line(one.path)} is {one.kind}", file=sys.stderr)
    for address in replay.forgotten:
        print(f"since then: {one_line(address)} was forgotten, and is not shown", file=sys.stderr)
    return DONE


def _said(message: Message) -> str:
    calls = [f"(calls {call['name']} with {call['arguments']})" for call in message.get("tool_calls", ())]
    return "\n".join([*([message["content"]] if message["content"] else []), *calls])
