"""``state.db``: one SQLite file for everything persistent, with one store per kind of data over it."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary import durable
from promptuary.core.errors import LockTimeoutError
from promptuary.core.ports.experiences import OnChange
from promptuary.core.ports.threads import StateDatabase
from promptuary.core.principals import Principal
from promptuary.storage.sqlite.columns import to_column
from promptuary.storage.sqlite.database import BoundDatabase
from promptuary.storage.sqlite.errors import damaged, sound
from promptuary.storage.sqlite.owners import find_owner
from promptuary.storage.sqlite.sql import SQL, STEPS
from promptuary.storage.sqlite.sql.queries import queries, script
from promptuary.storage.sqlite.texts import Numbers, unpack
from promptuary.storage.values import busy, now

if TYPE_CHECKING:
    from promptuary.storage.sqlite.experiences.experiences import SqliteExperiences
    from promptuary.storage.sqlite.notes.forgetting import SqliteForgetting
    from promptuary.storage.sqlite.notes.journal import SqliteNoteJournal
    from promptuary.storage.sqlite.notes.writeback import SqliteProposals, SqliteQueue
    from promptuary.storage.sqlite.sessions.sessions import SqliteSessions
    from promptuary.storage.sqlite.threads.history_cache import Histories
    from promptuary.storage.sqlite.threads.threads import SqliteThreads

_QUERIES = queries(SQL, "thread_queries.sql")


class SqliteState(StateDatabase):
    """The ``StateDatabase`` in the file ``path``, created if it does not exist; its folder must exist.

    ``timeout`` is how many seconds to wait for other processes; ``clock`` gives the time at which threads are created
    and updated.
    """

    def __init__(self, path: Path, *, timeout: float = 30.0, clock: Callable[[], str] = now) -> None:
        self.path = path
        self._clock = clock
        self._histories: Histories | None = None
        self._numbers = Numbers()
        self._database = BoundDatabase(path, [script(SQL, step) for step in STEPS], timeout=timeout)

    @property
    def persistent(self) -> bool:
        """Whether what is written outlives the process: it does."""
        return True

    def threads(self, principal: Principal) -> "SqliteThreads":
        """Return the threads of ``principal``."""
        from promptuary.storage.sqlite.threads.history_cache import Histories  # noqa: PLC0415  (notes need no threads)
        from promptuary.storage.sqlite.threads.threads import SqliteThreads  # noqa: PLC0415

        histories = self._histories = self._histories or Histories()
        return SqliteThreads(self._database, principal, histories=histories, numbers=self._numbers, clock=self._clock)

    def notes(self, space: str) -> "SqliteNoteJournal":
        """Return the journal of the notes in the folder ``space`` of one agent, such as ``agents/reviewer``."""
        from promptuary.storage.sqlite.notes.journal import SqliteNoteJournal  # noqa: PLC0415  (few commands need it)

        return SqliteNoteJournal(self._database, space)

    def writeback_queue(self, principal: Principal) -> "SqliteQueue":
        """Return the turns of ``principal`` that wait for writeback."""
        from promptuary.storage.sqlite.notes.writeback import SqliteQueue  # noqa: PLC0415  (few commands need it)

        return SqliteQueue(self._database, principal.owner)

    def proposals(self, principal: Principal) -> "SqliteProposals":
        """Return the proposals that wait for ``principal``."""
        from promptuary.storage.sqlite.notes.writeback import SqliteProposals  # noqa: PLC0415  (few commands need it)

        return SqliteProposals(self._database, principal.owner)

    def experiences(self, principal: Principal, on_change: OnChange = lambda _: None) -> "SqliteExperiences":
        """Return the experiences of ``principal``; ``on_change`` is called after they were changed by this store."""
        from promptuary.storage.sqlite.experiences.experiences import SqliteExperiences  # noqa: PLC0415

        return SqliteExperiences(self._database, principal.owner, on_change)

    def forgetting(self, principal: Principal) -> "SqliteForgetting":
        """Return what removes notes and sources from this database on behalf of ``principal``."""
        from promptuary.storage.sqlite.notes.forgetting import SqliteForgetting  # noqa: PLC0415  (few commands need it)

        return SqliteForgetting(self._database, principal.owner)

    def has_session(self, principal: Principal, thread: str) -> bool:
        """Return whether a thread of ``principal`` has a session."""

        def found(connection: sqlite3.Connection) -> bool:
            owner = find_owner(connection, principal.owner)
            named = {"owner": owner, "thread": to_column(thread)}
            return owner is not None and bool(connection.execute(_QUERIES["has_session"], named).fetchone()[0])

        return self._database.read(found)

    def sessions(self, principal: Principal) -> "SqliteSessions":
        """Return the sessions of ``principal``."""
        from promptuary.storage.sqlite.sessions.sessions import SqliteSessions  # noqa: PLC0415  (few commands need it)

        return SqliteSessions(self._database, principal.owner)

    @contextmanager
    def answering(self, principal: Principal, thread: str) -> Iterator[None]:
        """Lock a thread while a model answers in it, by a lock file beside the database that is removed afterwards."""
        owner = principal.owner
        said = f"{owner.kind}\0{owner.name}\0{owner.agent}\0{thread}"
        name = hashlib.sha256(said.encode("utf-8", "surrogatepass"))
        path = self.path.with_name(f"{self.path.name}-answering-{name.hexdigest()[:16]}")
        with ExitStack() as held:
            try:
                held.enter_context(durable.locked(path, timeout=0))
            except LockTimeoutError:
                raise busy(thread) from None
            # Before the lock is released: a process that has the file open sees that it is gone, and creates another.
            held.callback(path.unlink, missing_ok=True)
            yield

    def transaction(self) -> AbstractContextManager[None]:
        """Run a transaction over all stores, for writes by the current thread."""
        return self._database.transaction()

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self._database.name

    @property
    def database(self) -> BoundDatabase:
        """The file, which records its owner."""
        return self._database

    def is_current(self) -> bool:
        """Return whether the file is still the one that was opened."""
        return self._database.is_current()

    def verify(self) -> None:
        """Read everything, and raise an error if anything differs from what was written. Slow for a large file."""

        def compared(connection: sqlite3.Connection) -> str:
            for row in connection.execute(_QUERIES["contents"]):
                unpack(*row)
            return str(connection.execute(_QUERIES["integrity"]).fetchone()[0])

        with sound(self._database.name):
            found = self._database.read(compared)
        if found != "ok":
            raise damaged(self._database.name, found)

    def close(self) -> None:
        """Close the file."""
        self._database.close()
