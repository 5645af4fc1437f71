"""The driver for SQLite: one file used by many threads and processes, or a database in memory.

There are two connections, each for one thread at a time: one writes, the other reads, so a reader never waits for a
writer. Every piece of work is one transaction; while another process holds the lock, it is retried from its start until
the timeout. Only SQLite opens the file: closing any other descriptor of it would drop SQLite's locks. Does not know
what is stored.
"""

import hashlib
import os
import random
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, Unpack

from promptuary.base import durable
from promptuary.base.errors import LockTimeoutError, PromptuaryError, StateReplacedError, shortage
from promptuary.database import migrate, shared
from promptuary.database.columns import to_column
from promptuary.database.errors import damaged, is_busy, lacks_shared_memory, translated
from promptuary.database.port import ChangeFields, Connection, Database, Result, Work
from promptuary.database.queries import script, statements

_Begin = Literal["BEGIN", "BEGIN IMMEDIATE"]

_PAUSE: Final = 0.004
"""The longest pause between two attempts. It does not grow: the one that waits longest must not try least often."""

_STUCK: Final = 1.0
"""Seconds after which a reader that blocks a purge may be this process itself."""

_SMALLEST: Final = 512
"""Bytes of the smallest database. SQLite treats a shorter file as empty and overwrites it."""


class SqliteConnection(sqlite3.Connection):
    """A connection to a database that holds one workspace."""

    tenant: Final = 1
    is_committed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.owners: dict[Any, int] = {}

    def act_as(self, owner: int | None, /) -> None:
        """Do nothing: only the queries say whose rows they are about."""

    def hold(self, owner: int | None, /) -> None:
        """Do nothing: there is one writer at a time."""


