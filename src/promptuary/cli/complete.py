"""``promptuary complete``: prints the completions for the reference at the end of a text."""

import argparse
import sys

from msgspec import to_builtins

from promptuary.base.references import Completion, MenuItem
from promptuary.base.table import Column
from promptuary.base.text import one_line
from promptuary.blocking import Promptuary
from promptuary.cli.common import message, open_workspace, print_json
from promptuary.cli.terminal import headed_table

DONE, NOTHING = 0, 1
_TIMEOUT = 10.0
_NOTES = "@memory:"


def main(options: argparse.Namespace) -> int:
    """Print the menu for the end of a text."""
    text = message(options)
    with open_workspace(options) as promptuary:
        completion = promptuary.complete(
            text.removesuffix("\n"), limit=options.limit, timeout=_TIMEOUT, ignored=options.ignored
        )
        why = "" if completion.items else _why_nothing(completion, promptuary)
    if options.json:
        print_json(to_builtins(completion))
    elif completion.items:
        if options.quiet:
            print("\n".join(one_line(one.insert) for one in completion.items))
            return DONE
        rows = [(one_line(one.insert), one.kind, one_line(_details(one))) for one in completion.items]
        print(headed_table((Column("insert"), Column("kind"), Column("")), rows, sys.stdout))
    if why and not options.quiet:
        print(one_line(why), file=sys.stderr)
    return DONE if completion.items else NOTHING


def _details(item: MenuItem) -> str:
    """Return the label and the hint, without what ``insert`` repeats."""
    repeated = item.kind in {"file", "folder"} or item.label in item.insert
    return item.hint if repeated else " · ".join(filter(None, (item.label, item.hint)))


def _why_nothing(completion: Completion, promptuary: Promptuary) -> str:
    if not completion.prefix:
        return "the text does not end with a reference; a reference starts with @ or # after a space"
    if completion.scanning:
        return f"nothing matches {completion.prefix} yet; files are still being listed"
    if completion.prefix.startswith(_NOTES):
        written = promptuary.complete(_NOTES).items
        return (
            f"nothing matches {completion.prefix}" if written else "no notes yet: promptuary remember TEXT writes one"
        )
    if not promptuary.complete("@file:").items:
        return "there are no files in this workspace"
    return f"nothing matches {completion.prefix}"
