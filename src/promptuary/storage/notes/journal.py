"""The journal of notes in ``state.db``: their owners, the last seen state of their files, and every change.

``storage/in_memory_notes`` implements the same contract with dictionaries. Above is ``state``, which opens the
database; below are ``database`` (transactions) and ``rows`` (how values are stored).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec.structs import replace

from promptuary.core.notes import NoteChange, NoteHeader, NoteStamp, visible_to
from promptuary.core.ports.notes import KnownFile, NoteFilter
from promptuary.core.principals import Owner
from promptuary.database.columns import from_column, row_checksum, to_column
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Database, Result
from promptuary.database.queries import queries
from promptuary.storage.contents import pack, unpack
from promptuary.storage.notes import rows
from promptuary.storage.notes.history import visible_changes
from promptuary.storage.owners import add_owner, find_owner
from promptuary.storage.threads.rows import Row
from promptuary.storage.values import other_owner_error, to_text

_QUERIES: Final = queries(__package__, "notes.sql")

_EVERYBODY: Final = 0
"""The reader of a shared note."""
_NOBODY: Final = -1
"""The number for a space or an owner without any rows yet: no row has it."""

_WORTH_PACKING: Final = 4_096
"""The smallest note that is compressed, in bytes: somebody waits for it, and most notes are stored once."""

_Key = dict[str, str | bytes | int]

_SpaceWork = Callable[[Connection, int], Result]
"""The work of a reading transaction, which gets the number of the space."""


class SqliteNoteJournal:
    """A ``NoteJournal`` over ``database``, for the folder ``space``."""

    def __init__(self, database: Database, space: str) -> None:
        self._database = database
        self._space = space
        # Numbers of committed rows. They never change, and no such row is ever removed.
        self._number: int | None = None
        self._readers: dict[Owner, int] = {}

    def view(self, owner: Owner) -> "SqliteNoteView":
        """Return what ``owner`` may see."""
        return SqliteNoteView(self, owner)

    def files(self) -> Mapping[str, KnownFile]:
        """Return every file that is known, by path."""
        found = self.read(lambda connection, space: _rows(connection, "known_files", {"space": space}))
        with sound(self._database.name):
            return {one.path: one for one in map(rows.to_known_file, found)}

    def known(self, key: str) -> KnownFile | None:
        """Return the file with this id, or at this path."""
        values: _Key = {"key": to_column(key)}
        found = self.read(lambda connection, space: _rows(connection, "known_file", values | {"space": space}))
        return rows.to_known_file(found[0]) if found else None

    def owner_of(self, note: str) -> Owner | None:
        """Return the recorded owner of an id."""
        found = self.read(lambda connection, space: holder_of(connection, space, note))
        return None if found is None else found[1]

    def owners(self) -> Sequence[Owner]:
        """Return every owner that was ever recorded."""
        found = self.read(lambda connection, _: _rows(connection, "note_owners", {}))
        return tuple(Owner(*map(from_column, row)) for row in found)

    def is_recorded(self, note: str, rev: str) -> bool:
        """Return whether this exact content of a note was written here, or adopted."""
        return self.read(lambda connection, space: _is_recorded(connection, space, note, rev))

    def is_brought(self, path: str) -> bool:
        """Return whether a file was in the folder before this journal, and nobody adopted it."""
        values: _Key = {"path": to_column(f"{self._space}/{path}")}
        return self.read(lambda connection, _: bool(connection.execute(_QUERIES["is_brought"], values).fetchone()[0]))

    def adopt_file(self, path: str) -> None:
        """Record that a file that was here before this journal is the person's."""
        values: _Key = {"path": to_column(f"{self._space}/{path}")}
        self._database.write(lambda connection: connection.execute(_QUERIES["unbring"], values))

    def record(self, changes: Sequence[tuple[NoteChange, NoteHeader | None, NoteStamp | None]]) -> Sequence[int]:
        """Store changes with the current state of the notes, atomically, and return their numbers when on the disk."""

        def written(connection: Connection) -> tuple[int, ...]:
            writing = self._writing(connection)
            return tuple(writing.record(*one) for one in changes)

        return self._database.write(written)

    def observe(self, seen: Sequence[tuple[NoteHeader, NoteStamp, bool]], gone: Sequence[str] = ()) -> None:
        """Store the current state of files without an entry in the history."""

        def written(connection: Connection) -> None:
            writing = self._writing(connection)
            for path in gone:
                writing.drop(path)
            for header, stamp, is_visible in seen:
                writing.observe(header, stamp, is_visible=is_visible)

        self._database.write(written)

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the private notes that nobody owns, and the shared ones that came from elsewhere."""
        return self.headers("unadopted", {}, lambda _: _NOBODY)

    def forgotten(self) -> Sequence[str]:
        """Return the ids of the notes that were forgotten."""
        found = self.read(lambda connection, space: _rows(connection, "forgotten", {"space": space}))
        return tuple(from_column(note) for (note,) in found)

    def forget(self, note: str, *, at: str, actor: str) -> int:
        """Delete every entry about a note with its content, and every byte of them in the file and its log.

        Rewrites the whole database: deleted data remains in free pages until then.
        """
        count = self._database.write(lambda connection: self._writing(connection).forget(note, at, actor))
        self._database.purge()
        return count

    def headers(self, query: str, values: _Key, reader: Callable[[Connection], int]) -> tuple[NoteHeader, ...]:
        """Return the headers that a query finds for a reader; for the view."""

        def matching(connection: Connection, space: int) -> list[Row]:
            return _rows(connection, query, values | {"space": space, "reader": reader(connection)})

        found = self.read(matching)
        with sound(self._database.name):
            return tuple(map(rows.to_header, found))

    def read(self, work: _SpaceWork[Result]) -> Result:
        """Run ``work``, which reads this space from one snapshot."""

        def found(connection: Connection) -> Result:
            if self._number is None:
                self._number = _space_number(connection, self._space)
            return work(connection, _NOBODY if self._number is None else self._number)

        with sound(self._database.name):
            return self._database.read(found)

    def reader(self, connection: Connection, owner: Owner) -> int:
        """Return the number of the reader, within ``read``; for the view."""
        if (known := self._readers.get(owner)) is not None:
            return known
        if (found := find_owner(connection, owner)) is None:
            return _NOBODY
        self._readers[owner] = found
        return found

    def _writing(self, connection: Connection) -> "_Writing":
        number = self._number
        if number is None:
            # Not cached: this transaction may still be rolled back.
            connection.execute(_QUERIES["add_space"], {"name": to_column(self._space)})
            number = _space_number(connection, self._space)
        if number is None:
            raise AssertionError("a row that was just added is there")
        return _Writing(connection, number, self._space)


class SqliteNoteView:
    """A ``NoteView`` of a ``SqliteNoteJournal``."""

    def __init__(self, journal: SqliteNoteJournal, owner: Owner) -> None:
        self._journal = journal
        self._owner = owner

    def header(self, key: str) -> NoteHeader | None:
        """Return the note with this id, or at this path."""
        found = self._headers("note_at", {"key": to_column(key)})
        return found[0] if found else None

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the matching notes, pinned ones first, then the most recently updated."""
        # The query looks for one tag only, so with tags it cannot stop at the limit.
        limit = -1 if wanted.limit is None or wanted.tags else wanted.limit
        query = "notes_alike" if wanted.fingerprint else "notes"
        found = self._headers(query, _filter(wanted) | {"limit": limit})
        if not wanted.tags:
            return found
        return tuple(one for one in found if set(wanted.tags) <= set(one.tags))[: wanted.limit]

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes match."""
        if wanted.tags or wanted.fingerprint:
            return len(self.headers(replace(wanted, limit=None)))

        def counted(connection: Connection, space: int) -> int:
            # Shared notes are visible to everybody, private ones to their reader.
            shared, private = (not wanted.audiences or one in wanted.audiences for one in ("shared", "private"))
            everybody, reader = _EVERYBODY if shared else _NOBODY, self._reader(connection) if private else _NOBODY
            values = _filter(wanted) | {"space": space, "everybody": everybody, "reader": reader}
            return int(connection.execute(_QUERIES["count_notes"], values).fetchone()[0])

        return self._journal.read(counted)

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note, the oldest change first."""

        def found(connection: Connection, space: int) -> tuple[NoteChange, ...]:
            key: _Key = {"space": space, "note": to_column(note)}
            every = _rows(connection, "changes", key)
            audience = connection.execute(_QUERIES["audience"], key).fetchone()
            holder = holder_of(connection, space, note)
            return visible_changes(
                [rows.to_change(space, row) for row in every],
                None if audience is None else audience[0],
                holder=None if holder is None else holder[1],
                owner=self._owner,
            )

        return self._journal.read(found)

    def changed_until(self, at: str) -> Sequence[NoteChange]:
        """Return the last change of every visible note at or before a time."""

        def last_of_each(connection: Connection, space: int) -> tuple[NoteChange, ...]:
            key: _Key = {"space": space}
            owners = {row[-1]: rows.to_owner(space, *row)[1] for row in _rows(connection, "every_owner", key)}
            audiences: dict[str, str] = dict(_rows(connection, "audiences", key))
            last = []
            for note, found in groupby(_rows(connection, "every_change", key), key=lambda row: row[1]):
                every = [(rows.to_change(space, row), row[10]) for row in found]
                texts = {change.number: text for change, text in every}
                seen = visible_changes(
                    [change for change, _ in every], audiences.get(note), holder=owners.get(note), owner=self._owner
                )
                if until := [one for one in seen if one.at <= at]:
                    last.append(_with_text(connection, space, until[-1], texts[until[-1].number]))
            return tuple(last)

        return self._journal.read(last_of_each)

    def _headers(self, query: str, values: _Key) -> tuple[NoteHeader, ...]:
        """Return the headers that a query finds. It selects only visible ones, and this checks that again."""
        found = self._journal.headers(query, values, self._reader)
        return tuple(one for one in found if visible_to(one, self._owner))

    def _reader(self, connection: Connection) -> int:
        return self._journal.reader(connection, self._owner)


