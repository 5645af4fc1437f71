"""The JSON shapes, and what earlier versions wrote."""

import json

from promptuary.core.blocks import Detail
from promptuary.core.json import receipt_from_json, receipt_json
from promptuary.core.receipts import Failure, HookRun, Receipt, ReceiptEntry

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


def test_a_receipt_of_an_earlier_version_is_read() -> None:
    stored = receipt_json(RECEIPT)
    for entry in stored["entries"]:
        entry["fate"] = entry.pop("status")

    assert receipt_from_json(json.loads(json.dumps(stored))) == RECEIPT
