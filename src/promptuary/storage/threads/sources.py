"""The index of sources in ``state.db``: which turns had which source in their prompts, and how it got there.

It is written with the turns, in their transaction. A block of a prompt is one row; a source that is sent with the
history turn after turn is one row for all these turns, from the first to the last. Turns of earlier versions are
indexed once, in batches. ``core.ledger`` decides which sources a turn or an item has.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from promptuary.core.json import receipt_from_json
from promptuary.core.ledger import Origin, SourceUse, Way, carried, shown
from promptuary.core.messages import Item
from promptuary.core.receipts import Receipt
from promptuary.database.columns import from_column, to_column
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.storage.contents import Contents
from promptuary.storage.threads import rows

_QUERIES: Final = queries(__package__, "sources.sql")

_AT_ONCE: Final = 2_000
"""How many turns of earlier versions are indexed in one transaction: others write in between."""


class _Part(NamedTuple):
    """A part of a source, by their numbers."""

    source: int
    part: int


class _Carried(NamedTuple):
    """A part that is sent with a history, and how."""

    source: int
    part: int
    how: str


class SourceIndex:
    """The sources of one owner, within one transaction that writes."""

    def __init__(self, connection: Connection, owner: int, contents: Contents) -> None:
        self._connection, self._owner, self._contents = connection, owner, contents

    def prepare(self, thread: int) -> None:
        """Index the items of a thread that an earlier version stored, if that was not done."""
        (done,) = self._connection.execute(_QUERIES["thread_indexed"], {"thread": thread}).fetchone()
        if done:
            return
        for number, attached, stands_for in self._rows("old_items", thread=thread):
            self.add_item(number, thread, rows.to_attached(attached, stands_for))
        self._connection.execute(_QUERIES["mark_thread"], {"thread": thread})

    def add_item(self, number: int, thread: int, item: Item) -> None:
        """Record the sources that an item brings into the prompts that it will be in."""
        if not item.attachments and not item.stands_for:
            return
        behind = (
            _origin("summary", *row)
            for one in item.stands_for
            for row in self._rows("sources_of_item", id=to_column(one), thread=thread)
        )
        found = carried(item, behind)
        for origin in found:
            key = {"item": number, "part": self._part(origin).part, "how": origin.how}
            self._connection.execute(_QUERIES["add_item_source"], key)
        if found:
            self._connection.execute(_QUERIES["mark_item"], {"item": number})

    def add_turn(self, serial: int, thread: int, receipt: Receipt, sent: Iterable[int]) -> None:
        """Record the sources of a new turn; ``sent`` are the texts of the messages before its last."""
        self.set_shown(serial, receipt)
        texts = set(sent)
        now = {_Carried(*row[1:]) for row in self._rows("standing_sources", thread=thread) if row[0] in texts}
        for number, *row in self._rows("carried_now", thread=thread):
            one = _Carried(*row)
            if one in now:
                now.remove(one)
            else:
                self._connection.execute(_QUERIES["end_carried"], {"id": number, "last": serial - 1})
        for one in sorted(now):
            self._add_carried(one, thread, serial, None)

    def set_shown(self, serial: int, receipt: Receipt) -> None:
        """Record the sources of the blocks in the prompt of a turn."""
        wanted = [self._part(origin) for origin in shown(receipt)]
        if {row[0] for row in self._rows("parts_of_turn", turn=serial)} == {one.part for one in wanted}:
            return
        self._connection.execute(_QUERIES["drop_turn_sources"], {"turn": serial})
        for one in wanted:
            key = {"source": one.source, "turn": serial, "part": one.part}
            self._connection.execute(_QUERIES["add_turn_source"], key)

    def add_old_turns(self) -> None:
        """Index some turns of earlier versions."""
        left = _AT_ONCE
        while left > 0 and (found := self._rows("old_thread", owner=self._owner)):
            left -= self._add_old_turns(found[0][0], left)

    def _add_old_turns(self, thread: int, most: int) -> int:
        """Index up to a number of turns of a thread, and return how many there were."""
        self.prepare(thread)
        by_text = defaultdict(set)
        for content, *row in self._rows("every_item_source", thread=thread):
            by_text[content].add(_Carried(*row))
        since: dict[_Carried, int] = {}
        before = 0
        old = self._rows("old_turns", thread=thread, limit=most)
        for serial, messages, receipt in old:
            sent = rows.sent_texts(self._contents.get(messages))[:-1]
            now = {one for content in sent for one in by_text.get(content, ())}
            for one in [one for one in since if one not in now]:
                self._add_carried(one, thread, since.pop(one), before)
            since |= {one: serial for one in now if one not in since}
            self._add_old_turn(serial, receipt)
            before = serial
        for one, first in since.items():
            self._add_carried(one, thread, first, before)
        return len(old)

    def _add_old_turn(self, serial: int, content: int) -> None:
        receipt = receipt_from_json(json.loads(self._contents.get(content)))
        self.set_shown(serial, receipt)
        self._connection.execute(_QUERIES["mark_turn"], {"turn": serial, "tokens": receipt.tokens})

    def _add_carried(self, one: _Carried, thread: int, first: int, last: int | None) -> None:
        values = {**one._asdict(), "thread": thread, "first": first, "last": last}
        self._connection.execute(_QUERIES["add_carried"], values)

    def _part(self, origin: Origin) -> _Part:
        """Return the numbers of a source and of the part that was shown, adding them if needed."""
        key = {"owner": self._owner, "address": to_column(origin.source)}
        source = self._found_or_added("source", key)
        first, last = origin.lines or (0, 0)
        shown_part = {
            "source": source,
            "layer": to_column(origin.layer),
            "revision": to_column(origin.revision),
            "first": first,
            "last": last,
        }
        return _Part(source, self._found_or_added("part", shown_part))

    def _found_or_added(self, noun: str, values: rows.Values) -> int:
        row = self._connection.execute(_QUERIES[f"find_{noun}"], values).fetchone()
        if row is not None:
            return int(row[0])
        return int(self._connection.execute(_QUERIES[f"add_{noun}"], values).fetchone()[0])

    def _rows(self, query: str, **key: Any) -> list[rows.Row]:
        return self._connection.execute(_QUERIES[query], key).fetchall()


def has_old_turns(connection: Connection, owner: int) -> bool:
    """Return whether there are turns of earlier versions that are not indexed."""
    return connection.execute(_QUERIES["old_thread"], {"owner": owner}).fetchone() is not None


def addresses(connection: Connection, owner: int, limit: int) -> tuple[str, ...]:
    """Return the sources that an owner's prompts had, the newest first."""
    key = {"owner": owner, "limit": limit}
    return tuple(from_column(row[0]) for row in connection.execute(_QUERIES["addresses"], key))


