"""The files of notes as rows of a database, so that several servers share them and none has any on its disk.

A write holds the lock, which is one transaction: the file and its entry in the journal are committed together, and a
process that is killed leaves nothing half done. Nobody edits these files by hand.
"""

import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from promptuary.base.errors import ConfigError
from promptuary.base.principals import Owner
from promptuary.database.columns import from_column, to_column
from promptuary.database.owners import EVERYBODY, NOBODY, Key, add_owner, find_owner
from promptuary.database.port import Connection, Database, Row
from promptuary.database.queries import queries
from promptuary.memory.store.files import NoteFiles
from promptuary.memory.store.paths import check_size, names_of
from promptuary.memory.values import NoteStamp

_QUERIES: Final = queries(__package__, "rows.sql")


class NoteRows:
    """The files of one agent's notes in ``space``, as ``owner`` reads and writes them; the methods are ``NoteFiles``'.

    What is read while this thread holds the lock is what it wrote, whosever it is: a write checks what it replaces.
    """

    by_hand = False

    def __init__(self, database: Database, space: str, owner: Owner) -> None:
        self._database, self._owner = database, owner
        self._key: Final[Key] = {"tenant": database.tenant, "space": space}
        self._held = _Held()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the notes: all writes in the block are one transaction, and other writers wait for it."""
        with self._database.transaction():
            self._database.write(_hold)
            self._held.here = True
            try:
                yield
            finally:
                self._held.here = False

    def list(self) -> Mapping[str, NoteStamp]:
        """Return every file with its stamp."""
        return {from_column(path): _stamp(size, stamp) for path, size, stamp in self._rows("files")}

    def stamp(self, path: str) -> NoteStamp | None:
        """Return the stamp of a file."""
        row = self._row(path)
        return None if row is None else _stamp(len(row[0]), row[1])

    def is_own(self, path: str) -> bool:
        """Return whether there is a file: nobody but its owner's programs can have written it."""
        return self._row(path) is not None

    def read(self, path: str) -> bytes | None:
        """Return the content of a file."""
        row = self._row(path)
        return None if row is None else bytes(row[0])

    def create(self, path: str, content: bytes) -> bool:
        """Create a file; return False if there is one."""
        return self._change("create", path, content=content)

    def replace(self, path: str, content: bytes, *, expected: bytes) -> bool:
        """Replace a file whose content is ``expected``; return False if it is not."""
        return self._change("replace", path, content=content, expected=expected)

    def move(self, path: str, to: str) -> bool:
        """Give a file another path; return False if it is gone or the other is taken."""
        names_of(to)
        return self._change("move", path, to=to)

    def remove(self, path: str) -> bool:
        """Remove a file; return False if it is not there."""
        return self._change("remove", path)

    def follow_journal(self) -> None:
        """Make each file one for whom its note is for, as the journal says: for files that were written for others."""
        self._database.write(lambda connection: connection.execute(_QUERIES["follow_journal"], self._key))

    def skipped(self) -> Mapping[str, str]:
        """Return files that cannot be notes: none."""
        return {}

    def clean(self) -> int:
        """Return how many temporary files were removed: there are none."""
        return 0

    def leftovers(self) -> int:
        """Return how many temporary files there are: none."""
        return 0

    def exposed(self) -> Sequence[str]:
        """Return what other users of this machine can read: nothing."""
        return ()

    def protect(self) -> None:
        """Do nothing: the database decides who reads."""

    def _row(self, path: str) -> Row | None:
        names_of(path)
        found = self._rows("file", path=to_column(path))
        return found[0] if found else None

    def _rows(self, query: str, **values: object) -> Sequence[Row]:
        if self._held.here:
            return self._database.write(
                lambda connection: connection.execute(_QUERIES[f"held_{query}"], self._key | values).fetchall()
            )

        def read(connection: Connection) -> Sequence[Row]:
            own = find_owner(connection, self._owner)
            reader = {"reader": NOBODY if own is None else own}
            return connection.execute(_QUERIES[query], self._key | values | reader).fetchall()

        return self._database.read(read)

    def _change(self, query: str, path: str, *, to: str = "", content: bytes = b"", expected: bytes = b"") -> bool:
        names_of(path)
        check_size(path, len(content))
        values = self._key | {"path": to_column(path), "to": to_column(to), "content": content, "expected": expected}

        def change(connection: Connection) -> bool:
            is_shared = (to or path).startswith("shared/")
            reader = EVERYBODY if is_shared else add_owner(connection, self._owner)
            connection.act_as(None)
            made = {"reader": reader, "stamp": secrets.randbits(62)}
            return connection.execute(_QUERIES[query], values | made).rowcount > 0

        return self._database.write(change)


AnyNoteFiles = NoteFiles | NoteRows
"""The files of notes, wherever they are."""


class _Held(threading.local):
    """Whether this thread holds the lock."""

    here = False


def _hold(connection: Connection) -> None:
    connection.act_as(None)
    connection.hold(EVERYBODY)


def has_files(database: Database, space: str) -> bool:
    """Return whether there are files of notes in a database."""

    def read(connection: Connection) -> bool:
        connection.act_as(None)
        key = {"tenant": connection.tenant, "space": space}
        return bool(connection.execute(_QUERIES["has_files"], key).fetchone()[0])

    return database.read(read)


def check_in_files(database: Database, space: str) -> None:
    """Raise ``ConfigError`` if notes are in a database, though the settings say that they are in files."""
    if has_files(database, space):
        raise ConfigError(
            f'the notes are in the database ({database.name}), where notes = "database" uses them; '
            "`promptuary migrate --notes files` moves them into folders"
        )


def spaces(database: Database) -> Sequence[str]:
    """Return where there are files of notes in a database."""

    def read(connection: Connection) -> Sequence[Row]:
        connection.act_as(None)
        return connection.execute(_QUERIES["spaces"], {"tenant": connection.tenant}).fetchall()

    return [from_column(space) for (space,) in database.read(read)]


def _stamp(size: int, stamp: int) -> NoteStamp:
    return NoteStamp(size, stamp, stamp, 0)
