"""Measures the sizes of threads in ``state.db``, and removes old turns from it.

A turn is removed with its prompt, its receipt and its rows in the index of sources; a text is removed when no owner
uses it any more. A thread that is still used keeps its history and its numbering. Any other thread is removed as a
whole.
"""

from collections.abc import Iterable
from typing import Any, Final

from promptuary.core.ledger import Pruned, ThreadSize
from promptuary.database.columns import from_column, to_column
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.storage.contents import Contents
from promptuary.storage.threads import rows

_QUERIES: Final = queries(__package__, "sources.sql")


class Pruning:
    """The removal of what is older than ``before``, within one transaction that does not check references."""

    def __init__(self, connection: Connection, owner: int, before: str) -> None:
        self._connection, self._owner, self._before = connection, owner, before
        self._threads = self._turns = self._items = 0

    def run(self, thread: str | None) -> Pruned:
        """Remove the old turns of one thread or of all, and return what was removed."""
        key = {"owner": self._owner, "name": None if thread is None else to_column(thread)}
        for number, name, updated in self._rows("threads", **key):
            self._prune(number, name, whole=from_column(updated)[: len(self._before)] < self._before)
        freed = 0
        if self._turns or self._items:
            self._connection.execute(_QUERIES["drop_sources"])
            self._connection.execute(_QUERIES["drop_parts"])
            freed = self._remove_unused()
        return Pruned(self._threads, self._turns, self._items, freed)

    def _prune(self, thread: int, name: Any, *, whole: bool) -> None:
        old = self._rows("turns_before", thread=thread, before=self._before, whole=whole)
        self._each("drop_turn_sources", ({"turn": serial} for serial, _, _ in old))
        self._each("drop_turn", ({"turn": serial} for serial, _, _ in old))
        self._turns += len(old)
        self._drop_items(thread, {turn for _, turn, _ in old}, whole=whole)
        if old or whole:
            self._connection.execute(_QUERIES["drop_spans"], {"thread": thread, "whole": whole})
        if whole:
            self._connection.execute(_QUERIES["drop_states"], {"owner": self._owner, "name": name})
            self._connection.execute(_QUERIES["drop_thread"], {"thread": thread})
            self._threads += 1
        elif old:
            key = {"thread": thread, "number": max(number for _, _, number in old)}
            self._connection.execute(_QUERIES["note_removed"], key)

    def _drop_items(self, thread: int, turns: set[Any], *, whole: bool) -> None:
        """Drop the items of the turns that have left the history, and summaries of their time; or all of them."""
        every = self._rows("items", thread=thread)
        last = max((number for number, turn, _, is_own in every if turn in turns and is_own), default=0)
        going = [
            number
            for number, turn, compacted, _ in every
            if whole or (compacted and (turn in turns or (not turn and number <= last)))
        ]
        for query in ("drop_item_sources", "drop_mention_items", "drop_item"):
            self._each(query, ({"item": number} for number in going))
        self._items += len(going)

    def _remove_unused(self) -> int:
        """Remove unused texts, and return how many bytes they took."""
        used = _texts(self._connection, self._rows("used"))
        unused = [(number, length) for number, length in self._rows("lengths") if number not in used]
        for query in ("drop_mentions", "drop_mention_receipt", "drop_content"):
            self._each(query, ({"content": number} for number, _ in unused))
        self._connection.execute(_QUERIES["count_removal"])
        return sum(length for _, length in unused)

    def _rows(self, query: str, **key: Any) -> list[rows.Row]:
        return self._connection.execute(_QUERIES[query], key).fetchall()

    def _each(self, query: str, keys: Iterable[dict[str, Any]]) -> None:
        self._connection.executemany(_QUERIES[query], keys)


def sizes(connection: Connection, owner: int) -> tuple[ThreadSize, ...]:
    """Return the size of each thread of an owner, the largest first; a text that several use counts for each."""
    lengths = dict(connection.execute(_QUERIES["lengths"]).fetchall())
    found = []
    for number, name, _ in connection.execute(_QUERIES["threads"], {"owner": owner, "name": None}).fetchall():
        key = {"thread": number}
        texts = _texts(connection, connection.execute(_QUERIES["texts_of_thread"], key).fetchall())
        turns, items = connection.execute(_QUERIES["counts"], key).fetchone()
        found.append(ThreadSize(from_column(name), turns, items, sum(lengths.get(text, 0) for text in texts)))
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.thread)))


def _texts(connection: Connection, named: Iterable[tuple[int, int]]) -> set[int]:
    """Return the texts that are named, and those that are named in prompts."""
    found = set()
    for content, is_prompt in named:
        found.add(content)
        if is_prompt:
            # A new one each time: it caches what it reads, and these are very many.
            found.update(rows.sent_texts(Contents(connection).get(content)))
    return found
