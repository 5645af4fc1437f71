"""``promptuary restore``: restores a backup."""

import argparse
import sys

from promptuary.cli.common import opened, print_json
from promptuary.cli.keeping.printing import listed, notes
from promptuary.present.maintenance import kept_json

DONE, NOT_DONE = 0, 1


def main(options: argparse.Namespace) -> int:
    """Restore a backup, or print what a restore would do."""
    with opened(options) as promptuary:
        report = promptuary.restore(
            options.file,
            everywhere=options.everywhere,
            force=options.force,
            config=options.config,
            dry_run=options.dry_run,
        )
    if options.json:
        print_json(kept_json(report))
    else:
        print(listed(report))
        notes(report)
    in_the_way = sum(one.action == "replaced" for one in report.files)
    if report.done or options.dry_run:
        return DONE
    print(
        f"promptuary: nothing was restored: {in_the_way:,} of these files exist and differ; add --force to overwrite "
        "them",
        file=sys.stderr,
    )
    return NOT_DONE
