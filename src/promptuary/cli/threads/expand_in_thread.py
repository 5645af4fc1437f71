"""``promptuary expand --thread``: prepares a turn and prints its whole prompt."""

import argparse
import sys

from promptuary.cli.common import copied, message, opened, print_json, print_new_notes, print_rendered
from promptuary.cli.threads.waiting import named
from promptuary.core.text import visible
from promptuary.present.expansions import turn_json

DONE, NOT_ALL = 0, 1


def main(options: argparse.Namespace) -> int:
    """Prepare a turn of a thread and print its prompt; the receipt goes to stderr."""
    text = message(options)
    with opened(options) as promptuary:
        thread = named(options)
        earlier = promptuary.threads.pending(thread=thread)
        if earlier is not None:  # before the next one is prepared, because layers react to it
            promptuary.threads.abandon(earlier)
        turn = promptuary.threads.prepare(text, thread=thread)
        print_new_notes(promptuary, options)
        done = options.copy and copied(promptuary, turn.render(options.form or "text"), options)
    if earlier is not None and not options.quiet:
        print(f"note: turn {earlier.number} got no reply and was abandoned", file=sys.stderr)
    failed = (options.copy and not done) or turn.receipt.blocked or turn.expansion.incomplete
    if options.json:
        print_json(turn_json(turn.expansion, turn.messages, turn.receipt))
    elif done:
        pass
    elif options.form in {None, "text"}:
        prompt = turn.render("text")
        print(visible(prompt)[0] if sys.stdout.isatty() else prompt, end="")
    else:
        print_rendered(turn.render(options.form))
    if not options.quiet:
        print(turn.receipt.explain(), file=sys.stderr)
    return NOT_ALL if failed else DONE
