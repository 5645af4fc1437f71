"""The driver for PostgreSQL: one database that many servers share. A workspace in it is a tenant.

Every piece of work is one transaction on a connection from a pool, and nothing outlives the transaction but its rows:
no prepared statement, no setting of the session and no lock of it, so a pooler may stand in between. A write runs at
READ COMMITTED and keeps other writers of the same owner waiting (``hold``); a read sees one snapshot. Work is run again
if it lost a race or its connection. If that was lost during a COMMIT, the row of the transaction in ``written`` tells
whether it happened. Does not know what is stored.
"""

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, Generic, Unpack

import psycopg
from psycopg import conninfo, errors
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.pq import Format
from psycopg.types.numeric import NumericBinaryLoader
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from promptuary.base import concurrency
from promptuary.base.errors import (
    DatabaseUnavailableError,
    LockTimeoutError,
    PromptuaryError,
    StorageError,
    UnknownFormatError,
)
from promptuary.database import shared
from promptuary.database.columns import NotUnicode, escaped, to_column, unescaped
from promptuary.database.dialect import translate, translate_schema
from promptuary.database.listening import Listener
from promptuary.database.owners import NOBODY
from promptuary.database.port import ChangeFields, Cursor, Database, Result, Work
from promptuary.database.queries import queries

_QUERIES: Final = queries(__package__, "postgres.sql")

SCHEMA: Final = "promptuary"
"""The schema with our tables: nothing in another one is found by a name of ours."""
_MIGRATING: Final = 0x50524D31
"""The number of the advisory lock of those who migrate."""
_OLDEST: Final = 150_000
"""The first version of PostgreSQL that this runs on."""

_CONNECTIONS: Final = 16
_WRITERS: Final = 12
"""How many connections write at once. The others are left for readers: one who writes may have to read."""
_CONNECT_TIMEOUT: Final = 5
_STATEMENT_TIMEOUT: Final = 30
_LOCK_TIMEOUT: Final = 10
_ANSWER_TIMEOUT: Final = 35.0
"""Seconds until a connection on which nothing comes is given up. The server ends statements sooner, unless it stands
still."""
_IDLE_TIMEOUT: Final = 60
"""Seconds after which the server ends the transaction of a process that does nothing with it."""
_PAUSE: Final = 0.25
"""The longest pause between two attempts, in seconds."""

_LEASE: Final = 45.0
"""Seconds for which a lock is held after its holder was last heard of."""
_HEARTBEAT: Final = 15.0
_POLL: Final = 1.0
"""Seconds between two questions whether anything was committed, where no notices arrive."""
_TIDY: Final = 500
"""After how many writes old rows of ``written`` are dropped."""

_ALL: Final = -2
"""What the setting has for all owners."""

_AGAIN: Final = frozenset(
    {
        "40001",
        "40P01",
        "25P03",
        "57P01",
        "57P02",
        "57P03",
        "57P05",
        "53300",
        "08000",
        "08003",
        "08006",
        "08P01",
    }
)
"""Errors after which the same work may succeed: races, deadlocks, and a server that ends, starts or is full."""
_DUPLICATE: Final = "23505"
_DUPLICATES: Final = 4
"""How often work is run again whose key exists: another may have added it at the same moment, and is seen next time."""

# The driver reports each failed attempt to connect; whoever waits for the connection gets an error anyway.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class _TextDumper(Dumper):
    """Any text, as characters that PostgreSQL can store."""

    oid = psycopg.postgres.types["text"].oid

    def dump(self, obj: str | bytes) -> Buffer:
        return escaped(obj).encode()


class Binary(bytes):
    """A value in the binary form of the type that the statement casts it to, which the driver does not know."""


class _BinaryDumper(Dumper):
    oid = 0
    format = Format.BINARY

    def dump(self, obj: bytes) -> Buffer:
        return obj


class _BoolDumper(Dumper):
    """Truth values, which are numbers in our tables."""

    oid = psycopg.postgres.types["int8"].oid

    def dump(self, obj: bool) -> Buffer:  # noqa: FBT001  (the signature of the driver)
        return b"1" if obj else b"0"


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str | bytes:
        return unescaped(str(data, "utf-8"))


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


class _SumLoader(NumericBinaryLoader):
    """Sums of whole numbers, which PostgreSQL returns as decimals."""

    def load(self, data: Buffer) -> Any:
        return int(super().load(data))


