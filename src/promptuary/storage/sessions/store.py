"""The sessions of one owner in ``state.db``. ``storage/in_memory_sessions`` implements the same with dictionaries."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import asdict, replace

from promptuary.core.notes import SCOPES
from promptuary.core.ports.sessions import SessionStore
from promptuary.core.principals import Owner
from promptuary.core.sessions import NotePin, Pins, Session
from promptuary.database.columns import from_column, row_checksum, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Database
from promptuary.database.queries import queries
from promptuary.storage.owners import add_owner, find_owner
from promptuary.storage.sessions.manifest import pack_files, unpack_files
from promptuary.storage.values import to_text

_QUERIES: Final = queries(__package__, "sessions.sql")
_COLUMNS: Final = ("id", "name", "thread", "version")
"""Fields of a session that have their own column."""

_Row = tuple[Any, ...]


class SqliteSessions(SessionStore):
    """A ``SessionStore`` over ``database``, for one owner."""

    def __init__(self, database: Database, owner: Owner) -> None:
        self._database = database
        self._owner = owner

    def add(self, session: Session, pins: Pins) -> bool:
        """Add a session; return False, and change nothing, if its name, its id or its thread is taken."""
        files = pack_files(pins.files)

        def added(connection: Connection) -> bool:
            owner = add_owner(connection, self._owner)
            if not connection.execute(_QUERIES["add_session"], {"owner": owner, **_to_row(session)}).rowcount:
                return False
            _put_pins(connection, _number(connection, owner, session.id), pins, files)
            return True

        return self._database.write(added)

    def get(self, name: str) -> Session | None:
        """Return the session with this name."""
        found = self._found("session_by_name", {"name": to_column(name)})
        return found[0][1] if found else None

    def of_thread(self, thread: str) -> Session | None:
        """Return the session of a thread."""
        found = self._found("session_of_thread", {"thread": to_column(thread)})
        return found[0][1] if found else None

    def all(self) -> Sequence[Session]:
        """Return every session, the newest first."""
        return [session for _, session in self._found("sessions", {})]

    def pins(self, name: str) -> Pins | None:
        """Return the pins of a session."""

        def read(connection: Connection) -> tuple[Any, list[_Row]] | None:
            rows = self._rows(connection, "session_by_name", {"name": to_column(name)})
            if not rows:
                return None
            of_session = {"number": rows[0][0]}
            files = connection.execute(_QUERIES["session_files"], of_session).fetchone()
            return files, connection.execute(_QUERIES["session_pins"], of_session).fetchall()

        found = self._database.read(read)
        if found is None:
            return None
        with sound(self._database.name):
            return _pins(*found)

    def replace(self, session: Session, pins: Pins | None = None) -> bool:
        """Replace the session with this id; return False if it is not there."""
        files = None if pins is None else pack_files(pins.files)

        def replaced(connection: Connection) -> bool:
            owner = add_owner(connection, self._owner)
            if not connection.execute(_QUERIES["replace_session"], {"owner": owner, **_to_row(session)}).rowcount:
                return False
            if pins is not None and files is not None:
                _put_pins(connection, _number(connection, owner, session.id), pins, files)
            return True

        return self._database.write(replaced)

    def remove(self, session: str) -> bool:
        """Remove the session with this id; return False if it is not there."""

        def removed(connection: Connection) -> bool:
            rows = self._rows(connection, "session_number", {"session": to_column(session)})
            for (number,) in rows:
                for query in ("drop_session_pins", "drop_session_files", "drop_session"):
                    connection.execute(_QUERIES[query], {"number": number})
            return bool(rows)

        return self._database.write(removed)

    def rename_thread(self, thread: str, name: str) -> bool:
        """Record that a thread was renamed; return False if the thread ``name`` has a session."""

        def renamed(connection: Connection) -> bool:
            if self._rows(connection, "session_of_thread", {"thread": to_column(name)}):
                return False
            for row in self._rows(connection, "session_of_thread", {"thread": to_column(thread)}):
                number, session = self._session(row)
                moved = _to_row(replace(session, thread=name))
                connection.execute(_QUERIES["move_session"], {"number": number, **moved})
            return True

        return self._database.write(renamed)

    def pin_notes(self, name: str, revisions: Mapping[NotePin, str | None]) -> bool:
        """Pin some notes at other revisions, and unpin those with ``None``."""

        def pinned(connection: Connection) -> bool:
            owner = add_owner(connection, self._owner)
            rows = connection.execute(_QUERIES["session_by_name"], {"owner": owner, "name": to_column(name)}).fetchall()
            if not rows:
                return False
            number, session = self._session(rows[0])
            for (scope, note), rev in revisions.items():
                key = (number, "note", scope, to_column(note))
                if rev is None:
                    connection.execute(_QUERIES["drop_session_pin"], key)
                else:
                    connection.execute(_QUERIES["put_session_pin"], (*key, to_column(rev)))
            (count,) = connection.execute(_QUERIES["count_session_notes"], {"number": number}).fetchone()
            after = replace(session, notes_pinned=int(count), version=session.version + 1)
            connection.execute(_QUERIES["replace_session"], {"owner": owner, **_to_row(after)})
            return True

        return self._database.write(pinned)

    def _found(self, query: str, values: Mapping[str, Any]) -> list[tuple[int, Session]]:
        rows = self._database.read(lambda connection: self._rows(connection, query, values))
        return list(map(self._session, rows))

    def _rows(self, connection: Connection, query: str, values: Mapping[str, Any]) -> list[_Row]:
        owner = find_owner(connection, self._owner)
        return [] if owner is None else connection.execute(_QUERIES[query], {"owner": owner, **values}).fetchall()

    def _session(self, row: _Row) -> tuple[int, Session]:
        number, *stored, checksum = row
        with sound(self._database.name):
            if row_checksum(*stored) != checksum:
                raise ValueError("a session is not what was written")
            session, name, thread, body, version = stored
            given: dict[str, Any] = json.loads(from_column(body))
            given["roots"] = tuple(given["roots"])
            given["version"] = int(version)
            given |= {"id": from_column(session), "name": from_column(name), "thread": from_column(thread)}
            return int(number), Session(**given)


def _to_row(session: Session) -> dict[str, Any]:
    body = {name: value for name, value in asdict(session).items() if name not in _COLUMNS}
    names = [to_column(one) for one in (session.id, session.name, session.thread, to_text(body))]
    row = dict(zip(("session", "name", "thread", "body"), names, strict=True))
    return {**row, "version": session.version, "checksum": row_checksum(*names, session.version)}


def _number(connection: Connection, owner: int, session: str) -> int:
    values = {"owner": owner, "session": to_column(session)}
    (number,) = connection.execute(_QUERIES["session_number"], values).fetchone()
    return int(number)


def _put_pins(connection: Connection, number: int, pins: Pins, files: bytes) -> None:
    connection.execute(_QUERIES["put_session_files"], {"number": number, "files": files})
    connection.execute(_QUERIES["drop_session_pins"], {"number": number})
    rows = [
        *((number, "note", scope, to_column(note), to_column(rev)) for (scope, note), rev in pins.notes.items()),
        *((number, "experience", "", to_column(one), to_column(rev)) for one, rev in pins.experiences.items()),
        *((number, "page", "", to_column(one), to_column(rev)) for one, rev in pins.pages.items()),
    ]
    connection.executemany(_QUERIES["put_session_pin"], rows)


def _pins(files: tuple[bytes] | None, rows: Sequence[_Row]) -> Pins:
    if files is None:
        raise ValueError("the files of a session are gone")
    notes: dict[NotePin, str] = {}
    others: dict[str, dict[str, str]] = {"experience": {}, "page": {}}
    for kind, scope, name, rev in rows:
        if kind == "note":
            notes[SCOPES[SCOPES.index(scope)], from_column(name)] = from_column(rev)
        else:
            others[kind][from_column(name)] = from_column(rev)
    return Pins(unpack_files(bytes(files[0])), notes, others["experience"], others["page"])
