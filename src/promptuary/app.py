"""``App``: one opened workspace for one principal. Every service is opened from it on first use.

``blocking`` calls the services directly, ``engine`` runs blocking calls in threads. A service is imported when it is
first used, since most commands need one or two of them: a search imports no layers, an expansion no database. This is
the only module with such imports of services; their rooms import what they need at the top.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec.structs import replace

from promptuary.base.errors import CLOSED, ConfigError, NothingIndexedError, PromptuaryError, SourceError
from promptuary.base.files import FileLines
from promptuary.base.principals import Principal
from promptuary.base.references import KINDS
from promptuary.base.text import split_lines
from promptuary.config.settings import Settings, SettingsOptions, find_workspace, limit_settings, load, talking_to
from promptuary.references.expansion import TokenUse, sent_alone
from promptuary.tokens.counting import Counter
from promptuary.workspace.access import WHOLE, Access
from promptuary.workspace.data_folder.data_path import STATE, data_path
from promptuary.workspace.user_folders import notes_folder, served_notes_folder
from promptuary.workspace.workspace import open_door

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from promptuary.base.references import Pasted
    from promptuary.changes.feed import Feed
    from promptuary.experiences.experiences import Experiences
    from promptuary.experiences.learn.learner import ExperienceLearner
    from promptuary.layers.layer import Layer
    from promptuary.maintenance.maintenance import Maintenance
    from promptuary.memory.memories import Memories
    from promptuary.memory.mentions import Mentions
    from promptuary.memory.tools import NoteTools
    from promptuary.memory.transfer.exchange import NoteExchange
    from promptuary.memory.writeback.learning import Learner, Learning
    from promptuary.memory.writeback.notes import NoteLearner
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.memory.writeback.values import QueuedTurn
    from promptuary.models.named.store import ModelStore
    from promptuary.models.protocols import ChatModel, FetchProgress
    from promptuary.models.render import Provider
    from promptuary.prompts.prompts import Prompts
    from promptuary.references.completion.menus import Menus
    from promptuary.references.drafts import Drafts
    from promptuary.references.expansion import Expansion
    from promptuary.references.messages import Messages
    from promptuary.search.service import SearchService
    from promptuary.search.trial.compare import ModelTrial
    from promptuary.search.values import SearchQuery, SearchResult
    from promptuary.sessions.sessions import Sessions
    from promptuary.state import StateDatabase
    from promptuary.threads.ledger import Ledger
    from promptuary.threads.options import Waiting
    from promptuary.threads.run_values import Tool
    from promptuary.threads.threads import Threads
    from promptuary.tool_servers.servers import ToolServers
    from promptuary.workspace.workspace import Workspace


class App:
    """A workspace and the services over it, for one principal."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        principal: Principal,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
        *,
        access: Access = WHOLE,
        parent: App | None = None,
        served: bool = False,
    ) -> None:
        self.settings, self.principal, self.served = settings, principal, served
        # Derived, not given: no caller can take the folder of another user, or forget to name one.
        self.person_notes = served_notes_folder(principal.user) if served else notes_folder()
        """The folder of the notes that follow the principal: on a server never that of the person who runs it."""
        self._parent = parent
        self.note_scans: dict[tuple[str, Path | None], tuple[float, float]] = (
            {} if parent is None else parent.note_scans
        )
        """When each folder of notes was last scanned for edits by hand, and for how long: by any of the principals.

        They have a folder together, and a scan by each would cost as much as all their notes.
        """
        self._whole = workspace  # everybody shares one index; its hits are filtered
        self.workspace = workspace.within(access)
        """The workspace, as far as the principal may read it."""
        self.layers, self.chat_model = layers, chat_model
        """The layers and the model that the program passed."""
        self.counter = Counter(settings.effective_vocabulary)
        self._state: StateDatabase | None = None
        self._threads: Threads | None = None
        self._search: SearchService | None = None
        self._sessions: Sessions | None = None
        self._experiences: Experiences | None = None
        self._note_learner: NoteLearner | None = None
        self._experience_learner: ExperienceLearner | None = None
        self._memory: Memories | None = None
        self._learning: Learning | None = None
        self.learns_later = False
        """Whether another process asks models about finished turns, since this one ends soon."""
        self._messages: Messages | None = None
        self._menus: Menus | None = None
        self._feed: Feed | None = None
        self._tool_servers: ToolServers | None = None
        self._others: weakref.WeakSet[App] = weakref.WeakSet()
        self.opening = threading.RLock()
        """Held while a service is opened or closed."""
        self._closed = False
        self.notes = list(settings.warnings)
        """Notes for the person since the workspace was opened."""
        self.stopping = threading.Event()
        """Set to make running calls stop with an error."""

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
        access: Access | None = None,
        served: bool = False,
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``.

        Typed paths are relative to ``current_folder`` first, if it is given, then to the workspace. ``served`` is for
        users of a server, and for everybody that this app acts as.
        """
        given: object = principal  # it decides about ownership, and not every caller has a type checker
        if not isinstance(given, Principal):
            raise ConfigError(f'principal must be a Principal, such as Principal(user="ada"), not {given!r}')
        folder, notes = (Path(path), ()) if exact else find_workspace(Path(path))
        settings = load(folder, options)
        settings = replace(settings, warnings=(*notes, *settings.warnings))
        here = None if current_folder is None else Path(current_folder)
        door, access = open_door(folder, settings, here), access or WHOLE
        return cls(door, limit_settings(settings, access), principal, layers, chat_model, access=access, served=served)

    def acting_as(self, principal: Principal, access: Access | None = None, model: str | None = None) -> App:
        """Return the same workspace for another principal or model; both share files, index and database."""
        self._check_open()
        access = access or WHOLE
        settings = limit_settings(self.settings if model is None else talking_to(self.settings, model), access)
        other = App(
            self._whole,
            settings,
            principal,
            self.layers,
            self.chat_model,
            access=access,
            parent=self,
            served=self.served,
        )
        self._others.add(other)
        return other

    @property
    def is_one_of_many(self) -> bool:
        """Whether this process acts for other principals, too: what each of them needs must be little."""
        return self._parent is not None and self.principal != self._parent.principal

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self.workspace.root.path

    def note(self, text: str) -> None:
        """Add a note for the person, once."""
        if text not in self.notes:
            self.notes.append(text)

    def copy(self, text: str) -> bool:
        """Put ``text`` into the clipboard of the person at this machine; return whether that is certain."""
        return self.workspace.copy(text)

    # The database

    def state(self, *, create: bool = True) -> StateDatabase:
        """Return the database of the workspace; one in memory if there is none and ``create`` is not set.

        Raises ``ForeignStateError`` if the database is somebody else's.
        """
        self._check_open()
        with self.opening:
            if self._parent is not None:
                state = self._parent.state(create=create)
                if self._state is not None and state is not self._state:
                    self._close_state()  # objects over another database must not be used any more
                self._state = state if state.persistent else None
                return state
            if self._state is not None and self._state.is_current():
                return self._state
            from promptuary.state import LEFT_IN_STATE_FILE, open_state  # noqa: PLC0415

            state = open_state(self.workspace, self.settings, create=create)
            if self.settings.database and data_path(self.path).has(STATE) and not state.has_threads():
                self.note(LEFT_IN_STATE_FILE)
            if not state.persistent:
                return state
            if self._state is not None:
                self.notes.append("the database of the workspace was removed or replaced; a new one is used")
                self._close_state()
            self._state = state
            return state

    def renew(self) -> None:
        """Raise an error if the workspace is closed; reopen its database if that was removed or replaced."""
        self._check_open()
        if self._state is not None and not self._state.is_current():
            self.state()

    @contextmanager
    def without_state(self) -> Iterator[None]:
        """Close the database while it is replaced in the block."""
        with self.opening:
            self._close_state()
            yield

    # Messages

    def expand(
        self, text: str, *, pasted: Pasted = (), recorded: bool = True, queue: Waiting | None = None
    ) -> Expansion:
        """Return ``text`` with everything it points at; ``recorded``: menus prefer what it names from now on.

        ``queue`` is what waits for the message besides. A message without references needs no room of theirs.
        """
        window = self.settings.effective_window
        if queue is None and not self.workspace.cut_rules():
            spend = TokenUse(0, window, int(window * self.settings.warn_share), self.settings.limit_in(window))
            if (alone := sent_alone(text, spend)) is not None:
                return alone
        return self.messages.expand(text, pasted=pasted, recorded=recorded, queue=queue)

    def read_lines(self, path: str, first_line: int, limit: int) -> FileLines:
        """Return lines of a file, as far as ``@file:`` may attach them."""
        access = self.workspace.access
        try:
            if (refusal := access.refusal("use", "file")) is not None:
                raise refusal
            file = self.workspace.read(path)
        except SourceError as error:
            raise access.disclose("file", error) from error
        lines = split_lines(file.text)
        start = max(0, first_line - 1)
        some = tuple(line.removesuffix("\n") for line in lines[start : start + max(0, limit)])
        return FileLines(file.path, start + 1, some, len(lines), file.sha256, file.converted)

    def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the format of a provider."""
        from promptuary.models.render import render_message  # noqa: PLC0415

        return render_message(expansion.messages[-1], provider)

    @property
    def messages(self) -> Messages:
        """Messages with what they point at."""
        from promptuary.references.messages import Messages  # noqa: PLC0415

        if self._messages is None:
            self._messages = Messages(self, self.tool_servers)
        return self._messages

    @property
    def menus(self) -> Menus:
        """The menus of references while a message is typed."""
        from promptuary.references.completion.menus import Menus  # noqa: PLC0415

        with self.opening:
            if self._menus is None:
                self._menus = Menus(self)
            return self._menus

    @property
    def drafts(self) -> Drafts:
        """Messages that are still being typed, and the input history."""
        from promptuary.references.drafts import Drafts  # noqa: PLC0415

        return Drafts(self)

    # Threads and sessions

    def threads(self, *, create: bool = True) -> Threads:
        """Return the threads of the principal. Unless ``create`` is set, no database is created."""
        from promptuary.threads.threads import Threads  # noqa: PLC0415

        with self.opening:
            state = self.state(create=create)
            if self._threads is not None:
                return self._threads
            threads = Threads(self, state)
            if state.persistent:
                self._threads = threads
            return threads

    def ledger(self, *, create: bool = False) -> Ledger:
        """Return the threads of the principal as the ledger has them, without what a turn needs."""
        from promptuary.threads.ledger import Ledger  # noqa: PLC0415

        return Ledger(self, self.state(create=create))

    def drop_thread(self, name: str) -> None:
        """Drop what is known of a thread that was removed or renamed in the ledger."""
        with self.opening:
            if self._threads is not None:
                self._threads.drop(name)

    def tools(self, thread: str | None) -> Sequence[Tool]:
        """Return the tools that a model may call in a run of ``thread``, or in one that is not recorded."""
        from promptuary.threads.tools import ThreadTools  # noqa: PLC0415

        return ThreadTools(self, thread).all()

    @property
    def tool_servers(self) -> ToolServers | None:
        """The MCP servers of the person who runs this; nobody else gets them, and ``None`` if there are none."""
        if not self.settings.mcp or self.served or self.is_one_of_many or self.workspace.access.is_limited:
            return None
        if self._parent is not None:
            return self._parent.tool_servers
        from promptuary.tool_servers.servers import ToolServers  # noqa: PLC0415

        with self.opening:
            self._check_open()
            if self._tool_servers is None:
                self._tool_servers = ToolServers(self.settings.mcp, self.path, self.settings.allow_hosts)
            return self._tool_servers

    @property
    def reference_kinds(self) -> frozenset[str]:
        """The kinds that references of the principal may have: ours, and the names of the servers."""
        return KINDS if self.tool_servers is None else KINDS | {*self.tool_servers.names}

    def sessions(self, *, create: bool = True) -> Sessions:
        """Return the sessions of the principal. Unless ``create`` is set, no database is created."""
        from promptuary.sessions.sessions import Sessions  # noqa: PLC0415

        with self.opening:
            state = self.state(create=create)
            if self._sessions is not None and state is self._state:
                return self._sessions
            sessions = Sessions(self, state)
            if state is self._state:
                self._sessions = sessions
            return sessions

    def access(self, thread: str, state: StateDatabase) -> Access:
        """Return what the turns of a thread may see: without a session, all that the principal may."""
        if not state.has_session(self.principal, thread):
            return self.workspace.access
        return self.sessions(create=state.persistent).access(thread)

    # Memory and experiences

    @property
    def memory(self) -> Memories:
        """The durable memory of the principal."""
        from promptuary.memory.memories import Memories  # noqa: PLC0415

        with self.opening:
            if self._memory is None:
                self._memory = Memories(self)
            return self._memory

    @property
    def mentions(self) -> Mentions:
        """Notes that messages refer to."""
        from promptuary.memory.mentions import Mentions  # noqa: PLC0415

        return Mentions(self)

    @property
    def note_tools(self) -> NoteTools:
        """The tools with which an agent reads and writes notes."""
        from promptuary.memory.tools import NoteTools  # noqa: PLC0415

        return NoteTools(self)

    @property
    def note_exchange(self) -> NoteExchange:
        """Import and export of notes."""
        from promptuary.memory.transfer.exchange import NoteExchange  # noqa: PLC0415

        return NoteExchange(self)

    def learning(self) -> Learning:
        """Return what learns from finished turns."""
        from promptuary.memory.writeback.learning import Learning  # noqa: PLC0415

        with self.opening:
            state = self.state()
            if self._learning is None:
                learners: list[Learner] = [self.note_learner()]
                if self.settings.experiences:
                    learners.append(self.experience_learner())
                self._learning = Learning(self, state, learners)
            return self._learning

    def note_learner(self) -> NoteLearner:
        """Return the learner of notes."""
        from promptuary.memory.writeback.notes import NoteLearner  # noqa: PLC0415

        with self.opening:
            if self._note_learner is None:
                self._note_learner = NoteLearner(self)
            return self._note_learner

    def experience_learner(self) -> ExperienceLearner:
        """Return the learner of experiences."""
        from promptuary.experiences.learn.learner import ExperienceLearner  # noqa: PLC0415

        with self.opening:
            self.state()
            if self._experience_learner is None:
                self._experience_learner = ExperienceLearner(self)
            return self._experience_learner

    def learn_later(self) -> None:
        """Leave what models are asked about finished turns to another process."""
        self.learns_later = True

    def catch_up(self, timeout: float) -> Sequence[QueuedTurn]:
        """Learn from the finished turns that wait, for at most ``timeout`` seconds; return those that still wait."""
        queue = self.state(create=False).writeback_queue(self.principal)
        if timeout > 0 and queue.waiting():
            self.learning().drain(timeout)
        return queue.waiting()

    def proposals(self, *, create: bool = False) -> Proposals:
        """Return the proposals that wait for the person. Unless ``create`` is set, no database is created."""
        from promptuary.memory.writeback.proposals import Proposals  # noqa: PLC0415

        return Proposals(self, self.state(create=create))

    def experiences(self, *, create: bool = True) -> Experiences:
        """Return the experience store of the principal. Unless ``create`` is set, no database is created."""
        with self.opening:
            return self.experiences_in(self.state(create=create))

    def experiences_in(self, state: StateDatabase) -> Experiences:
        """Return the experience store in ``state``; a turn keeps using the database that it started with."""
        from promptuary.experiences.experiences import Experiences  # noqa: PLC0415

        with self.opening:
            if self._experiences is not None:
                return self._experiences
            opened = Experiences.open(self, state)
            if state.persistent:
                self._experiences = opened
            return opened

    # Changes

    @property
    def feed(self) -> Feed:
        """The changes of turns, notes and proposals; principals of one workspace share the thread that waits."""
        from promptuary.changes.feed import Feed  # noqa: PLC0415
        from promptuary.changes.followers import Followers  # noqa: PLC0415

        with self.opening:
            self._check_open()
            if self._feed is None:
                self._feed = Feed(self, Followers() if self._parent is None else self._parent.feed.followers)
            return self._feed

    # Search and models

    @property
    def search(self) -> SearchService:
        """The search of the workspace. Nothing is written to disk before something is indexed."""
        from promptuary.search.indexes import open_search  # noqa: PLC0415

        if self._parent is not None:
            return self._parent.search
        with self.opening:
            if self._search is None:
                self._search = open_search(self._whole, self.settings)
            return self._search

    def find(self, query: str | SearchQuery, limit: int = 10, *, access: Access | None = None) -> SearchResult:
        """Return the best hits in the indexed files that the principal may read; ``limit`` is that of a text.

        ``access`` is what a thread may see.
        """
        from promptuary.search.values import SearchQuery  # noqa: PLC0415

        if isinstance(query, str):
            query = SearchQuery(query, limit)
        access = access or self.workspace.access
        if not access.is_limited and access.session is None:
            return self.search.find(query)
        from promptuary.sessions.files import find_within  # noqa: PLC0415

        return find_within(self.search.find, query, self.workspace.within(access))

    @property
    def prompts(self) -> Prompts:
        """The prompts by name."""
        from promptuary.prompts.prompts import Prompts  # noqa: PLC0415

        return Prompts(self)

    @property
    def models(self) -> ModelStore:
        """The models that the person fetched."""
        from promptuary.models.named.fetched import model_store  # noqa: PLC0415

        return model_store(self.settings)

    def try_model(
        self, name: str, progress: FetchProgress | None = None, *, kind: Literal["embedder", "reranker"] | None = None
    ) -> ModelTrial:
        """Compare a model for search with the one in use, on the indexed files."""
        from promptuary.models.embedders import embedder_for, reranker_for  # noqa: PLC0415
        from promptuary.models.named.catalogue import CATALOGUE  # noqa: PLC0415
        from promptuary.search.trial.compare import Candidate, compare  # noqa: PLC0415

        entry = CATALOGUE.get(name)
        # Without copies that load faster: nothing may stay behind.
        if (kind or (entry.kind if entry else "embedder")) == "reranker":
            reranker = reranker_for(replace(self.settings, reranker=name), copy=False)
            candidate = Candidate(name, reranker=reranker)
        else:
            candidate = Candidate(name, embedder_for(replace(self.settings, embedder=name), copy=False))
        if candidate.embedder is None and candidate.reranker is None:
            raise PromptuaryError(f"{name!r} is no model; promptuary model list shows those with a name")
        backend = self.search.backend_if_used
        if backend is None:
            raise NothingIndexedError("nothing is indexed yet; run `promptuary index` in a folder of notes or code")
        self.search.refresh()
        return compare(candidate, backend, progress)

    @property
    def maintenance(self) -> Maintenance:
        """What is stored for the workspace, as a whole."""
        from promptuary.maintenance.maintenance import Maintenance  # noqa: PLC0415

        return Maintenance(self)

    # Closing

    @property
    def uses_layers(self) -> bool:
        """Whether there are layers to dispose, which needs an event loop."""
        return self._threads is not None or any(other.uses_layers for other in self._others)

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
        if self._feed is not None:
            self._feed.close()
        if self._tool_servers is not None:
            self._tool_servers.close()
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
        if self._learning is not None:
            self._learning.close()
        if self._memory is not None:
            self._memory.close()
        if self._experiences is not None:
            self._experiences.close()
        if self._state is not None and self._parent is None:
            self._state.close()
        self._state = self._threads = self._experiences = self._sessions = None
        self._learning = self._note_learner = self._experience_learner = None
