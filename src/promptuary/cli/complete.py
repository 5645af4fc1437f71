"""``promptuary complete``: what the menus would offer at the end of a text."""

import argparse
import json
import sys

from promptuary.cli.common import message, opened, prepare_streams
from promptuary.core.table import Column, table
from promptuary.core.text import one_line

DONE, NOTHING = 0, 1
_PATIENCE = 10.0


def main(options: argparse.Namespace) -> int:
    """Print the offers for the end of a text."""
    prepare_streams()
    text = message(options)
    with opened(options) as promptuary:
        completion = promptuary.complete(text.removesuffix("\n"), limit=options.max, patience=_PATIENCE)
    if options.json:
        items = [
            {
                "insert": one.insert,
                "label": one.label,
                "kind": one.kind,
                "hint": one.hint,
                "matches": one.matches,
            }
            for one in completion.items
        ]
        answer = {
            "start": completion.start,
            "prefix": completion.prefix,
            "items": items,
            "scanning": completion.scanning,
        }
        json.dump(answer, sys.stdout, ensure_ascii=False, indent=2)
        print()
    elif completion.items:
        rows = [(one_line(one.insert), one.kind, one_line(one.hint or one.label)) for one in completion.items]
        print(table((Column("insert"), Column("kind"), Column("")), rows))
    else:
        print("nothing to offer here: a reference begins with @ or # after a space", file=sys.stderr)
    return DONE if completion.items else NOTHING
