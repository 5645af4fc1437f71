"""``/why`` at a terminal: the receipt of a turn as a table, the window as a bar. Uses rich, which is loaded here."""

import sys
from collections.abc import Sequence
from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from promptuary.base.text import one_line
from promptuary.context.receipt import Receipt, ReceiptEntry
from promptuary.present.threads import drift_lines
from promptuary.present.window_bar import FREE, REPLY, Segment, segments
from promptuary.threads.values import Replay

_COLOURS: Final = ("cyan", "green", "magenta", "blue", "yellow", "bright_cyan", "bright_green", "bright_magenta")
_STATUS: Final = {"in": "green", "degraded": "yellow", "out": "red"}
_MAX_BAR: Final = 76
_TITLES: Final = ("layer", "what", "status", "tokens", "window", "why")
_GAP: Final = 2
_MAX_WORD: Final = 24
"""The longest word of a reason, in characters, that is not broken."""
_MIN_ROOMY: Final = 100
"""The fewest columns that leave room for a state on one line."""
_MIN_NAME: Final = 14
"""The fewest columns of a name."""
_NARROW: Final = 72
"""Columns below which the table omits what the lines below it or the bar show."""
_NARROW_COLUMNS: Final = 4
"""How many columns such a table has."""


def show_why(replay: Replay) -> None:
    """Print the receipt of a turn."""
    turn = replay.turn
    show_receipt(f"{replay.heading()}: {one_line(turn.text)[:200]}", turn.receipt, list(drift_lines(replay)))


def show_receipt(title: str, receipt: Receipt, remarks: Sequence[str] = ()) -> None:
    """Print a receipt: its table, the bar of the window, and remarks."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.print(Text(title, style="bold"))
    narrow = console.width < _NARROW
    console.print(_table(receipt, None if narrow else console.width))
    if narrow:
        for entry in receipt.rows:
            if entry.reason and entry.status != "in":
                whole = f"; {entry.whole_tokens:,} tokens whole" if entry.whole_tokens else ""
                console.print(Text(f"{one_line(entry.label)}: {one_line(entry.reason)}{whole}", style="dim"))
    console.print(_bar(receipt, min(_MAX_BAR, max(console.width - 2, 20)), coloured=not console.no_color))
    for line in (*_remarks(receipt), *remarks):
        console.print(Text(line, style="yellow"))


def _table(receipt: Receipt, width: int | None) -> Table:
    """Return the table for a terminal of this width; if it is ``None``, for a narrow terminal."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    colours = _colours(segments(receipt, _MAX_BAR))
    shown = _NARROW_COLUMNS if width is None else len(_TITLES)
    tokens = "{0.tokens:,}" if width is None else "{0.tokens_text}"
    rows = [_row(entry, colours.get(entry.layer, ""), tokens.format(entry))[:shown] for entry in receipt.rows]
    widest = _max_widths(rows, width) if width is not None else {}
    for title in _TITLES[:shown]:
        number = title in {"tokens", "window"}
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(title, justify=justify, overflow="fold", no_wrap=number, max_width=widest.get(title))
    for row in rows:
        table.add_row(*row)
    return table


def _max_widths(rows: Sequence[tuple[Text, ...]], width: int) -> dict[str, int]:
    """Return how wide names and states may be so that the words of the reasons are not broken."""
    cells = {title: [title, *(row[place].plain for row in rows)] for place, title in enumerate(_TITLES)}
    words = {title: max(len(word) for cell in column for word in cell.split()) for title, column in cells.items()}
    wide = {title: max(map(len, column)) for title, column in cells.items()}
    state = wide["status"] if width >= _MIN_ROOMY else words["status"]
    taken = wide["layer"] + state + wide["tokens"] + wide["window"] + _GAP * (len(_TITLES) - 1)
    return {"status": state, "what": max(width - taken - min(words["why"], _MAX_WORD), _MIN_NAME)}


def _row(entry: ReceiptEntry, colour: str, tokens: str) -> tuple[Text, ...]:
    status = entry.status if entry.detail in {None, "full"} else f"{entry.status}, {entry.detail}"
    return (
        Text(one_line(entry.layer), style=colour),
        Text(one_line(entry.label)),
        Text(status, style=_STATUS[entry.status]),
        Text(tokens),
        Text(f"{entry.share:.1%}"),
        Text(one_line(entry.reason), style="dim"),
    )


def _colours(parts: list[Segment]) -> dict[str, str]:
    named = [part.name for part in parts if part.name not in {REPLY, FREE}]
    return {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(named)}


def _bar(receipt: Receipt, width: int, *, coloured: bool) -> Text:
    """Return the bar of the window and its legend; without colours, each layer has a mark of its own."""
    parts = segments(receipt, width)
    colours = _colours(parts) | {REPLY: "white", FREE: "dim"}
    bar, legend = Text(), Text("\n")
    for place, part in enumerate(parts):
        mark = part.mark(0 if coloured else place)
        bar.append(mark * part.cells, style=colours[part.name])
        legend.append(f"{mark} ", style=colours[part.name])
        legend.append(f"{one_line(part.name)} {part.tokens:,} ({part.tokens / max(receipt.window, 1):.1%})  ")
    return bar + legend


def _remarks(receipt: Receipt) -> list[str]:
    failed = [f"failed: {run.layer}.{run.hook}: {one_line(run.reason)}" for run in receipt.failures]
    return [*failed, *(f"warning: {one_line(warning)}" for warning in receipt.warnings)]
