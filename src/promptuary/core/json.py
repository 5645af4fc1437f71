"""The JSON shapes of values that leave the process: what ``--json`` prints and what the ledger stores.

Every shape is written here and nowhere else. Whatever an older version stored can still be read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from promptuary.core.blocks import Detail, Trust
from promptuary.core.expansion import Expansion, Outcome
from promptuary.core.receipts import Failure, HookRun, Receipt, ReceiptEntry
from promptuary.core.references import Completion


def expansion_json(expansion: Expansion) -> dict[str, Any]:
    """Return what ``expand --json`` prints."""
    return {
        "text": expansion.text,
        "messages": list(expansion.messages),
        "references": [_outcome(one) for one in expansion.outcomes],
        "tokens": _fields(expansion.spend),
        "warnings": list(expansion.warnings),
        "blocked": expansion.blocked,
    }


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
        "sha256": outcome.sha256,
    }


def completion_json(completion: Completion) -> dict[str, Any]:
    """Return what ``complete --json`` prints."""
    return {
        "start": completion.start,
        "prefix": completion.prefix,
        "items": [_fields(item) for item in completion.items],
        "scanning": completion.scanning,
    }


def settings_json(workspace: str, settings: Mapping[str, tuple[object, str]], notes: Sequence[str]) -> dict[str, Any]:
    """Return what ``config --json`` prints. ``settings`` has the value and the origin of each setting."""
    return {
        "workspace": workspace,
        "settings": {name: {"value": value, "origin": origin} for name, (value, origin) in settings.items()},
        "notes": list(notes),
    }


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return the JSON object of ``receipt``."""
    return {
        "turn": receipt.turn,
        "thread": receipt.thread,
        "window": receipt.window,
        "reserve": receipt.reserve,
        "tokens": receipt.tokens,
        "entries": [_fields(entry) for entry in receipt.entries],
        "hooks": [_fields(run) for run in receipt.hooks],
        "failures": [_fields(failure) for failure in receipt.failures],
        "warnings": list(receipt.warnings),
        "blocked": receipt.blocked,
    }


def receipt_from_json(value: Mapping[str, Any]) -> Receipt:
    """Return the receipt whose JSON object is ``value``, made by this or an earlier version."""
    return Receipt(
        turn=value["turn"],
        thread=value["thread"],
        window=value["window"],
        reserve=value["reserve"],
        tokens=value["tokens"],
        entries=[_entry(entry) for entry in value["entries"]],
        hooks=[HookRun(**run) for run in value["hooks"]],
        failures=[Failure(**failure) for failure in value["failures"]],
        warnings=list(value["warnings"]),
        blocked=value["blocked"],
    )


def _entry(stored: Mapping[str, Any]) -> ReceiptEntry:
    fields = dict(stored)
    if "fate" in fields:  # what earlier versions called the status
        fields["status"] = fields.pop("fate")
    fields["detail"] = Detail(fields["detail"]) if fields["detail"] else None
    fields["trust"] = Trust(fields["trust"]) if fields.get("trust") else None
    fields["lines"] = (fields["lines"][0], fields["lines"][1]) if fields.get("lines") else None
    return ReceiptEntry(**fields)


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}
