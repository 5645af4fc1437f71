"""``promptuary doctor``: checks the database and the notes for problems, and repairs them."""

import argparse
import sys
from collections.abc import Sequence

from promptuary.cli.common import opened, print_json
from promptuary.cli.terminal import headed_table
from promptuary.core.ledger import ThreadSize
from promptuary.core.table import Column
from promptuary.core.text import counted, one_line
from promptuary.present.maintenance import examination_json

_MOST_THREADS = 10
WELL = 0
FOUND = 1


def main(options: argparse.Namespace) -> int:
    """Check the workspace and the notes, and print the problems."""
    with opened(options) as promptuary:
        found = promptuary.examine(fix=options.fix)
    if options.json:
        print_json(examination_json(found))
    else:
        rows = [
            (
                one.code,
                "repaired" if one.fixed else "repairable" if one.fixable else "",
                one.where,
                _said(one.problem, one.advice),
            )
            for one in found.findings
        ]
        if rows:
            columns = (Column("what"), Column("state"), Column("where"), Column("problem"))
            print(headed_table(columns, [tuple(map(one_line, row)) for row in rows], sys.stdout))
        if found.threads and not options.quiet:
            print(_sizes(found.threads), file=sys.stderr)
        looked = (
            ", ".join(f"{count:,} {name.removesuffix('s') if count == 1 else name}" for name, count in found.counts)
            or "nothing is stored yet"
        )
        left = sum(not one.fixed for one in found.findings)
        remaining = f"{counted(left, 'problem')} left" if found.findings else "no problems"
        print(f"{looked}; {remaining}", file=sys.stderr)
        if any(one.fixable and not one.fixed for one in found.findings) and not options.fix:
            print("promptuary doctor --fix makes the repairs, without losing data", file=sys.stderr)
    return WELL if found.is_well else FOUND


def _sizes(threads: Sequence[ThreadSize]) -> str:
    """Return the largest threads as a table."""
    columns = (
        Column("thread"),
        Column("turns", right=True),
        Column("messages", right=True),
        Column("kB", right=True),
    )
    rows = [
        (one_line(one.thread), f"{one.turns:,}", f"{one.messages:,}", f"{one.bytes / 1000:,.1f}") for one in threads
    ]
    more = [f"… and {len(rows) - _MOST_THREADS:,} more"] if len(rows) > _MOST_THREADS else []
    return "\n".join([headed_table(columns, rows[:_MOST_THREADS], sys.stderr), *more])


def _said(problem: str, advice: str) -> str:
    return f"{problem}. {advice}" if advice else problem
