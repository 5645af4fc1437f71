"""Decides what of everything goes into a prompt, so that it fits exactly. Pure.

The person's message and what it points at are kept whole. The rest of the window, less the reserve for the reply, is
shared: reservations first, then by water-filling among the layers that have something to say and the history. What a
layer leaves of its share goes to the history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptuary.context.history import MESSAGE_OVERHEAD, PricedHistory
from promptuary.core.budget import Claim, allocate
from promptuary.core.counting import TokenCounter
from promptuary.core.layers import Band, Between, Budget, Recall
from promptuary.core.messages import Item, Message, Prompt, as_message

HISTORY_SHARE = 0.4
"""The part of what reservations leave that the history may count on."""


@dataclass(frozen=True, slots=True)
class Room:
    """How large the window is, and how much of it is kept for the reply."""

    window: int
    reserve: int

    @property
    def usable(self) -> int:
        """The tokens that a prompt may cost."""
        return max(self.window - self.reserve, 0)


@dataclass(frozen=True, slots=True)
class Contribution:
    """A layer that has something to say: all of it, as it would cost."""

    layer: str
    band: Band
    budget: Budget
    recall: Recall
    tokens: int


def ceiling(budget: Budget, available: int) -> int:
    """Return the most that a layer with this budget may say."""
    match budget:
        case Between(max=None) | "auto":
            return max(available, 0)
        case Between(max=most):
            return max(min(most or 0, available), 0)
        case _:
            return max(min(budget, available), 0)


def promise(budget: Budget) -> int:
    """Return what is reserved for a layer with this budget."""
    match budget:
        case Between(min=least):
            return least
        case "auto":
            return 0
        case _:
            return budget


def recall_cost(said: Recall, counter: TokenCounter) -> int:
    """Return what a layer's message costs, its envelope included; nothing said costs nothing."""
    text = said.text
    return counter.count(text) + MESSAGE_OVERHEAD if text else 0


def shares(contributions: Sequence[Contribution], history: PricedHistory, available: int) -> dict[str, int]:
    """Return how many tokens each layer may use, envelope included; the history has the rest.

    What may never leave the history (instructions, pins) is not shared: it is taken off first.
    """
    stays = history.stays
    left = max(available - stays, 0)
    # A layer that says more than it may wants no more than it may.
    wants = [min(contribution.tokens, ceiling(contribution.budget, available)) for contribution in contributions]
    reserved = sum(
        min(want, promise(contribution.budget)) for want, contribution in zip(wants, contributions, strict=True)
    )
    counted_on = int(max(left - reserved, 0) * HISTORY_SHARE)
    claims = [
        Claim(want, promise(contribution.budget)) for want, contribution in zip(wants, contributions, strict=True)
    ]
    given = allocate([*claims, Claim(history.sent - stays, counted_on)], left)
    return {contribution.layer: share for contribution, share in zip(contributions, given, strict=False)}


def assemble(contributions: Sequence[Contribution], past: Sequence[Item], message: Message) -> Prompt:
    """Return the prompt: what is stable, what was said, what is live, and the message."""
    bands: Mapping[Band, list[Message]] = {"stable": [], "live": []}
    for contribution in contributions:
        bands[contribution.band].append({"role": "developer", "content": contribution.recall.text})
    return Prompt(bands["stable"], [as_message(item) for item in past], bands["live"], message)
