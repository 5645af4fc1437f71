"""Replaces the oldest groups of a history by one line that says how many messages they were.

The last resort: the model no longer sees anything of them; the ledger has them.
"""

from collections.abc import Sequence

from msgspec import Struct

from promptuary.base.budget import TokenCounter
from promptuary.base.messages import MESSAGE_OVERHEAD, Item, Replacement, cost
from promptuary.context.compact.envelope import how_many, marker_for, marker_line
from promptuary.context.compact.types import Compacted, put_in_place
from promptuary.context.history import older


class Trim(Struct, frozen=True):
    """Drops as many of the oldest groups as necessary."""

    keep_last: int

    async def compact(self, items: Sequence[Item], goal_tokens: int, counter: TokenCounter) -> Compacted:
        """Replace the oldest groups by a line that says how many messages they were."""
        left, count = cost(items, counter), 0
        gone: list[Item] = []
        for group in older(items, self.keep_last):
            if left + _price(count, counter) <= goal_tokens:
                break
            gone += group.items
            left -= cost(group.items, counter)
            count += how_many(group.items)
        if not gone or _price(count, counter) >= cost(gone, counter):
            return Compacted("trim", tuple(items))
        replacement = Replacement(tuple(item.id for item in gone), marker_for(gone))
        return Compacted("trim", put_in_place(items, [replacement]), (replacement,))


def _price(count: int, counter: TokenCounter) -> int:
    return MESSAGE_OVERHEAD + counter.count(marker_line(count)) if count else 0
