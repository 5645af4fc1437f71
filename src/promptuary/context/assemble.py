"""Divides the window among the layers and the history, and assembles the prompt. Pure.

The person's message and its attachments are always sent whole. The rest of the window, less the reserve for the reply,
is divided: reservations first, then room for the results of tools, then by water-filling among the layers that have
content and the history. What a layer does not use goes to the history.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Omitted
from promptuary.base.budget import Claim, TokenCounter, allocate
from promptuary.base.messages import MESSAGE_OVERHEAD, Item, Message, Prompt, as_message
from promptuary.context.history import PricedHistory
from promptuary.layers.layer import Band, Budget, BudgetRange, Recall

_LOOP_SHARE = 8
"""One part in so many, beyond the layers' reservations, is left free for calls of tools and their results."""


class Room(Struct, frozen=True):
    """The size of the window, and how much of it is reserved for the reply.

    ``history_share`` is the part of the tokens beyond the layers' reservations that the history always gets.
    """

    window: int
    reserve: int
    history_share: float = 0.4

    @property
    def usable(self) -> int:
        """The tokens that a prompt may cost."""
        return max(self.window - self.reserve, 0)


class Contribution(Struct, frozen=True):
    """The output of a layer for the prompt, and its cost with the envelope."""

    layer: str
    band: Band
    budget: Budget
    recall: Recall
    tokens: int


def ceiling(budget: Budget, available: int) -> int:
    """Return the most tokens that a layer with this budget may use."""
    match budget:
        case BudgetRange(max=None) | "auto" | 0:
            return max(available, 0)
        case BudgetRange(max=most):
            return max(min(most or 0, available), 0)
        case _:
            return max(min(budget, available), 0)


def promise(budget: Budget, wants: int) -> int:
    """Return how many of the tokens that a layer ``wants`` are reserved for it."""
    match budget:
        case BudgetRange(min=least):
            return min(least, wants)
        case "auto":
            return 0
        case 0:
            return wants
        case _:
            return min(budget, wants)


def recall_cost(recall: Recall, counter: TokenCounter) -> int:
    """Return the cost of a layer's messages, including their envelopes; an empty recall costs nothing."""
    return sum(counter.count(text) + MESSAGE_OVERHEAD for text in (recall.text, recall.updates_text) if text)


def without_room(contribution: Contribution, share: int) -> Contribution:
    """Return ``contribution`` of a layer whose ``share`` has no room for a message: everything in it is omitted.

    If it is stable content, a note tells the person.
    """
    recall = contribution.recall
    reason = f"{contribution.tokens:,} tokens, and {share:,} are left for it"
    out = [
        Omitted(one.source.label, reason, one.source.address, one.score, one.whole_cost)
        for one in (*recall.blocks, *recall.updates)
    ]
    told = [f"{contribution.layer} is not sent: {reason}"] if out and contribution.band == "stable" else []
    nothing = Recall(omitted=(*recall.omitted, *out), notes=(*recall.notes, *told))
    return replace(contribution, recall=nothing, tokens=0)


def shares(
    contributions: Sequence[Contribution], history: PricedHistory, available: int, history_share: float = 0.4
) -> tuple[dict[str, int], int]:
    """Return how many tokens each layer may use, envelope included, and how many the history may.

    Instructions and pinned items always stay in the history; their cost is deducted first.
    """
    left = max(available - history.fixed, 0)
    # A layer cannot want more than its ceiling, whatever it returned.
    wants = [min(one.tokens, ceiling(one.budget, available)) for one in contributions]
    claims = [Claim(want, promise(one.budget, want)) for one, want in zip(contributions, wants, strict=True)]
    free = max(left - sum(claim.promised for claim in claims), 0)
    loop = free // _LOOP_SHARE
    promised = min(int(free * history_share), free - loop)
    given = allocate([*claims, Claim(history.sent - history.fixed, promised)], left - loop)[:-1]
    layers = {one.layer: share for one, share in zip(contributions, given, strict=True)}
    return layers, available - sum(given) - loop


def speakers(contributions: Sequence[Contribution]) -> tuple[str, ...]:
    """Return the layer of each message before the history, and then of each after it."""
    bands: Mapping[Band, list[str]] = {"stable": [], "live": []}
    for one in contributions:
        bands[one.band] += [one.layer] if one.recall.text else []
        bands["live"] += [one.layer] if one.recall.updates_text else []
    return (*bands["stable"], *bands["live"])


def assemble(contributions: Sequence[Contribution], past: Sequence[Item], message: Message) -> Prompt:
    """Return the prompt: the stable layers, the history, the live layers with the updates of all, and the message."""
    bands: Mapping[Band, list[Message]] = {"stable": [], "live": []}
    for contribution in contributions:
        recall = contribution.recall
        for band, text in ((contribution.band, recall.text), ("live", recall.updates_text)):
            if text:
                bands[band].append({"role": "developer", "content": text})
    return Prompt(bands["stable"], [as_message(item) for item in past], bands["live"], message)
