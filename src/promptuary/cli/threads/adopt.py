"""``promptuary adopt``: trusts the database of a folder that was moved or copied."""

import argparse
import sys

from promptuary.cli.common import opened, print_json
from promptuary.core.text import counted

DONE = 0


def main(options: argparse.Namespace) -> int:
    """Adopt the database, and print how many threads it contains."""
    with opened(options) as promptuary:
        promptuary.adopt()
        threads = promptuary.threads.list()
    if options.json:
        print_json({"threads": threads})
    else:
        print(f"adopted the database of this folder: {counted(len(threads), 'thread')}", file=sys.stderr)
    return DONE
