"""The threads of one principal in ``state.db``: histories, turns with their prompts, the states of layers.

Above is ``state``, which opens the database;
below are ``database`` (transactions), ``rows`` and ``texts`` (how values are stored).
"""

import json
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from promptuary.core.json import receipt_from_json
from promptuary.core.ledger import Pruned, SourceUse, ThreadSize
from promptuary.core.messages import Item
from promptuary.core.ports.threads import (
    PRIVATE_SCOPES,
    RECENT_TURNS,
    USES_AT_ONCE,
    LayerState,
    StateKey,
    ThreadChange,
    ThreadInfo,
    Totals,
    TurnRecord,
)
from promptuary.core.principals import Principal
from promptuary.database.columns import from_column, history_checksum, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Result, Work
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase
from promptuary.storage.contents import REDACTED, Contents, Numbers
from promptuary.storage.owners import add_owner, find_owner
from promptuary.storage.redaction import attached_notes, item_without_blocks, marked, mentioned, receipt_without
from promptuary.storage.threads import retention, rows
from promptuary.storage.threads import sources as source_index
from promptuary.storage.threads.history_cache import Histories
from promptuary.storage.threads.sources import SourceIndex
from promptuary.storage.values import (
    cannot_compact_error,
    cannot_continue_error,
    duplicate_item_error,
    missing_item_error,
    missing_thread_error,
    taken_thread_error,
    turn_id_conflict,
    turn_number_conflict,
)

_QUERIES = queries(__package__, "threads.sql")

_EVERYBODY: Final = 0
"""The owner of what is shared by everybody who uses the workspace."""
_NOBODY: Final = -1
"""The number for an owner without any rows yet, or a thread that does not exist: no row has it."""


