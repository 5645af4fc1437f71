"""Replay of past turns: the exact prompt, the changes of its sources, and a second run of the turn."""

import argparse
import sys
from typing import Final, NamedTuple

from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.terminal import headed_table
from promptuary.config.values import converted
from promptuary.core.messages import Message
from promptuary.core.receipts import ReceiptEntry
from promptuary.core.table import Column
from promptuary.core.text import one_line, visible
from promptuary.core.threads import DriftKind, Replay, Rerun
from promptuary.present.threads import replay_json, rerun_json

DONE: Final = 0

_SINCE: Final[dict[DriftKind, str]] = {
    "changed": "has changed",
    "forgotten": "was forgotten",
    "not fetched again": "was not fetched again (--fetch)",
    "not compared": "was not compared",
}


class Again(NamedTuple):
    """The window or the model for a second run of a turn."""

    window: int | None
    model: str | None

    def __bool__(self) -> bool:
        """Return whether anything is given."""
        return self != (None, None)


def again(options: argparse.Namespace) -> Again:
    """Remove the window and the model of a second run from ``options``, where the same flags are settings."""
    given = None if options.window is None else converted("window", options.window, "--window", 0)
    window, model = given if isinstance(given, int) else None, options.model
    options.window = options.model = None
    return Again(window, model)


def replay(promptuary: Promptuary, thread: str, options: argparse.Namespace, wanted: Again) -> int:
    """Print the prompt of a past turn, or run the turn again."""
    if wanted:
        done = promptuary.threads.rerun(thread=thread, number=options.number, window=wanted.window, model=wanted.model)
        _print_rerun(done, options)
        return DONE
    found = promptuary.threads.replay(thread=thread, number=options.number, fetch=options.fetch)
    if options.json:
        print_json(replay_json(found, prompt=True))
        return DONE
    print(_shown("\n\n".join(f"[{message['role']}]\n{_said(message)}" for message in found.turn.messages)))
    print_drift(found)
    return DONE


def print_drift(found: Replay | Rerun) -> None:
    """Print which sources of a turn have changed."""
    for one in found.drift:
        print(f"since then: {one_line(one.path)} {_SINCE.get(one.kind, f'is {one.kind}')}", file=sys.stderr)
    for address in found.turn.forgotten:
        print(f"since then: {one_line(address)} was forgotten and is not shown", file=sys.stderr)


def _print_rerun(done: Rerun, options: argparse.Namespace) -> None:
    if options.json:
        print_json(rerun_json(done))
        return
    if done.receipt is not None:
        then = done.turn.receipt
        print(
            f"then: {then.tokens:,} of {then.window:,} tokens; now: {done.receipt.tokens:,} of {done.receipt.window:,}"
        )
        rows = [
            (one.layer, one_line(one.label), _state(one.before), _state(one.after), _why(one.after))
            for one in done.differences
        ]
        columns = (Column("layer"), Column("what"), Column("then"), Column("now"), Column("why"))
        print(headed_table(columns, rows, sys.stdout) if rows else "no differences")
    if done.answer is not None:
        print(_shown(done.answer))
    print_drift(done)


def _state(entry: ReceiptEntry | None) -> str:
    return "" if entry is None else f"{entry.status}, {entry.tokens:,} tokens"


def _why(entry: ReceiptEntry | None) -> str:
    return "" if entry is None else one_line(entry.reason)


def _shown(text: str) -> str:
    return visible(text)[0] if sys.stdout.isatty() else text


def _said(message: Message) -> str:
    calls = [f"(calls {call['name']} with {call['arguments']})" for call in message.get("tool_calls", ())]
    return "\n".join([*([message["content"]] if message["content"] else []), *calls])
