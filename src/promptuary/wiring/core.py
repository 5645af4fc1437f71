"""One opened workspace with everything that can be done in it, synchronous wherever it can be.

The two facades stand on it: ``blocking`` calls it directly, ``engine`` puts what blocks into threads. Each part is
imported when it is first used: a search loads no layers, an expansion no database.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from promptuary.config.settings import Settings, SettingsOptions, find_workspace, load
from promptuary.core.errors import ConfigError
from promptuary.core.principals import Principal
from promptuary.tokens import Counter
from promptuary.wiring.workspace import open_door

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptuary.core.expansion import Expansion
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Message
    from promptuary.core.notes import Examination, ForeignForm, ForgetReport, ImportReport, Note, NoteHeader
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.ports.threads import StateDatabase
    from promptuary.core.references import Completion, Reference
    from promptuary.core.search import SearchQuery, SearchResult
    from promptuary.memory.doors.tools import ToolForm
    from promptuary.memory.memory import Memory
    from promptuary.memory.writeback.proposals import Proposals
    from promptuary.memory.writeback.runner import Writeback
    from promptuary.models.named.store import ModelStore
    from promptuary.references.completion.menu import NoteLine
    from promptuary.references.completion.sources import Completer
    from promptuary.references.resolve_context import NoteKept, NotesFound
    from promptuary.search.service import SearchService
    from promptuary.threads.threads import Threads
    from promptuary.threads.turn import ExpandRequest, Turn
    from promptuary.wiring.memory.notes import MemoryPlace
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
    ) -> None:
        self.settings, self.principal = settings, principal
        self._workspace = workspace
        self._layers, self._model = layers, chat_model
        self._counter = Counter(settings.effective_vocabulary)
        self._completers: dict[bool, Completer] = {}
        self._state: StateDatabase | None = None
        self._threads: Threads | None = None
        self._search: SearchService | None = None
        self._memories: dict[MemoryPlace, Memory] = {}
        self._writeback: Writeback | None = None
        self._opening = threading.RLock()
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
    ) -> Self:
        """Open the workspace that ``path`` is in, or ``path`` itself if ``exact``."""
        given: object = principal  # it decides who owns what, and not every caller has a type checker
        if not isinstance(given, Principal):
            raise ConfigError(f'principal must be a Principal, such as Principal(user="ada"), not {given!r}')
        folder, notes = (Path(path), ()) if exact else find_workspace(Path(path))
        settings = load(folder, options)
        settings = replace(settings, notes=(*notes, *settings.notes))
        return cls(open_door(folder, settings), settings, principal, layers, chat_model)

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._workspace.root.path

    def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at."""
        limit = int(self.settings.effective_window * self.settings.limit_share)
        return self._expand(text, limit, pasted=pasted)

    def _expand(
        self,
        text: str,
        limit: int,
        *,
        pasted: Sequence[tuple[int, int]] = (),
        turn: ExpandRequest | None = None,
    ) -> Expansion:
        """Expand a message; that of a ``turn`` of a thread has references queued, and may ask for a note."""
        from promptuary.references import expand, kinds, resolve_context  # noqa: PLC0415  (a search reads no message)

        window = self.settings.effective_window
        limits = expand.Limits(window, int(window * self.settings.warn_share), limit, self.settings.timeout)
        with self._workspace.visit() as visit:
            context = resolve_context.ResolveContext(
                visit,
                self._counter,
                self._find,
                lambda value: self._find_notes(value, turn.thread if turn else "main"),
                remember=None if turn is None else lambda reference: self._remember(reference, turn),
                stopped=self.stopping.is_set,
            )
            also = turn.also if turn else ""
            expansion = expand.expand(
                text, context, kinds.KINDS, limits, pasted=pasted, also=also, tracked=turn is None
            )
        if expansion.named:
            self._workspace.usage.record(expansion.named)
        return expansion

    def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``."""
        completer = self._completers.get(ignored)
        if completer is None:
            from promptuary.references.completion.sources import Completer  # noqa: PLC0415  (most expansions need none)

            completer = Completer(
                self._workspace, self._counter, timeout=timeout, ignored=ignored, notes=self._offered_notes
            )
            self._completers[ignored] = completer
        return completer.complete(text, limit=limit)

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first."""
        menu = self.complete(f'@file:"{words}', limit=limit, timeout=_FIND_TIMEOUT)
        return [item.label for item in menu.items]

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
                lambda request: self._expand(request.text, request.limit, turn=request),
                self._find,
                database=state,
                principal=self.principal,
                layers=self._layers,
                memory_layers=self._memory_layers(),
                model=self._model,
                learner=self.writeback() if state.persistent else None,
            )
            if state.persistent:
                self._threads = threads
            return threads

    def state(self, *, create: bool = True) -> StateDatabase:
        """Return the database of the workspace; one in memory if there is none and ``create`` is not set.

        Raises ``ForeignStateError`` if the database is somebody else's.
        """
        with self._opening:
            if self._state is not None and self._state.is_current():
                return self._state
            from promptuary.storage.in_memory import InMemoryState  # noqa: PLC0415  (most expansions need none)
            from promptuary.wiring.state import open_state  # noqa: PLC0415
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

        with self._opening:
            if self._state is not None and not self._state.is_current():
                self.state()
            place = MemoryPlace.of(self.principal, self.settings.memory_folder, thread)
            if place not in self._memories:
                memory = self._memories[place] = open_memory(self._workspace, self.settings, place, self.state)
                if (state := self.state(create=False)).persistent:
                    from promptuary.wiring.memory.forgetting import beside_notes, forget_copies  # noqa: PLC0415

                    forget_copies(self._workspace, memory, beside_notes(self._workspace, place, state))
            return self._memories[place]

    def memory_tools(self, form: ToolForm) -> Sequence[Mapping[str, object]]:
        """Return the tools of memory as a provider wants them described."""
        from promptuary.memory.doors.tools import tool_schemas  # noqa: PLC0415  (only agents need it)

        return tool_schemas(form)

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, object] | str,
        turn: Turn | None,
        messages: Sequence[Message] | None,
    ) -> dict[str, object]:
        """Return what a tool of memory answers, in ``turn`` after ``messages``."""
        from promptuary.memory.doors.tools import MemoryTools  # noqa: PLC0415  (only agents need it)
        from promptuary.wiring.memory.writeback import turn_so_far  # noqa: PLC0415

        memory = self.memory(turn.thread if turn is not None else "main")
        said = None
        if turn is not None and messages is not None:
            said = turn_so_far(turn, self.state().threads(self.principal), messages)
        answer = MemoryTools(memory, self.proposals(create=True), self._counter).call(name, arguments, said)
        if turn is not None and "written" in answer:
            self.writeback().skip(turn.id)
        return answer

    def forget(self, key: str, *, everywhere: bool, dry_run: bool) -> ForgetReport:
        """Forget a note with everything that is stored of it."""
        from promptuary.memory.forget import forget  # noqa: PLC0415  (seldom needed)
        from promptuary.wiring.memory.forgetting import beside_notes  # noqa: PLC0415
        from promptuary.wiring.memory.notes import MemoryPlace  # noqa: PLC0415

        place = MemoryPlace.of(self.principal, self.settings.memory_folder, "main")
        beside = beside_notes(self._workspace, place, self.state(create=False))
        return forget(self.memory(), key, beside, everywhere=everywhere, dry_run=dry_run)

    def edit_note(self, key: str, *, reason: str) -> Note:
        """Let the person edit a note in their editor, and return it."""
        from promptuary.workspace.editor import edited_copy  # noqa: PLC0415  (seldom needed)

        return self.memory().edit(key, edited_copy, reason=reason)

    def import_notes(
        self, path: str | Path, *, form: ForeignForm | None, owner: str | None, dry_run: bool
    ) -> ImportReport:
        """Take over the notes of another memory."""
        from promptuary.wiring.memory.transfer import imported  # noqa: PLC0415  (seldom needed)

        return imported(self.memory(), self._workspace, Path(path), form=form, owner=owner, dry_run=dry_run)

    def export_notes(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to a folder."""
        from promptuary.wiring.memory.transfer import exported  # noqa: PLC0415  (seldom needed)

        return exported(self.memory(), Path(path))

    def proposals(self, *, create: bool = False) -> Proposals:
        """Return what waits for the person before it is remembered. Unless ``create`` is set, creates no database."""
        from promptuary.wiring.memory.writeback import open_proposals  # noqa: PLC0415  (most expansions need none)

        return open_proposals(self.state(create=create), self.principal, self.memory)

    def writeback(self) -> Writeback:
        """Return what learns from finished turns."""
        from promptuary.wiring.memory.writeback import open_writeback  # noqa: PLC0415  (most expansions need none)

        with self._opening:
            if self._writeback is None:
                self._writeback = open_writeback(self.state(), self.settings, self.principal, self.memory)
            return self._writeback

    def examine(self, *, fix: bool = False) -> Examination:
        """Return what is not as promised in the database and the notes; with ``fix``, repair what can be repaired."""
        from promptuary.wiring.memory.doctor import examined  # noqa: PLC0415  (seldom needed)

        return examined(self.state(create=False), self.principal, self.memory(), fix=fix)

    def _memory_layers(self) -> Sequence[Layer]:
        from promptuary.wiring.memory.writeback import memory_layers  # noqa: PLC0415  (most expansions need none)

        return memory_layers(self.settings, self.memory)

    def search(self) -> SearchService:
        """Return the search of the workspace. Nothing is written to disk before something is indexed."""
        from promptuary.wiring.search import open_search  # noqa: PLC0415  (most expansions search nothing)

        with self._opening:
            if self._search is None:
                self._search = open_search(self._workspace, self.settings)
            return self._search

    def models(self) -> ModelStore:
        """Return the models that the person had fetched."""
        from promptuary.wiring.models import model_store  # noqa: PLC0415  (seldom needed)

        return model_store(self.settings)

    def adopt(self) -> None:
        """Take the database of the workspace for this person's own, although it came from elsewhere."""
        from promptuary.wiring.state import adopt_state  # noqa: PLC0415  (seldom needed)

        adopt_state(self._workspace)

    def _find(self, query: SearchQuery) -> SearchResult:
        return self.search().find(query)

    def _find_notes(self, value: str, thread: str) -> NotesFound:
        from promptuary.memory.doors.mentions import attached  # noqa: PLC0415  (few messages ask for notes)

        return attached(self.memory(thread), value)

    def _offered_notes(self) -> Sequence[NoteLine]:
        from promptuary.memory.doors.mentions import offered  # noqa: PLC0415  (few menus are of notes)

        return offered(self.memory())

    def _remember(self, reference: Reference, turn: ExpandRequest) -> NoteKept:
        from promptuary.memory.doors.remembering import remember  # noqa: PLC0415  (few messages ask for notes)

        return remember(self.memory(turn.thread), turn.said, reference)

    @property
    def uses_layers(self) -> bool:
        """Whether there are layers to be disposed, which needs an event loop."""
        return self._threads is not None

    async def dispose(self) -> None:
        """Dispose the layers of threads that were used."""
        if self._threads is not None:
            await self._threads.dispose()

    def close(self) -> None:
        """Close the database, the index and the workspace. Layers are disposed before."""
        self._close_state()
        if self._search is not None:
            self._search.close()
        self._workspace.close()

    def _close_state(self) -> None:
        """Close the database and everything that uses it."""
        if self._writeback is not None:
            self._writeback.close()
        for memory in self._memories.values():
            memory.close()
        if self._state is not None:
            self._state.close()
        self._state = self._threads = self._writeback = None
        self._memories.clear()
