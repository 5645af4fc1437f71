"""``state.db``: one database for everything persistent, with one store per kind of data and principal over it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, LockTimeoutError
from promptuary.base.principals import Principal
from promptuary.config.settings import Settings
from promptuary.database.binding import Bound, BoundDatabase
from promptuary.database.contents import unpack_bytes
from promptuary.database.errors import sound
from promptuary.database.owners import all_owners
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.experiences.store import ExperienceStore, OnChange
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.writeback.store import NoteQueue, ProposalStore
from promptuary.sessions.store import SessionStore
from promptuary.threads.ledger_values import Pruned
from promptuary.threads.store.values import answering_key, busy
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.state_file import StateFile, adopt, has_state, open_database
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.threads.store.forgetting import Forgetting
    from promptuary.threads.store.history_cache import Histories
    from promptuary.threads.store.store import ThreadStore

_CONTENTS = queries("promptuary.database", "contents.sql")
_THREADS = queries("promptuary.threads.store", "threads.sql")

LEFT_IN_STATE_FILE: Final = (
    "what is in .promptuary/state.db is not used, since the setting database names a server with no thread of this "
    "workspace: `promptuary migrate --from sqlite --to ADDRESS` moves it"
)


class StateDatabase:
    """The database in the file ``path``, created if it does not exist; its folder must exist. Without one: in memory.

    ``database`` is one that is open already: it is closed with this object. ``timeout`` is how many seconds to wait for
    other processes; ``clock`` gives the time at which threads are created and updated.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        database: Bound | None = None,
        timeout: float = 30.0,
        clock: Callable[[], str] = now,
    ) -> None:
        self._clock = clock
        self._histories: Histories | None = None
        self._database = database or BoundDatabase(path, timeout=timeout)

    @property
    def persistent(self) -> bool:
        """Whether what is written outlives the process."""
        return not self._database.in_memory

    def threads(self, principal: Principal) -> "ThreadStore":
        """Return the threads of ``principal``."""
        from promptuary.threads.store.history_cache import Histories  # noqa: PLC0415  (notes need no threads)
        from promptuary.threads.store.store import ThreadStore  # noqa: PLC0415

        histories = self._histories = self._histories or Histories()
        return ThreadStore(self._database, principal, histories=histories, clock=self._clock)

    def has_threads(self) -> bool:
        """Return whether anybody has a thread."""

        def read(connection: Connection) -> bool:
            connection.act_as(None)
            return bool(connection.execute(_THREADS["has_threads"], {"tenant": connection.tenant}).fetchone()[0])

        return self._database.read(read)

    def notes(self, space: str) -> NoteJournal:
        """Return the journal of the notes in the folder ``space`` of one agent, such as ``agents/reviewer``."""
        return NoteJournal(self._database, space)

    def writeback_queue(self, principal: Principal) -> NoteQueue:
        """Return the turns of ``principal`` that wait for writeback."""
        return NoteQueue(self._database, principal.owner)

    def proposals(self, principal: Principal) -> ProposalStore:
        """Return the proposals that wait for ``principal``."""
        return ProposalStore(self._database, principal.owner, principal.user)

    def experiences(self, principal: Principal, on_change: OnChange = lambda _: None) -> ExperienceStore:
        """Return the experiences of ``principal``; ``on_change`` is called after they were changed by this store."""
        return ExperienceStore(self._database, principal.owner, on_change)

    def forgetting(self, principal: Principal) -> "Forgetting":
        """Return what removes notes and sources from this database on behalf of ``principal``."""
        from promptuary.threads.store.forgetting import Forgetting  # noqa: PLC0415  (few commands need it)

        return Forgetting(self._database, principal.owner)

    def has_session(self, principal: Principal, thread: str) -> bool:
        """Return whether a thread of ``principal`` has a session."""
        return SessionStore(self._database, principal.owner).has(thread)

    def sessions(self, principal: Principal) -> SessionStore:
        """Return the sessions of ``principal``."""
        return SessionStore(self._database, principal.owner)

    def prune_recorded(self, before: str, *, dry_run: bool = False) -> Pruned:
        """Remove what is older than ``before`` of all conversations that clients keep, whosever they are."""
        done = Pruned()
        for owner in self._database.read(all_owners):
            one = self.threads(owner.principal).prune(before, recorded=True, dry_run=dry_run)
            done = Pruned(
                done.threads + one.threads, done.turns + one.turns, done.messages + one.messages, done.bytes + one.bytes
            )
        return done

    @contextmanager
    def answering(self, principal: Principal, thread: str) -> Iterator[None]:
        """Lock a thread of ``principal`` while a model answers in it: one holder at a time, over all processes.

        Raises ``ThreadBusyError`` at once if somebody else holds it. The lock is released when the process ends.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self._database.lock(answering_key(principal, thread)))
            except LockTimeoutError:
                raise busy(thread) from None
            yield

    def transaction(self) -> AbstractContextManager[None]:
        """Run a transaction over all stores, for writes by the current thread."""
        return self._database.transaction()

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self._database.name

    @property
    def database(self) -> Bound:
        """The database, which records its owner."""
        return self._database

    def is_current(self) -> bool:
        """Return whether the file is still the one that was opened."""
        return self._database.is_current()

    def verify(self) -> None:
        """Read everything, and raise an error if anything differs from what was written. Slow for a large file."""

        def compared(connection: Connection) -> None:
            connection.act_as(None)
            for row in connection.execute(_CONTENTS["every_content"], {"tenant": connection.tenant}):
                unpack_bytes(*row)

        with sound(self._database.name):
            self._database.read(compared)
        self._database.verify()

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def open_state(workspace: Workspace, settings: Settings, *, create: bool = True) -> StateDatabase:
    """Return the database of ``workspace``, which is created if there is none, or one in memory.

    Raises ``ForeignStateError`` if it belongs to somebody else.
    """
    database = open_database(workspace, settings.database, settings.tenant, create=create)
    return StateDatabase() if database is None else StateDatabase(database=database)


def adopt_state(workspace: Workspace) -> StateFile:
    """Adopt the database of ``workspace`` as this person's own."""
    if not has_state(workspace):
        raise ConfigError("there is no database to adopt in this workspace: no thread has been used in it yet")
    file = adopt(workspace)
    state = StateDatabase(file.path)
    try:
        state.database.check_complete(state.database.binding)
        state.database.bind(file.binding)
    finally:
        state.close()
    IndexedFoldersFile(workspace.root.path).adopt()
    return file
