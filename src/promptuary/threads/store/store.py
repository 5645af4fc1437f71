"""The threads of one principal in ``state.db``: histories, turns with their prompts, the states of layers.

Whatever a store returns belongs to its principal's owner, and whatever it writes is written as theirs: no method takes
an owner, so none can return another owner's. Above is ``state``, which opens the database; below are the port to it,
and ``rows``, ``prompts`` and ``contents`` (how values are stored).
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from promptuary.base.messages import Item
from promptuary.base.principals import Principal
from promptuary.context.receipt import receipt_from_json
from promptuary.database.columns import from_column, history_checksum, to_column
from promptuary.database.contents import REDACTED, Contents, hash_of, marked, mentioned
from promptuary.database.errors import sound
from promptuary.database.owners import EVERYBODY, NOBODY, Counter, add_owner, find_owner
from promptuary.database.port import Connection, Database, Result, Work
from promptuary.database.queries import queries
from promptuary.layers.layer import PRIVATE_SCOPES, LayerState, StateKey
from promptuary.memory.redaction import attached_notes, item_without_blocks, receipt_without
from promptuary.threads.ledger_values import Pruned, SourceUse, ThreadSize
from promptuary.threads.records import (
    RECENT_TURNS,
    USES_AT_ONCE,
    Glance,
    SeenTurn,
    SentText,
    ThreadChange,
    ThreadInfo,
    Totals,
    TurnHead,
    TurnRecord,
    TurnStatus,
)
from promptuary.threads.store import retention, rows
from promptuary.threads.store import sources as source_index
from promptuary.threads.store.history_cache import Histories
from promptuary.threads.store.sources import SourceIndex
from promptuary.threads.store.values import (
    answering_key,
    cannot_compact_error,
    cannot_continue_error,
    duplicate_item_error,
    missing_item_error,
    missing_thread_error,
    taken_thread_error,
    turn_id_conflict,
    turn_number_conflict,
)

_QUERIES: Final = queries(__package__, "threads.sql")
_STATES_AT_ONCE: Final = 10
"""How many states are read at once: the slots of ``states``."""

NOUN: Final = "thread"
"""What the feed of changes calls a thread; it is told of one if none of its turns changed."""
TURN: Final = "turn"
"""What it calls a turn."""


class ThreadHead(NamedTuple):
    """The states of some layers, the history of a thread, and the highest number that a turn of it has or had."""

    states: Sequence[LayerState | None]
    history: Sequence[Item]
    last_number: int


class ThreadStore:
    """The threads of ``principal``; ``clock`` gives the time at which threads are created and updated.

    Every method may be called from any thread of the process; several processes may use one database at once. Text
    comes back as it was given, whatever characters it has; sequences come back as tuples. ``histories`` is a cache of
    the whole database, shared by the stores of all principals.
    """

    def __init__(
        self, database: Database, principal: Principal, *, histories: Histories, clock: Callable[[], str]
    ) -> None:
        self._database = database
        self._principal = principal
        self._histories = histories
        self._clock = clock

    def put_states(self, thread: str, states: Sequence[LayerState]) -> None:
        """Store states of layers in a thread."""
        self.apply(ThreadChange(thread, states=states))

    def apply(self, change: ThreadChange) -> None:
        """Write ``change`` as a whole or not at all, and return when it is persistent. Creates the thread if needed.

        Raises ``ConflictError``, and changes nothing, if the number of a new turn is taken, if the turn to be continued
        is not a prepared one of the thread, if an item with that id exists, if an item to be pinned is not in the
        thread, if an item to be replaced or removed is pinned or is not in its history, or if this process was
        overtaken while it held the lock of the thread.
        """
        time = self._clock()
        lock = answering_key(self._principal, change.thread)

        def written(connection: Connection) -> None:
            self._database.check_lock(connection, lock)
            writing = _Writing(connection, change, self._principal)
            writing.run(time)
            for turn, status in writing.turns:
                self._database.notify(connection, writing.owner, TURN, turn, event=status, actor=self._principal.user)
            if not writing.turns:
                self._database.notify(connection, writing.owner, NOUN, change.thread)

        self._database.write(written)

    def history(self, thread: str) -> Sequence[Item]:
        """Return the history as it is now, in order, with summaries in the place of what they replaced."""
        return self._read(lambda connection: self._histories.read(connection, self._owner(connection), thread))

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too, in the order of ``ids``; unknown ids are skipped."""

        def found(connection: Connection) -> tuple[Item, ...]:
            own = self._own(connection)
            each = (connection.execute(_QUERIES["item"], own | {"id": to_column(item)}).fetchone() for item in ids)
            return tuple(rows.to_item(row) for row in each if row is not None)

        return self._read(found)

    def sent(self, ranges: Sequence[tuple[str, str]]) -> Sequence[Item]:
        """Return the items of all threads whose ids are from the first up to the second text of one of ``ranges``."""

        def found(connection: Connection) -> tuple[Item, ...]:
            own = self._own(connection)
            keys = (own | {"first": to_column(first), "last": to_column(last)} for first, last in ranges)
            return tuple(rows.to_item(row) for key in keys for row in connection.execute(_QUERIES["items_in"], key))

        return self._read(found)

    def ending_with(self, ranges: Sequence[tuple[str, str]]) -> str | None:
        """Return the thread whose history ends with an item in the first of ``ranges`` that one ends with."""

        def found(connection: Connection) -> str | None:
            own = self._own(connection)
            for first, last in ranges:
                key = own | {"first": to_column(first), "last": to_column(last)}
                if row := connection.execute(_QUERIES["thread_ending_in"], key).fetchone():
                    return from_column(row[0])
            return None

        return self._read(found)

    def said(self, thread: str) -> Sequence[Item]:
        """Return every item of a thread, compacted ones too, in the order in which they were added."""

        def found(connection: Connection) -> tuple[Item, ...]:
            every = connection.execute(_QUERIES["said"], self._key(connection, thread))
            return tuple(map(rows.to_item, every))

        return self._read(found)

    def turn(self, thread: str, number: int | None = None) -> TurnRecord | None:
        """Return the turn with this number, or the last turn if no number is given."""

        def found(connection: Connection) -> TurnRecord | None:
            row = self._turn_row(connection, thread, number)
            return None if row is None else rows.to_turn(row, Contents(connection, self._owner(connection)))

        return self._read(found)

    def seen_turn(self, thread: str, number: int | None = None) -> SeenTurn | None:
        """Return a turn as ``turn`` does, without most of its texts, which may be very long."""

        def found(connection: Connection) -> SeenTurn | None:
            row = self._turn_row(connection, thread, number)
            if row is None:
                return None
            key = self._own(connection) | {"thread": row[9], "number": row[2]}
            earlier, later = connection.execute(_QUERIES["turns_beside"], key).fetchone()
            compacted = connection.execute(_QUERIES["compacted_items"], key).fetchall()
            return rows.to_seen_turn(row, Contents(connection, key["owner"]), (int(earlier), int(later)), compacted)

        return self._read(found)

    def glances(self, turns: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], Glance]:
        """Return how these turns begin, by thread and number; unknown ones are left out."""

        def found(connection: Connection) -> dict[tuple[str, int], Glance]:
            contents = Contents(connection, self._owner(connection))
            each = ((turn, self._turn_row(connection, *turn)) for turn in turns)
            return {
                turn: rows.to_glance(row, self._replies(connection, row), contents)
                for turn, row in each
                if row is not None
            }

        return self._read(found)

    def _replies(self, connection: Connection, row: rows.Row) -> Sequence[rows.Row]:
        root = from_column(row[0]).partition(".")[0]
        key = self._own(connection) | {"thread": row[9], "number": row[2]}
        return connection.execute(_QUERIES["replies"], key | {"id": row[0], "root": to_column(root)}).fetchall()

    def sent_text(self, thread: str, number: int, message: int, start: int, most: int) -> SentText | None:
        """Return at most so many characters of a message of a prompt; ``None`` if there is no such message."""

        def found(connection: Connection) -> SentText | None:
            row = self._turn_row(connection, thread, number)
            contents = Contents(connection, self._owner(connection))
            return None if row is None else rows.to_sent_text(row, contents, message, start, most)

        return self._read(found)

    def _turn_row(self, connection: Connection, thread: str, number: int | None) -> rows.Row | None:
        key = self._key(connection, thread) | {"number": number}
        row: rows.Row | None = connection.execute(_QUERIES["last_turn" if number is None else "turn"], key).fetchone()
        return row

    def turn_status(self, thread: str, number: int) -> tuple[str, str] | None:
        """Return the id of the turn with this number, and its status; ``None`` if there is none."""

        def found(connection: Connection) -> tuple[str, str] | None:
            key = self._key(connection, thread) | {"number": number}
            row = connection.execute(_QUERIES["turn_status"], key).fetchone()
            return None if row is None else (from_column(row[0]), from_column(row[1]))

        return self._read(found)

    def last_number(self, thread: str) -> int:
        """Return the highest number that a turn has or had; 0 if there was none."""
        return self._read(lambda connection: self._last_number(connection, thread))

    def head(self, thread: str, keys: Sequence[StateKey], *, numbered: bool = True) -> ThreadHead:
        """Return what a turn needs to begin, all read at the same moment; unless ``numbered``, without the number."""

        def found(connection: Connection) -> ThreadHead:
            history = self._histories.read(connection, self._owner(connection), thread)
            number = self._last_number(connection, thread) if numbered else 0
            return ThreadHead(self._states(connection, keys), history, number)

        return self._read(found)

    def _last_number(self, connection: Connection, thread: str) -> int:
        row = connection.execute(_QUERIES["last_number"], self._key(connection, thread)).fetchone()
        return 0 if row is None else int(max(row))

    def turns(self, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""

        def found(connection: Connection) -> tuple[TurnRecord, ...]:
            key = self._key(connection, thread)
            contents = Contents(connection, key["owner"])
            return tuple(rows.to_turn(row, contents) for row in connection.execute(_QUERIES["turns"], key).fetchall())

        return self._read(found)

    def recent(self, *, thread: str | None, limit: int, before: int) -> tuple[Sequence[TurnHead], int]:
        """Return the newest turns of a thread or of all, and the cursor of the next ones, 0 if there are none.

        ``before`` is such a cursor.
        """

        def found(connection: Connection) -> tuple[Sequence[TurnHead], int]:
            own = self._own(connection)
            contents = Contents(connection, own["owner"])
            key = own | {"before": before, "limit": limit + 1}
            newest: list[tuple[int, int]] = []
            for number, used in self._by_use(connection, own, thread):
                if len(newest) > limit and used < newest[-1][0]:
                    break  # its turns, and those of all threads after it, are older
                some = connection.execute(_QUERIES["serials_before"], key | {"thread": number}).fetchall()
                if some:
                    newest = sorted((*newest, *map(tuple, some)), reverse=True)[: limit + 1]
            shown = newest[:limit]
            each = (
                connection.execute(_QUERIES["turn_by_serial"], own | {"serial": serial, "thread": of}).fetchone()
                for serial, of in shown
            )
            following = int(shown[-1][0]) if len(newest) > limit else 0
            return tuple(rows.to_turn_head(row, contents) for row in each), following

        return self._read(found)

    def _by_use(self, connection: Connection, own: dict[str, int], thread: str | None) -> Sequence[tuple[int, int]]:
        if thread is not None:
            return [(self._number(connection, thread), 0)]
        return [(int(number), int(used)) for number, used in connection.execute(_QUERIES["threads_by_use"], own)]

    def threads(self) -> Sequence[ThreadInfo]:
        """Return every thread of the owner, the most recently used first."""

        def found(connection: Connection) -> tuple[ThreadInfo, ...]:
            return tuple(map(rows.to_thread, connection.execute(_QUERIES["threads"], self._own(connection))))

        return self._read(found)

    def uses(
        self, sources: Sequence[str], *, finished_only: bool = False, limit: int = USES_AT_ONCE
    ) -> Sequence[SourceUse]:
        """Return the turns of all threads whose prompts had one of these sources, the newest first.

        ``sources`` are addresses as receipts have them. A turn is returned once for each way in which it had a source.
        Its history counts as it was when the turn was added.
        """
        return self._read(
            lambda connection: source_index.uses(
                connection, self._own(connection), sources, finished_only=finished_only, limit=limit
            )
        )

    def sources(self, thread: str, number: int) -> Sequence[SourceUse]:
        """Return every source in the prompt of a turn, and how it got there; empty if there is no turn."""
        return self._read(
            lambda connection: source_index.sources(connection, self._own(connection), thread, number),
        )

    def addresses(self, limit: int = USES_AT_ONCE) -> Sequence[str]:
        """Return the addresses of sources that were in any prompt, ordered by their first use, the latest first."""
        return self._read(lambda connection: source_index.addresses(connection, self._own(connection), limit))

    def sizes(self) -> Sequence[ThreadSize]:
        """Return the size of each thread, the largest first."""
        return self._read(lambda connection: retention.sizes(connection, self._owner(connection)))

    def prune(self, before: str, *, thread: str | None = None, recorded: bool = False, dry_run: bool = False) -> Pruned:
        """Remove the turns older than ``before``, of one thread or of all; return what was removed, or would be.

        ``recorded``: only of threads whose conversations clients keep.

        ``before`` is a time in UTC without a zone (``2026-01-31T15:00:00``). A thread that was used since keeps its
        history and the numbers of its turns; messages that had left the history are removed with the turns. Any other
        thread is removed as a whole. When this returns, the removed data is erased from the files, free pages included.
        """

        def pruned(connection: Connection) -> Pruned:
            done = retention.Pruning(connection, self._owner(connection), before).run(thread, recorded=recorded)
            if dry_run:
                raise _OnlyTriedError(done)
            if done != Pruned():
                self._database.notify(connection, self._owner(connection), NOUN, thread or "")
            return done

        try:
            done = self._write(pruned)
        except _OnlyTriedError as tried:
            return tried.done
        if done != Pruned():
            self._database.purge()
        return done

    def rename(self, thread: str, name: str) -> None:
        """Rename a thread with everything that belongs to it: history, turns, the states of layers.

        Raises ``ConflictError``, and changes nothing, if there is no such thread, or if the new name is taken.
        """

        def renamed(connection: Connection) -> None:
            own = self._own(connection)
            number = self._number(connection, thread)
            if number == NOBODY:
                raise missing_thread_error(thread)
            if self._number(connection, name) != NOBODY:
                raise taken_thread_error(name)
            before, after = to_column(thread), to_column(name)
            connection.execute(_QUERIES["rename_thread"], own | {"thread": number, "name": after})
            connection.execute(_QUERIES["rename_states"], own | {"thread": before, "name": after})
            for changed in (thread, name):
                self._database.notify(connection, own["owner"], NOUN, changed)

        self._write(renamed)

    def totals(self, thread: str) -> Totals:
        """Return the figures of a thread; zeros if it does not exist."""

        def found(connection: Connection) -> Totals:
            key = self._own(connection) | {"thread": self._number(connection, thread), "limit": RECENT_TURNS}
            turns, finished, sent, replied, cost, messages = connection.execute(_QUERIES["totals"], key).fetchone()
            recent = tuple(int(row[0]) for row in connection.execute(_QUERIES["tokens_of_turns"], key))
            return Totals(turns, finished, messages, sent, replied, cost, recent[::-1])

        return self._read(found)

    def states(self, keys: Sequence[StateKey]) -> Sequence[LayerState | None]:
        """Return the state under each key, in the order of ``keys``, all read at the same moment."""
        return self._read(lambda connection: self._states(connection, keys))

    def _states(self, connection: Connection, keys: Sequence[StateKey]) -> tuple[LayerState | None, ...]:
        own, found = self._own(connection), dict[StateKey, LayerState]()
        for start in range(0, len(keys), _STATES_AT_ONCE):
            some = keys[start : start + _STATES_AT_ONCE]
            values: dict[str, Any] = {}
            for slot in range(_STATES_AT_ONCE):
                key = some[min(slot, len(some) - 1)]
                columns = {"owner": _of_scope(own, key)["owner"]} | rows.of_key(key)
                values |= {f"{name}{slot}": value for name, value in columns.items()}
            by_columns = {tuple(rows.of_key(key).values()): key for key in some}
            for *columns, version, digest, packed, body in connection.execute(_QUERIES["states"], own | values):
                key = by_columns[tuple(columns)]
                found[key] = rows.to_state(key, (version, digest, packed, body))
        return tuple(map(found.get, keys))

    def _key(self, connection: Connection, thread: str) -> dict[str, Any]:
        return self._own(connection) | {"name": to_column(thread)}

    def _number(self, connection: Connection, thread: str) -> int:
        """Return the number of a thread; an unused number if there is none."""
        row = connection.execute(_QUERIES["find_thread"], self._key(connection, thread)).fetchone()
        return NOBODY if row is None else int(row[0])

    def _own(self, connection: Connection) -> dict[str, int]:
        """Return the beginning of the key of every row of the owner."""
        return {"tenant": connection.tenant, "owner": self._owner(connection)}

    def _owner(self, connection: Connection) -> int:
        """Return the number of the owner."""
        found = find_owner(connection, self._principal.owner)
        return NOBODY if found is None else found

    def _read(self, work: Work[Result]) -> Result:
        with sound(self._database.name):
            return self._database.read(work)

    def _write(self, work: Work[Result]) -> Result:
        def write(connection: Connection) -> Result:
            connection.hold(self._owner(connection))
            return work(connection)

        with sound(self._database.name):
            return self._database.write(write)


class _OnlyTriedError(Exception):
    """Raised to roll back a dry run."""

    def __init__(self, done: Pruned) -> None:
        super().__init__()
        self.done = done


def _of_scope(own: dict[str, int], key: StateKey) -> dict[str, int]:
    """Return the beginning of the key of a state, which is the owner's or everybody's."""
    return own if key.scope in PRIVATE_SCOPES else own | {"owner": EVERYBODY}


class _Writing:
    """Writes one change, within one transaction."""

    __slots__ = (
        *("_change", "_connection", "_contents", "_counter", "_own", "_sources", "_thread", "_user"),
        *("owner", "turns"),
    )

    def __init__(self, connection: Connection, change: ThreadChange, principal: Principal) -> None:
        self._connection = connection
        self._change = change
        self.owner = add_owner(connection, principal.owner)
        self._own = {"tenant": connection.tenant, "owner": self.owner}
        # The thread, its turn, and the items; a source that is new takes the rest.
        self._counter = Counter(connection, self.owner, 4 + len(change.items) + len(change.replacements))
        self._contents = Contents(connection, self.owner)
        self._sources = SourceIndex(connection, self.owner, self._counter)
        self._user = principal.user
        self._thread = 0
        self.turns: list[tuple[str, TurnStatus]] = []
        """The turns that were added or changed, with the status that they have now."""

    def run(self, time: str) -> None:
        values = {"name": to_column(self._change.thread), "number": self._counter.next(), "time": to_column(time)}
        values["empty"] = history_checksum(())
        (self._thread,) = self._execute("use_thread", values).fetchone()
        # What comes with a new request is in that request itself, and carried by its history from the next one on.
        is_request = self._change.turn is not None and self._change.turn.status == "prepared"
        if not is_request:
            self._append()
        self._pin()
        self._compact()
        for item in dict.fromkeys(self._change.removed):
            self._take_out(item)
        for state in self._change.states:
            self._connection.execute(_QUERIES["keep_state"], _of_scope(self._own, state.key) | rows.of_state(state))
        if self._change.continued:
            self._continue(self._change.continued)
        for root, status in self._change.ended:
            self._end(root, status)
        if self._change.turn is not None:
            self._record(self._change.turn)
        if is_request:
            self._append()
        if self._change.items or self._change.pinned or self._change.replacements or self._change.removed:
            self._seal()

    def _execute(self, query: str, values: dict[str, Any]) -> Any:
        return self._connection.execute(_QUERIES[query], self._own | values)

    def _append(self) -> None:
        if not self._change.items:
            return
        self._contents.look_up(hash_of(item.content) for item in self._change.items)
        (last,) = self._execute("last_place", {"thread": self._thread}).fetchone()
        for place, item in enumerate(self._change.items, last + 1):
            self._add(item, place)

    def _add(self, item: Item, place: int) -> None:
        notes = mentioned(item.content) | attached_notes(item)
        item = self._without_forgotten(item) if notes else item
        row = rows.of_item(item, self._thread, place, self._contents) | {"item": self._counter.next()}
        if not self._execute("add_item", row).rowcount:
            raise duplicate_item_error(item.id)
        self._sources.add_item(row["item"], self._thread, item)
        if notes:
            self._contents.mention(row["content"], notes)
            self._execute("add_mention_item", row)

    def _without_forgotten(self, item: Item) -> Item:
        """Return ``item`` without what was forgotten since it was prepared."""
        digest = self._contents.put(item.content)
        left = self._contents.get(digest)
        if digest in self._contents.redacted:
            for address in marked(left):
                item = item_without_blocks(item, address)
        return item

    def _pin(self) -> None:
        for item, pinned in self._change.pinned:
            found = self._found(item)
            if found is None or found[0] != self._thread:
                raise missing_item_error(self._change.thread, item)
            self._execute("pin_item", {"id": to_column(item), "pinned": pinned})

    def _compact(self) -> None:
        for replacement in self._change.replacements:
            places = [self._take_out(item) for item in dict.fromkeys(replacement.ids)]
            self._add(replacement.item, min(places))

    def _take_out(self, item: str) -> int:
        """Remove an item from the history, and return where it was."""
        thread, place, may_leave = self._found(item) or (None, 0, 0)
        if thread != self._thread or not may_leave:
            raise cannot_compact_error(self._change.thread, item)
        self._execute("compact_item", {"id": to_column(item)})
        return int(place)

    def _seal(self) -> None:
        """Record which items are in the history now, so that damage to the table is detected."""
        standing = self._execute("standing_of", {"thread": self._thread}).fetchall()
        self._execute("seal_history", {"thread": self._thread, "history": history_checksum(standing)})

    def _continue(self, turn: str) -> None:
        key = {"id": to_column(turn), "thread": self._thread, "status": to_column("prepared")}
        row = self._execute("pending_turn", key).fetchone()
        if row is None:
            raise cannot_continue_error(self._change.thread, turn)
        self._set_status(key["id"], "continued", row)

    def _end(self, root: str, status: TurnStatus) -> None:
        """Set the status of the turns of a message."""
        also = "finished" if status == "superseded" else "prepared"
        last = f"{root}/"  # follows every id that begins with the root and a full stop
        key = {"first": to_column(root), "last": to_column(last), "thread": self._thread, "also": to_column(also)}
        for turn, *row in self._execute("open_turns", key).fetchall():
            self._set_status(turn, status, row)

    def _set_status(self, turn: Any, status: TurnStatus, row: Sequence[Any]) -> None:
        """Set the status of a turn; ``row`` is the rest of what its checksum covers."""
        number, user, *texts, replied, cost = row
        column = to_column(status)
        checksum = rows.turn_checksum((turn, self._thread, number, column, user), replied, cost, texts)
        self._execute("set_status", {"id": turn, "status": column, "checksum": checksum})
        self.turns.append((from_column(turn), status))

    def _record(self, turn: TurnRecord) -> None:
        before = self._execute("find_turn", {"id": to_column(turn.id)}).fetchone()
        if before is not None and before[:2] != (self._thread, turn.number):
            raise turn_id_conflict(turn)
        user = self._user if before is None else from_column(before[2])
        place = {"thread": self._thread, "number": turn.number}
        if before is None and self._execute("find_number", place).fetchone() is not None:
            raise turn_number_conflict(turn)
        if before is not None and before[4] & REDACTED:
            turn = self._without_told(turn, before[3])
        stored = None if before is None else before[6:8]
        row, sent = rows.of_turn(turn, self._thread, user, self._contents, stored)
        if before is None:
            row["serial"] = self._counter.next()
            self._execute("add_turn", row)
            self._sources.add_turn(row["serial"], self._thread, turn.receipt, sent[:-1])
        else:
            self._execute("change_turn", row)
            self._sources.set_shown(before[5], self._thread, turn.receipt)
        self.turns.append((turn.id, turn.status))

    def _without_told(self, turn: TurnRecord, receipt: bytes) -> TurnRecord:
        """Return ``turn`` with a receipt that does not restore what was removed from the stored one."""
        text = self._contents.get(receipt)
        told = replace(turn.receipt, warnings=receipt_from_json(json.loads(text)).warnings)
        for address in marked(text):
            told = receipt_without(told, address, ())
        return replace(turn, receipt=told)

    def _found(self, item: str) -> rows.Row | None:
        """Return where an item is: its thread, its place, and whether it may leave the history."""
        found: rows.Row | None = self._execute("find_item", {"id": to_column(item)}).fetchone()
        return found
