"""One opened workspace with everything that can be done in it, synchronous wherever it can be.

The two facades stand on it: ``blocking`` calls it directly, ``engine`` puts what blocks into threads. Each part is
imported when it is first used: a search loads no layers, an expansion no database.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from promptuary.config.settings import Settings, SettingsOptions, find_workspace, load
from promptuary.core.errors import CLOSED, ConfigError, PromptuaryError
from promptuary.core.principals import Principal
from promptuary.core.references import pasted_spans
from promptuary.tokens import Counter
from promptuary.wiring.workspace import narrowed, open_door

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from promptuary.context.render import Provider
    from promptuary.core.expansion import Expansion
    from promptuary.core.experiences import Experience
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Message
    from promptuary.core.notes import Examination, ForeignForm, ForgetReport, ImportReport
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.ports.threads import StateDatabase
    from promptuary.core.references import Completion, MenuItem, Pasted, Reference, Span
    from promptuary.core.runs import Tool
    from promptuary.core.search import SearchQuery, SearchResult
    from promptuary.core.sessions import Reach, Sight
    from promptuary.experiences.experiences import Experiences
    from promptuary.experiences.learning.learner import ExperienceLearner
    from promptuary.memory.doors.tools import ToolForm
    from promptuary.memory.forget import Oblivion
    from promptuary.memory.memory import Memory
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.memory.writeback.runner import Writeback
    from promptuary.models.named.store import ModelStore
    from promptuary.references.completion.menu import NoteLine
    from promptuary.references.completion.sources import Completer
    from promptuary.references.resolve_context import NoteKept, NotesFound
    from promptuary.search.service import SearchService
    from promptuary.sessions.memory import PinnedMemory
    from promptuary.sessions.sessions import Sessions
    from promptuary.threads.options import ExpandRequest, Learner
    from promptuary.threads.prepared import Turn
    from promptuary.threads.threads import Threads
    from promptuary.wiring.memory.notes import MemoryPlace
    from promptuary.wiring.state_files.kept import KeptFiles
    from promptuary.workspace.workspace import Workspace

_FIND_TIMEOUT: Final = 10.0


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
        self._whole = workspace  # one index is for everybody; what it finds is filtered
        self._workspace = workspace.reached_by(reach)
        self._layers, self._model = layers, chat_model
        self._counter = Counter(settings.effective_vocabulary)
        self._completers: dict[bool, Completer] = {}
        self._state: StateDatabase | None = None
        self._threads: Threads | None = None
        self._search: SearchService | None = None
        self._memories: dict[MemoryPlace, Memory] = {}
        self._sessions: Sessions | None = None
        self._pinned: dict[str, PinnedMemory] = {}
        self._writeback: Writeback | None = None
        self._experiences: Experiences | None = None
        self._learner: ExperienceLearner | None = None
        self._others: weakref.WeakSet[Core] = weakref.WeakSet()
        self._opening = threading.RLock()
        self._closed = False
        self.notes = list(settings.notes)
        """Sentences for the person that came up since the workspace was opened."""
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
        reach: Reach | None = None,
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``.

        The paths that a person types count from ``current_folder`` first, if there is one, and from the workspace.
        """
        given: object = principal  # it decides who owns what, and not every caller has a type checker
        if not isinstance(given, Principal):
            raise ConfigError(f'principal must be a Principal, such as Principal(user="ada"), not {given!r}')
        folder, notes = (Path(path), ()) if exact else find_workspace(Path(path))
        settings = load(folder, options)
        settings = replace(settings, notes=(*notes, *settings.notes))
        here = None if current_folder is None else Path(current_folder)
        door = open_door(folder, settings, here)
        return cls(door, narrowed(settings, reach), principal, layers, chat_model, reach=reach)

    def acting_as(self, principal: Principal, reach: Reach | None) -> Core:
        """Return the same workspace for another principal. It shares the files, the index and the database with it."""
        self._check_open()
        settings = narrowed(self.settings, reach)
        other = Core(self._whole, settings, principal, self._layers, self._model, reach=reach, parent=self)
        self._others.add(other)
        return other

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._workspace.root.path

    def expand(self, text: str, *, pasted: Pasted = (), recorded: bool = True) -> Expansion:
        """Return ``text`` with everything it points at; ``recorded``: menus prefer what it names from now on."""
        limit = int(self.settings.effective_window * self.settings.limit_share)
        return self._expand(text, limit, pasted=pasted_spans(text, pasted), recorded=recorded)

    def _expand(
        self,
        text: str,
        limit: int,
        *,
        pasted: Sequence[Span] = (),
        turn: ExpandRequest | None = None,
        recorded: bool = True,
    ) -> Expansion:
        """Expand a message; that of a ``turn`` of a thread has references queued, and may ask for a note."""
        window = self.settings.effective_window
        if turn is None and (alone := self._sent_alone(text, limit)) is not None:
            return alone
        from promptuary.references import expand, kinds, resolve_context  # noqa: PLC0415  (a search reads no message)

        sight = turn.sight if turn else None
        limits = expand.Limits(window, int(window * self.settings.warn_share), limit, self.settings.timeout)
        with self._workspace.within(sight).visit() as visit:
            context = resolve_context.ResolveContext(
                visit,
                self._counter,
                self._find if sight is None else lambda query: self._find_within(query, sight),
                lambda value: self._find_notes(value, turn),
                remember=None if turn is None or turn.rehearsed else lambda reference: self._remember(reference, turn),
                stopped=self.stopping.is_set,
                model=self.settings.counted_model,
            )
            also = turn.also if turn else ""
            expansion = expand.expand(
                text,
                context,
                kinds.KINDS,
                limits,
                pasted=pasted,
                also=also,
                tracked=turn is None,
                brought=turn.brought if turn else (),
            )
        if expansion.named and recorded:
            self._workspace.usage.record(expansion.named)
        return expansion

    def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the words of a provider."""
        from promptuary.context.render import FORMS  # noqa: PLC0415  (most expansions are printed as they are)
        from promptuary.core.messages import Prompt  # noqa: PLC0415

        return FORMS[provider](Prompt((), (), (), expansion.messages[-1]))

    def _sent_alone(self, text: str, limit: int) -> Expansion | None:
        """Return a message that refers to nothing as it is sent, unless there is something to say about it."""
        from promptuary.core.expansion import Spend, sent_alone  # noqa: PLC0415  (a search reads no message)

        window = self.settings.effective_window
        spend = Spend(0, window, int(window * self.settings.warn_share), limit)
        return None if self._workspace.cut_rules() else sent_alone(text, spend)

    def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``."""
        return self._completer(timeout=timeout, ignored=ignored).complete(text, limit=limit)

    def hint(self, item: MenuItem) -> str:
        """Return the hint of a row of a menu."""
        return self._completer().hint(item)

    def _completer(self, *, timeout: float = 0.0, ignored: bool = False) -> Completer:
        completer = self._completers.get(ignored)
        if completer is None:
            from promptuary.references.completion.sources import Completer  # noqa: PLC0415  (most expansions need none)

            completer = Completer(
                self._workspace, self._counter, timeout=timeout, ignored=ignored, notes=self._offered_notes
            )
            self._completers[ignored] = completer
        return completer

    def copy(self, text: str) -> None:
        """Put ``text`` into the clipboard of the person at this machine."""
        self._workspace.copy(text)

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first."""
        menu = self.complete(f'@file:"{words}', limit=limit, timeout=_FIND_TIMEOUT)
        return [item.path for item in menu.items]

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
                lambda request: self._expand(request.text, request.limit, pasted=request.pasted, turn=request),
                self._find,
                database=state,
                principal=self.principal,
                layers=self._layers,
                memory_layers=self._memory_layers(),
                model=self._model,
                learners=self._learners() if state.persistent else [],
                experiences=lambda: self._experiences_in(state),
                memory=self.memory,
                sight=lambda thread: self._sight(thread, state),
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
                    self._close_state()  # what was made with another database is not used any more
                self._state = state if state.persistent else None
                return state
            if self._state is not None and self._state.is_current():
                return self._state
            from promptuary.storage.in_memory import InMemoryState  # noqa: PLC0415  (most expansions need none)
            from promptuary.wiring.state_files.state import open_state  # noqa: PLC0415
            from promptuary.workspace.state_file import has_state  # noqa: PLC0415

            if not create and not has_state(self._workspace):
                return InMemoryState()
            if self._state is not None:
                self.notes.append("the database of the workspace was removed or replaced; a new one is used")
                self._close_state()
            self._state = open_state(self._workspace, self.notes.append)
            return self._state

    def memory(self, thread: str = "main") -> Memory:
        """Return the durable memory of the principal; ``thread`` matters if the settings isolate threads."""
        from promptuary.wiring.memory.notes import MemoryPlace, open_memory  # noqa: PLC0415  (most expansions need none)

        self._check_open()
        with self._opening:
            if self._state is not None and not self._state.is_current():
                self.state()
            place = MemoryPlace.of(self.principal, self.settings.memory_folder, thread)
            if place not in self._memories:
                memory = self._memories[place] = open_memory(self._workspace, self.settings, place, self.state)
                if (state := self.state(create=False)).persistent:
                    from promptuary.wiring.memory.forgetting import beside_notes, forget_the_rest  # noqa: PLC0415

                    beside = beside_notes(self._workspace, place, state, lambda: self._experiences_in(state))
                    forget_the_rest(self._workspace, memory, beside)
            return self._memories[place]

    def memories(self) -> Mapping[str, tuple[MemoryPlace, Memory]]:
        """Return every memory of the principal by thread: one, unless the settings isolate threads."""
        from promptuary.wiring.memory.notes import has_notes, places  # noqa: PLC0415  (most expansions need none)

        threads = [one.id for one in self.state(create=False).threads(self.principal).threads()]
        every = places(self.principal, self.settings.memory_folder, threads)
        return {
            thread: (place, self.memory(thread))
            for number, (thread, place) in enumerate(every.items())
            if number == 0 or has_notes(self._workspace, place)
        }

    def experiences(self, *, create: bool = True) -> Experiences:
        """Return the experience store of the principal. Unless ``create`` is set, no database is created."""
        with self._opening:
            return self._experiences_in(self.state(create=create))

    def _experiences_in(self, state: StateDatabase) -> Experiences:
        """Return the experience store in ``state``; a turn stays with the database that it began with."""
        from promptuary.wiring.experiences import open_experiences  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            if self._experiences is not None:
                return self._experiences
            opened = open_experiences(self._workspace, self.settings, state, self.principal)
            if state.persistent:
                self._experiences = opened
            return opened

    def learner(self) -> ExperienceLearner:
        """Return what learns experiences from turns."""
        from promptuary.wiring.threads import open_learner  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            experiences = self.experiences()
            if self._learner is None:
                self._learner = open_learner(experiences, self.settings)
            return self._learner

    def record(self, messages: Sequence[Message], turn: Turn | None) -> Sequence[Experience]:
        """Store what calls of tools teach, in ``turn`` or in a conversation of another program."""
        from promptuary.wiring.threads import recorded_messages, recorded_turn  # noqa: PLC0415  (seldom needed)

        if turn is None:
            return recorded_messages(self.learner(), messages)
        return recorded_turn(self.learner(), turn, messages, self.state().threads(self.principal))

    def _learners(self) -> Sequence[Learner]:
        return [self.writeback(), *([self.learner()] if self.settings.experiences else [])]

    def sessions(self, *, create: bool = True) -> Sessions:
        """Return the sessions of the principal. Unless ``create`` is set, no database is created."""
        with self._opening:
            state = self.state(create=create)
            if self._sessions is not None and state is self._state:
                return self._sessions
            from promptuary.wiring.sessions import open_sessions  # noqa: PLC0415  (few threads have a session)

            sessions = open_sessions(
                self._workspace, state, self.principal, self.memory, lambda: self.experiences(create=create)
            )
            if state is self._state:
                self._sessions = sessions
            return sessions

    def _sight(self, thread: str, state: StateDatabase) -> Sight | None:
        """Return what the session of a thread may see; ``None``, after one lookup, if it has none."""
        if not state.has_session(self.principal, thread):
            return None
        return self.sessions(create=state.persistent).sight(thread)

    def memory_within(self, thread: str, sight: Sight | None) -> Memory | PinnedMemory:
        """Return the memory of a thread, as far as its session may see it."""
        if sight is None:
            return self.memory(thread)
        from promptuary.wiring.memory.notes import MemoryPlace  # noqa: PLC0415  (few threads have a session)
        from promptuary.wiring.sessions import open_pinned_memory  # noqa: PLC0415

        base = self.memory(thread)
        with self._opening:
            if (known := self._pinned.get(sight.session.id)) is not None:
                known.see(sight)
                return known
            place = MemoryPlace.of(self.principal, self.settings.memory_folder, thread)
            made = open_pinned_memory(self._workspace, self.settings, place, base, sight=sight, state=self.state())
            self._pinned[sight.session.id] = made
            return made

    def _pinned_memory(self, thread: str) -> PinnedMemory | None:
        """Return the memory of the session of a thread; ``None`` if it has none."""
        sight = self._sight(thread, self.state())
        if sight is None:
            return None
        self.memory_within(thread, sight)
        return self._pinned[sight.session.id]

    def memory_tools(self, form: ToolForm) -> Sequence[Mapping[str, object]]:
        """Return the tools of memory as a provider wants them described."""
        from promptuary.memory.doors.tools import tool_schemas  # noqa: PLC0415  (only agents need it)

        return tool_schemas(form)

    def tools(self, thread: str | None) -> Sequence[Tool]:
        """Return the tools of ours that a model may call in a run of ``thread``, or in one that is not recorded."""
        from promptuary.wiring.answering.tools import Own, own_tools  # noqa: PLC0415  (only runs need it)

        accept = lambda one: self.proposals(create=True).accept(one).header.id  # noqa: E731
        finds, ways = (self._find, self._find_within), (self.call_tool, accept)
        own = Own(self._workspace, self._counter, self.settings, *finds, *ways)
        return own_tools(own, lambda: None if thread is None else self._sight(thread, self.state(create=False)))

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        turn: Turn | None,
        messages: Sequence[Message] | None,
    ) -> dict[str, object]:
        """Return what a tool of memory answers, in ``turn`` after ``messages``."""
        from promptuary.wiring.memory.writeback import tool_answer, turn_so_far  # noqa: PLC0415  (only agents need it)

        if turn is None:
            return tool_answer(self.memory(), self.proposals(create=True), self._counter, name, arguments)
        state, said = self.state(), None
        if messages is not None:
            said = turn_so_far(turn, state.threads(self.principal), messages, self._workspace)
        memory = self.memory_within(turn.thread, self._sight(turn.thread, state))
        answer = tool_answer(memory, self.proposals(create=True), self._counter, name, arguments, said=said)
        if "written" in answer:
            self.writeback().skip(turn.id)
        return answer

    def forget(self, key: str, *, everywhere: bool, dry_run: bool) -> ForgetReport:
        """Forget a note with everything that is stored of it, in whichever thread's memory it is."""
        from promptuary.wiring.memory.forgetting import forget_first  # noqa: PLC0415  (seldom needed)

        every = self._forgetting(self.state(create=False)).values()
        return forget_first(every, key, everywhere=everywhere, dry_run=dry_run)

    def _forgetting(self, state: StateDatabase) -> Mapping[str, tuple[Memory, Oblivion]]:
        """Return every memory by thread, with what forgets beside it."""
        from promptuary.wiring.memory.forgetting import beside_each  # noqa: PLC0415  (seldom needed)

        return beside_each(self._workspace, self.memories(), state, lambda: self._experiences_in(state))

    def import_notes(
        self, path: str | Path, *, form: ForeignForm | None, owner: str | None, dry_run: bool
    ) -> ImportReport:
        """Take over the notes of another memory."""
        from promptuary.wiring.memory.transfer import imported  # noqa: PLC0415  (seldom needed)

        return imported(self.memory(), self._workspace, Path(path), form=form, owner=owner, dry_run=dry_run)

    def proposals(self, *, create: bool = False) -> Proposals:
        """Return what waits for the person before it is remembered. Unless ``create`` is set, creates no database."""
        from promptuary.wiring.memory.writeback import open_proposals  # noqa: PLC0415  (most expansions need none)

        return open_proposals(self.state(create=create), self.principal, self.memory)

    def writeback(self) -> Writeback:
        """Return what learns from finished turns."""
        from promptuary.wiring.memory.writeback import open_writeback  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            if self._writeback is None:
                self._writeback = open_writeback(
                    self._workspace,
                    self.state(),
                    self.settings,
                    self.principal,
                    self.memory,
                    pinned=self._pinned_memory,
                    learner=self.learner,
                )
            return self._writeback

    def examine(self, *, fix: bool = False) -> Examination:
        """Return what is not as promised in the database and the notes; with ``fix``, repair what can be repaired."""
        from promptuary.wiring.memory.doctor import examined  # noqa: PLC0415  (seldom needed)

        state = self.state(create=False)
        return examined(state, self.principal, self._forgetting(state), fix=fix)

    def _memory_layers(self) -> Sequence[Layer]:
        from promptuary.wiring.memory.writeback import memory_layers  # noqa: PLC0415  (most expansions need none)

        return memory_layers(self.settings, self.memory_within)

    def search(self) -> SearchService:
        """Return the search of the workspace. Nothing is written to disk before something is indexed."""
        from promptuary.wiring.search import open_search  # noqa: PLC0415  (most expansions search nothing)

        if self._parent is not None:
            return self._parent.search()
        with self._opening:
            if self._search is None:
                self._search = open_search(self._whole, self.settings)
            return self._search

    def models(self) -> ModelStore:
        """Return the models that the person had fetched."""
        from promptuary.wiring.answering.models import model_store  # noqa: PLC0415  (seldom needed)

        return model_store(self.settings)

    @property
    def kept(self) -> KeptFiles:
        """All that is kept for the workspace, to be copied, brought back and removed."""
        from promptuary.wiring.state_files.kept import KeptFiles  # noqa: PLC0415  (seldom needed)

        return KeptFiles(self._workspace, self._without_state)

    @contextmanager
    def _without_state(self) -> Iterator[None]:
        with self._opening:
            self._close_state()
            yield

    def find(self, query: str | SearchQuery, *, limit: int) -> SearchResult:
        """Return the best answers from the indexed files that whoever asks may read."""
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

    def _find_notes(self, value: str, turn: ExpandRequest | None) -> NotesFound:
        from promptuary.memory.doors.mentions import attached  # noqa: PLC0415  (few messages ask for notes)

        memory = self.memory() if turn is None else self.memory_within(turn.thread, turn.sight)
        return attached(memory, value)

    def _offered_notes(self) -> Sequence[NoteLine]:
        from promptuary.memory.doors.mentions import offered_everywhere  # noqa: PLC0415  (few menus are of notes)

        return offered_everywhere({thread: memory for thread, (_, memory) in self.memories().items()})

    def _remember(self, reference: Reference, turn: ExpandRequest) -> NoteKept:
        from promptuary.memory.doors.remembering import remember  # noqa: PLC0415  (few messages ask for notes)

        return remember(self.memory_within(turn.thread, turn.sight), turn.said, reference)

    @property
    def uses_layers(self) -> bool:
        """Whether there are layers to be disposed, which needs an event loop."""
        return self._threads is not None or any(one.uses_layers for one in self._others)

    async def dispose(self) -> None:
        """Dispose the layers of threads that were used."""
        for other in tuple(self._others):
            await other.dispose()
        if self._threads is not None:
            await self._threads.dispose()

    def close(self) -> None:
        """Close the database, the index and the workspace. Layers are disposed before."""
        for other in tuple(self._others):  # closing one twice is harmless
            other.close()
        self._close_state()
        if self._search is not None:
            self._search.close()
        if self._parent is None:
            self._whole.close()
        self._closed = True

    def _check_open(self) -> None:
        """Refuse to open again, unseen, what nobody would close."""
        if self._closed:
            raise PromptuaryError(CLOSED)

    def _close_state(self) -> None:
        """Close the database and everything that uses it."""
        if self._writeback is not None:
            self._writeback.close()
        for pinned in self._pinned.values():
            pinned.close()
        for memory in self._memories.values():
            memory.close()
        if self._experiences is not None:
            self._experiences.close()
        if self._state is not None and self._parent is None:
            self._state.close()
        self._state = self._threads = self._writeback = self._experiences = self._learner = self._sessions = None
        self._memories.clear()
        self._pinned.clear()
