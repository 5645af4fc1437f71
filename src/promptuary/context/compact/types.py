"""What a way of making room is, and what comes of it.

Knows nothing of any particular way. Whatever a strategy does to a history is a set of replacements: some items leave
it, one item takes the place of the first of them and names in ``stands_for`` everything it stands for. Nothing is ever
only removed, so that whatever left a history can be found from what is in it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from promptuary.core.counting import TokenCounter
from promptuary.core.messages import Item, Replacement


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a strategy made of a history: the history after it, what was replaced, and a remark for people.

    ``name`` is the strategy that did it, which may be another than the one that was asked.
    """

    name: str
    items: tuple[Item, ...]
    replacements: tuple[Replacement, ...] = ()
    remark: str = ""


class Strategy(Protocol):
    """A way of making room. It takes whole groups only and leaves kept items and the newest ones alone."""

    async def compact(self, items: Sequence[Item], goal_tokens: int, counter: TokenCounter) -> Compacted:
        """Bring ``items`` down towards ``goal_tokens``: what it replaces costs less than before, or nothing changes."""
        ...


def everything_behind(items: Iterable[Item]) -> tuple[str, ...]:
    """Return the ids of ``items`` and of all that they stand for, each once."""
    return tuple(dict.fromkeys(one for item in items for one in (item.id, *item.stands_for)))


def put_in_place(items: Sequence[Item], replacements: Sequence[Replacement]) -> tuple[Item, ...]:
    """Return the history after ``replacements``."""
    gone = {one for replacement in replacements for one in replacement.ids}
    coming = {replacement.ids[0]: replacement.item for replacement in replacements}
    return tuple(coming.get(item.id, item) for item in items if item.id not in gone or item.id in coming)


def in_one_step(first: Sequence[Replacement], then: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """Return what ``first`` and ``then`` do together, as if the items in between had never been: nobody saw them."""
    passing = {replacement.item.id: replacement.ids for replacement in first}
    gone = {one for replacement in then for one in replacement.ids}
    left = [replacement for replacement in first if replacement.item.id not in gone]
    return (*left, *(_without(replacement, passing) for replacement in then))


def _without(replacement: Replacement, passing: dict[str, tuple[str, ...]]) -> Replacement:
    ids = tuple(before for one in replacement.ids for before in passing.get(one, (one,)))
    behind = tuple(one for one in replacement.item.stands_for if one not in passing)
    return Replacement(ids, replace(replacement.item, stands_for=behind))
