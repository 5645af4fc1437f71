"""A receipt as a table that a person reads."""

from promptuary.core.receipts import Entry, Receipt
from promptuary.core.table import Column, table
from promptuary.core.text import one_line

_COLUMNS = (
    Column("layer"),
    Column("what"),
    Column("fate"),
    Column("detail"),
    Column("tokens", right=True),
    Column("window", right=True),
    Column("score", right=True),
    Column("why"),
)


def explain(receipt: Receipt) -> str:
    """Return what went in, what was cut and why, and what went wrong."""
    used = f"{receipt.tokens:,} of {receipt.window:,} tokens"
    lines = [
        f"turn {receipt.turn} of thread {one_line(receipt.thread)}: {used}, {receipt.reserve:,} kept for the reply"
    ]
    lines.append(table(_COLUMNS, [_row(entry) for entry in receipt.entries]))
    lines += [f"failed: {one.layer}.{one.hook}: {one.code}: {one_line(one.reason)}" for one in receipt.failures]
    lines += [f"warning: {one_line(warning)}" for warning in receipt.warnings]
    slow = [f"{run.layer}.{run.hook} {run.milliseconds:.0f} ms" for run in receipt.hooks if run.milliseconds >= 1]
    if slow:
        lines.append(f"hooks: {', '.join(slow)}")
    if receipt.blocked:
        lines.append("blocked: the message and what it points at do not fit into the window")
    return "\n".join(lines)


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        entry.layer,
        one_line(entry.label),
        entry.fate,
        entry.detail or "",
        f"{entry.tokens:,}",
        f"{entry.share:.1%}",
        "" if entry.score is None else f"{entry.score:g}",
        one_line(entry.reason),
    )
