"""``promptuary abandon``: ends the pending turn of a thread without a reply."""

import argparse

from promptuary.cli.common import opened, print_json, print_new_notes
from promptuary.cli.threads.waiting import DONE, NOTHING, named, waiting
from promptuary.core.text import one_line


def main(options: argparse.Namespace) -> int:
    """End the pending turn of a thread; it does not become part of the history."""
    with opened(options) as promptuary:
        turn = waiting(promptuary, named(options))
        if turn is None:
            return NOTHING
        promptuary.threads.undo(
            thread=turn.thread
        )  # so that what it took waits again, and what it named is not in view
        print_new_notes(promptuary, options)
    if options.json:
        print_json({"thread": turn.thread, "turn": turn.number, "status": "abandoned"})
    else:
        print(f"abandoned turn {turn.number} of thread {one_line(turn.thread)}")
    return DONE
