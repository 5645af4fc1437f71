"""What lasts, in one SQLite file: threads, histories, turns with their prompts, layers' states.

``storage/inmemory`` is the same contract in dictionaries. Above is the engine, which hands over a path in a folder that
is there; below are ``database`` (transactions), ``rows`` and ``contents`` (how values are stored).
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from promptuary.core.messages import Item
from promptuary.core.ports.threads import Change, KeptState, Recorded, StateKey, StateStore, ThreadLine
from promptuary.storage.sqlite import rows
from promptuary.storage.sqlite.columns import bound
from promptuary.storage.sqlite.database import Database, Result, Work
from promptuary.storage.sqlite.errors import damaged
from promptuary.storage.sqlite.history_cache import Histories
from promptuary.storage.sqlite.queries import queries, script
from promptuary.storage.sqlite.schema import STEPS
from promptuary.storage.sqlite.texts import Contents, Numbers, unpack
from promptuary.storage.values import item_is_missing, item_is_there, item_stays, now, number_is_taken, turn_is_another

_QUERIES = queries(f"{__package__}.sql", "thread_queries.sql")


class EmbeddedStore(StateStore):
    """A ``StateStore`` in the SQLite file ``path``, made if it is not there; its folder must be.

    ``patience`` is how many seconds to wait for other processes before giving up with an error; ``clock`` gives the
    time that threads are created and updated at.
    """

    def __init__(self, path: Path, *, patience: float = 30.0, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._histories, self._numbers = Histories(), Numbers()
        self._database = Database(path, [script(f"{__package__}.sql", step) for step in STEPS], patience=patience)

    def apply(self, change: Change) -> None:
        """Write ``change`` at once or not at all; when this returns it is on the disk."""
        time = self._clock()

        def written(connection: sqlite3.Connection) -> Contents:
            contents = Contents(connection, self._numbers)
            _Writing(connection, change, contents).run(time)
            return contents

        # Only now, when it is on the disk: what a transaction added may have been taken back.
        self._numbers.learn(self._database.write(written))

    def history(self, thread: str) -> Sequence[Item]:
        """Return what stands in the history now, in order."""
        return self._read(lambda connection: self._histories.read(connection, thread))

    def items(self, ids: Sequence[str]) -> Sequence[Item]:
        """Return these items, compacted ones too."""

        def found(connection: sqlite3.Connection) -> tuple[Item, ...]:
            each = (connection.execute(_QUERIES["item"], {"id": bound(one)}).fetchone() for one in ids)
            return tuple(rows.to_item(row) for row in each if row is not None)

        return self._read(found)

    def turn(self, thread: str, number: int | None = None) -> Recorded | None:
        """Return a turn by its number; the last if no number is given."""
        query = _QUERIES["last_turn" if number is None else "turn"]

        def found(connection: sqlite3.Connection) -> Recorded | None:
            row = connection.execute(query, {"thread": bound(thread), "number": number}).fetchone()
            return None if row is None else rows.to_turn(row, Contents(connection))

        return self._read(found)

    def last_number(self, thread: str) -> int:
        """Return the highest number of a turn; 0 if there is none."""
        key = {"thread": bound(thread)}
        return self._read(lambda connection: int(connection.execute(_QUERIES["last_number"], key).fetchone()[0]))

    def turns(self, thread: str) -> Sequence[Recorded]:
        """Return the turns of a thread, the first first."""

        def found(connection: sqlite3.Connection) -> tuple[Recorded, ...]:
            contents = Contents(connection)
            every = connection.execute(_QUERIES["turns"], {"thread": bound(thread)})
            return tuple(rows.to_turn(row, contents) for row in every)

        return self._read(found)

    def threads(self) -> Sequence[ThreadLine]:
        """Return every thread, the last used first."""
        return self._read(lambda connection: tuple(map(rows.to_line, connection.execute(_QUERIES["threads"]))))

    def state(self, layer: str, scope_key: str) -> KeptState | None:
        """Return what is kept for a layer in a scope."""
        return self.states([(layer, scope_key)])[0]

    def states(self, keys: Sequence[StateKey]) -> Sequence[KeptState | None]:
        """Return what is kept under each key, in one transaction."""

        def one(connection: sqlite3.Connection, layer: str, scope_key: str) -> KeptState | None:
            key = {"layer": bound(layer), "scope_key": bound(scope_key)}
            row = connection.execute(_QUERIES["state"], key).fetchone()
            return None if row is None else rows.to_state(layer, scope_key, row)

        return self._read(lambda connection: tuple(one(connection, *key) for key in keys))

    def forget(self, layer: str, scope_key: str) -> None:
        """Remove what is kept for a layer in a scope."""
        key = {"layer": bound(layer), "scope_key": bound(scope_key)}
        self._database.write(lambda connection: connection.execute(_QUERIES["forget_state"], key))

    def verify(self) -> None:
        """Read everything, and raise an error if any of it is not what was written. Slow if the file is big."""

        def compared(connection: sqlite3.Connection) -> str:
            for row in connection.execute(_QUERIES["contents"]):
                unpack(*row)
            return str(connection.execute(_QUERIES["integrity"]).fetchone()[0])

        found = self._read(compared)
        if found != "ok":
            raise damaged(self._database.name, found)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _read(self, work: Work[Result]) -> Result:
        with self._sound():
            return self._database.read(work)

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Whatever cannot be made a value of was not written by us like that."""
        try:
            yield
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise damaged(self._database.name, str(error)) from error


