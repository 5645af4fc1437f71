"""``promptuary thread show`` and ``replay``: what went into a past turn, its exact prompt, and a second run of it."""

import argparse
import sys
from typing import Final

from promptuary.base.table import Column
from promptuary.base.text import one_line, visible
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.terminal import headed_table
from promptuary.cli.threads.pending import DONE, thread_of
from promptuary.config.values import convert
from promptuary.context.receipt import ReceiptEntry
from promptuary.present.threads import message_text, replay_json, rerun_json
from promptuary.threads.values import DriftKind, Replay, Rerun

_SINCE: Final[dict[DriftKind, str]] = {
    "changed": "has changed",
    "forgotten": "was forgotten",
    "not fetched again": "was not fetched again (--fetch)",
    "not compared": "was not compared",
}


def show(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print what went into a turn, and why."""
    found = promptuary.threads.replay(thread=thread_of(options), number=options.number)
    turn = found.turn
    if options.json:
        print_json(replay_json(found, prompt=False))
        return DONE
    print(f"{found.heading(dated=True)}: {one_line(turn.text)[:200]}")
    print(turn.receipt.explain())
    _print_drift(found)
    return DONE


def replay(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the prompt of a past turn, or run the turn again for another window or model."""
    thread, number, model = thread_of(options), options.number, options.rerun_model
    given = options.rerun_window
    window = None if given is None else convert("window", given, "--window", 0)
    if window is not None or model is not None:
        at_most = window if isinstance(window, int) else None
        _print_rerun(promptuary.threads.rerun(thread=thread, number=number, window=at_most, model=model), options)
        return DONE
    found = promptuary.threads.replay(thread=thread, number=number, fetch=options.fetch)
    if options.json:
        print_json(replay_json(found, prompt=True))
        return DONE
    print(_shown("\n\n".join(f"[{message['role']}]\n{message_text(message)}" for message in found.turn.messages)))
    _print_drift(found)
    return DONE


def _print_drift(found: Replay | Rerun) -> None:
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
    _print_drift(done)


def _state(entry: ReceiptEntry | None) -> str:
    return "" if entry is None else f"{entry.status}, {entry.tokens:,} tokens"


def _why(entry: ReceiptEntry | None) -> str:
    return "" if entry is None else one_line(entry.reason)


def _shown(text: str) -> str:
    return visible(text)[0] if sys.stdout.isatty() else text