def uses(
    connection: Connection, owner: int, wanted: Sequence[str], *, finished_only: bool, limit: int
) -> tuple[SourceUse, ...]:
    """Return where sources were used, the newest turn first."""
    found: dict[tuple[int, SourceUse], None] = {}
    for address in dict.fromkeys(wanted):
        key = {"owner": owner, "address": to_column(address)}
        row = connection.execute(_QUERIES["find_source"], key).fetchone()
        if row is not None:
            options = {"source": row[0], "finished": int(finished_only), "limit": limit}
            found |= dict.fromkeys(_uses_of(connection, address, options))
    return tuple(use for _, use in sorted(found, key=_newest_first)[:limit])


def _uses_of(connection: Connection, address: str, options: dict[str, int]) -> list[tuple[int, SourceUse]]:
    """Return the newest uses of a source, each with the number of its turn."""
    found = [_use(address, row) for row in connection.execute(_QUERIES["direct_uses"], options)]
    limit = options["limit"]
    for thread, first, last, part, how in connection.execute(_QUERIES["spans"], options).fetchall():
        if len(found) == limit and last < found[-1][0]:
            break  # this span, and every one after it, is older than all that was found
        key = {**options, "thread": thread, "first": first, "last": last, "part": part, "how": how}
        more = [_use(address, row) for row in connection.execute(_QUERIES["carried_uses"], key)]
        found = sorted(dict.fromkeys((*found, *more)), key=_newest_first)[:limit]
    return found


def sources(connection: Connection, owner: int, thread: str, number: int) -> tuple[SourceUse, ...]:
    """Return the sources of a turn."""
    key = {"owner": owner, "thread": to_column(thread), "number": number}
    found = []
    for how, address, layer, revision, first, last, *turn in connection.execute(_QUERIES["sources_of_turn"], key):
        found.append(_use(from_column(address), (0, *turn, how, layer, revision, first, last))[1])
    return tuple(sorted(dict.fromkeys(found), key=lambda use: use.origin.order))


def _use(address: str, row: rows.Row) -> tuple[int, SourceUse]:
    serial, thread, number, created, status, how, *part = row
    origin = _origin(how, address, *part)
    return serial, SourceUse(from_column(thread), number, from_column(created), from_column(status), origin)


def _origin(how: Way, address: Any, *part: Any) -> Origin:
    layer, revision, first, last = part
    lines = (int(first), int(last)) if first or last else None
    return Origin(from_column(address), how, from_column(layer), from_column(revision), lines)


def _newest_first(one: tuple[int, SourceUse]) -> tuple[Any, ...]:
    return (-one[0], *one[1].origin.order)
