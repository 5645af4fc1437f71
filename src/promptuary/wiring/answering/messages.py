"""Expands and completes the messages that a person types. Does not know threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from promptuary import tokens
from promptuary.core.references import pasted_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptuary.config.settings import Settings
    from promptuary.context.render import Provider
    from promptuary.core.expansion import Expansion
    from promptuary.core.references import Completion, MenuItem, Pasted, Reference, Span
    from promptuary.core.search import Search, SearchQuery, SearchResult
    from promptuary.core.sessions import Sight
    from promptuary.memory.memory import Memory
    from promptuary.references.completion.menu import NoteLine
    from promptuary.references.completion.sources import Completer
    from promptuary.references.resolve_context import NoteKept, NotesFound
    from promptuary.sessions.memory import PinnedMemory
    from promptuary.threads.options import ExpandRequest, Waiting
    from promptuary.tokens import Counter
    from promptuary.workspace.workspace import Workspace

_FIND_TIMEOUT: Final = 10.0


class NotesOfThreads(Protocol):
    """The notes that messages refer to."""

    def of(self, thread: str = "main") -> Memory:
        """Return the memory of a thread."""
        ...

    def within(self, thread: str, sight: Sight | None) -> Memory | PinnedMemory:
        """Return the memory of a thread, as far as its session may see it."""
        ...

    def every(self) -> Mapping[str, tuple[object, Memory]]:
        """Return every memory by thread, each with its place."""
        ...


class Messages:
    """The messages of one principal. ``stopped`` is set to cancel running calls."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        counter: Counter,
        notes: NotesOfThreads,
        *,
        find: Search,
        find_within: Callable[[SearchQuery, Sight], SearchResult],
        stopped: Callable[[], bool],
    ) -> None:
        self._workspace, self._settings, self._counter, self._notes = workspace, settings, counter, notes
        self._find, self._find_within, self._stopped = find, find_within, stopped
        self._completers: dict[bool, Completer] = {}

    def expand(
        self, text: str, *, pasted: Pasted = (), recorded: bool = True, queue: Waiting | None = None
    ) -> Expansion:
        """Return ``text`` with everything it points at; ``recorded``: menus prefer what it names from now on."""
        spans, window = pasted_spans(text, pasted), self._settings.effective_window
        limit = self._settings.limit_in(window)
        return self._expand(text, window, limit, pasted=spans, recorded=recorded, queue=queue)

    def of_turn(self, request: ExpandRequest, window: int) -> Expansion:
        """Return the message of a turn for a window, with everything it points at and what is queued for it."""
        return self._expand(request.text, window, request.limit, pasted=request.pasted, turn=request)

    def _expand(
        self,
        text: str,
        window: int,
        limit: int,
        *,
        pasted: Sequence[Span] = (),
        turn: ExpandRequest | None = None,
        recorded: bool = True,
        queue: Waiting | None = None,
    ) -> Expansion:
        """Expand a message; that of a ``turn`` of a thread includes queued references, and may write a note."""
        along = turn or queue
        if along is None and (alone := self._sent_alone(text, window, limit)) is not None:
            return alone
        from promptuary.references import expand, kinds, resolve_context  # noqa: PLC0415  (a search reads no message)

        sight = turn.sight if turn else None
        limits = expand.Limits(window, int(window * self._settings.warn_share), limit, self._settings.timeout)
        with self._workspace.within(sight).visit() as visit:
            context = resolve_context.ResolveContext(
                visit,
                self._counter,
                self._find if sight is None else lambda query: self._find_within(query, sight),
                lambda value: self._find_notes(value, turn),
                remember=None if turn is None or turn.rehearsed else lambda reference: self._remember(reference, turn),
                stopped=self._stopped,
                model=self._settings.counted_model,
                advice=recorded,  # not needed while the message is being typed
            )
            also, brought = (along.also, along.brought) if along else ("", ())
            expansion = expand.expand(
                text, context, kinds.KINDS, limits, pasted=pasted, also=also, tracked=turn is None, brought=brought
            )
        if expansion.named and recorded:
            self._workspace.usage.record(expansion.named)
        return expansion

    def render(self, expansion: Expansion, provider: Provider) -> Any:
        """Return an expanded message in the format of a provider."""
        from promptuary.context.render import FORMS  # noqa: PLC0415  (most expansions are printed as they are)
        from promptuary.core.messages import Prompt  # noqa: PLC0415

        return FORMS[provider](Prompt((), (), (), expansion.messages[-1]))

    def _sent_alone(self, text: str, window: int, limit: int) -> Expansion | None:
        """Return a message without references as it is sent, unless it needs a warning."""
        from promptuary.core.expansion import Spend, sent_alone  # noqa: PLC0415  (a search reads no message)

        spend = Spend(0, window, int(window * self._settings.warn_share), limit)
        return None if self._workspace.cut_rules() else sent_alone(text, spend)

    def complete(
        self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False, hints: bool = True
    ) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``; without ``hints``, no file is read."""
        return self._completer(ignored=ignored).complete(text, limit=limit, timeout=timeout, hints=hints)

    def warm_up(self) -> None:
        """Load what counting and completing messages needs, and start listing the files."""
        tokens.load(self._settings.effective_vocabulary)
        self.complete("@", hints=False)

    def hint(self, item: MenuItem) -> str:
        """Return the hint of a row of a menu."""
        return self._completer().hint(item)

    def _completer(self, *, ignored: bool = False) -> Completer:
        completer = self._completers.get(ignored)
        if completer is None:
            from promptuary.references.completion.sources import Completer  # noqa: PLC0415  (most expansions need none)

            completer = Completer(self._workspace, self._counter, ignored=ignored, notes=self._offered_notes)
            self._completers[ignored] = completer
        return completer

    def find_files(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first."""
        menu = self.complete(f'@file:"{words}', limit=limit, timeout=_FIND_TIMEOUT)
        return [item.path for item in menu.items]

    def _find_notes(self, value: str, turn: ExpandRequest | None) -> NotesFound:
        from promptuary.memory.doors.mentions import attached  # noqa: PLC0415  (few messages ask for notes)

        memory = self._notes.of() if turn is None else self._notes.within(turn.thread, turn.sight)
        return attached(memory, value)

    def _offered_notes(self) -> Sequence[NoteLine]:
        from promptuary.memory.doors.mentions import offered_everywhere  # noqa: PLC0415  (few menus are of notes)

        return offered_everywhere({thread: memory for thread, (_, memory) in self._notes.every().items()})

    def _remember(self, reference: Reference, turn: ExpandRequest) -> NoteKept:
        from promptuary.memory.doors.remembering import remember  # noqa: PLC0415  (few messages ask for notes)

        return remember(self._notes.within(turn.thread, turn.sight), turn.said, reference)
