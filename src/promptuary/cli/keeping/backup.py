"""``promptuary backup``: writes threads, notes and configuration to one file."""

import argparse
import sys
from pathlib import Path

from promptuary.cli.common import opened, print_json
from promptuary.cli.keeping.printing import amount, notes
from promptuary.core.text import counted, one_line
from promptuary.present.maintenance import kept_json

DONE = 0


def main(options: argparse.Namespace) -> int:
    """Write the backup, and print its size."""
    with opened(options) as promptuary:
        report = promptuary.backup(options.file, everywhere=options.everywhere, force=options.force)
    if options.json:
        print_json(kept_json(report))
    elif not options.quiet:
        notes(report)
        count = counted(len(report.files), "file")
        print(f"backed up {count} ({amount(report.bytes)}) to {one_line(str(Path(options.file)))}", file=sys.stderr)
    return DONE