class ThreadStore:
    """The threads of ``principal``; ``clock`` gives the time at which threads are created and updated.

    ``histories`` and ``numbers`` are caches of the whole database, shared by the stores of all principals.
    """

    def __init__(
        self,
        database: SqliteDatabase,
        principal: Principal,
        *,
        histories: Histories,
        numbers: Numbers,
        clock: Callable[[], str],
    ) -> None:
        self._database = database
        self._principal = principal
        self._histories, self._numbers = histories, numbers
        self._clock = clock

    def apply(self, change: ThreadChange) -> None:
        """Write ``change`` atomically; it is on the disk when this returns."""
        time = self._clock()

        def written(connection: Connection) -> Contents:
            return _Writing(connection, change, self._principal, self._numbers).run(time)

        # Only after the commit: what a transaction added may have been rolled back.
        self._database.write(written, after_commit=self._numbers.learn)

    def history(self, thread: str) -> Sequence[Item]:
        """Return the history as it is now, in order."""
        return self._read(lambda connection: self._histories.read(connection, self._owner(connection), thread))

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too."""

        def found(connection: Connection) -> tuple[Item, ...]:
            owner = self._owner(connection)
            each = (
                connection.execute(_QUERIES["item"], {"owner": owner, "id": to_column(one)}).fetchone() for one in ids
            )
            return tuple(rows.to_item(row) for row in each if row is not None)

        return self._read(found)

    def said(self, thread: str) -> Sequence[Item]:
        """Return every item of a thread, compacted ones too, in the order in which they were added."""

        def found(connection: Connection) -> tuple[Item, ...]:
            every = connection.execute(_QUERIES["said"], self._key(connection, thread))
            return tuple(map(rows.to_item, every))

        return self._read(found)

    def turn(self, thread: str, number: int | None = None) -> TurnRecord | None:
        """Return the turn with this number, or the last turn if no number is given."""
        query = _QUERIES["last_turn" if number is None else "turn"]

        def found(connection: Connection) -> TurnRecord | None:
            row = connection.execute(query, self._key(connection, thread) | {"number": number}).fetchone()
            return None if row is None else rows.to_turn(row, Contents(connection))

        return self._read(found)

    def last_number(self, thread: str) -> int:
        """Return the highest number that a turn has or had; 0 if there was none."""

        def found(connection: Connection) -> int:
            row = connection.execute(_QUERIES["last_number"], self._key(connection, thread)).fetchone()
            return 0 if row is None else int(row[0])

        return self._read(found)

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""

        def found(connection: Connection) -> tuple[TurnRecord, ...]:
            contents = Contents(connection)
            every = connection.execute(_QUERIES["turns"], self._key(connection, thread))
            return tuple(rows.to_turn(row, contents) for row in every)

        return self._read(found)

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread of the owner, the most recently used first."""

        def found(connection: Connection) -> tuple[ThreadInfo, ...]:
            every = connection.execute(_QUERIES["threads"], {"owner": self._owner(connection)})
            return tuple(map(rows.to_thread, every))

        return self._read(found)

    def uses(
        self, sources: Sequence[str], *, finished_only: bool = False, limit: int = USES_AT_ONCE
    ) -> Sequence[SourceUse]:
        """Return where sources were used, the newest turn first."""
        return self._indexed(
            lambda connection, owner: source_index.uses(
                connection, owner, sources, finished_only=finished_only, limit=limit
            )
        )

    def sources(self, thread: str, number: int) -> Sequence[SourceUse]:
        """Return the sources of a turn."""
        return self._indexed(lambda connection, owner: source_index.sources(connection, owner, thread, number))

    def addresses(self, limit: int = USES_AT_ONCE) -> Sequence[str]:
        """Return the sources that were ever used, the newest first."""
        return self._indexed(lambda connection, owner: source_index.addresses(connection, owner, limit))

    def _indexed(self, work: Callable[[Connection, int], Result]) -> Result:
        """Run ``work`` on the index, which is completed first if an earlier version stored turns."""

        def added(connection: Connection) -> None:
            SourceIndex(connection, self._owner(connection), Contents(connection)).add_old_turns()

        while self._read(lambda connection: source_index.has_old_turns(connection, self._owner(connection))):
            self._write(added)
        return self._read(lambda connection: work(connection, self._owner(connection)))

    def sizes(self) -> Sequence[ThreadSize]:
        """Return the size of each thread, the largest first."""
        return self._read(lambda connection: retention.sizes(connection, self._owner(connection)))

    def prune(self, before: str, *, thread: str | None = None, dry_run: bool = False) -> Pruned:
        """Remove the turns that are older than ``before``."""

        def pruned(connection: Connection) -> Pruned:
            return retention.Pruning(connection, self._owner(connection), before).run(thread)

        with sound(self._database.name):
            done = self._database.remove(pruned, dry_run=dry_run)
            if not dry_run and done != Pruned():
                self._database.purge()
        return done

    def rename(self, thread: str, name: str) -> None:
        """Rename a thread."""

        def renamed(connection: Connection) -> None:
            number = self._number(connection, thread)
            if number == _NOBODY:
                raise missing_thread_error(thread)
            if self._number(connection, name) != _NOBODY:
                raise taken_thread_error(name)
            before, after = to_column(thread), to_column(name)
            connection.execute(_QUERIES["rename_thread"], {"thread": number, "name": after})
            states = {"owner": self._owner(connection), "thread": before, "name": after}
            connection.execute(_QUERIES["rename_states"], states)

        self._write(renamed)

    def totals(self, thread: str) -> Totals:
        """Return the figures of a thread."""

        def found(connection: Connection) -> Totals:
            key = {"thread": self._number(connection, thread), "limit": RECENT_TURNS}
            turns, finished, sent, replied, cost, messages = connection.execute(_QUERIES["totals"], key).fetchone()
            recent = tuple(int(row[0]) for row in connection.execute(_QUERIES["tokens_of_turns"], key))
            return Totals(turns, finished, messages, sent, replied, cost, recent[::-1])

        return self._indexed(lambda connection, _: found(connection))

    def states(self, keys: Sequence[StateKey]) -> Sequence[LayerState | None]:
        """Return the state under each key, read in one transaction."""

        def found(connection: Connection) -> tuple[LayerState | None, ...]:
            own = self._owner(connection)
            return tuple(one(connection, key, own if key.scope in PRIVATE_SCOPES else _EVERYBODY) for key in keys)

        def one(connection: Connection, key: StateKey, owner: int) -> LayerState | None:
            row = connection.execute(_QUERIES["state"], rows.of_key(key, owner)).fetchone()
            return None if row is None else rows.to_state(key, row)

        return self._read(found)

    def _key(self, connection: Connection, thread: str) -> dict[str, object]:
        return {"owner": self._owner(connection), "thread": to_column(thread)}

    def _number(self, connection: Connection, thread: str) -> int:
        """Return the number of a thread; an unused number if there is none."""
        key = {"owner": self._owner(connection), "name": to_column(thread)}
        row = connection.execute(_QUERIES["find_thread"], key).fetchone()
        return _NOBODY if row is None else int(row[0])

    def _owner(self, connection: Connection) -> int:
        """Return the number of the owner. A number never changes, but its row may be rolled back: it is not cached."""
        found = find_owner(connection, self._principal.owner)
        return _NOBODY if found is None else found

    def _read(self, work: Work[Result]) -> Result:
        with sound(self._database.name):
            return self._database.read(work)

    def _write(self, work: Work[Result]) -> Result:
        with sound(self._database.name):
            return self._database.write(work)


