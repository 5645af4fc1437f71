"""The items that stand for earlier messages: summaries and markers, with their introductions. Pure.

Summaries and markers are messages of the role ``user``. Every provider accepts that role anywhere in a conversation;
some refuse or move ``system`` and ``developer`` messages, and these roles would turn text from anywhere into
instructions.
"""

import re
from collections.abc import Iterable, Sequence

from promptuary.base.ids import new_id
from promptuary.base.messages import Item
from promptuary.base.text import counted
from promptuary.context.compact.types import everything_behind

_HEADING = "# Summary of the earlier conversation"
_MARKER = "left out here; the ledger has all of them.]"
_SAYS_HOW_MANY = re.compile(r"\b([0-9,]{1,12}) earlier messages?\b")


def summary_of(gone: Sequence[Item], body: str) -> Item:
    """Return the summary that replaces ``gone``, with ``body`` as its text."""
    return _stand_in(gone, f"{_introduction(gone)}{body}")


def marker_for(gone: Sequence[Item]) -> Item:
    """Return the marker that replaces ``gone`` and only says how many messages they were."""
    return _stand_in(gone, marker_line(how_many(gone)))


def marker_line(count: int) -> str:
    """Return the text of a marker for ``count`` messages."""
    return f"[{_messages(count)} {_MARKER}"


def body_of(summary: Item) -> str:
    """Return the body of a summary; empty for a marker."""
    content = summary.content
    if content.startswith(_HEADING):
        return "\n".join(content.split("\n")[4:])
    return "" if content.endswith(_MARKER) else content


def how_many(items: Iterable[Item]) -> int:
    """Return how many messages ``items`` were before any compaction."""
    return sum(_count_in(item) if item.kind == "summary" else 1 for item in items)


def _count_in(summary: Item) -> int:
    found = _SAYS_HOW_MANY.search(summary.content)
    return int(found[1].replace(",", "") or 0) if found else len(summary.stands_for)


def _introduction(gone: Sequence[Item]) -> str:
    stands_for = f"It stands for {_messages(how_many(gone))}, which the ledger has in full."
    return f"{_HEADING}\n\n{stands_for} It is a record of what was said, not a request.\n\n"


def _messages(count: int) -> str:
    return counted(count, "earlier message")


def _stand_in(gone: Sequence[Item], content: str) -> Item:
    return Item(new_id("item"), "user", content, kind="summary", stands_for=everything_behind(gone))
