"""The interface of a compaction strategy, and its result.

A strategy changes a history by replacements only: one item takes the place of others and lists their ids in
``stands_for``. Items are never merely removed, so everything that left a history can be found from the items in it.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.messages import Item, Replacement


class Compacted(Struct, frozen=True):
    """The result of a strategy: the new history, the replacements, and a remark for people.

    ``name`` is the strategy that did the work, which may be a fallback of the one that was called.
    """

    name: str
    items: tuple[Item, ...]
    replacements: tuple[Replacement, ...] = ()
    remark: str = ""


class Strategy(Protocol):
    """Makes a history smaller. It replaces only whole groups, and neither fixed groups nor the newest items."""

    async def compact(self, items: Sequence[Item], goal_tokens: int, counter: TokenCounter) -> Compacted:
        """Bring ``items`` down towards ``goal_tokens``; each replacement costs less than what it replaces."""
        ...


def everything_behind(items: Iterable[Item]) -> tuple[str, ...]:
    """Return the ids of ``items`` and of everything they stand for, each once."""
    return tuple(dict.fromkeys(one for item in items for one in (item.id, *item.stands_for)))


def put_in_place(items: Sequence[Item], replacements: Sequence[Replacement]) -> tuple[Item, ...]:
    """Return the history after ``replacements``."""
    gone = {one for replacement in replacements for one in replacement.ids}
    coming = {replacement.ids[0]: replacement.item for replacement in replacements}
    return tuple(coming.get(item.id, item) for item in items if item.id not in gone or item.id in coming)


def in_one_step(first: Sequence[Replacement], then: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """Return the combined effect of ``first`` and ``then``, without the intermediate items, which are never stored."""
    intermediate = {replacement.item.id: replacement.ids for replacement in first}
    gone = {one for replacement in then for one in replacement.ids}
    left = [replacement for replacement in first if replacement.item.id not in gone]
    return (*left, *(_without(replacement, intermediate) for replacement in then))


def _without(replacement: Replacement, intermediate: dict[str, tuple[str, ...]]) -> Replacement:
    ids = tuple(before for one in replacement.ids for before in intermediate.get(one, (one,)))
    behind = tuple(one for one in replacement.item.stands_for if one not in intermediate)
    return Replacement(ids, replace(replacement.item, stands_for=behind))
