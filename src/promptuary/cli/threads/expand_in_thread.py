"""``promptuary expand --thread``: the whole prompt of a turn, with what stands in the window of its thread."""

import argparse
import sys

from promptuary.cli.common import message, opened, print_json, print_new_notes
from promptuary.core.json import turn_json
from promptuary.core.text import visible

DONE, NOT_ALL = 0, 1


def main(options: argparse.Namespace) -> int:
    """Prepare a turn of a thread and print its prompt; the account goes to stderr."""
    text = message(options)
    with opened(options) as promptuary:
        turn = promptuary.threads.prepare(text, thread="main" if options.thread is None else options.thread)
        print_new_notes(promptuary, options)
    if options.json:
        print_json(turn_json(turn.expansion, turn.messages, turn.receipt))
    elif options.form in {None, "text"}:
        prompt = turn.render("text")
        print(visible(prompt)[0] if sys.stdout.isatty() else prompt, end="")
    else:
        print_json(turn.render(options.form))
    if not options.quiet:
        print(turn.receipt.explain(), file=sys.stderr)
    return NOT_ALL if turn.receipt.blocked or any(one.code for one in turn.expansion.outcomes) else DONE
