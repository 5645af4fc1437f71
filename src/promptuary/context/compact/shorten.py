"""Cuts long tool results and attachments of older messages to their beginning and end.

This strategy is tried first because it loses the least: the words of people and assistants are never cut, and the gap
names the item of the ledger that has the full text. A shortened item is a new item that stands for the old one.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.blocks import Detail
from promptuary.base.budget import TokenCounter
from promptuary.base.excerpt import excerpt
from promptuary.base.ids import new_id
from promptuary.base.messages import Item, Replacement, cost, item_cost
from promptuary.base.text import one_line
from promptuary.context.compact.types import Compacted, everything_behind, put_in_place
from promptuary.context.history import older


class Shorten(Struct, frozen=True):
    """Cuts what costs more than ``over`` tokens down to ``to``, the oldest first, until the goal is reached."""

    keep_last: int
    over: int
    to: int

    async def compact(self, items: Sequence[Item], goal_tokens: int, counter: TokenCounter) -> Compacted:
        """Shorten as many of the older items as necessary."""
        excess = cost(items, counter) - goal_tokens
        replacements = []
        for item in (item for group in older(items, self.keep_last) for item in group.items):
            if excess <= 0:
                break
            cut = self._shortened(item, counter)
            if cut is None:
                continue
            short = replace(cut, id=new_id("item"), stands_for=everything_behind([item]))
            saved = item_cost(item, counter) - item_cost(short, counter)
            if saved > 0:
                excess -= saved
                replacements.append(Replacement((item.id,), short))
        return Compacted("shorten", put_in_place(items, replacements), tuple(replacements))

    def _shortened(self, item: Item, counter: TokenCounter) -> Item | None:
        """Return ``item`` with less content; ``None`` if nothing in it is too long."""
        if item.kind == "summary" or item.stands_for:  # it has been shortened before
            return None
        where = f"item {one_line(item.id)} of the ledger has all of it"
        if item.role == "tool":
            content = self._cut(item.content, where, counter)
            return None if content is None else replace(item, content=content)
        return self._with_shorter_attachments(item, where, counter)

    def _with_shorter_attachments(self, item: Item, where: str, counter: TokenCounter) -> Item | None:
        parts, attachments, done, moved = [], [], 0, 0
        for one in item.attachments:
            start = one.start + moved
            body = self._cut(item.content[one.start : one.end], where, counter)
            if body is None:
                attachments.append(replace(one, start=start, end=one.end + moved))
            else:
                parts += [item.content[done : one.start], body]
                done = one.end
                moved = start + len(body) - one.end
                attachments.append(replace(one, detail=Detail.EXCERPT, start=start, end=start + len(body)))
        if not parts:
            return None
        content = "".join([*parts, item.content[done:]])
        return replace(item, content=content, attachments=tuple(attachments), words_start=item.words_start + moved)

    def _cut(self, text: str, where: str, counter: TokenCounter) -> str | None:
        return excerpt(text, self.to, counter, where) if counter.count(text) > self.over else None