def _adapters() -> AdaptersMap:
    made = AdaptersMap(psycopg.adapters)
    for kind in (str, NotUnicode):
        made.register_dumper(kind, _TextDumper)
    made.register_dumper(bool, _BoolDumper)
    made.register_dumper(Binary, _BinaryDumper)
    for loader in (_TextLoader, _BinaryTextLoader):
        made.register_loader("text", loader)
    made.register_loader("numeric", _SumLoader)
    return made


_ADAPTERS: Final = _adapters()


class PostgresConnection:
    """A connection while it runs the transaction of a workspace."""

    def __init__(
        self, raw: psycopg.Connection[Any], tenant: int, owners: dict[Any, int], *, is_committed: bool
    ) -> None:
        self._raw, self.tenant, self.owners, self.is_committed = raw, tenant, owners, is_committed
        self._holds: set[int | None] = set()
        self._acting: int | None = NOBODY
        self.told = 0
        """The number of the last change that this transaction tells of."""
        self._said: int | None = NOBODY
        """As whom the server knows this transaction to act."""

    def execute(self, query: str, values: Mapping[str, Any] | Sequence[Any] = (), /) -> Cursor:
        """Run a statement."""
        with self._speaking():
            return self._raw.cursor(binary=True).execute(translate(query), values)

    def executemany(self, query: str, values: Iterable[Any], /) -> Cursor:
        """Run a statement once for each of ``values``, without waiting for each."""
        cursor, rows = self._raw.cursor(binary=True), list(values)
        if rows:  # otherwise the driver would ask the server all the same
            with self._speaking():
                cursor.executemany(translate(query), rows)
        return cursor

    def act_as(self, owner: int | None, /) -> None:
        """Act as an owner from the next statement on; the policies of the tables know it by a setting."""
        if self._acting is not None:
            self._acting = owner

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Send the setting with a statement if it has changed, without waiting for it."""
        if self._said == self._acting:
            yield
            return
        acting = _ALL if self._acting is None else self._acting
        with self._raw.pipeline():
            self._raw.execute("SELECT set_config('app.owner', %s, true)", [str(acting)])
            yield
        self._said = self._acting

    def hold(self, owner: int | None, /) -> None:
        """Keep other writers of what an owner has waiting: the row of the owner, or of the tenant, is locked."""
        if owner in self._holds or None in self._holds:
            return
        own = {"tenant": self.tenant, "owner": owner}
        if owner is None:
            self.hold(0)  # so that no owner is added
            self.execute(_QUERIES["hold_all"], own)
        else:
            self.execute(_QUERIES["hold_owner" if owner else "hold_everybodys"], own)
        self._holds.add(owner)


def channel(tenant: int) -> str:
    """Return the channel of the notices of a workspace."""
    return f"promptuary_{tenant}"


class _BoundedConnection(psycopg.Connection[Any]):
    """A connection that does not wait forever for a server that stands still."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server; close the connection if nothing comes."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, _ANSWER_TIMEOUT)
        except errors._WaitTimeout:  # noqa: SLF001  (the driver has no other name for it)
            self.close()
            raise psycopg.OperationalError("the server does not answer") from None


class _Server:
    """The pool of a database, shared by all workspaces of this process that are in it."""

    def __init__(self, url: str, name: str) -> None:
        self.users = 0
        self.writers = threading.BoundedSemaphore(_WRITERS)
        self.listener = Listener(url)
        self.pool = ConnectionPool(
            url,
            connection_class=_BoundedConnection,
            min_size=0,
            max_size=_CONNECTIONS,
            num_workers=1,
            open=True,
            name=name,
            kwargs={
                "autocommit": True,
                "prepare_threshold": None,
                "connect_timeout": _CONNECT_TIMEOUT,
                "client_encoding": "utf-8",
                "context": _ADAPTERS,
            },
        )


_servers: Final[dict[tuple[str, int], _Server]] = {}
"""The open pools, by the address and the process."""
_opening: Final = threading.Lock()


