"""Measures the sizes of threads in ``state.db``, and removes old turns from it.

A turn is removed with its prompt, its receipt and its rows in the index of sources; a text is removed when nothing of
its owner uses it any more. A thread that is still used keeps its history and its numbering. Any other thread is removed
as a whole.
"""

from collections.abc import Iterable
from typing import Any, Final

from promptuary.database.columns import from_column, to_column
from promptuary.database.contents import Contents
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.threads.ledger_values import Pruned, ThreadSize
from promptuary.threads.store import rows
from promptuary.threads.store.prompts import add_names

_QUERIES: Final = queries(__package__, "sources.sql")
_CONTENTS: Final = queries("promptuary.database", "contents.sql")


class Pruning:
    """The removal of what is older than ``before``, within one transaction."""

    def __init__(self, connection: Connection, owner: int, before: str) -> None:
        self._connection, self._owner, self._before = connection, owner, before
        self._own = {"tenant": connection.tenant, "owner": owner}
        self._threads = self._turns = self._items = 0

    def run(self, thread: str | None, *, recorded: bool) -> Pruned:
        """Remove the old turns of one thread, of all, or of all that were ``recorded``; return what was removed."""
        query = "recorded_threads" if recorded else "threads"
        for number, name, updated in self._rows(query, name=None if thread is None else to_column(thread)):
            self._prune(number, name, whole=from_column(updated)[: len(self._before)] < self._before)
        freed = 0
        if self._turns or self._items:
            self._execute("drop_sources")
            self._execute("drop_parts")
            freed = self._remove_unused()
        return Pruned(self._threads, self._turns, self._items, freed)

    def _prune(self, thread: int, name: Any, *, whole: bool) -> None:
        old = self._rows("turns_before", thread=thread, before=self._before, whole=int(whole))
        for query in ("drop_turn_sources", "drop_turn"):
            self._each(query, ({"thread": thread, "turn": serial} for serial, _, _ in old))
        self._turns += len(old)
        self._drop_items(thread, {turn for _, turn, _ in old}, whole=whole)
        if old or whole:
            self._execute("drop_spans", thread=thread, whole=int(whole))
        if whole:
            self._execute("drop_states", name=name)
            self._execute("drop_thread", thread=thread)
            self._threads += 1
        elif old:
            self._execute("note_removed", thread=thread, number=max(number for _, _, number in old))

    def _drop_items(self, thread: int, turns: set[Any], *, whole: bool) -> None:
        """Drop the items of the turns that have left the history, and summaries of their time; or all of them."""
        every = self._rows("items", thread=thread)
        last = max((item for item, turn, _, is_own in every if turn in turns and is_own), default=0)
        going = [
            item
            for item, turn, compacted, _ in every
            if whole or (compacted and (turn in turns or (not turn and item <= last)))
        ]
        for query in ("drop_item_sources", "drop_mention_items", "drop_item"):
            self._each(query, ({"thread": thread, "item": item} for item in going))
        self._items += len(going)

    def _remove_unused(self) -> int:
        """Remove unused texts, and return how many bytes they took."""
        contents = Contents(self._connection, self._owner)
        used = texts_of(self._rows("used"), contents)
        lengths = self._connection.execute(_CONTENTS["lengths"], self._own).fetchall()
        unused = [(digest, length) for digest, length in lengths if digest not in used]
        contents.remove(digest for digest, _ in unused)
        return sum(length for _, length in unused)

    def _execute(self, query: str, **values: Any) -> None:
        self._connection.execute(_QUERIES[query], self._own | values)

    def _rows(self, query: str, **key: Any) -> list[rows.Row]:
        return self._connection.execute(_QUERIES[query], self._own | key).fetchall()

    def _each(self, query: str, keys: Iterable[dict[str, Any]]) -> None:
        self._connection.executemany(_QUERIES[query], (self._own | key for key in keys))


def sizes(connection: Connection, owner: int) -> tuple[ThreadSize, ...]:
    """Return the size of each thread of an owner, the largest first; a text that several use counts for each."""
    own: dict[str, Any] = {"tenant": connection.tenant, "owner": owner}
    lengths = dict(connection.execute(_CONTENTS["lengths"], own).fetchall())
    found = []
    for number, name, _ in connection.execute(_QUERIES["threads"], own | {"name": None}).fetchall():
        key = own | {"thread": number}
        named = connection.execute(_QUERIES["texts_of_thread"], key).fetchall()
        texts = texts_of(named, Contents(connection, owner))
        turns, items = connection.execute(_QUERIES["counts"], key).fetchone()
        found.append(ThreadSize(from_column(name), turns, items, sum(lengths.get(text, 0) for text in texts)))
    return tuple(sorted(found, key=lambda size: (-size.bytes, size.thread)))


def texts_of(named: Iterable[tuple[bytes, bytes | None]], contents: Contents) -> set[bytes]:
    """Return the texts that are named, and those that lists of messages name, their parts included."""
    found: set[bytes] = set()
    for digest, messages in named:
        found.add(digest)
        if messages is not None:
            add_names(messages, contents, found)
    return found