class _Writing:
    """Writes changes of one space, within one transaction."""

    __slots__ = ("_connection", "_folder", "_space")

    def __init__(self, connection: Connection, space: int, folder: str) -> None:
        self._connection, self._space, self._folder = connection, space, folder

    def record(self, change: NoteChange, header: NoteHeader | None, stamp: NoteStamp | None) -> int:
        holder = holder_of(self._connection, self._space, change.note)
        number = None if holder is None else holder[0]
        if header is not None and header.owner is not None:
            if holder is None:
                number = self._own(change.note, header.owner)
            elif holder[1] != header.owner:
                raise other_owner_error(change.note)
        key = self._key(change.note) | {"path": to_column(change.path)}
        if header is not None and stamp is not None:
            self._connection.execute(_QUERIES["drop_note_elsewhere"], key)
            self._put(header, stamp, number, is_visible=True, is_recorded=True)
            self._connection.execute(_QUERIES["unbring"], {"path": to_column(f"{self._folder}/{change.path}")})
        else:
            self._connection.execute(_QUERIES["drop_note"], key)
        return self._add(change)

    def observe(self, header: NoteHeader, stamp: NoteStamp, *, is_visible: bool) -> None:
        holder = holder_of(self._connection, self._space, header.id) if is_visible else None
        is_recorded = _is_recorded(self._connection, self._space, header.id, header.rev)
        owner = None if holder is None else holder[0]
        self.drop(header.path)
        self._put(header, stamp, owner, is_visible=is_visible, is_recorded=is_recorded)

    def drop(self, path: str) -> None:
        self._connection.execute(_QUERIES["drop_path"], {"space": self._space, "path": to_column(path)})

    def forget(self, note: str, at: str, actor: str) -> int:
        key = self._key(note)
        (count,) = self._connection.execute(_QUERIES["count_changes"], key).fetchone()
        dropped = self._connection.execute(_QUERIES["drop_every"], key).rowcount
        if count or dropped:
            # Before the others are removed: its number must be higher than theirs.
            self._add(NoteChange(note, "forget", at, actor, "", ""))
        for query in ("forget_changes", "forget_texts"):
            self._connection.execute(_QUERIES[query], key)
        return int(count)

    def _own(self, note: str, owner: Owner) -> int:
        number = add_owner(self._connection, owner)
        checksum = row_checksum(self._space, to_column(note), number)
        self._connection.execute(_QUERIES["add_note_owner"], self._key(note) | {"owner": number, "checksum": checksum})
        return number

    def _put(
        self, header: NoteHeader, stamp: NoteStamp, owner: int | None, *, is_visible: bool, is_recorded: bool
    ) -> None:
        reader = (_EVERYBODY if header.audience == "shared" else owner) if is_visible else None
        row = (self._space, reader, owner, is_recorded, *rows.of_header(header, stamp))
        self._connection.execute(_QUERIES["put_note"], row)

    def _add(self, change: NoteChange) -> int:
        text = None if change.text is None else pack(change.text, at_least=_WORTH_PACKING)
        if text is not None:
            stored = (self._space, to_column(change.note), text.sha256, text.packed, text.body)
            self._connection.execute(_QUERIES["put_note_text"], stored)
        row = rows.of_change(self._space, change, text)
        return int(self._connection.execute(_QUERIES["add_change"], row).fetchone()[0])

    def _key(self, note: str) -> _Key:
        return {"space": self._space, "note": to_column(note)}


