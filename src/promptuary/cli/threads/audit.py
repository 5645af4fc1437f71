"""``promptuary thread audit``: the turns of a source, and the sources of a turn."""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.base.table import Column
from promptuary.base.text import one_line, shortened
from promptuary.blocking import Promptuary
from promptuary.cli.common import print_json
from promptuary.cli.terminal import headed_table
from promptuary.cli.threads.pending import DONE, NOTHING, thread_of
from promptuary.present.threads import audit_json
from promptuary.threads.ledger_values import AuditRow

_REVISION: Final = 12
"""Characters of a revision that are printed."""
_ASKED: Final = 40
"""Characters of what the person said that are printed."""


def audit(promptuary: Promptuary, options: argparse.Namespace) -> int:
    """Print the turns of a source, or the sources of a turn."""
    if (options.source is None) == (options.turn is None):
        raise PromptuaryError("thread audit needs a source, or --turn N with -t THREAD")
    if options.turn is not None:
        return _turn(promptuary, options)
    found = promptuary.threads.audit(options.source, finished_only=options.finished, limit=options.limit)
    if options.json:
        print_json(audit_json(found))
    elif found.rows:
        columns = (
            Column("thread"),
            Column("turn", right=True),
            Column("date"),
            Column("status"),
            *_COLUMNS,
            Column("asked"),
        )
        print(
            headed_table(
                columns,
                [
                    (one_line(row.thread), str(row.number), row.created, row.status, *_told(row), _asked(row))
                    for row in found.rows
                ],
                sys.stdout,
            )
        )
    if found.more and not options.quiet:
        print(f"showing the last {options.limit:,} rows; --limit N shows more", file=sys.stderr)
    if not found.rows:
        print("no finished turn contained it", file=sys.stderr)
    return DONE if found.rows else NOTHING


def _turn(promptuary: Promptuary, options: argparse.Namespace) -> int:
    rows = promptuary.threads.sources(thread=thread_of(options), number=options.turn)
    if options.json:
        print_json({"sources": rows})
    elif rows:
        listed = [(one_line(row.source), *_told(row)) for row in rows]
        print(headed_table((Column("source"), *_COLUMNS), listed, sys.stdout))
    if not rows:
        print("this turn has no sources besides the conversation", file=sys.stderr)
    return DONE if rows else NOTHING


def _asked(row: AuditRow) -> str:
    return shortened(one_line(" ".join(row.text.split())), _ASKED)


_COLUMNS: Final = (Column("how"), Column("layer"), Column("lines"), Column("revision"), Column("now"))


def _told(row: AuditRow) -> Sequence[str]:
    lines = f"{row.lines[0]}-{row.lines[1]}" if row.lines else ""
    now = "" if row.current is None else "unchanged" if row.current else "changed"
    revision = one_line(row.revision[:_REVISION]) if row.revision else "forgotten"
    return row.how, one_line(row.layer), lines, revision, now if row.revision else ""
