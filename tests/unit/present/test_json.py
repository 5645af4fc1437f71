"""The JSON shapes, and what earlier versions wrote."""

import json

from msgspec import to_builtins

from promptuary.base.blocks import Detail
from promptuary.base.errors import Code
from promptuary.base.references import Completion, MenuItem, Reference
from promptuary.cli.config import settings_json
from promptuary.context.receipt import Receipt, ReceiptEntry, receipt_from_json, receipt_json
from promptuary.layers.layer import Failure, HookRun
from promptuary.present.expansions import expansion_json
from promptuary.references.expansion import Expansion, Outcome, TokenUse

RECEIPT = Receipt(
    turn="turn-1",
    thread="main",
    window=8_000,
    reserve=1_000,
    tokens=14,
    entries=[
        ReceiptEntry("references", "a.py", "degraded", 10, 0.00125, "file:a.py", "ab", Detail.EXCERPT, 0.5, "too long"),
        ReceiptEntry("message", "the message", "in", 4),
    ],
    hooks=[HookRun("files", "recall", 1.5)],
    failures=[Failure("files", "store", "TIMEOUT", "stopped after 5 s")],
    warnings=["something"],
    blocked=True,
)


def test_a_receipt_is_the_same_after_it_was_json() -> None:
    assert receipt_from_json(json.loads(json.dumps(receipt_json(RECEIPT)))) == RECEIPT


def test_an_expansion_has_the_promised_shape() -> None:
    asked = Reference("@file:a.py:1-2", "@", "file", "a.py:1-2", 4, 18)
    gone = Reference("@b.py", "@", "file", "b.py", 19, 24)
    outcomes = (
        Outcome(asked, "included", "a.py", 9, (1, 2), Detail.FULL, "ab"),
        Outcome(gone, "missing", "b.py", code=Code.NOT_FOUND, reason="there is no b.py"),
    )
    spend = TokenUse(9, 8_000, 2_000, 4_000)
    expansion = Expansion("See it", ({"role": "user", "content": "See it"},), outcomes, (), spend, ("large",))

    assert json.loads(json.dumps(expansion_json(expansion))) == {
        "text": "See it",
        "messages": [{"role": "user", "content": "See it"}],
        "references": [
            {
                "raw": "@file:a.py:1-2",
                "kind": "file",
                "target": "a.py",
                "start": 4,
                "end": 18,
                "lines": [1, 2],
                "status": "included",
                "code": None,
                "reason": None,
                "detail": "full",
                "tokens": 9,
                "whole_tokens": 0,
                "sha256": "ab",
            },
            {
                "raw": "@b.py",
                "kind": "file",
                "target": "b.py",
                "start": 19,
                "end": 24,
                "lines": None,
                "status": "missing",
                "code": "NOT_FOUND",
                "reason": "there is no b.py",
                "detail": None,
                "tokens": 0,
                "whole_tokens": 0,
                "sha256": None,
            },
        ],
        "left_out": [],
        "slips": [],
        "tokens": {"injected": 9, "window": 8_000, "warn_at": 2_000, "limit": 4_000},
        "warnings": ["large", "@b.py: there is no b.py"],
        "blocked": False,
    }


def test_a_completion_has_the_promised_shape() -> None:
    completion = Completion(5, "@a", (MenuItem("@a.py", "a.py", "file", "12 B", (0,), "a.py"),), scanning=True)

    assert json.loads(json.dumps(to_builtins(completion))) == {
        "start": 5,
        "prefix": "@a",
        "items": [{"insert": "@a.py", "label": "a.py", "kind": "file", "hint": "12 B", "matches": [0], "path": "a.py"}],
        "scanning": True,
    }


def test_settings_have_the_promised_shape() -> None:
    assert json.loads(json.dumps(settings_json("/w", {"allow_hosts": (("a", "b"), "flag")}, ["a note"]))) == {
        "workspace": "/w",
        "settings": {"allow_hosts": {"value": ["a", "b"], "origin": "flag"}},
        "notes": ["a note"],
    }