class PostgresDatabase(Database):
    """The workspace ``tenant`` in the database at ``url``, whose tables are migrated to the last of ``steps``.

    ``timeout`` is how many seconds to wait for others, and for a server that is away.
    """

    def __init__(self, url: str, tenant: int, steps: Sequence[str], *, timeout: float = 30.0) -> None:
        try:
            given = conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # Without the cause: it quotes the address, and the password in it.
            raise PromptuaryError(
                "the setting database is not an address of PostgreSQL; write postgresql://USER@HOST/DATABASE"
            ) from None
        self._name = f"PostgreSQL ({given.get('host') or 'local'}/{given.get('dbname') or given.get('user') or ''})"
        self._url, self._tenant, self._timeout = url, tenant, timeout
        self._version = len(steps)
        self._owners: dict[Any, int] = {}
        self._joined = _Joined()
        self._held: dict[str, int] = {}
        self._is_beating = False
        self._lock = threading.Lock()
        self._writes = 0
        self._closed = False
        self._polled, self._poll_at = 0, 0.0
        self._process = os.getpid()
        with self._translated():
            _migrate(url, self.name, steps)
        with _opening:
            key = url, self._process
            self._server = _servers[key] = _servers.get(key) or _Server(url, self.name)
            self._server.users += 1

    @property
    def name(self) -> str:
        """What messages call it: the host and the database, never the user or the password."""
        return self._name

    @property
    def tenant(self) -> int:
        """The workspace whose rows it reads and writes."""
        return self._tenant

    @property
    def in_memory(self) -> bool:
        """Whether it ends with the process."""
        return False

    @property
    def exists(self) -> bool:
        """Whether the workspace was ever used here."""
        return self.read(lambda own: bool(own.execute(_QUERIES["has_tenant"], {"tenant": own.tenant}).fetchone()[0]))

    def create(self) -> None:
        """Make the workspace, unless it exists."""
        self.write(lambda own: own.execute(_QUERIES["add_tenant"], {"tenant": own.tenant}))

    def read(self, work: Work[Result], /) -> Result:
        """Run ``work``, which reads from one snapshot of the database."""

        def attempt(raw: psycopg.Connection[Any]) -> Result:
            self._begin(raw, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", b"")
            result = work(PostgresConnection(raw, self._tenant, self._owners, is_committed=True))
            raw.execute("COMMIT")
            return result

        return self._repeated(attempt)

    def write(self, work: Work[Result], /, *, after_commit: Callable[[Result], object] = lambda _: None) -> Result:
        """Run ``work`` atomically; when this returns, it is persistent and ``after_commit`` was called.

        Within ``transaction`` both happen when that ends.
        """
        joined = self._joined.connection
        if joined is not None:
            with self._translated():
                result = _part(joined, work)
            self._joined.pending.append(lambda: after_commit(result))
            return result
        commit = _Commit[Result](os.urandom(16))

        def attempt(raw: psycopg.Connection[Any]) -> Result:
            if not self._begin(raw, "BEGIN", commit.id):
                raw.execute("ROLLBACK")
                return commit.result  # it was committed when the connection was lost
            commit.is_doubtful = False
            own = PostgresConnection(raw, self._tenant, self._owners, is_committed=False)
            result = commit.result = work(own)
            _commit(raw, commit, own)
            return result

        with self._writing():
            result = self._repeated(attempt, commit)
        self._tidy()
        after_commit(result)
        return result

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Join every ``write`` of this thread in the block into one transaction. Reads see the state before it.

        The block is not run again: if its connection is lost, ``DatabaseUnavailableError`` says that nothing is stored.
        """
        if self._joined.connection is not None:
            raise PromptuaryError(f"{self.name}: a transaction is open in this thread; end it before the next.")
        commit = _Commit[None](os.urandom(16))

        def begun(found: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
            self._begin(found, "BEGIN", commit.id)
            return found

        with self._writing(), ExitStack() as held:
            raw = self._repeated(begun, keep=held)
            own = self._joined.connection = PostgresConnection(raw, self._tenant, self._owners, is_committed=False)
            pending = self._joined.pending = []
            try:
                with self._translated():
                    try:
                        yield
                        _commit(raw, commit, own)
                    except psycopg.Error:
                        if not commit.is_doubtful or not self._was_committed(commit):
                            raise
            finally:
                self._joined.connection = None
        for call in pending:
            call()

    def _was_committed(self, commit: "_Commit[Any]") -> bool:
        """Return whether a transaction was committed, after the connection was lost; wait for it if it still runs."""

        def attempt(raw: psycopg.Connection[Any]) -> bool:
            is_new = self._begin(raw, "BEGIN", commit.id)
            raw.execute("ROLLBACK")
            return not is_new

        return self._repeated(attempt, commit)

    @contextmanager
    def lock(self, key: str, /) -> Iterator[int]:
        """Hold the lock ``key`` over all processes, and yield its fencing token.

        It is a row with an expiry: a thread renews it while it is held, and if its holder is killed, it is free after
        ``_LEASE`` seconds. The time is the server's.
        """
        values = {"tenant": self.tenant, "key": to_column(key), "seconds": _LEASE}
        row = self.write(lambda own: own.execute(shared.QUERIES["take"], values).fetchone())
        if row is None:
            raise LockTimeoutError(f"{key} is locked")
        self._held[key] = int(row[0])
        self._keep_alive()
        try:
            yield self._held[key]
        finally:
            token = {"token": self._held.pop(key)}
            with suppress(StorageError):  # it ends by itself
                self.write(lambda own: own.execute(_QUERIES["end_lease"], values | token))

    def _keep_alive(self) -> None:
        with self._lock:
            if not self._is_beating:
                self._is_beating = True
                concurrency.start_daemon(self._beat, name="promptuary-leases")

    def _beat(self) -> None:
        while True:
            time.sleep(_HEARTBEAT)
            with self._lock:
                held = dict(self._held)
                if not held or self._closed:
                    self._is_beating = False
                    return
            rows = [
                {"tenant": self.tenant, "key": to_column(key), "token": token, "seconds": _LEASE}
                for key, token in held.items()
            ]
            with suppress(PromptuaryError):  # at the next beat, perhaps
                self.write(lambda own, rows=rows: own.executemany(_QUERIES["renew_lease"], rows))  # type: ignore[misc]

    def check_lock(self, connection: Any, key: str, /) -> None:
        """Raise ``ConflictError`` if this process holds the lock ``key`` and somebody else took it since."""
        shared.check_token(connection, key, self._held.get(key), self.name)

    def notify(self, connection: Any, owner: int, noun: str, key: str, /, **what: Unpack[ChangeFields]) -> None:
        """Append to the feed of changes of an owner, within a write; those who listen hear that there is something."""
        connection.told = shared.add_change(connection, owner, noun, key, what)

    def version(self) -> int:
        """Return a number that differs after a commit that told of something, by anybody.

        It is counted where notices arrive. Elsewhere the server is asked which transactions are over, at most once in
        ``_POLL`` seconds.
        """
        heard = self._server.listener.heard(channel(self.tenant))
        if heard is not None:
            return hash(heard)
        if time.monotonic() >= self._poll_at:
            self._polled = self.read(lambda own: hash(own.execute("SELECT pg_current_snapshot()::text").fetchone()[0]))
            self._poll_at = time.monotonic() + _POLL
        return self._polled

    def is_current(self) -> bool:
        """Return whether it is still the database that was opened: always."""
        return not self._closed

    def verify(self) -> None:
        """Do nothing: the server verifies the checksums of its pages when it reads them."""

    def purge(self) -> None:
        """Do nothing: the server removes dead rows by itself (autovacuum); its log and backups are the operator's."""
        if self._joined.connection is not None:
            raise PromptuaryError(f"{self.name}: what was deleted cannot be purged within a transaction; end it first.")

    def close(self) -> None:
        """Close it; the last user closes the pool, after the transactions that are running."""
        with _opening:
            if self._closed:
                return
            self._closed = True
            self._server.users -= 1
            if not self._server.users:
                _servers.pop((self._url, self._process), None)
                self._server.listener.close()
                self._server.pool.close()

    def _begin(self, raw: psycopg.Connection[Any], begin: str, key: bytes) -> bool:
        """Begin a transaction, in one round trip; return whether it was not committed before under this key.

        Raises ``UnknownFormatError`` for a write if a newer version has migrated the tables: it waits for this
        transaction, and afterwards the version is another.
        """
        settings = {
            "search_path": SCHEMA,
            "statement_timeout": f"{_STATEMENT_TIMEOUT}s",
            "lock_timeout": f"{_LOCK_TIMEOUT}s",
            "idle_in_transaction_session_timeout": f"{_IDLE_TIMEOUT}s",
            "app.tenant": str(self._tenant),
            "app.owner": str(NOBODY),
        }
        calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        written = (
            "; SELECT version FROM migration; INSERT INTO written (tenant, id) "  # noqa: S608  (a number, and digits)
            f"VALUES ({self._tenant}, '\\x{key.hex()}') ON CONFLICT DO NOTHING"
        )
        cursor = raw.execute(f"{begin}; SELECT {calls}{written if key else ''}")
        if not key:
            return True
        cursor.nextset()
        cursor.nextset()
        (version,) = cursor.fetchone() or (0,)
        if version > self._version:
            raise _newer(self.name, version, self._version)
        cursor.nextset()
        return cursor.rowcount > 0

    @contextmanager
    def _writing(self) -> Iterator[None]:
        if not self._server.writers.acquire(timeout=self._timeout):
            raise PromptuaryError(f"{self.name} is in use by other threads for too long; try again.")
        try:
            yield
        finally:
            self._server.writers.release()

    def _repeated(
        self,
        attempt: Callable[[psycopg.Connection[Any]], Result],
        commit: "_Commit[Any] | None" = None,
        keep: ExitStack | None = None,
    ) -> Result:
        """Run ``attempt`` until it succeeds, fails for good or the time is up.

        The connection is rolled back and given back at once, or when ``keep`` ends.
        """
        if os.getpid() != self._process:
            raise PromptuaryError(f"{self.name} was opened before this process forked; open it again in the child.")
        deadline, pause, duplicates = time.monotonic() + self._timeout, 0.002, 0
        with self._translated(commit):
            while True:
                if self._closed:
                    raise PromptuaryError(f"{self.name} is closed; open it again.")
                with ExitStack() as held:
                    raw = self._connected(held, deadline)
                    try:
                        result = attempt(raw)
                    except psycopg.Error as error:
                        duplicates += error.sqlstate == _DUPLICATE
                        is_race = error.sqlstate == _DUPLICATE and duplicates <= _DUPLICATES
                        may_succeed = is_race or error.sqlstate in _AGAIN or _is_lost(raw, error)
                        if not may_succeed or time.monotonic() >= deadline:
                            raise
                    else:
                        if keep is not None:
                            keep.push(held.pop_all())
                        return result
                time.sleep(random.uniform(0, pause))  # noqa: S311 - random, so that two that wait do not stay in step
                pause = min(2 * pause, _PAUSE)

    def _connected(self, held: ExitStack, deadline: float) -> psycopg.Connection[Any]:
        """Return a connection, which is rolled back and given back when ``held`` ends."""
        wait = max(0.1, min(deadline - time.monotonic(), 2 * _CONNECT_TIMEOUT))
        raw = self._server.pool.getconn(timeout=wait)
        held.callback(self._server.pool.putconn, raw)

        def rolled_back() -> None:
            if raw.info.transaction_status:
                with suppress(psycopg.Error):
                    raw.execute("ROLLBACK")

        held.callback(rolled_back)
        return raw

    @contextmanager
    def _translated(self, commit: "_Commit[Any] | None" = None) -> Iterator[None]:
        """Translate errors of the driver into ones that say what to do."""
        try:
            yield
        except (PoolTimeout, PoolClosed, psycopg.Error) as error:
            if commit is not None and commit.is_doubtful:
                raise DatabaseUnavailableError(
                    f"{self.name} went away while this step was being stored, and it is not known whether it was; look "
                    "before you repeat it."
                ) from error
            raise self._error(error) from error

    def _error(self, error: Exception) -> PromptuaryError:
        code = getattr(error, "sqlstate", None)
        if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)):
            return StorageError(f"{self.name} is in use by others for too long; try again.")
        if isinstance(error, errors.QueryCanceled):
            return DatabaseUnavailableError(f"{self.name} took too long to answer; try again later.")
        if isinstance(error, errors.InsufficientPrivilege):
            return StorageError(f"{self.name}: this role may not do that ({_told(error)}); see docs/scale.md.")
        is_refused = isinstance(error, errors.InvalidAuthorizationSpecification) or "authentication" in str(error)
        if is_refused or isinstance(error, errors.InvalidCatalogName):
            return StorageError(f"{self.name} refused the connection ({_told(error)}); check the setting database.")
        if isinstance(error, (PoolTimeout, PoolClosed, psycopg.OperationalError, psycopg.InterfaceError)):
            why = f" ({code})" if code else ""
            return DatabaseUnavailableError(
                f"{self.name} does not answer{why}; nothing of this step was stored. Try again, or check the server."
            )
        return StorageError(f"{self.name}: it could not be used ({_told(error)}).")

    def _tidy(self) -> None:
        self._writes += 1
        if self._writes % _TIDY == 0:
            self.write(lambda own: own.execute(_QUERIES["drop_written"], {"tenant": own.tenant}))


