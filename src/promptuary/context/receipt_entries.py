"""The parts of a prompt as blocks, and the entries of its receipt. Pure.

Layers, references, the history and the message are all parts: blocks, and what was left out. One function turns a block
of any part into an entry.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from promptuary.base.blocks import Block, Detail, Omitted, Source, content_hash
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import Code
from promptuary.base.messages import Item
from promptuary.base.text import beginning, one_line
from promptuary.context.assemble import Contribution
from promptuary.context.compact.envelope import body_of, how_many
from promptuary.context.history import Group, PricedHistory
from promptuary.context.receipt import ReceiptEntry
from promptuary.models.chat_model import ToolSpec
from promptuary.references.expansion import Expansion

if TYPE_CHECKING:
    from promptuary.layers.layer import Band

TOOLS: Final = "tools"
"""The name of the tool descriptions in receipts."""
_LONGEST_ORIGIN: Final = 300
_TOOL_OVERHEAD: Final = 12
"""About how many tokens services add around the description of a tool."""


class PromptPart(Struct, frozen=True):
    """The blocks of one layer (or ``references``, ``history``, ``message``), and what it left out."""

    layer: str
    blocks: Sequence[Block] = ()
    omitted: Sequence[Omitted] = ()

    @property
    def tokens(self) -> int:
        """The cost of its blocks."""
        return sum(block.tokens for block in self.blocks)


def entries(parts: Sequence[PromptPart], window: int) -> list[ReceiptEntry]:
    """Return an entry for each block of ``parts`` and for each thing that was left out, in order."""
    found = []
    for part in parts:
        found += [_of_block(part.layer, block, window) for block in part.blocks]
        found += [_of_omitted(part.layer, omitted) for omitted in part.omitted]
    return found


def _of_block(layer: str, block: Block, window: int) -> ReceiptEntry:
    source = block.source
    return ReceiptEntry(
        layer=layer,
        label=source.label,
        status="in" if block.detail is Detail.FULL else "degraded",
        tokens=block.tokens,
        share=block.tokens / window,
        source=source.address,
        revision=source.revision,
        detail=block.detail,
        score=block.score,
        reason=block.reason or "added by the layer",
        trust=source.trust,
        lines=source.lines,
        whole_tokens=block.whole_tokens,
    )


def _of_omitted(layer: str, omitted: Omitted) -> ReceiptEntry:
    return ReceiptEntry(
        layer=layer,
        label=omitted.label,
        status="out",
        tokens=omitted.tokens,
        source=omitted.source,
        score=omitted.score,
        reason=omitted.reason,
    )


def of_layers(contributions: Sequence[Contribution]) -> tuple[list[PromptPart], list[PromptPart]]:
    """Return the parts that the layers contribute before and after the history, in the order of the prompt."""
    parts: dict[Band, list[PromptPart]] = {"stable": [], "live": []}
    for one in contributions:
        recall = one.recall
        parts[one.band].append(PromptPart(one.layer, _with_text(recall.blocks), recall.omitted))
        if recall.updates:
            parts["live"].append(PromptPart(one.layer, _with_text(recall.updates)))
    return parts["stable"], parts["live"]


def _with_text(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if block.text]


def of_history(sent: Sequence[Item], history: PricedHistory, tokens: int) -> PromptPart:
    """Return the history as a part: one block for the messages that are ``sent``, which cost ``tokens``.

    The messages themselves are in the prompt; the block has no text.
    """
    if not history.items and not history.unspoken:
        return PromptPart("history")
    missing = _missing(len(sent), history)
    reasons = [f"the oldest {missing} do not fit"] if missing else []
    reasons += [*_compacted(sent), *_unsent(history.strays)]
    if history.unspoken:
        reasons.append(f"{history.unspoken} that no user, assistant or tool said {_is(history.unspoken)} not sent")
    every = len(history.items) + history.unspoken
    label, reason = f"{len(sent)} of {every} messages", "; ".join(reasons) or "what was said before"
    if not sent:
        return PromptPart("history", omitted=[Omitted(label, reason, tokens=history.whole or history.sent)])
    # Items never change, so their ids identify a state of a history.
    source = Source("history", label, "history", "", content_hash("\n".join(item.id for item in sent)))
    detail = Detail.EXCERPT if reasons else Detail.FULL
    whole = history.whole if reasons else 0
    return PromptPart("history", [Block(source, detail, "", tokens, reason=reason, whole_tokens=whole)])


def _compacted(sent: Sequence[Item]) -> list[str]:
    """Return how many messages are sent as a summary, only counted, or sent without a part of their text."""
    summaries = [item for item in sent if item.kind == "summary"]
    counts = {
        "sent as a summary": how_many(item for item in summaries if body_of(item)),
        "left out": how_many(item for item in summaries if not body_of(item)),
        "shortened": sum(item.kind != "summary" and bool(item.stands_for) for item in sent),
    }
    return [f"{_messages(count)} {_is(count)} {how}" for how, count in counts.items() if count]


def unsent_warnings(sent: int, history: PricedHistory) -> tuple[str, ...]:
    """Return warnings about messages that are not sent: all but so many."""
    missing, unspoken = _missing(sent, history), history.unspoken
    warnings = [f"{_messages(missing)} of the history {_is(missing)} not sent: no room is left"] if missing else []
    if unspoken:
        why = f"no user, assistant or tool said {'them' if unspoken > 1 else 'it'}"
        warnings.append(f"{_messages(unspoken)} of the history {_is(unspoken)} not sent: {why}")
    return tuple(warnings)


def _messages(count: int) -> str:
    return f"{count:,} messages" if count > 1 else "a message"


def _is(count: int) -> str:
    return "are" if count > 1 else "is"


def _missing(sent: int, history: PricedHistory) -> int:
    return sum(len(group.sendable) for group, _ in history.priced) - sent


def _unsent(strays: Sequence[Group]) -> list[str]:
    """Return how many tool calls and results are not sent because their counterpart is missing."""
    calls = sum(group.items[0].role == "assistant" and not group.sendable for group in strays)
    results = len(strays) - calls
    reasons = [f"{calls} unanswered tool call{'s are' if calls > 1 else ' is'} not sent"] if calls else []
    results_are = "results without a call are" if results > 1 else "result without a call is"
    return [*reasons, f"{results} tool {results_are} not sent"] if results else reasons


def cost_of_tool(tool: ToolSpec, counter: TokenCounter) -> int:
    """Return what the description of a tool costs: each service formats it in its own way, at about this cost."""
    return counter.count(_described(tool)) + _TOOL_OVERHEAD


def _described(tool: ToolSpec) -> str:
    return json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False)


def of_tools(tools: Sequence[ToolSpec], counter: TokenCounter, left_out: Sequence[Omitted] = ()) -> PromptPart:
    """Return the tool descriptions as a part, and which tools are ``left_out``.

    They are not messages: the block has no text.
    """
    if not tools:
        return PromptPart(TOOLS, omitted=left_out)
    said = [_described(one) for one in tools]
    tokens = sum(cost_of_tool(one, counter) for one in tools)
    label = f"{len(tools)} tool{'s' * (len(tools) > 1)}"
    source = Source(TOOLS, label, TOOLS, "", content_hash("\n".join(said)))
    names = one_line(", ".join(one.name for one in tools))
    return PromptPart(TOOLS, [Block(source, Detail.FULL, "", tokens, reason=names)], left_out)


def of_references(expansion: Expansion) -> PromptPart:
    """Return the attachments of the message as a part: its blocks, and the references without one."""
    # What did not fit has a row for each file.
    failed = [one for one in expansion.outcomes if one.code and one.code is not Code.BUDGET_EXCEEDED]
    absent = [Omitted(one.reference.raw, f"{one.code}: {one.reason}") for one in failed]
    return PromptPart("references", expansion.blocks, [*absent, *expansion.left_out])


def of_message(words: str, tokens: int, origin: str = "") -> PromptPart:
    """Return the person's own words as a part; they are always sent whole. ``origin`` is the prompt they are from."""
    reason = f"always whole; from {beginning(one_line(origin), _LONGEST_ORIGIN)}" if origin else "always whole"
    block = Block.of(words, "the message", source="message", tokens=tokens, reason=reason)
    return PromptPart("message", [block])
