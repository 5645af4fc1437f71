"""The entries of a receipt: what each part of a prompt is, costs, and why it is there or not. Pure."""

from collections.abc import Sequence

from promptuary.context.assemble import Voice
from promptuary.context.history import Past
from promptuary.core.blocks import Detail
from promptuary.core.counting import TokenCounter
from promptuary.core.expansion import Expansion, Outcome
from promptuary.core.layers import Recall
from promptuary.core.messages import Item
from promptuary.core.receipts import Entry, Fate


def of_layer(voice: Voice, window: int, counter: TokenCounter) -> list[Entry]:
    """Return an entry for each piece that a layer put in, and for each that it left out."""
    pieces = [
        Entry(
            layer=voice.layer,
            label=piece.label,
            fate="in" if piece.detail is Detail.FULL else "degraded",
            tokens=(tokens := counter.count(piece.text)),
            share=tokens / window,
            source=piece.source,
            revision=piece.revision,
            detail=piece.detail,
            score=piece.score,
            reason=piece.reason or "said by the layer",
        )
        for piece in voice.said.pieces
        if piece.text
    ]
    return pieces + left_out(voice.layer, voice.said)


def left_out(layer: str, said: Recall) -> list[Entry]:
    """Return an entry for each thing that a layer would have shown and did not."""
    return [
        Entry(layer, one.label, "out", source=one.source, score=one.score, reason=one.reason) for one in said.omitted
    ]


def of_history(kept: Sequence[Item], history: Past, tokens: int, window: int) -> list[Entry]:
    """Return an entry for the history, if there is one: what is ``kept`` of it costs ``tokens``."""
    everything = history.items
    if not everything:
        return []
    sendable = sum(len(group.sendable) for group, _ in history.priced)
    missing, stray = sendable - len(kept), len(everything) - sendable
    fate: Fate = "in" if not missing + stray else "degraded" if kept else "out"
    reasons = [f"the oldest {missing} do not fit"] if missing else []
    reasons += [f"{stray} of tool calls without their results are never sent"] if stray else []
    reason = "; ".join(reasons) or "what was said before"
    label = f"{len(kept)} of {len(everything)} messages"
    return [Entry("history", label, fate, tokens, tokens / window, reason=reason)]


def of_references(expansion: Expansion, window: int) -> list[Entry]:
    """Return an entry for each attached block and for each reference that has none."""
    blocks = [
        Entry(
            layer="references",
            label=block.source.label,
            fate="in" if block.detail is Detail.FULL else "degraded",
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


def _absent(outcome: Outcome) -> Entry:
    return Entry("references", outcome.reference.raw, "out", reason=f"{outcome.code}: {outcome.reason}")


def of_message(tokens: int, window: int) -> Entry:
    """Return the entry for the person's own words, which are always kept whole."""
    return Entry("message", "the message", "in", tokens, tokens / window, detail=Detail.FULL, reason="always whole")