class _Writing:
    """One change on its way into the database, within one transaction."""

    __slots__ = ("_change", "_connection", "_contents", "_thread")

    def __init__(self, connection: sqlite3.Connection, change: Change, contents: Contents) -> None:
        self._connection = connection
        self._change = change
        self._contents = contents
        self._thread = 0

    def run(self, time: str) -> None:
        name = bound(self._change.thread)
        self._connection.execute(_QUERIES["use_thread"], {"name": name, "time": bound(time)})
        (self._thread,) = self._connection.execute(_QUERIES["find_thread"], {"name": name}).fetchone()
        self._append()
        self._pin()
        self._compact()
        for state in self._change.states:
            self._connection.execute(_QUERIES["keep_state"], rows.of_state(state))
        if self._change.turn is not None:
            self._record(self._change.turn)

    def _append(self) -> None:
        (last,) = self._connection.execute(_QUERIES["last_place"], {"thread": self._thread}).fetchone()
        for place, item in enumerate(self._change.items, last + 1):
            self._add(item, place)

    def _add(self, item: Item, place: int) -> None:
        if self._found(item.id) is not None:
            raise item_is_there(item.id)
        self._connection.execute(_QUERIES["add_item"], rows.of_item(item, self._thread, place, self._contents))

    def _pin(self) -> None:
        for one, pinned in self._change.pinned:
            found = self._found(one)
            if found is None or found[0] != self._thread:
                raise item_is_missing(self._change.thread, one)
            self._connection.execute(_QUERIES["pin_item"], {"id": bound(one), "pinned": pinned})

    def _compact(self) -> None:
        for replacement in self._change.replacements:
            places = []
            for one in dict.fromkeys(replacement.ids):
                thread, place, may_leave = self._found(one) or (None, 0, 0)
                if thread != self._thread or not may_leave:
                    raise item_stays(self._change.thread, one)
                self._connection.execute(_QUERIES["compact_item"], {"id": bound(one)})
                places.append(place)
            self._add(replacement.item, min(places))

    def _record(self, turn: Recorded) -> None:
        before = self._connection.execute(_QUERIES["find_turn"], {"id": bound(turn.id)}).fetchone()
        if before is not None and before != (self._thread, turn.number):
            raise turn_is_another(turn)
        place = {"thread": self._thread, "number": turn.number}
        if before is None and self._connection.execute(_QUERIES["find_number"], place).fetchone() is not None:
            raise number_is_taken(turn)
        query = _QUERIES["add_turn" if before is None else "change_turn"]
        self._connection.execute(query, rows.of_turn(turn, self._thread, self._contents))

    def _found(self, item: str) -> rows.Row | None:
        """Return where an item is: its thread, its place, and whether it may leave the history."""
        found: rows.Row | None = self._connection.execute(_QUERIES["find_item"], {"id": bound(item)}).fetchone()
        return found
