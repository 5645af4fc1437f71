"""The sessions of one owner in the database. No method takes an owner, so none can return another owner's."""

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from promptuary.database.columns import from_body, from_column, row_checksum, to_body, to_column
from promptuary.database.errors import sound
from promptuary.database.owners import Key, OwnedRows
from promptuary.database.port import Connection, Row
from promptuary.database.queries import queries
from promptuary.memory.values import SCOPES
from promptuary.sessions.values import Session
from promptuary.workspace.access import FilePin, NotePin, Pins

_QUERIES: Final = queries("promptuary.sessions", "sessions.sql")


_CHECKSUM: Final = 16
_HEAD: Final = struct.Struct(">II")
_STAMP: Final = struct.Struct(">qq")
_HASH: Final = 32


def pack_files(files: Mapping[str, FilePin]) -> bytes:
    """Return files as bytes. The order of ``files`` does not matter."""
    ordered = sorted(files.items())
    names = zlib.compress("\0".join(path for path, _ in ordered).encode("utf-8", "surrogateescape"))
    stamps = zlib.compress(b"".join(_STAMP.pack(pin.size, pin.modified) for _, pin in ordered))
    hashes = b"".join(bytes.fromhex(pin.sha256) for _, pin in ordered)
    body = _HEAD.pack(len(ordered), len(names)) + names + hashes + stamps
    return hashlib.sha256(body).digest()[:_CHECKSUM] + body


def unpack_files(data: bytes) -> dict[str, FilePin]:
    """Return the files, or raise ``ValueError`` if the checksum does not match."""
    body = data[_CHECKSUM:]
    if hashlib.sha256(body).digest()[:_CHECKSUM] != data[:_CHECKSUM]:
        raise ValueError("the files of a session are not what was written")
    count, length = _HEAD.unpack_from(body)
    if not count:
        return {}
    at = _HEAD.size + length
    names = zlib.decompress(body[_HEAD.size : at]).decode("utf-8", "surrogateescape").split("\0")
    hashes = body[at : at + _HASH * count].hex()
    stamps = _STAMP.iter_unpack(zlib.decompress(body[at + _HASH * count :]))
    width = 2 * _HASH
    return {
        name: FilePin(hashes[width * place : width * (place + 1)], size, modified)
        for place, (name, (size, modified)) in enumerate(zip(names, stamps, strict=True))
    }


