"""The entries of a receipt: what each part of a prompt is, costs, and why it is there or not. Pure."""

from collections.abc import Sequence

from promptuary.context.assemble import Contribution
from promptuary.context.history import Group, PricedHistory
from promptuary.core.blocks import Detail
from promptuary.core.counting import TokenCounter
from promptuary.core.expansion import Expansion, Outcome
from promptuary.core.layers import Recall
from promptuary.core.messages import Item
from promptuary.core.receipts import EntryStatus, ReceiptEntry


def of_layer(contribution: Contribution, window: int, counter: TokenCounter) -> list[ReceiptEntry]:
    """Return an entry for each piece that a layer put in, and for each that it left out."""
    pieces = [
        ReceiptEntry(
            layer=contribution.layer,
            label=piece.label,
            status="in" if piece.detail is Detail.FULL else "degraded",
            tokens=(tokens := counter.count(piece.text)),
            share=tokens / window,
            source=piece.source,
            revision=piece.revision,
            detail=piece.detail,
            score=piece.score,
            reason=piece.reason or "said by the layer",
        )
        for piece in contribution.recall.pieces
        if piece.text
    ]
    return pieces + left_out(contribution.layer, contribution.recall)


def left_out(layer: str, said: Recall) -> list[ReceiptEntry]:
    """Return an entry for each thing that a layer would have shown and did not."""
    return [
        ReceiptEntry(layer, one.label, "out", source=one.source, score=one.score, reason=one.reason)
        for one in said.omitted
    ]


def of_history(kept: Sequence[Item], history: PricedHistory, tokens: int, window: int) -> list[ReceiptEntry]:
    """Return an entry for the history, if there is one: what is ``kept`` of it costs ``tokens``."""
    everything = history.items
    if not everything:
        return []
    sendable = sum(len(group.sendable) for group, _ in history.priced)
    missing, stray = sendable - len(kept), len(everything) - sendable
    status: EntryStatus = "in" if not missing + stray else "degraded" if kept else "out"
    reasons = [f"the oldest {missing} do not fit"] if missing else []
    reasons += _unsent(history.strays)
    reason = "; ".join(reasons) or "what was said before"
    label = f"{len(kept)} of {len(everything)} messages"
    return [ReceiptEntry("history", label, status, tokens, tokens / window, reason=reason)]


def _unsent(strays: Sequence[Group]) -> list[str]:
    """Say which tool calls and results are not sent because they lack each other."""
    calls = sum(group.items[0].role == "assistant" and not group.sendable for group in strays)
    results = len(strays) - calls
    reasons = [f"{calls} unanswered tool call{'s are' if calls > 1 else ' is'} not sent"] if calls else []
    results_are = "results without a call are" if results > 1 else "result without a call is"
    return [*reasons, f"{results} tool {results_are} not sent"] if results else reasons


def of_references(expansion: Expansion, window: int) -> list[ReceiptEntry]:
    """Return an entry for each attached block and for each reference that has none."""
    blocks = [
        ReceiptEntry(
            layer="references",
            label=block.source.label,
            status="in" if block.detail is Detail.FULL else "degraded",
            tokens=block.tokens,
            share=block.tokens / window,
            source=f"file:{block.source.path}" if block.source.path else block.source.key,
            revision=block.source.revision,
            detail=block.detail,
            reason="goes with the message" if block.detail is Detail.FULL else "does not fit whole",
        )
        for block in expansion.blocks
    ]
    return blocks + [_absent(outcome) for outcome in expansion.outcomes if outcome.code]


def _absent(outcome: Outcome) -> ReceiptEntry:
    return ReceiptEntry("references", outcome.reference.raw, "out", reason=f"{outcome.code}: {outcome.reason}")


def of_message(tokens: int, window: int) -> ReceiptEntry:
    """Return the entry for the person's own words, which are always kept whole."""
    return ReceiptEntry(
        "message", "the message", "in", tokens, tokens / window, detail=Detail.FULL, reason="always whole"
    )