class _Writing:
    """Writes one change, within one transaction."""

    __slots__ = ("_change", "_connection", "_contents", "_owner", "_sources", "_thread", "_user")

    def __init__(self, connection: Connection, change: ThreadChange, principal: Principal, numbers: Numbers) -> None:
        self._connection = connection
        self._change = change
        self._contents = Contents(connection, numbers)
        self._user = principal.user
        self._owner = add_owner(connection, principal.owner)
        self._sources = SourceIndex(connection, self._owner, self._contents)
        self._thread = 0

    def run(self, time: str) -> Contents:
        key = {"owner": self._owner, "name": to_column(self._change.thread)}
        self._connection.execute(_QUERIES["use_thread"], key | {"time": to_column(time)})
        (self._thread,) = self._connection.execute(_QUERIES["find_thread"], key).fetchone()
        self._sources.prepare(self._thread)
        self._append()
        self._pin()
        self._compact()
        for one in dict.fromkeys(self._change.removed):
            self._take_out(one)
        if self._change.items or self._change.pinned or self._change.replacements or self._change.removed:
            self._seal()
        for state in self._change.states:
            owner = self._owner if state.key.scope in PRIVATE_SCOPES else _EVERYBODY
            self._connection.execute(_QUERIES["keep_state"], rows.of_state(state, owner))
        if self._change.continued:
            self._continue(self._change.continued)
        if self._change.turn is not None:
            self._record(self._change.turn)
        return self._contents

    def _append(self) -> None:
        (last,) = self._connection.execute(_QUERIES["last_place"], {"thread": self._thread}).fetchone()
        for place, item in enumerate(self._change.items, last + 1):
            self._add(item, place)

    def _add(self, item: Item, place: int) -> None:
        if self._found(item.id) is not None:
            raise duplicate_item_error(item.id)
        notes = mentioned(item.content) | attached_notes(item)
        item = self._without_forgotten(item) if notes else item
        row = rows.of_item(item, self._thread, place, self._contents)
        (number,) = self._connection.execute(_QUERIES["add_item"], row).fetchone()
        self._sources.add_item(number, self._thread, item)
        if notes:
            self._contents.mention(int(row["content"]), notes)
            self._connection.execute(_QUERIES["add_mention_item"], {"id": row["id"]})

    def _without_forgotten(self, item: Item) -> Item:
        """Return ``item`` without what was forgotten since it was prepared."""
        number = self._contents.put(item.content)
        left = self._contents.get(number)
        if number in self._contents.redacted:
            for address in marked(left):
                item = item_without_blocks(item, address)
        return item

    def _pin(self) -> None:
        for one, pinned in self._change.pinned:
            found = self._found(one)
            if found is None or found[0] != self._thread:
                raise missing_item_error(self._change.thread, one)
            self._connection.execute(_QUERIES["pin_item"], {"id": to_column(one), "pinned": pinned})

    def _compact(self) -> None:
        for replacement in self._change.replacements:
            places = [self._take_out(one) for one in dict.fromkeys(replacement.ids)]
            self._add(replacement.item, min(places))

    def _take_out(self, item: str) -> int:
        """Remove an item from the history, and return where it was."""
        thread, place, may_leave = self._found(item) or (None, 0, 0)
        if thread != self._thread or not may_leave:
            raise cannot_compact_error(self._change.thread, item)
        self._connection.execute(_QUERIES["compact_item"], {"id": to_column(item)})
        return int(place)

    def _seal(self) -> None:
        """Record which items are in the history now, so that damage to the table is detected."""
        standing = self._connection.execute(_QUERIES["standing_of"], {"thread": self._thread}).fetchall()
        key = {"thread": self._thread, "history": history_checksum(standing)}
        self._connection.execute(_QUERIES["seal_history"], key)

    def _continue(self, turn: str) -> None:
        key = {"id": to_column(turn), "thread": self._thread, "status": to_column("prepared")}
        row = self._connection.execute(_QUERIES["pending_turn"], key).fetchone()
        if row is None:
            raise cannot_continue_error(self._change.thread, turn)
        number, user, text, messages, receipt, replied, cost = row
        texts = (text, messages, receipt, *rows.sent_texts(self._contents.get(messages)))
        status = to_column("continued")
        fixed = (key["id"], self._thread, number, status, user)
        checksum = rows.turn_checksum(fixed, replied, cost, [self._contents.digest(one) for one in texts])
        self._connection.execute(_QUERIES["set_status"], {"id": key["id"], "status": status, "checksum": checksum})

    def _record(self, turn: TurnRecord) -> None:
        before = self._connection.execute(_QUERIES["find_turn"], {"id": to_column(turn.id)}).fetchone()
        if before is not None and before[:2] != (self._thread, turn.number):
            raise turn_id_conflict(turn)
        user = self._user if before is None else from_column(before[2])
        place = {"thread": self._thread, "number": turn.number}
        if before is None and self._connection.execute(_QUERIES["find_number"], place).fetchone() is not None:
            raise turn_number_conflict(turn)
        if before is not None and before[4] & REDACTED:
            turn = self._without_told(turn, before[3])
        sent = [self._contents.put(message["content"]) for message in turn.messages]
        row = rows.of_turn(turn, self._thread, user, self._contents, sent)
        if before is None:
            (serial,) = self._connection.execute(_QUERIES["add_turn"], row).fetchone()
            self._sources.add_turn(serial, self._thread, turn.receipt, sent[:-1])
        else:
            self._connection.execute(_QUERIES["change_turn"], row)
            self._sources.set_shown(before[5], turn.receipt)

    def _without_told(self, turn: TurnRecord, receipt: int) -> TurnRecord:
        """Return ``turn`` with a receipt that does not restore what was removed from the stored one."""
        text = self._contents.get(receipt)
        told = replace(turn.receipt, warnings=receipt_from_json(json.loads(text)).warnings)
        for address in marked(text):
            told = receipt_without(told, address, ())
        return replace(turn, receipt=told)

    def _found(self, item: str) -> rows.Row | None:
        """Return where an item is: its thread, its place, and whether it may leave the history."""
        found: rows.Row | None = self._connection.execute(_QUERIES["find_item"], {"id": to_column(item)}).fetchone()
        return found