class SqliteDatabase(Database):
    """The file ``path``, migrated to the last of ``steps``. ``timeout`` is how many seconds to wait for others.

    Without a path it is in memory and ends with this object: reads wait for writes.

    ``durable`` says whether a write is on the disk when it returns. If it is not, a power cut may undo the last writes,
    in order and each as a whole, up to the last ``checkpoint``.
    """

    def __init__(self, path: Path | None, steps: Sequence[str], *, timeout: float = 30.0, durable: bool = True) -> None:
        self._name = "the database in memory" if path is None else f"{path.parent.name}/{path.name}"
        self._path = path
        self._folder = Path() if path is None else path.parent
        self._steps = steps
        self._timeout = timeout
        self._durable = durable
        self._process = os.getpid()
        self._locks = (threading.RLock(), threading.RLock())
        self._joined = _Joined()
        self._held: dict[str, int] = {}
        self._before: bytes | None = None
        """What a database in memory held before the transaction that is open: reads see that."""
        self._closed = False
        if path is None:
            self._writer = self._reader = self._open_in_memory()
            # Many are made for one question and forgotten. Python 3.13 complains of a connection that nobody closes.
            weakref.finalize(self, self._writer.close)
            self._locks = (self._locks[0], self._locks[0])
            self._file = None
            return
        _refuse(path, self.name)
        with translated(self.name, self._folder):
            try:
                self._writer = self._open(path)
            except sqlite3.OperationalError as error:
                if not lacks_shared_memory(error):
                    raise
                # Reading must be possible on a full disk: one connection that shares nothing needs no file for it.
                self._writer = self._reader = self._open(path, alone=True)
                self._locks = (self._locks[0], self._locks[0])
            else:
                try:
                    self._reader = self._open_reader(path)
                except BaseException:
                    self._writer.close()
                    raise
        self._file = _identity(path)

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self._name

    @property
    def tenant(self) -> int:
        """The workspace that it holds."""
        return SqliteConnection.tenant

    @property
    def in_memory(self) -> bool:
        """Whether it ends with the process."""
        return self._path is None

    def read(self, work: Work[Result], /) -> Result:
        """Run ``work``, which reads from one snapshot of the database."""
        with self._locked(self._locks[0]):
            if self._before is not None:
                with closing(sqlite3.connect(":memory:", factory=SqliteConnection)) as before:
                    before.deserialize(self._before)
                    return work(before)
            return self._retried(lambda: _transaction(self._reader, "BEGIN", work))

    def write(self, work: Work[Result], /, *, after_commit: Callable[[Result], object] = lambda _: None) -> Result:
        """Run ``work`` atomically; when this returns, it is on the disk and ``after_commit`` was called.

        Within ``transaction`` both happen when that ends.
        """
        pending = self._joined.pending
        if pending is not None:
            with translated(self.name, self._folder):
                result = _part(self._writer, work)
            pending.append(lambda: after_commit(result))
            return result

        def checked(connection: Connection) -> Result:
            self._check_version(connection)
            return work(connection)

        with self._locked(self._locks[1]):
            result = self._retried(lambda: _transaction(self._writer, "BEGIN IMMEDIATE", checked))
            self._check_current()
        after_commit(result)
        return result

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Join every ``write`` of this thread in the block into one transaction. Reads see the state before it."""
        if self._joined.pending is not None:
            raise PromptuaryError(f"{self.name}: a transaction is open in this thread; end it before the next.")
        pending: list[Callable[[], object]] = []
        with self._locked(self._locks[1]):
            self._before = self._writer.serialize() if self._path is None else None
            self._retried(lambda: self._writer.execute("BEGIN IMMEDIATE"))
            self._joined.pending = pending
            try:
                self._check_version(self._writer)
                yield
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                self._joined.pending = self._before = None
            self._check_current()
        for call in pending:
            call()

    @contextmanager
    def lock(self, key: str, /) -> Iterator[int]:
        """Hold the lock ``key`` over all processes, and yield its fencing token.

        It is a lock file beside the database that is removed afterwards: it is released at once when its holder is
        killed. The token is in the database.
        """
        with self._lock_file(key):
            values = {"tenant": self.tenant, "key": to_column(key)}
            self._held[key] = self.write(lambda own: int(own.execute(shared.QUERIES["take"], values).fetchone()[0]))
            try:
                yield self._held[key]
            finally:
                self._held.pop(key, None)

    @contextmanager
    def _lock_file(self, key: str) -> Iterator[None]:
        if self._path is None:
            with self._locks[0]:
                if key in self._held:
                    raise LockTimeoutError(f"{key} is locked")
                self._held[key] = 0
            try:
                yield
            finally:
                self._held.pop(key, None)
            return
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        path = self._path.with_name(f"{self._path.name}-lock-{name}")
        with durable.locked(path, timeout=0):
            try:
                yield
            finally:
                # Before the lock is released: a process that has the file open sees that it is gone, and makes another.
                path.unlink(missing_ok=True)

    def check_lock(self, connection: Connection, key: str, /) -> None:
        """Raise ``ConflictError`` if this process holds the lock ``key`` and somebody else took it since."""
        shared.check_token(connection, key, self._held.get(key), self.name)

    def notify(self, connection: Connection, owner: int, noun: str, key: str, /, **what: Unpack[ChangeFields]) -> None:
        """Append to the feed of changes of an owner, within a write."""
        shared.add_change(connection, owner, noun, key, what)

    def version(self) -> int:
        """Return a number that differs after a commit by any thread or process. Cheap: nothing of the file is read."""
        return self.read(lambda own: int(own.execute("PRAGMA data_version").fetchone()[0]))

    def is_current(self) -> bool:
        """Return whether the file at the path is still the one that was opened."""
        return self._path is None or _identity(self._path) == self._file

    def _check_current(self) -> None:
        """Raise an error if the file that was just committed to was removed or replaced."""
        if self._durable and not self.is_current():
            raise StateReplacedError(
                f"{self.name} was removed or replaced while it was in use, by `git clean` perhaps; this step was not "
                "stored. Repeat it: a new database is made."
            )

    def _check_version(self, connection: Connection) -> None:
        # A newer version may have changed the tables since this process opened them.
        if self._durable:
            migrate.check_again(connection, self.name, self._steps)

    def checkpoint(self, work: Work[Result]) -> Result:
        """Run ``work`` atomically; when this returns, it and every write before it are on the disk."""
        with self._locked(self._locks[1]):
            self._writer.execute("PRAGMA synchronous = FULL")
            try:
                return self._retried(lambda: _transaction(self._writer, "BEGIN IMMEDIATE", work))
            finally:
                if not self._durable:
                    self._writer.execute("PRAGMA synchronous = NORMAL")

    def verify(self) -> None:
        """Raise an error if the file fails SQLite's own check of its integrity. Slow for a large file."""
        found = self.read(lambda connection: connection.execute("PRAGMA integrity_check").fetchone()[0])
        if found != "ok":
            raise damaged(self.name, str(found))

    def purge(self) -> None:
        """Rewrite the file so that no deleted data remains in its free pages or in its log.

        Other processes may use it meanwhile; this waits only for one that is reading.
        """
        if self._joined.pending is not None:
            raise PromptuaryError(f"{self.name}: what was deleted cannot be purged within a transaction; end it first.")
        if self._path is None:
            return
        with self._locked(self._locks[1]):
            self._retried(lambda: self._writer.execute("VACUUM"))
            self._empty_log(self._path)

    def _empty_log(self, path: Path) -> None:
        began, is_reopened = time.monotonic(), False
        while self._writer.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchone()[0]:
            waited = time.monotonic() - began
            if waited >= self._timeout:
                raise PromptuaryError(
                    f"{self.name} is being read by another process for too long, so its log still holds what was "
                    "deleted; repeat this step."
                )
            if waited >= _STUCK and not is_reopened:
                self._reopen(path)
                is_reopened = True
            time.sleep(_PAUSE)

    def close(self) -> None:
        """Close the file after the transactions that are running."""
        with self._locks[0], self._locks[1]:
            self._closed = True
            self._reader.close()
            self._writer.close()

    def _reopen(self, path: Path) -> None:
        """Reopen the file, as the writer: a read whose end the disk failed to record would lock the log forever."""
        with self._locked(self._locks[0]):
            self._closed = True  # until both are open again
            self._reader.close()
            self._writer.close()
            self._writer = self._open(path)
            self._reader = self._open_reader(path)
            self._closed = False

    def _open_in_memory(self) -> "SqliteConnection":
        connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, factory=SqliteConnection
        )
        connection.execute("PRAGMA foreign_keys = ON")
        _transaction(connection, "BEGIN", lambda own: migrate.advance(own, self.name, self._steps))
        return connection

    def _open(self, path: Path, *, alone: bool = False) -> "SqliteConnection":
        # SQLite gives the log the permissions of the database, so these must be right before it opens the file.
        _create(path, self.name)
        connection = sqlite3.connect(
            path, timeout=0, isolation_level=None, check_same_thread=False, factory=SqliteConnection
        )
        try:
            if alone:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._retried(lambda: self._prepare(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_reader(self, path: Path) -> "SqliteConnection":
        """Open the second connection: what it reads is committed."""
        reader = self._open(path)
        reader.owners, reader.is_committed = self._writer.owners, True
        return reader

    def _prepare(self, connection: "SqliteConnection") -> None:
        """Set up a connection. A file that must not be changed is refused before the first setting that changes it."""
        found = migrate.check(connection, self.name, self._steps)
        for statement in statements(script(__package__, "connection.sql")):
            connection.execute(statement)
        if not self._durable:
            connection.execute("PRAGMA synchronous = NORMAL")
            # Much is written at once: a page that changes often goes from the log to the file less often.
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
        if found < len(self._steps):
            # A step may replace a table that others refer to. The setting has no effect inside a transaction.
            connection.execute("PRAGMA foreign_keys = OFF")
            try:
                _transaction(connection, "BEGIN IMMEDIATE", lambda own: migrate.advance(own, self.name, self._steps))
            finally:
                connection.execute("PRAGMA foreign_keys = ON")

    @contextmanager
    def _locked(self, lock: threading.RLock) -> Iterator[None]:
        if os.getpid() != self._process:
            raise PromptuaryError(f"{self.name} was opened before this process forked; open it again in the child.")
        if not lock.acquire(timeout=self._timeout):
            raise PromptuaryError(f"{self.name} is in use by other threads for too long; try again.")
        try:
            if self._closed:
                raise PromptuaryError(f"{self.name} is closed; open it again.")
            with translated(self.name, self._folder):
                yield
        finally:
            lock.release()

    def _retried(self, attempt: Callable[[], Result]) -> Result:
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return attempt()
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(random.uniform(0, _PAUSE))  # noqa: S311 - random, so that two that wait do not stay in step


def copy_database(source: Path, target: Path) -> None:
    """Copy the current state of ``source``, even while others write to it, to ``target``, replacing an existing file.

    Raises ``StorageError`` if ``source`` is damaged, and nothing is copied.
    """
    name = f"{source.parent.name}/{source.name}"
    durable.create(target, b"", mode=0o600)
    with translated(name, source.parent), closing(sqlite3.connect(source, timeout=10)) as own:
        if own.execute("PRAGMA quick_check (1)").fetchone()[0] != "ok":
            raise damaged(name, "it fails SQLite's own check")
        with closing(sqlite3.connect(target, timeout=10)) as other:
            own.backup(other, pages=1000)


def same_database(path: Path, other: Path) -> bool:
    """Return whether two databases hold the same rows, whoever they are bound to; false if one cannot be read."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)) as own:
            own.execute("ATTACH DATABASE ? AS other", (f"{other.absolute().as_uri()}?mode=ro",))
            tables, others = (
                own.execute(f"SELECT name, sql FROM {one}.sqlite_master WHERE type = 'table' ORDER BY name").fetchall()  # noqa: S608
                for one in ("main", "other")
            )
            names = [name for name, _ in tables if name not in {"binding", "sqlite_sequence"}]
            return bool(tables == others) and all(_same_rows(own, name) for name in names)
    except sqlite3.Error:
        return False


def _same_rows(connection: sqlite3.Connection, table: str) -> bool:
    mine, others = f'SELECT * FROM main."{table}"', f'SELECT * FROM other."{table}"'  # noqa: S608  (one of our tables)
    (differ,) = connection.execute(
        f"SELECT EXISTS ({mine} EXCEPT {others}) OR EXISTS ({others} EXCEPT {mine})"
    ).fetchone()
    return not differ


class _Joined(threading.local):
    """The transaction that this thread has open: what to call when it is committed, ``None`` if none is open."""

    pending: list[Callable[[], object]] | None = None


def _part(connection: Connection, work: Work[Result]) -> Result:
    """Run ``work`` as a savepoint of the open transaction: if it fails, only its own changes are rolled back."""
    connection.execute("SAVEPOINT part")
    try:
        result = work(connection)
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")
    return result


def _transaction(connection: SqliteConnection, begin: _Begin, work: Work[Result]) -> Result:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        # Some errors have ended the transaction already; the first error is the one to report.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return result


def _create(path: Path, name: str) -> None:
    """Create an empty file that only the user can access, unless one exists; SQLite treats it as a new database."""
    try:
        durable.create(path, b"", mode=0o600)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        short = shortage(error.errno) if isinstance(error, OSError) else ""
        advice = f"{name} cannot be opened ({reason}); check that its folder exists and that you may write there."
        raise PromptuaryError(f"{name}: {short}" if short else advice) from error


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, to detect a replacement."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _refuse(path: Path, name: str) -> None:
    """Raise an error for a file that SQLite would follow or overwrite."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise PromptuaryError(f"{name} cannot be examined ({error.strerror}); check its folder.") from error
    if not stat.S_ISREG(found.st_mode):
        raise PromptuaryError(f"{name} is a link or not a file, and is not used; move it elsewhere.")
    if 0 < found.st_size < _SMALLEST:
        raise damaged(name, "it is too short")
