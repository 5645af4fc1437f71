"""One table a benchmark: what was measured, and how it compares with the first row of its group."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement and its ratio to the peer or the limit beside it."""

    what: str
    value: float
    unit: str
    ratio: float | None = None


def report(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}\n")
    width = max(len(row.what) for row in rows)
    for row in rows:
        ratio = "" if row.ratio is None else f"  {row.ratio:8.2f}x"
        print(f"  {row.what:<{width}}  {row.value:12,.2f} {row.unit:<5}{ratio}")
