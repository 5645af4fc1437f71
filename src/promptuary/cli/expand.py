"""``promptuary expand``: prints the message as it would be sent, and what each reference costs."""

import argparse
import sys

from promptuary.cli.common import message, opened, print_json
from promptuary.core.expansion import Expansion
from promptuary.core.table import Column, table
from promptuary.core.text import one_line, visible

DONE, NOT_ALL = 0, 1


def main(options: argparse.Namespace) -> int:
    """Expand one message."""
    text = message(options)
    with opened(options) as promptuary:
        expansion = promptuary.expand(text)
    if options.json:
        from promptuary.core.json import expansion_json  # noqa: PLC0415  (imports every value that has a shape)

        print_json(expansion_json(expansion))
    else:
        _print_message(expansion)
    if not options.quiet:
        _print_account(expansion)
    return NOT_ALL if expansion.blocked or any(one.code for one in expansion.outcomes) else DONE


def _print_message(expansion: Expansion) -> None:
    content = expansion.messages[-1]["content"]
    # A terminal gets no control characters, not even of the person's own text; a pipe gets the exact text.
    print(visible(content)[0] if sys.stdout.isatty() else content)


def _print_account(expansion: Expansion) -> None:
    """Print a table of the references, the warnings and the total."""
    window = expansion.spend.window
    rows = [
        (
            one_line(one.reference.raw),
            f"{one.tokens:,}" if not one.code else "-",
            one.detail or one.status,
            f"{one.tokens / window:.1%}" if not one.code else "-",
            one_line(f"{one.code}: {one.reason}" if one.code else one.reason or ""),
        )
        for one in expansion.outcomes
    ]
    if rows:
        columns = (
            Column("reference"),
            Column("tokens", right=True),
            Column("detail"),
            Column("window", right=True),
            Column(""),
        )
        print(table(columns, rows), file=sys.stderr)
    for warning in expansion.general_warnings:  # the table has those of single references
        print(f"warning: {one_line(warning)}", file=sys.stderr)
    if expansion.blocked:
        print("blocked: not even the names of all references fit; attach less, or raise --limit", file=sys.stderr)
    print(f"[@ context: {expansion.spend.injected:,} tokens injected]", file=sys.stderr)
