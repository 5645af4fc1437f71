"""Converts a database of the form before this one, as it is in the backups of that version, to the tables of this one.

Everything is copied that cannot be made again: threads with their ledger, notes with their history, what waits,
experiences, sessions, what was forgotten and what is being forgotten. Vectors are made again when they are needed.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from promptuary.base.errors import UnknownFormatError
from promptuary.base.principals import Owner
from promptuary.base.text import one_line
from promptuary.context.receipt import receipt_from_json
from promptuary.database.binding import BoundDatabase
from promptuary.database.columns import from_column, history_checksum, row_checksum
from promptuary.database.contents import REDACTED, Contents, marked, unpack
from promptuary.database.errors import sound, translated
from promptuary.database.migrate import BEFORE
from promptuary.database.owners import Key
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteConnection
from promptuary.experiences.store import experience_row
from promptuary.experiences.values import Experience
from promptuary.memory.store.journal import change_row, note_row, owner_row
from promptuary.memory.values import NoteChange, NoteHeader, NoteStamp
from promptuary.sessions.store import session_row
from promptuary.sessions.values import Session
from promptuary.threads.store.prompts import Sent, put_entries, sent_as
from promptuary.threads.store.rows import turn_checksum

_QUERIES: Final = queries(__package__, "old_format.sql")
_THREADS: Final = queries("promptuary.threads.store", "threads.sql")
_NOTES: Final = queries("promptuary.memory.store", "notes.sql")
_EXPERIENCES: Final = queries("promptuary.experiences", "experiences.sql")

_VERSION: Final = 14
"""The last version of that form; only its backups can be restored."""

_MAX_NAMED: Final = 5


def bring_up_to_date(path: Path) -> None:
    """Convert the database at ``path``, unless it is of another form than the one before this."""
    name = f"{path.parent.name}/{path.name}"
    with translated(name, path.parent):
        with closing(sqlite3.connect(path)) as old:
            (mark,), (version,) = (
                old.execute(f"PRAGMA {key}").fetchone() for key in ("application_id", "user_version")
            )
        if mark != BEFORE:
            return
        if version != _VERSION:
            raise UnknownFormatError(
                f"{name} in this backup has format {version}, which is not restored; make the backup with the last "
                f"version before this one (format {_VERSION})."
            )
        converted = path.with_name(f"{path.name}-converted")
        BoundDatabase(converted).close()
        with closing(sqlite3.connect(converted, factory=SqliteConnection, isolation_level=None)) as new, sound(name):
            new.execute("ATTACH DATABASE ? AS old", (str(path),))
            _refuse_older(new, name)
            new.execute("BEGIN")
            _Copy(new).run()
            new.execute("COMMIT")
    converted.replace(path)


def _refuse_older(new: SqliteConnection, name: str) -> None:
    older = [one_line(from_column(thread)) for (thread,) in new.execute(_QUERIES["older_threads"])]
    if older:
        more = f" and {len(older) - _MAX_NAMED:,} more" if len(older) > _MAX_NAMED else ""
        raise UnknownFormatError(
            f"{name} in this backup has threads that an even earlier version began, which are not restored: "
            f"{', '.join(older[:_MAX_NAMED])}{more}. With the version that made the backup, export them (`promptuary "
            "thread export --thread NAME FILE`), remove them (`promptuary thread rm --thread NAME`) and make the "
            "backup again; then import them here (`promptuary thread import FILE`)."
        )


class _Copy:
    """Copies everything from the database ``old``, which is attached to ``new``. Damaged rows raise ``ValueError``."""

    def __init__(self, new: SqliteConnection) -> None:
        self._new = new
        self._tenant = {"tenant": new.tenant}
        self._owners = {
            number: Owner(*map(from_column, names)) for number, *names in new.execute(_QUERIES["old_owners"])
        }

    def run(self) -> None:
        """Copy everything."""
        if foreign := self._new.execute(_QUERIES["foreign_names"]).fetchone():
            raise ValueError(f"{foreign[0]!r} in it is not a table")
        self._copy("owners", "binding", "states")
        self._new.execute(_QUERIES["count_owners"])
        self._copy("contents", "threads", "items")
        self._turns()
        self._seal()
        self._copy("mentions", "mention_items", "sources", "parts", "turn_sources", "item_sources", "carried_sources")
        self._notes()
        self._copy("note_counts", "note_texts", "brought_notes", "unforgotten", "queue", "proposals")
        self._experiences()
        self._sessions()
        self._copy("session_files", "session_pins")

    def _copy(self, *tables: str) -> None:
        for table in tables:
            self._new.execute(_QUERIES[f"copy_{table}"], self._tenant)

    def _rows(self, query: str) -> Iterator[Key]:
        """Yield rows by the names of their columns."""
        found = self._new.execute(_QUERIES[query])
        names = [column[0] for column in found.description]
        for row in found.fetchall():
            yield dict(zip(names, row, strict=True))

    def _turns(self) -> None:
        for row in self._rows("old_turns"):
            key = self._tenant | {"owner": row["owner"]}
            is_redacted = bool(row["messages_packed"] & REDACTED)
            receipt, messages = (
                unpack(row[name], row.pop(f"{name}_packed"), row.pop(f"{name}_body"))
                for name in ("receipt", "messages")
            )
            receipt_from_json(json.loads(receipt))  # what cannot be read is said now, not when somebody asks for it
            sent = [self._sent(message, key, is_redacted=is_redacted) for message in json.loads(messages)]
            fixed = (row["id"], row["thread"], row["number"], row["status"], row["user"])
            figures = (row["reply_tokens"], row["cost"])
            self._check_turn(row, fixed, figures, sent)
            row["messages"] = put_entries(sent, Contents(self._new, row["owner"]))
            row["checksum"] = turn_checksum(fixed, *figures, (row["text"], row["messages"], row["receipt"]))
            self._new.execute(_THREADS["add_turn"], self._tenant | row)

    def _check_turn(self, row: Key, fixed: tuple[Any, ...], figures: tuple[Any, ...], sent: list[Sent]) -> None:
        digests = (row["text"], row["messages"], row["receipt"], *(entry.content for entry in sent))
        known = figures if figures != (0, None) else ()
        _check("a turn", row["checksum"], *fixed, *digests, *known)

    def _sent(self, message: dict[str, Any], key: Key, *, is_redacted: bool) -> Sent:
        """Return a message as it is stored now; its text was named by a number."""
        values = key | {"id": message["content"]}
        self._new.execute(_QUERIES["copy_content"], values)
        (digest,) = self._new.execute(_QUERIES["old_content"], values).fetchone()
        entry = sent_as(message, digest)
        return entry._replace(is_redacted=is_redacted and bool(marked(entry.rest)))

    def _seal(self) -> None:
        """Compute the checksums of histories."""
        for owner, thread in self._new.execute("SELECT owner, thread FROM thread").fetchall():
            key = self._tenant | {"owner": owner, "thread": thread}
            standing = self._new.execute(_THREADS["standing_of"], key).fetchall()
            self._new.execute(_THREADS["seal_history"], key | {"history": history_checksum(standing)})

    def _notes(self) -> None:
        owners = self._new.execute(_QUERIES["old_note_owners"]).fetchall()
        for name, space, note, owner, checksum in owners:
            _check("the owner of a note", checksum, space, note, owner)
            self._new.execute(_NOTES["add_note_owner"], owner_row(self._tenant | {"space": name}, note, owner))
        for row in self._rows("old_notes"):
            stamp = NoteStamp(*(row.pop(field) for field in NoteStamp._fields))
            key, reader, is_recorded = (row.pop(field) for field in ("space", "reader", "recorded"))
            header = _value(row | {"owner": self._owners.get(row["owner"])}, NoteHeader, "tags")
            stored = note_row(self._tenant | {"space": key}, header, stamp, reader, is_recorded=bool(is_recorded))
            self._new.execute(_NOTES["put_note"], stored)
        for name, number, text, checksum, trust, space, *stored in self._new.execute(
            _QUERIES["old_note_changes"]
        ).fetchall():
            _check("a change of a note", checksum, space, *stored, text, *(() if trust is None else (trust,)))
            note, kind, at, actor, rev, path, reason, before = map(from_column, stored)
            change = NoteChange(note, kind, at, actor, rev, path, reason=reason, before=before, trust=trust)  # type: ignore[arg-type]  # what was written was a kind
            self._new.execute(_NOTES["add_change"], change_row(self._tenant | {"space": name}, number, change, text))

    def _experiences(self) -> None:
        for row in self._rows("old_experiences"):
            owner, checksum = row.pop("owner"), row.pop("checksum")
            _check("an experience", checksum, *row.values())
            stored = experience_row(_value(row, Experience, "tags", "solution"))
            self._new.execute(_EXPERIENCES["put_experience"], self._tenant | {"owner": owner} | stored)

    def _sessions(self) -> None:
        for row in self._rows("old_sessions"):
            key = self._tenant | {"owner": row.pop("owner"), "place": row.pop("place")}
            _check("a session", row.pop("checksum"), *row.values())
            fields = json.loads(from_column(row.pop("body"))) | row | {"id": row["session"]}
            self._new.execute(_QUERIES["add_session"], key | session_row(_value(fields, Session)))


def _check(what: str, checksum: int, *values: Any) -> None:
    if row_checksum(*values) != checksum:
        raise ValueError(f"{what} is not what was written")


def _value(row: Key, kind: Any, *as_json: str) -> Any:
    """Return the value in a row, some columns of which are JSON."""
    given = {name: from_column(value) if isinstance(value, bytes) else value for name, value in row.items()}
    given |= {name: json.loads(given[name]) for name in as_json}
    return msgspec.convert(given, kind, strict=False)
