"""``state.db``: one database for everything persistent, with one store per kind of data and principal over it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary.base.clock import now
from promptuary.base.errors import ConfigError, LockTimeoutError
from promptuary.base.principals import Principal
from promptuary.database.binding import BoundDatabase
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
from promptuary.workspace.state_file import StateFile, adopt, check_binding, has_state, state_file
from promptuary.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptuary.threads.store.forgetting import Forgetting
    from promptuary.threads.store.history_cache import Histories
    from promptuary.threads.store.store import ThreadStore

_CONTENTS = queries("promptuary.database", "contents.sql")


class StateDatabase:
    """The database in the file ``path``, created if it does not exist; its folder must exist. Without one: in memory.

    ``timeout`` is how many seconds to wait for other processes; ``clock`` gives the time at which threads are created
    and updated.
    """

    def __init__(self, path: Path | None = None, *, timeout: float = 30.0, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._histories: Histories | None = None
        self._database = BoundDatabase(path, timeout=timeout)

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

    def notes(self, space: str) -> NoteJournal:
        """Return the journal of the notes in the folder ``space`` of one agent, such as ``agents/reviewer``."""
        return NoteJournal(self._database, space)

    def writeback_queue(self, principal: Principal) -> NoteQueue:
        """Return the turns of ``principal`` that wait for writeback."""
        return NoteQueue(self._database, principal.owner)

    def proposals(self, principal: Principal) -> ProposalStore:
        """Return the proposals that wait for ``principal``."""
        return ProposalStore(self._database, principal.owner)

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
    def database(self) -> BoundDatabase:
        """The file, which records its owner."""
        return self._database

    def is_current(self) -> bool:
        """Return whether the file is still the one that was opened."""
        return self._database.is_current()

    def verify(self) -> None:
        """Read everything, and raise an error if anything differs from what was written. Slow for a large file."""

        def compared(connection: Connection) -> None:
            for row in connection.execute(_CONTENTS["every_content"], {"tenant": connection.tenant}):
                unpack_bytes(*row)

        with sound(self._database.name):
            self._database.read(compared)
        self._database.verify()

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def open_state(workspace: Workspace) -> StateDatabase:
    """Return the database of ``workspace``, created and bound to this person if there is none.

    Raises ``ForeignStateError`` if it belongs to somebody else.
    """
    file = state_file(workspace)
    state = StateDatabase(file.path)
    check_binding(state.database, file)
    return state


def adopt_state(workspace: Workspace) -> StateFile:
    """Adopt the database of ``workspace`` as this person's own."""
    if not has_state(workspace):
        raise ConfigError("there is no database to adopt in this workspace: no thread has been used in it yet")
    file = adopt(workspace)
    state = StateDatabase(file.path)
    try:
        state.database.bind(file.binding)
    finally:
        state.close()
    IndexedFoldersFile(workspace.root.path).adopt()
    return file
