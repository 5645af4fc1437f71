"""The index of sources in ``state.db``: which turns had which source in their prompts, and how it got there.

It is written with the turns, in their transaction. A block of a prompt is one row; a source that is sent with the
history turn after turn is one row for all these turns, from the first to the last. ``core.ledger`` decides which
sources a turn or an item has.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from promptuary.base.blocks import content_hash
from promptuary.base.messages import Item
from promptuary.context.receipt import Receipt
from promptuary.database.columns import from_column, to_column
from promptuary.database.contents import Contents
from promptuary.database.owners import Counter
from promptuary.database.port import Connection, Cursor
from promptuary.database.queries import queries
from promptuary.memory.recall.digest import LISTS
from promptuary.threads.ledger_values import Origin, SourceUse, Way, carried, lists_in, shown
from promptuary.threads.store import rows
from promptuary.threads.store.prompts import entries_of

_QUERIES: Final = queries(__package__, "sources.sql")


_MOST_LISTS: Final = 1_000
"""How many of the newest versions of a list of notes are searched for a note."""
_NEWEST: Final = (1 << 63) - 1

Own = Mapping[str, int]
"""The beginning of the key of every row of an owner."""


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

    def __init__(self, connection: Connection, owner: int, counter: Counter) -> None:
        self._connection, self._counter = connection, counter
        self._own = {"tenant": connection.tenant, "owner": owner}

    def add_item(self, number: int, thread: int, item: Item) -> None:
        """Record the sources that an item brings into the prompts that it will be in."""
        if not item.attachments and not item.stands_for:
            return
        behind = (
            _origin(*row)
            for replaced in item.stands_for
            for row in self._rows("sources_of_item", id=to_column(replaced), thread=thread)
        )
        found = carried(item, behind)
        for origin in found:
            self._execute("add_item_source", item=number, how=origin.how, **self._part(origin)._asdict())
        if found:
            self._execute("mark_item", thread=thread, item=number)

    def add_turn(self, serial: int, thread: int, receipt: Receipt, sent: Iterable[bytes]) -> None:
        """Record the sources of a new turn; ``sent`` are the texts of the messages before its last."""
        self._add_shown(serial, thread, [self._part(origin) for origin in shown(receipt)])
        texts = set(sent)
        now = {_Carried(*row[1:]) for row in self._rows("standing_sources", thread=thread) if row[0] in texts}
        for first, *row in self._rows("carried_now", thread=thread):
            before = _Carried(*row)
            if before in now:
                now.remove(before)
            else:
                values = {"first": first, "part": before.part, "how": before.how, "last": serial - 1}
                self._execute("end_carried", thread=thread, **values)
        for new in sorted(now):
            self._execute("add_carried", thread=thread, first=serial, **new._asdict())

    def set_shown(self, serial: int, thread: int, receipt: Receipt) -> None:
        """Record the sources of the blocks in the prompt of a turn."""
        wanted = [self._part(origin) for origin in shown(receipt)]
        if {row[0] for row in self._rows("parts_of_turn", turn=serial)} == {part.part for part in wanted}:
            return
        self._execute("drop_turn_sources", turn=serial)
        self._add_shown(serial, thread, wanted)

    def _add_shown(self, serial: int, thread: int, parts: Iterable[_Part]) -> None:
        for part in parts:
            self._execute("add_turn_source", source=part.source, turn=serial, part=part.part, thread=thread)

    def _part(self, origin: Origin) -> _Part:
        """Return the numbers of a source and of the part that was shown, adding them if needed."""
        first, last = origin.lines or (0, 0)
        layer, revision = to_column(origin.layer), to_column(origin.revision)
        values = {"layer": layer, "revision": revision, "first": first, "last": last}
        address = to_column(origin.source)
        source, part = self._execute("find_part", address=address, **values).fetchone() or (None, None)
        if source is None:
            source = self._counter.next()
            self._execute("add_source", number=source, address=address)
        if part is None:
            part = self._counter.next()
            self._execute("add_part", number=part, source=source, **values)
        return _Part(source, part)

    def _execute(self, query: str, **values: Any) -> Cursor:
        return self._connection.execute(_QUERIES[query], self._own | values)

    def _rows(self, query: str, **key: Any) -> list[rows.Row]:
        return self._execute(query, **key).fetchall()


def addresses(connection: Connection, own: Own, limit: int) -> tuple[str, ...]:
    """Return the sources that an owner's prompts had, the newest first."""
    rows = connection.execute(_QUERIES["addresses"], {**own, "limit": limit})
    return tuple(from_column(row[0]) for row in rows)


def uses(
    connection: Connection, own: Own, wanted: Sequence[str], *, finished_only: bool, limit: int
) -> tuple[SourceUse, ...]:
    """Return where sources were used, the newest turn first."""
    found: dict[tuple[int, SourceUse], None] = {}
    for address in dict.fromkeys(wanted):
        row = connection.execute(_QUERIES["find_source"], {**own, "address": to_column(address)}).fetchone()
        if row is not None:
            options = {**own, "source": row[0], "finished": int(finished_only), "limit": limit}
            found |= dict.fromkeys(_uses_of(connection, address, options))
        options = {**own, "finished": int(finished_only), "limit": limit}
        found |= dict.fromkeys(_listed_uses(connection, address, options))
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


def _listed_uses(connection: Connection, address: str, options: dict[str, int]) -> Iterator[tuple[int, SourceUse]]:
    """Yield the newest turns with a note in their lists of notes, each with its number.

    Nothing is stored for that: a list is the same turn after turn, and the texts that name a note are known.
    """
    scheme, _, note = address.partition(":")
    if scheme != "memory" or address in LISTS:
        return
    naming = {row[0] for row in connection.execute(_QUERIES["texts_naming"], {**options, "note": to_column(note)})}
    contents = Contents(connection, options["owner"])
    for name in LISTS if naming else ():
        lines: dict[int, str] = {}
        left = options["limit"]
        for key in _parts_shown(connection, name, options):
            part = key["part"]
            row = connection.execute(_QUERIES["turn_with"], key).fetchone() if lines.get(part) != "" else None
            if row is None:
                continue
            messages, layer, *turn = row
            if part not in lines:
                ours = (one for one in entries_of(messages, contents) if one.content in naming)
                listed = (lists_in(one.message(contents.get(one.content))).get(name, {}) for one in ours)
                lines[part] = next((notes[address] for notes in listed if address in notes), "")
            if lines[part]:
                left -= 1
                yield _use(address, (*turn, "list", layer, content_hash(lines[part]), 0, 0))
            if not left or len(lines) == _MOST_LISTS:
                break


def _parts_shown(connection: Connection, address: str, options: dict[str, int]) -> Iterator[dict[str, int]]:
    """Yield the keys of the turns with a source in their prompts, and of the part that each has, the newest first."""
    row = connection.execute(_QUERIES["find_source"], {**options, "address": to_column(address)}).fetchone()
    key = {**options, "source": 0 if row is None else row[0], "before": _NEWEST}
    while row is not None and (found := connection.execute(_QUERIES["parts_shown"], key).fetchall()):
        yield from ({**key, "turn": turn, "part": part} for turn, part in found)
        key["before"] = found[-1][0]


def sources(connection: Connection, own: Own, thread: str, number: int) -> tuple[SourceUse, ...]:
    """Return the sources of a turn."""
    key = {**own, "thread": to_column(thread), "number": number}
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