class _Joined(threading.local):
    """The transaction that this thread has open, and what to call when it is committed."""

    connection: PostgresConnection | None = None
    pending: list[Callable[[], object]]


class _Commit(Generic[Result]):
    """A transaction that may be attempted several times: what it is known by, and what its last attempt returned."""

    result: Result

    def __init__(self, key: bytes) -> None:
        self.id = key
        self.is_doubtful = False
        """Whether its connection was lost when it was being committed."""


def _part(connection: PostgresConnection, work: Work[Result]) -> Result:
    """Run ``work`` as a savepoint of the open transaction: if it fails, only its own changes are rolled back."""
    connection.execute("SAVEPOINT part")
    try:
        result = work(connection)
    except BaseException:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK TO part")
        raise
    connection.execute("RELEASE part")
    return result


def _commit(raw: psycopg.Connection[Any], commit: _Commit[Any], own: PostgresConnection) -> None:
    """Commit; if the connection is lost meanwhile, and only then, it is not known whether that happened.

    Those who listen get one notice, whatever was told of: the server sends it with the commit, under a lock of its own.
    """
    notice = f"SELECT pg_notify('{channel(own.tenant)}', '{own.told}'); " if own.told else ""
    commit.is_doubtful = True
    try:
        raw.execute(f"{notice}COMMIT")
    except psycopg.Error as error:
        commit.is_doubtful = _is_lost(raw, error)
        raise
    commit.is_doubtful = False


