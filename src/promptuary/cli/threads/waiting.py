"""The pending turn of a thread, for the commands that end it."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from promptuary.blocking import Promptuary
from promptuary.core.text import one_line

if TYPE_CHECKING:
    from promptuary import Turn

DONE: Final = 0
NOTHING: Final = 1


def named(options: argparse.Namespace) -> str:
    """Return the name of the thread."""
    return "main" if options.thread is None else str(options.thread)


def waiting(promptuary: Promptuary, thread: str) -> "Turn | None":
    """Return the pending turn; if there is none, print why and return ``None``."""
    turn = promptuary.threads.pending(thread=thread)
    if turn is None:
        print(f"promptuary: {_why_none(promptuary, thread)}", file=sys.stderr)
    return turn


def unknown(promptuary: Promptuary, thread: str) -> str:
    """Return a sentence that there is no such thread, with those that exist; empty if there is one."""
    every = promptuary.threads.list()
    if thread in {one.id for one in every}:
        return ""
    known = ", ".join(one_line(one.id) for one in every[:5])
    start = "promptuary expand --thread NAME TEXT starts one"
    return f"there is no thread {one_line(thread)}; {f'existing threads: {known}' if known else start}"


def _why_none(promptuary: Promptuary, thread: str) -> str:
    if missing := unknown(promptuary, thread):
        return missing
    name, last = one_line(thread), promptuary.threads.turns(thread=thread)
    became = f"turn {last[-1].number} is {last[-1].status}" if last else "it has no turns yet"
    return f"thread {name} has no pending turn: {became}; promptuary expand --thread {name} TEXT prepares one"
