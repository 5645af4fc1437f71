"""The journal of notes: their owners, the last seen state of their files, and every change.

Above is ``state``, which opens the database. Files hold the content and the journal records who owns them. Neither
decides who may see a note: ``core.notes.visible_to`` does.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import Owner
from promptuary.database.columns import from_body, from_column, row_checksum, to_body, to_column
from promptuary.database.contents import pack, unpack
from promptuary.database.errors import sound
from promptuary.database.feed import Follower
from promptuary.database.owners import EVERYBODY, NOBODY, Key, add_owner, find_owner
from promptuary.database.port import ChangeFields, Connection, Database, Result, Row
from promptuary.database.queries import queries
from promptuary.memory.store.rows import check_in_files
from promptuary.memory.values import KnownFile, NoteChange, NoteFilter, NoteHeader, NoteStamp, NoteView, visible_to

_QUERIES: Final = queries("promptuary.memory.store", "notes.sql")

_NO_LIMIT: Final = 2**53

_WORTH_PACKING: Final = 4_096
"""The smallest note that is compressed, in bytes: somebody waits for it, and most notes are stored once."""


class NoteJournal:
    """The history and the current state of the notes of one agent in one place: those in the folder ``space``.

    It is not filtered: only the code that writes and syncs notes uses it. Everything that reads uses ``view``.
    """

    def __init__(self, database: Database, space: str) -> None:
        self._database = database
        self._space = space
        self.key: Final[Key] = {"tenant": database.tenant, "space": space}
        # Numbers of owners that are committed: they never change, and no owner is ever removed.
        self._readers: dict[Owner, int] = {}

    def view(self, owner: Owner) -> "NoteView":
        """Return what ``owner`` may see."""
        return _View(self, owner)

    def follow(self, owner: Owner) -> Follower:
        """Return what tells which notes that ``owner`` may see have changed; for the view."""
        return Follower(self._database, owner, "note", self._space)

    def files(self) -> Mapping[str, KnownFile]:
        """Return every file that is known, by path."""
        found = self.read(lambda connection: _rows(connection, "known_files", self.key))
        with sound(self._database.name):
            return {file.path: file for file in map(_known_file, found)}

    def check_in_files(self) -> None:
        """Raise ``ConfigError`` if the files are in the database: then none was removed from a folder by hand."""
        check_in_files(self._database, self._space)

    def known(self, key: str) -> KnownFile | None:
        """Return the file with this id, or at this path; a note has one file, the last one recorded."""
        values = self.key | {"key": to_column(key)}
        found = self.read(lambda connection: _rows(connection, "known_file", values))
        return _known_file(found[0]) if found else None

    def owner_of(self, note: str) -> Owner | None:
        """Return the recorded owner of an id; ``None`` if there is none."""
        found = self.read(lambda connection: _owner_of(connection, self.key, note))
        return None if found is None else found[1]

    def owners(self) -> Sequence[Owner]:
        """Return every owner ever recorded, at least of these notes; a database includes those of its threads."""
        found = self.read(lambda connection: _rows(connection, "note_owners", self.key))
        return tuple(Owner(*map(from_column, row)) for row in found)

    def is_recorded(self, note: str, rev: str) -> bool:
        """Return whether this exact content of a note was written here, or adopted."""
        return self.read(lambda connection: _is_recorded(connection, self.key, note, rev))

    def is_brought(self, path: str) -> bool:
        """Return whether a file was in the folder before this journal, and nobody adopted it: it may be anybody's."""
        return self.read(lambda connection: _is(connection, "is_brought", self._brought(path)))

    def adopt_file(self, path: str) -> None:
        """Record that a file that was here before this journal is the person's; ``record`` does so for a note."""
        self._database.write(lambda connection: connection.execute(_QUERIES["unbring"], self._brought(path)))

    def record(self, changes: Sequence[tuple[NoteChange, NoteHeader | None, NoteStamp | None]]) -> Sequence[int]:
        """Store changes with the current state of the notes, atomically, and return their numbers once persistent.

        A header of ``None`` says that the file is gone. A note has one path: the record of it at another path is
        dropped. The owner of an id is the owner of the first header that has one; a later header with another owner
        raises ``PromptuaryError``.
        """

        def write(connection: Connection) -> tuple[int, ...]:
            writing = _Writing(connection, self._database, self.key)
            numbers = tuple(writing.record(*change) for change in changes)
            kept = [self._brought(change.path) for change, header, _ in changes if header is not None]
            connection.executemany(_QUERIES["unbring"], kept)
            return self._finish(writing, numbers)

        return self._database.write(write)

    def observe(self, seen: Sequence[tuple[NoteHeader, NoteStamp, bool]], gone: Sequence[str] = ()) -> None:
        """Store the current state of files without an entry in the history: unadopted and external notes, new stamps.

        The last of the three says whether the note is visible at all: an unadopted private note is not. The owner of a
        note is the one passed to ``record``, whatever the header says. ``gone`` are paths.
        """

        def write(connection: Connection) -> None:
            writing = _Writing(connection, self._database, self.key)
            for path in gone:
                writing.drop("drop_path", {"path": to_column(path)})
            for header, stamp, is_visible in seen:
                writing.observe(header, stamp, is_visible=is_visible)
            self._finish(writing, None)

        self._database.write(write)

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the private notes that nobody owns, and the shared ones that came from elsewhere."""
        return self.headers("unadopted", {}, None)

    def forgotten(self) -> Sequence[str]:
        """Return the ids of the notes that were forgotten."""
        found = self.read(lambda connection: _rows(connection, "forgotten", self.key))
        return tuple(from_column(note) for (note,) in found)

    def forget(self, note: str, *, at: str, actor: str) -> int:
        """Delete every entry about a note with its content, and return how many there were.

        What remains is that a note with this id was forgotten, when and by whom, and its owner. No title, path or text
        remains, not even in the free pages of the database: that rewrites the whole file.
        """

        def write(connection: Connection) -> int:
            writing = _Writing(connection, self._database, self.key)
            return self._finish(writing, writing.forget(note, at, actor))

        count = self._database.write(write)
        self._database.purge()
        return count

    def headers(self, query: str, values: Key, owner: Owner | None) -> tuple[NoteHeader, ...]:
        """Return the headers that a query finds for a reader; for the view."""

        def read(connection: Connection) -> list[Row]:
            reader = NOBODY if owner is None else self.reader(connection, owner)
            return _rows(connection, query, self.key | values | {"reader": reader})

        found = self.read(read, owner)
        with sound(self._database.name):
            return tuple(from_body(row[0], NoteHeader) for row in found)

    def read(self, work: Callable[[Connection], Result], owner: Owner | None = None) -> Result:
        """Run ``work``, which reads from one snapshot, for an owner; for the view."""

        def read(connection: Connection) -> Result:
            if owner is None:
                connection.act_as(None)
            else:
                self.reader(connection, owner)
            return work(connection)

        with sound(self._database.name):
            return self._database.read(read)

    def reader(self, connection: Connection, owner: Owner) -> int:
        """Return the number of the reader, within ``read``; for the view."""
        if (known := self._readers.get(owner)) is not None:
            connection.act_as(known)
            return known
        if (found := find_owner(connection, owner)) is None:
            return NOBODY
        self._readers[owner] = found
        return found

    def _brought(self, path: str) -> Key:
        return {"tenant": self.key["tenant"], "path": to_column(f"{self._space}/{path}")}

    def _finish(self, writing: "_Writing", result: Result) -> Result:
        """Store the counts and tell about files that were only seen, at the end of a transaction."""
        writing.count()
        if writing.is_changed and not writing.is_told:
            self._database.notify(writing.connection, EVERYBODY, "notes", self._space)
        return result


class _View(NoteView):
    """The view of a journal for one owner. Queries select only what is visible, and each header is checked again."""

    def __init__(self, journal: NoteJournal, owner: Owner) -> None:
        self._journal = journal
        self._owner = owner

    def header(self, key: str) -> NoteHeader | None:
        """Return the note with this id, or at this path."""
        found = self._headers("note_at", {"key": to_column(key)})
        return found[0] if found else None

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the matching notes, pinned ones first, then the most recently updated."""
        # The query looks for one tag only, so with tags it cannot stop at the limit.
        limit = _NO_LIMIT if wanted.limit is None or wanted.tags else wanted.limit
        query = "notes_alike" if wanted.fingerprint else "notes"
        found = self._headers(query, _filter(wanted) | {"limit": limit})
        if not wanted.tags:
            return found
        return tuple(header for header in found if set(wanted.tags) <= set(header.tags))[: wanted.limit]

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes match."""
        if wanted.tags or wanted.fingerprint:
            return len(self.headers(replace(wanted, limit=None)))

        def count(connection: Connection) -> int:
            # Shared notes are visible to everybody, private ones to their reader.
            shared, private = (not wanted.audiences or name in wanted.audiences for name in ("shared", "private"))
            readers = {
                "everybody": EVERYBODY if shared else NOBODY,
                "reader": self._reader(connection) if private else NOBODY,
            }
            values = self._journal.key | _filter(wanted) | readers
            return int(connection.execute(_QUERIES["count_notes"], values).fetchone()[0])

        return self._journal.read(count, self._owner)

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note, the oldest change first."""

        def read(connection: Connection) -> tuple[NoteChange, ...]:
            key = self._journal.key | {"note": to_column(note)}
            audience = connection.execute(_QUERIES["audience"], key).fetchone()
            holder = _owner_of(connection, key, note)
            return _visible(
                [_change(key, row) for row in _rows(connection, "changes", key)],
                None if audience is None else audience[0],
                holder=None if holder is None else holder[1],
                owner=self._owner,
            )

        return self._journal.read(read, self._owner)

    def changed_until(self, at: str, needs_text: Callable[[NoteChange], bool] = bool) -> Sequence[NoteChange]:
        """Return the last change of every visible note at or before a time."""

        def read(connection: Connection) -> tuple[NoteChange, ...]:
            key = self._journal.key
            names = dict[tuple[Any, ...], Owner]()
            owners = {row[-1]: _owner(key, row, names)[1] for row in _rows(connection, "every_owner", key)}
            audiences: dict[str, str] = dict(_rows(connection, "audiences", key))
            last = []
            for note, found in groupby(_rows(connection, "every_change", key), key=lambda row: row[1]):
                every = [(_change(key, row), row[2]) for row in found]
                texts = {change.number: text for change, text in every}
                seen = _visible(
                    [change for change, _ in every], audiences.get(note), holder=owners.get(note), owner=self._owner
                )
                if until := [change for change in seen if change.at <= at]:
                    change, text = until[-1], texts[until[-1].number]
                    is_left_out = text is not None and not needs_text(change)
                    last.append(replace(change, text="") if is_left_out else _with_text(connection, key, change, text))
            return tuple(last)

        return self._journal.read(read, self._owner)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Return the id and the text of every note that is recorded, as it was written last."""
        visible = {header.id for header in self.headers()}
        for note, *text in self._journal.read(
            lambda connection: _rows(connection, "last_texts", self._journal.key), self._owner
        ):
            if (key := from_column(note)) in visible:
                yield key, unpack(*text)

    def follow(self) -> Follower:
        """Return what tells which notes have changed, whoever changed them."""
        return self._journal.follow(self._owner)

    def _headers(self, query: str, values: Key) -> tuple[NoteHeader, ...]:
        found = self._journal.headers(query, values, self._owner)
        return tuple(header for header in found if visible_to(header, self._owner))

    def _reader(self, connection: Connection) -> int:
        return self._journal.reader(connection, self._owner)


class _Writing:
    """Writes changes of one space, within one transaction."""

    def __init__(self, connection: Connection, database: Database, key: Key) -> None:
        connection.act_as(None)
        connection.hold(EVERYBODY)  # changes are numbered, and notes counted, for the whole space
        self.connection, self._database, self._key = connection, database, key
        self._more = Counter[tuple[int, str, str]]()
        """By how much the number of notes of a reader, a kind and a status changes."""
        self._readers = set[int]()
        """Who could see the note that is being written, before or after."""
        self.is_changed = self.is_told = False

    def record(self, change: NoteChange, header: NoteHeader | None, stamp: NoteStamp | None) -> int:
        self._readers.clear()
        found = _owner_of(self.connection, self._key, change.note)
        if header is not None and header.owner is not None:
            if found is None:
                found = self._own(change.note, header.owner), header.owner
            elif found[1] != header.owner:
                raise PromptuaryError(f"Note {change.note!r} belongs to somebody else; give this one a unique id.")
        key = {"note": to_column(change.note), "path": to_column(change.path)}
        if header is not None and stamp is not None:
            self.drop("drop_note_elsewhere", key)
            self._put(header, stamp, found, is_visible=True, is_recorded=True)
        else:
            self.drop("drop_note", key)
        number = self._add(change)
        self._tell(change, found)
        return number

    def observe(self, header: NoteHeader, stamp: NoteStamp, *, is_visible: bool) -> None:
        found = _owner_of(self.connection, self._key, header.id) if is_visible else None
        is_recorded = _is_recorded(self.connection, self._key, header.id, header.rev)
        self._put(header, stamp, found, is_visible=is_visible, is_recorded=is_recorded)

    def drop(self, query: str, key: Key) -> int:
        """Delete the records that a query finds, and return how many there were."""
        dropped = self.connection.execute(_QUERIES[query], self._key | key).fetchall()
        self._count(dropped, -1)
        return len(dropped)

    def forget(self, note: str, at: str, actor: str) -> int:
        key = self._key | {"note": to_column(note)}
        (count,) = self.connection.execute(_QUERIES["count_changes"], key).fetchone()
        if self.drop("drop_every", key) or count:
            # Before the others are removed: its number must be higher than theirs.
            forgotten = NoteChange(note, "forget", at, actor, "", "")
            self._add(forgotten)
            self._tell(forgotten, _owner_of(self.connection, self._key, note))
        for query in ("forget_changes", "forget_texts"):
            self.connection.execute(_QUERIES[query], key)
        return int(count)

    def count(self) -> None:
        """Store how many notes there are now."""
        more = [
            self._key | {"reader": reader, "kind": kind, "status": status, "more": more}
            for (reader, kind, status), more in sorted(self._more.items())
            if more
        ]
        if more:
            self.connection.executemany(_QUERIES["count_note"], more)

    def _own(self, note: str, owner: Owner) -> int:
        number = add_owner(self.connection, owner)
        self.connection.execute(_QUERIES["add_note_owner"], owner_row(self._key, to_column(note), number))
        return number

    def _put(
        self,
        header: NoteHeader,
        stamp: NoteStamp,
        owner: tuple[int, Owner] | None,
        *,
        is_visible: bool,
        is_recorded: bool,
    ) -> None:
        number, name = owner or (None, None)
        reader = (EVERYBODY if header.audience == "shared" else number) if is_visible else None
        row = note_row(self._key, replace(header, owner=name), stamp, reader, is_recorded=is_recorded)
        self._count(self.connection.execute(_QUERIES["counted"], row).fetchall(), -1)
        self.connection.execute(_QUERIES["put_note"], row)
        self.connection.execute(_QUERIES["put_reader"], row)
        self._count([(reader, header.kind, header.status)], 1)

    def _count(self, rows: Iterable[Row], more: int) -> None:
        for reader, kind, status in rows:
            self.is_changed = True
            if reader is not None:
                self._readers.add(reader)
                self._more[reader, kind, status] += more

    def _tell(self, change: NoteChange, owner: tuple[int, Owner] | None) -> None:
        """Tell those who could see the note or can see it now: everybody, or its owner; never what it says."""
        if EVERYBODY in self._readers or _is_shared(change):
            reader = EVERYBODY
        elif owner is not None:
            reader = owner[0]
        else:
            return
        what = ChangeFields(event=change.kind, actor=change.actor, place=self._key["space"])
        self._database.notify(self.connection, reader, "note", change.note, **what)
        self.is_told = True

    def _add(self, change: NoteChange) -> int:
        self.is_changed = True
        key = self._key | {"note": to_column(change.note)}
        text = None if change.text is None else pack(change.text, at_least=_WORTH_PACKING)
        if text is not None:
            stored = {"sha256": text.sha256, "packed": text.packed, "body": text.body}
            self.connection.execute(_QUERIES["put_note_text"], key | stored)
        (number,) = self.connection.execute(_QUERIES["next_change"], self._key).fetchone()
        row = change_row(key, int(number), change, None if text is None else text.sha256)
        self.connection.execute(_QUERIES["add_change"], row)
        return int(number)


def owner_row(key: Key, note: str | bytes, number: int) -> Key:
    """Return the row of the owner of a note."""
    return key | {"note": note, "owner": number, "checksum": row_checksum(key["space"], note, number)}


def note_row(key: Key, header: NoteHeader, stamp: NoteStamp, reader: int | None, *, is_recorded: bool) -> Key:
    """Return the row of a file."""
    return key | {
        "path": to_column(header.path),
        "note": to_column(header.id),
        "reader": reader,
        "rev": to_column(header.rev),
        "recorded": int(is_recorded),
        **stamp._asdict(),
        "header": to_body(header),
        "audience": header.audience,
        "kind": header.kind,
        "status": header.status,
        "tags": json.dumps(header.tags),
        "updated_at": to_column(header.updated_at),
        "pinned": int(header.pinned),
        "trust": header.trust,
        "external": int(header.external),
        "fingerprint": to_column(header.fingerprint),
    }


def change_row(key: Key, number: int, change: NoteChange, text: bytes | None) -> Key:
    """Return the row of a change, whose text is stored under the hash ``text``."""
    note, body = to_column(change.note), to_body(replace(change, text=None, number=0))
    return key | {
        "number": number,
        "note": note,
        "kind": change.kind,
        "rev": to_column(change.rev),
        "text": text,
        "body": body,
        "checksum": row_checksum(key["space"], note, number, text, body),
    }


def _owner_of(connection: Connection, key: Key, note: str) -> tuple[int, Owner] | None:
    """Return the owner of a note with its number; ``None`` if there is none."""
    row = connection.execute(_QUERIES["note_owner"], key | {"note": to_column(note)}).fetchone()
    return None if row is None else _owner(key, row)


def _owner(key: Key, row: Row, names: dict[tuple[Any, ...], Owner] | None = None) -> tuple[int, Owner]:
    """Return the number of a note's owner and the owner, or raise ``ValueError`` if the checksum does not match.

    ``names`` has the owners of other rows: most notes have the same.
    """
    number, checksum, *columns, note = row
    if checksum != row_checksum(key["space"], note, number):
        raise ValueError("the owner of a note is not who was written")
    known, name = {} if names is None else names, tuple(columns)
    if name not in known:
        known[name] = Owner(*map(from_column, columns))
    return int(number), known[name]


def _known_file(row: Row) -> KnownFile:
    path, note, rev, size, modified, changed, inode, recorded, trust = row
    stamp = NoteStamp(size, modified, changed, inode)
    return KnownFile(from_column(path), from_column(note), from_column(rev), stamp, bool(recorded), trust)


def _change(key: Key, row: Row) -> NoteChange:
    """Return the change in a row, or raise ``ValueError`` if it differs from what was written."""
    number, note, text, body, checksum, *content = row
    if checksum != row_checksum(key["space"], note, number, text, body):
        raise ValueError("a change of a note is not what was written")
    written = None if content[0] is None else unpack(*content)
    return replace(from_body(body, NoteChange), number=number, text=written)


def _visible(
    changes: Sequence[NoteChange], audience: str | None, *, holder: Owner | None, owner: Owner
) -> tuple[NoteChange, ...]:
    """Return those changes of one note, the oldest first, that ``owner`` may see.

    ``holder`` is the owner of the note, ``audience`` its current audience, if its file exists and is visible. A change
    is private if the note was private at that time: sharing a note later does not share its past.
    """
    if holder == owner:
        return tuple(changes)
    shared_now = bool(changes) and _is_shared(changes[-1]) if audience is None else audience == "shared"
    return tuple(filter(_is_shared, changes)) if shared_now else ()


def _is_shared(change: NoteChange) -> bool:
    return change.path.startswith("shared/")


def _with_text(connection: Connection, key: Key, change: NoteChange, sha256: bytes | None) -> NoteChange:
    if sha256 is None:
        return change
    values = key | {"note": to_column(change.note), "sha256": sha256}
    row = connection.execute(_QUERIES["note_text"], values).fetchone()
    if row is None:
        raise ValueError("the text of a note is missing")
    return replace(change, text=unpack(*row))


def _is_recorded(connection: Connection, key: Key, note: str, rev: str) -> bool:
    return _is(connection, "is_recorded", key | {"note": to_column(note), "rev": to_column(rev)})


def _is(connection: Connection, query: str, values: Key) -> bool:
    return bool(connection.execute(_QUERIES[query], values).fetchone()[0])


def _rows(connection: Connection, query: str, values: Key) -> list[Row]:
    return connection.execute(_QUERIES[query], values).fetchall()


def _filter(wanted: NoteFilter) -> Key:
    """Return the parameters of a query; an empty text matches everything."""
    chosen = {"audiences": wanted.audiences, "kinds": wanted.kinds, "statuses": wanted.statuses}
    lists = {name: f"|{'|'.join(values)}|" if values else "" for name, values in chosen.items()}
    return lists | {
        "tag": _pattern(wanted.tags[0]) if wanted.tags else "",
        "fingerprint": to_column(wanted.fingerprint),
    }


def _pattern(tag: str) -> str:
    """Return a pattern for lists with a tag, as JSON. It may match others, so what is found is compared again."""
    said = json.dumps(tag)
    for special in "!%_":
        said = said.replace(special, f"!{special}")
    return f"%{said}%"