class SessionStore(OwnedRows):
    """The sessions of one owner.

    Names are unique, and a thread has at most one session. Methods may be called from any thread, and every write is
    persistent when it returns.
    """

    _queries = _QUERIES

    def has(self, thread: str) -> bool:
        """Return whether a thread has a session."""
        return bool(self._rows("has_session", {"thread": to_column(thread)})[0][0])

    def add(self, session: Session, pins: Pins) -> bool:
        """Add a session; return False, and change nothing, if its name, its id or its thread is taken."""
        row, files = session_row(session), pack_files(pins.files)

        def add(connection: Connection, owner: Key) -> bool:
            if not connection.execute(_QUERIES["add_session"], owner | row).rowcount:
                return False
            _put_pins(connection, owner | row, pins, files)
            return True

        return self._write(add)

    def get(self, name: str) -> Session | None:
        """Return the session with this name."""
        return self._find("session_by_name", {"name": to_column(name)})

    def of_thread(self, thread: str) -> Session | None:
        """Return the session of a thread. Every turn asks this, so it is one lookup."""
        return self._find("session_of_thread", {"thread": to_column(thread)})

    def all(self) -> Sequence[Session]:
        """Return every session, the newest first."""
        return [self._session(row) for row in self._rows("sessions")]

    def pins(self, name: str) -> Pins | None:
        """Return the pins of a session."""

        def read(connection: Connection, owner: Key) -> tuple[Row | None, list[Row]] | None:
            found = connection.execute(_QUERIES["session_by_name"], owner | {"name": to_column(name)}).fetchone()
            if found is None:
                return None
            key = owner | {"session": to_column(self._session(found).id)}
            files = connection.execute(_QUERIES["session_files"], key).fetchone()
            return files, connection.execute(_QUERIES["session_pins"], key).fetchall()

        found = self._read(read)
        if found is None:
            return None
        with sound(self._database.name):
            return _pins(*found)

    def replace(self, session: Session, pins: Pins | None = None) -> bool:
        """Replace the session with this id; return False if it is not there. Without ``pins``, its pins stay."""
        row, files = session_row(session), b"" if pins is None else pack_files(pins.files)

        def write(connection: Connection, owner: Key) -> bool:
            if not connection.execute(_QUERIES["replace_session"], owner | row).rowcount:
                return False
            if pins is not None:
                _put_pins(connection, owner | row, pins, files)
            return True

        return self._write(write)

    def remove(self, session: str) -> bool:
        """Remove the session with this id and its pins; return False if it is not there."""

        def remove(connection: Connection, owner: Key) -> bool:
            key = owner | {"session": to_column(session)}
            for query in ("drop_session_pins", "drop_session_files"):
                connection.execute(_QUERIES[query], key)
            return connection.execute(_QUERIES["drop_session"], key).rowcount > 0

        return self._write(remove)

    def rename_thread(self, thread: str, name: str) -> bool:
        """Record that a thread was renamed; return False, and change nothing, if the thread ``name`` has a session.

        A thread without a session is not an error.
        """

        def rename(connection: Connection, owner: Key) -> bool:
            named = _QUERIES["session_of_thread"]
            if connection.execute(named, owner | {"thread": to_column(name)}).fetchone() is not None:
                return False
            for row in connection.execute(named, owner | {"thread": to_column(thread)}).fetchall():
                moved = replace(self._session(row), thread=name)
                connection.execute(_QUERIES["move_session"], owner | session_row(moved))
            return True

        return self._write(rename)

    def pin_notes(self, name: str, revisions: Mapping[NotePin, str | None]) -> bool:
        """Pin some notes at other revisions, and unpin those with ``None``; return False if there is no session.

        The version of the session increases.
        """

        def pin(connection: Connection, owner: Key) -> bool:
            found = connection.execute(_QUERIES["session_by_name"], owner | {"name": to_column(name)}).fetchone()
            if found is None:
                return False
            session = self._session(found)
            key = owner | {"session": to_column(session.id)}
            for (scope, note), rev in revisions.items():
                values = key | {"kind": "note", "scope": scope, "name": to_column(note)}
                if rev is None:
                    connection.execute(_QUERIES["drop_session_pin"], values)
                else:
                    connection.execute(_QUERIES["put_session_pin"], values | {"rev": to_column(rev)})
            (count,) = connection.execute(_QUERIES["count_session_notes"], key).fetchone()
            after = replace(session, notes_pinned=int(count), version=session.version + 1)
            connection.execute(_QUERIES["replace_session"], owner | session_row(after))
            return True

        return self._write(pin)

    def _find(self, query: str, values: Mapping[str, Any]) -> Session | None:
        rows = self._rows(query, values)
        return self._session(rows[0]) if rows else None

    def _session(self, row: Row) -> Session:
        *stored, checksum = row
        with sound(self._database.name):
            if row_checksum(*stored) != checksum:
                raise ValueError("a session is not what was written")
            return from_body(stored[-1], Session)


def session_row(session: Session) -> dict[str, Any]:
    """Return the row of a session, without its owner."""
    names = {"session": session.id, "name": session.name, "thread": session.thread}
    row = {name: to_column(value) for name, value in names.items()} | {"body": to_body(session)}
    return row | {"checksum": row_checksum(*row.values())}


def _put_pins(connection: Connection, key: Key, pins: Pins, files: bytes) -> None:
    connection.execute(_QUERIES["put_session_files"], key | {"files": files})
    connection.execute(_QUERIES["drop_session_pins"], key)
    every = [
        *(("note", scope, note, rev) for (scope, note), rev in pins.notes.items()),
        *(("experience", "", experience, rev) for experience, rev in pins.experiences.items()),
        *(("page", "", page, rev) for page, rev in pins.pages.items()),
    ]
    rows = [
        key | {"kind": kind, "scope": scope, "name": to_column(name), "rev": to_column(rev)}
        for kind, scope, name, rev in every
    ]
    connection.executemany(_QUERIES["put_session_pin"], rows)


def _pins(files: Row | None, rows: Sequence[Row]) -> Pins:
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