def _space_number(connection: Connection, name: str) -> int | None:
    row = connection.execute(_QUERIES["find_space"], {"name": to_column(name)}).fetchone()
    return None if row is None else int(row[0])


def holder_of(connection: Connection, space: int, note: str) -> tuple[int, Owner] | None:
    """Return the owner of a note with its number; ``None`` if there is none."""
    name = to_column(note)
    row = connection.execute(_QUERIES["note_owner"], {"space": space, "note": name}).fetchone()
    return None if row is None else rows.to_owner(space, *row)


def _is_recorded(connection: Connection, space: int, note: str, rev: str) -> bool:
    key = {"space": space, "note": to_column(note), "rev": to_column(rev)}
    return bool(connection.execute(_QUERIES["is_recorded"], key).fetchone()[0])


def _with_text(connection: Connection, space: int, change: NoteChange, sha256: bytes | None) -> NoteChange:
    if sha256 is None:
        return change
    key = {"space": space, "note": to_column(change.note), "sha256": sha256}
    row = connection.execute(_QUERIES["note_text"], key).fetchone()
    if row is None:
        raise ValueError("the text of a note is missing")
    return replace(change, text=unpack(*row))


def _rows(connection: Connection, query: str, values: _Key) -> list[Row]:
    return connection.execute(_QUERIES[query], values).fetchall()


def _filter(wanted: NoteFilter) -> _Key:
    """Return the parameter of a query; an empty text matches everything."""
    chosen = {"audiences": wanted.audiences, "kinds": wanted.kinds, "statuses": wanted.statuses}
    lists: _Key = {name: f"|{'|'.join(values)}|" if values else "" for name, values in chosen.items()}
    tag = to_column(to_text(wanted.tags[0])) if wanted.tags else ""
    return lists | {"tag": tag, "fingerprint": to_column(wanted.fingerprint)}
