"""One opened workspace with everything that can be done in it, synchronous where possible.

``blocking`` calls it directly, ``engine`` runs blocking calls in threads. Each part is imported on
first use: a search imports no layers, an expansion no database.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from promptuary.config.settings import Settings, SettingsOptions, find_workspace, load, narrowed, talking_to
from promptuary.core.errors import CLOSED, ConfigError, PromptuaryError
from promptuary.core.principals import Principal
from promptuary.tokens import Counter
from promptuary.wiring.answering.messages import Messages
from promptuary.wiring.memory.memories import Memories
from promptuary.workspace.workspace import open_door

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptuary.core.expansion import Measured
    from promptuary.core.experiences import Experience
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Message
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.references import Pasted
    from promptuary.core.runs import Tool
    from promptuary.core.search import SearchQuery, SearchResult
    from promptuary.core.sessions import Reach, Sight
    from promptuary.experiences.experiences import Experiences
    from promptuary.experiences.learning.learner import ExperienceLearner
    from promptuary.models.named.store import ModelStore
    from promptuary.search.service import SearchService
    from promptuary.sessions.sessions import Sessions
    from promptuary.storage.state import StateDatabase
    from promptuary.threads.options import Learner
    from promptuary.threads.prepared import Turn
    from promptuary.threads.threads import Threads
    from promptuary.wiring.state_files.kept import KeptFiles
    from promptuary.workspace.workspace import Workspace


class Core:
    """A workspace and the parts over it, for one principal."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        principal: Principal,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
        *,
        reach: Reach | None = None,
        parent: Core | None = None,
    ) -> None:
        self.settings, self.principal = settings, principal
        self._reach, self._parent = reach, parent
        self._whole = workspace  # everybody shares one index; its hits are filtered
        self._workspace = workspace.reached_by(reach)
        self._layers, self._model = layers, chat_model
        self._counter = Counter(settings.effective_vocabulary)
        self._state: StateDatabase | None = None
        self._threads: Threads | None = None
        self._search: SearchService | None = None
        self._sessions: Sessions | None = None
        self._experiences: Experiences | None = None
        self._learner: ExperienceLearner | None = None
        self._others: weakref.WeakSet[Core] = weakref.WeakSet()
        self._opening = threading.RLock()
        self._closed = False
        self.notes = list(settings.notes)
        """Notes for the person since the workspace was opened."""
        self.stopping = threading.Event()
        """Set to make running calls stop with an error."""
        self.memories = Memories(self._workspace, settings, principal, self._counter, parts=self, opening=self._opening)
        """The durable memory of the principal."""
        self.messages = Messages(
            self._workspace,
            settings,
            self._counter,
            self.memories,
            find=self._find,
            find_within=self._find_within,
            stopped=self.stopping.is_set,
        )
        """Messages as the principal types them, and their menus."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        principal: Principal,
        exact: bool,
        layers: Sequence[Layer],
        chat_model: ChatModel | None,
        options: SettingsOptions,
        current_folder: str | Path | None = None,
        reach: Reach | None = None,
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``.

        Typed paths are relative to ``current_folder`` first, if it is given, then to the workspace.
        """
        given: object = principal  # it decides about ownership, and not every caller has a type checker
        if not isinstance(given, Principal):
            raise ConfigError(f'principal must be a Principal, such as Principal(user="ada"), not {given!r}')
        folder, notes = (Path(path), ()) if exact else find_workspace(Path(path))
        settings = load(folder, options)
        settings = replace(settings, notes=(*notes, *settings.notes))
        here = None if current_folder is None else Path(current_folder)
        door = open_door(folder, settings, here)
        return cls(door, narrowed(settings, reach), principal, layers, chat_model, reach=reach)

    def acting_as(self, principal: Principal, reach: Reach | None, model: str | None = None) -> Core:
        """Return the same workspace for another principal or model; both share files, index and database."""
        self._check_open()
        settings = narrowed(self.settings if model is None else talking_to(self.settings, model), reach)
        other = Core(self._whole, settings, principal, self._layers, self._model, reach=reach, parent=self)
        self._others.add(other)
        return other

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._workspace.root.path

    def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard of the person at this machine; return whether that is certain."""
        return self._workspace.copy(text)

    def measure(self, text: str, pasted: Pasted, thread: str | None) -> Measured:
        """Return what a message that is being typed would cost, with what is queued in ``thread`` for it."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        waiting = None if thread is None else (lambda: self.threads(create=False).waiting(thread=thread))
        return being_typed.measure(text, pasted, self.messages.expand, self.settings.effective_vocabulary, waiting)

    def typed(self) -> Sequence[str]:
        """Return what the principal typed in the chats of this workspace, the oldest first."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        return being_typed.lines(self.path, self.principal)

    def keep_typed(self, line: str) -> None:
        """Store what the principal typed in a chat."""
        from promptuary.wiring.answering import being_typed  # noqa: PLC0415  (only chats need it)

        being_typed.keep(self.path, self.principal, line)

    def threads(self, *, create: bool = True) -> Threads:
        """Return the threads of the principal. Unless ``create`` is set, no database is created."""
        with self._opening:
            state = self.state(create=create)
            if self._threads is not None:
                return self._threads
            from promptuary.wiring.threads import open_threads  # noqa: PLC0415  (most expansions need none)

            threads = open_threads(
                self._workspace,
                self.settings,
                self._counter,
                self.messages.of_turn,
                self._find,
                database=state,
                principal=self.principal,
                layers=self._layers,
                memory_layers=self.memories.layers(),
                model=self._model,
                learners=self._learners() if state.persistent else [],
                experiences=lambda: self.experiences_in(state),
                memory=self.memories.of,
                sight=lambda thread: self.sight(thread, state),
                search_within=self._find_within,
                on_note=lambda text: self.notes.append(text) if text not in self.notes else None,
            )
            if state.persistent:
                self._threads = threads
            return threads

    def state(self, *, create: bool = True) -> StateDatabase:
        """Return the database of the workspace; one in memory if there is none and ``create`` is not set.

        Raises ``ForeignStateError`` if the database is somebody else's.
        """
        self._check_open()
        with self._opening:
            if self._parent is not None:
                state = self._parent.state(create=create)
                if self._state is not None and state is not self._state:
                    self._close_state()  # objects over another database must not be used any more
                self._state = state if state.persistent else None
                return state
            if self._state is not None and self._state.is_current():
                return self._state
            from promptuary.storage.state import StateDatabase  # noqa: PLC0415  (seldom needed)
            from promptuary.storage.workspace_state import open_state  # noqa: PLC0415
            from promptuary.workspace.state_file import has_state  # noqa: PLC0415

            if not create and not has_state(self._workspace):
                return StateDatabase()
            if self._state is not None:
                self.notes.append("the database of the workspace was removed or replaced; a new one is used")
                self._close_state()
            self._state = open_state(self._workspace)
            return self._state

    def renew(self) -> None:
        """Raise an error if the workspace is closed; reopen its database if that was removed or replaced."""
        self._check_open()
        if self._state is not None and not self._state.is_current():
            self.state()

    def experiences(self, *, create: bool = True) -> Experiences:
        """Return the experience store of the principal. Unless ``create`` is set, no database is created."""
        with self._opening:
            return self.experiences_in(self.state(create=create))

    def experiences_in(self, state: StateDatabase) -> Experiences:
        """Return the experience store in ``state``; a turn keeps using the database that it started with."""
        from promptuary.wiring.experiences import open_experiences  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            if self._experiences is not None:
                return self._experiences
            opened = open_experiences(self._workspace, self.settings, state, self.principal)
            if state.persistent:
                self._experiences = opened
            return opened

    def learner(self) -> ExperienceLearner:
        """Return the learner of experiences."""
        from promptuary.wiring.threads import open_learner  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            experiences = self.experiences()
            if self._learner is None:
                threads = self.state().threads(self.principal)
                self._learner = open_learner(experiences, self.settings, threads, self._workspace)
            return self._learner

    def record(self, messages: Sequence[Message], turn: Turn | None) -> Sequence[Experience]:
        """Store the lessons of tool calls, in ``turn`` or in a conversation of another program."""
        from promptuary.wiring.threads import recorded_messages, recorded_turn  # noqa: PLC0415  (seldom needed)

        if turn is None:
            return recorded_messages(self.learner(), messages)
        return recorded_turn(self.learner(), turn, messages, self.state().threads(self.principal))

    def _learners(self) -> Sequence[Learner]:
        return [self.memories.writeback(), *([self.learner()] if self.settings.experiences else [])]

    def sessions(self, *, create: bool = True) -> Sessions:
        """Return the sessions of the principal. Unless ``create`` is set, no database is created."""
        with self._opening:
            state = self.state(create=create)
            if self._sessions is not None and state is self._state:
                return self._sessions
            from promptuary.wiring.sessions import open_sessions  # noqa: PLC0415  (few threads have a session)

            sessions = open_sessions(
                self._workspace, state, self.principal, self.memories.of, lambda: self.experiences(create=create)
            )
            if state is self._state:
                self._sessions = sessions
            return sessions

    def sight(self, thread: str, state: StateDatabase) -> Sight | None:
        """Return what the session of a thread may see; ``None``, after one lookup, if it has none."""
        if not state.has_session(self.principal, thread):
            return None
        return self.sessions(create=state.persistent).sight(thread)

    def tools(self, thread: str | None) -> Sequence[Tool]:
        """Return the built-in tools that a model may call in a run of ``thread``, or in one that is not recorded."""
        from promptuary.wiring.answering.tools import Own, own_tools  # noqa: PLC0415  (only runs need it)

        accept = lambda one: self.memories.proposals(create=True).accept(one).header.id  # noqa: E731
        finds, ways = (self._find, self._find_within), (self.memories.call_tool, accept)
        own = Own(self._workspace, self._counter, self.settings, *finds, *ways)
        return own_tools(own, lambda: None if thread is None else self.sight(thread, self.state(create=False)))

    def search(self) -> SearchService:
        """Return the search of the workspace. Nothing is written to disk before something is indexed."""
        from promptuary.search.indexes import open_search  # noqa: PLC0415  (most expansions search nothing)

        if self._parent is not None:
            return self._parent.search()
        with self._opening:
            if self._search is None:
                self._search = open_search(self._whole, self.settings)
            return self._search

    def models(self) -> ModelStore:
        """Return the models that the person fetched."""
        from promptuary.models.from_settings import model_store  # noqa: PLC0415  (seldom needed)

        return model_store(self.settings)

    @property
    def kept(self) -> KeptFiles:
        """The stored files of the workspace, for backup, restore and removal."""
        from promptuary.wiring.state_files.kept import KeptFiles  # noqa: PLC0415  (seldom needed)

        return KeptFiles(self._workspace, self._without_state)

    @contextmanager
    def _without_state(self) -> Iterator[None]:
        with self._opening:
            self._close_state()
            yield

    def find(self, query: str | SearchQuery, *, limit: int) -> SearchResult:
        """Return the best hits in the indexed files that the principal may read."""
        from promptuary.core.search import SearchQuery  # noqa: PLC0415  (most expansions search nothing)

        return self._find(query if isinstance(query, SearchQuery) else SearchQuery(query, limit))

    def _find(self, query: SearchQuery) -> SearchResult:
        if self._reach is None:
            return self.search().find(query)
        from promptuary.sessions.files import find_in_reach  # noqa: PLC0415  (few people see a part only)

        return find_in_reach(self.search().find, query, self._reach, self._workspace)

    def _find_within(self, query: SearchQuery, sight: Sight) -> SearchResult:
        from promptuary.sessions.files import find_within  # noqa: PLC0415  (few threads have a session)

        return find_within(self._find, query, sight, self._workspace)

    @property
    def uses_layers(self) -> bool:
        """Whether there are layers to dispose, which needs an event loop."""
        return self._threads is not None or any(one.uses_layers for one in self._others)

    async def dispose(self) -> None:
        """Dispose the layers of threads that were used."""
        for other in tuple(self._others):
            await other.dispose()
        if self._threads is not None:
            await self._threads.dispose()

    def close(self) -> None:
        """Close the database, the index and the workspace. Dispose the layers first."""
        for other in tuple(self._others):  # closing one twice is harmless
            other.close()
        self._close_state()
        if self._search is not None:
            self._search.close()
        if self._parent is None:
            self._whole.close()
        self._closed = True

    def _check_open(self) -> None:
        """Refuse to reopen silently what nobody would close."""
        if self._closed:
            raise PromptuaryError(CLOSED)

    def _close_state(self) -> None:
        """Close the database and everything that uses it."""
        self.memories.close()
        if self._experiences is not None:
            self._experiences.close()
        if self._state is not None and self._parent is None:
            self._state.close()
        self._state = self._threads = self._experiences = self._learner = self._sessions = None
