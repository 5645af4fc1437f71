"""``promptuary expand``: the message as it would be sent, and what it costs."""

import argparse
import sys
from typing import Any

from promptuary.cli.common import message, opened, print_json
from promptuary.core.expansion import Expansion, Outcome
from promptuary.core.table import Column, table
from promptuary.core.text import one_line, visible

DONE, NOT_ALL = 0, 1


def main(options: argparse.Namespace) -> int:
    """Expand one message."""
    text = message(options)
    with opened(options) as promptuary:
        expansion = promptuary.expand(text)
    if options.json:
        print_json(as_json(expansion))
    else:
        _print_message(expansion)
    if not options.quiet:
        _print_account(expansion)
    return NOT_ALL if expansion.blocked or any(one.code for one in expansion.outcomes) else DONE


def as_json(expansion: Expansion) -> dict[str, Any]:
    """Return the object that ``expand --json`` prints; its shape is a promise."""
    return {
        "text": expansion.text,
        "messages": list(expansion.messages),
        "references": [_reference(one) for one in expansion.outcomes],
        "tokens": {
            "injected": expansion.spend.injected,
            "window": expansion.spend.window,
            "warn_at": expansion.spend.warn_at,
            "limit": expansion.spend.limit,
        },
        "warnings": list(expansion.warnings),
        "blocked": expansion.blocked,
    }


def _reference(one: Outcome) -> dict[str, Any]:
    return {
        "raw": one.reference.raw,
        "kind": one.reference.kind,
        "target": one.target,
        "start": one.reference.start,
        "end": one.reference.end,
        "lines": list(one.lines) if one.lines else None,
        "status": one.status,
        "code": one.code,
        "reason": one.reason,
        "detail": one.detail,
        "tokens": one.tokens,
        "sha256": one.sha256,
    }


def _print_message(expansion: Expansion) -> None:
    content = expansion.messages[-1]["content"]
    # On a terminal the person's own text is made harmless too; a pipe gets it as it is sent.
    print(visible(content)[0] if sys.stdout.isatty() else content)


def _print_account(expansion: Expansion) -> None:
    """Print what went in, what did not and why."""
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
    for warning in expansion.warnings:
        if not any(one.code and warning.startswith(one.reference.raw) for one in expansion.outcomes):
            print(f"warning: {one_line(warning)}", file=sys.stderr)
    if expansion.blocked:
        print("blocked: not everything fits, not even by name; attach less or raise --limit", file=sys.stderr)
    print(f"[@ context: {expansion.spend.injected:,} tokens injected]", file=sys.stderr)
