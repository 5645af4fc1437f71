"""``promptuary purge``: lists and removes all stored data."""

import argparse
import sys

from promptuary.cli.common import confirmed, opened, print_json
from promptuary.cli.keeping.printing import amount, listed
from promptuary.core.errors import PromptuaryError
from promptuary.present.maintenance import kept_json

DONE, NOT_DONE = 0, 1


def main(options: argparse.Namespace) -> int:
    """List what would be removed, ask, and remove it."""
    if options.models and not options.everywhere:
        raise PromptuaryError("--models needs --everywhere, because all workspaces share the models")
    with opened(options) as promptuary:
        report = promptuary.purge(everywhere=options.everywhere, models=options.models, dry_run=True)
        if not report.files:
            print("nothing is stored", file=sys.stderr)
            if options.json:
                print_json(kept_json(report))
            return DONE
        if not options.json:
            print(listed(report))
        wanted = not options.dry_run and confirmed(f"Remove all of it ({amount(report.bytes)}) permanently?", options)
        if wanted:
            report = promptuary.purge(everywhere=options.everywhere, models=options.models)
    if options.json:
        print_json(kept_json(report))
    if report.done or options.dry_run:
        return DONE
    print("promptuary: nothing was removed; add --yes to confirm (promptuary backup FILE saves it)", file=sys.stderr)
    return NOT_DONE