def _is_lost(raw: psycopg.Connection[Any], error: psycopg.Error) -> bool:
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and raw.closed


def _told(error: BaseException) -> str:
    """Return what the server says, in one line."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).strip()
    return str(said).splitlines()[-1] if said else type(error).__name__


def _newer(name: str, found: int, known: int) -> UnknownFormatError:
    return UnknownFormatError(
        f"{name} was migrated by a newer Promptuary (format {found}, this one knows {known}); nothing was written. "
        "Upgrade Promptuary."
    )


_migrated: Final[set[tuple[str, int]]] = set()
"""The databases that this process has seen with the version that it knows: a write checks it again."""


def _migrate(url: str, name: str, steps: Sequence[str]) -> None:
    """Make or migrate the tables, in one transaction; others who start at the same time wait for it."""
    if (url, len(steps)) in _migrated:
        return
    with psycopg.connect(
        url, autocommit=True, prepare_threshold=None, connect_timeout=_CONNECT_TIMEOUT, client_encoding="utf-8"
    ) as raw:
        if raw.info.server_version < _OLDEST:
            raise UnknownFormatError(
                f"{name} is PostgreSQL {raw.info.server_version // 10_000}; 15 or newer is needed."
            )
        found = _found_version(raw)
        if found > len(steps):
            raise _newer(name, found, len(steps))
        if found < len(steps):
            raw.execute(f"BEGIN; SELECT pg_advisory_xact_lock({_MIGRATING})")
            found = _found_version(raw)
            if found > len(steps):  # by another, while this one waited
                raise _newer(name, found, len(steps))
            script = [f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}", f"SET LOCAL search_path = {SCHEMA}"]
            if not found:
                script += ["CREATE TABLE IF NOT EXISTS migration (version BIGINT NOT NULL)"]
                script += ["INSERT INTO migration VALUES (0)"]
            script += ["LOCK TABLE migration IN ACCESS EXCLUSIVE MODE"]  # after every write that runs
            script += [translate_schema(step) for step in steps[found:]]
            script += [f"UPDATE migration SET version = {len(steps)}", "COMMIT"]  # noqa: S608  (a number)
            raw.execute(";\n".join(script))
    _migrated.add((url, len(steps)))


def _found_version(raw: psycopg.Connection[Any]) -> int:
    # Not to_regclass: a server may still remember that there was no such table, while another has made it.
    query = f"SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = '{SCHEMA}' AND tablename = 'migration'"  # noqa: S608
    if raw.execute(query).fetchone() is None:
        return 0
    (version,) = raw.execute(f"SELECT version FROM {SCHEMA}.migration").fetchone() or (0,)  # noqa: S608  (ours)
    return int(version)
