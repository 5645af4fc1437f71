"""Prints reports about stored data: a table of files, notes, and readable sizes."""

import sys

from promptuary.cli.terminal import headed_table
from promptuary.core.ledger import KeptReport
from promptuary.core.table import Column
from promptuary.core.text import one_line


def listed(report: KeptReport) -> str:
    """Return the files of a report as a table."""
    with_action = any(one.action for one in report.files)
    rows = [
        (*([one.action] if with_action else []), one.what, amount(one.bytes), one_line(one.path))
        for one in report.files
    ]
    columns = (*([Column("action")] if with_action else []), Column("what"), Column("size", right=True), Column("path"))
    return headed_table(columns, rows, sys.stdout)


def notes(report: KeptReport) -> None:
    """Print what was not included."""
    for note in report.notes:
        print(f"note: {note}", file=sys.stderr)


def amount(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"
