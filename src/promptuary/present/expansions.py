"""The JSON of messages with their references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from promptuary.base.messages import Message, as_recorded
from promptuary.context.receipt import Receipt, receipt_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.references.expansion import Expansion, Outcome


def expansion_json(expansion: Expansion) -> dict[str, Any]:
    """Return what ``expand --json`` prints."""
    return {
        "text": expansion.text,
        "messages": list(map(as_recorded, expansion.messages)),
        "references": [_outcome(outcome) for outcome in expansion.outcomes],
        "left_out": to_builtins(expansion.left_out),
        "slips": to_builtins(expansion.slips),
        "tokens": to_builtins(expansion.spend),
        "warnings": list(expansion.warnings),
        "blocked": expansion.blocked,
    }


def turn_json(expansion: Expansion, messages: Sequence[Message], receipt: Receipt) -> dict[str, Any]:
    """Return what ``expand --thread --json`` prints: an expansion with the messages of the whole prompt."""
    return expansion_json(expansion) | {"messages": list(map(as_recorded, messages)), "receipt": receipt_json(receipt)}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "raw": outcome.reference.raw,
        "kind": outcome.reference.kind,
        "target": outcome.target,
        "start": outcome.reference.start,
        "end": outcome.reference.end,
        "lines": list(outcome.lines) if outcome.lines else None,
        "status": outcome.status,
        "code": outcome.code,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "tokens": outcome.tokens,
        "whole_tokens": outcome.whole_tokens,
        "sha256": outcome.sha256,
    }
