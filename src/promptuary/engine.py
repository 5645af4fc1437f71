"""The composition root: puts settings, the workspace, the counter and the kinds of references together.

Everything a surface (command line, chat, server) may ask for is a method of ``Promptuary``.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from promptuary import concurrency
from promptuary.config.settings import Settings, find_workspace, load
from promptuary.core.search import Search, SearchQuery, SearchResult
from promptuary.tokens import Counter
from promptuary.wiring.workspace import open_door

# Loaded by whoever uses a menu or a thread, not by everyone who starts the program.
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from promptuary.context.history import Stats
    from promptuary.core.expansion import Expansion
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Item as HistoryItem
    from promptuary.core.messages import Message
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.ports.threads import Recorded, ThreadLine
    from promptuary.core.receipts import Receipt
    from promptuary.references.completion.menu import Completion
    from promptuary.references.completion.sources import Completer
    from promptuary.search.service import IndexStatus, SearchService
    from promptuary.search.sync import Progress, SyncReport
    from promptuary.search.updater import IndexUpdate, IndexUpdater
    from promptuary.threads.attachments import View
    from promptuary.threads.ledger import Replay
    from promptuary.threads.turn import Turn
    from promptuary.wiring.threads import Conversations
    from promptuary.workspace.workspace import Workspace

__all__ = ["Promptuary"]

_PATIENCE = 10.0


class Promptuary:
    """A workspace with everything that can be done in it.

    ```python
    async with Promptuary.open(".", window=128_000) as promptuary:
        expansion = await promptuary.expand("Review @file:src/app.py:10-50 against @diff")
        expansion.messages  # ready for any chat API

        turn = await promptuary.prepare("And #docs/style.md?", thread="review")
        await promptuary.finish(turn, reply)
    ```
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
    ) -> None:
        self.settings, self._workspace = settings, workspace
        self._layers, self._model = layers, chat_model
        self._counter = Counter(settings.effective_vocabulary)
        self._completers: dict[bool, Completer] = {}
        self._kept: Conversations | None = None
        self._files: SearchService | None = None
        self._keeper: IndexUpdater | None = None
        self._opening = threading.Lock()
        self._searched: Search = self.search_now

    @classmethod
    def open(
        cls,
        path: str | Path = ".",
        *,
        exact: bool = False,
        layers: Sequence[Layer] = (),
        chat_model: ChatModel | None = None,
        **options: Any,
    ) -> Self:
        """Open the workspace that ``path`` lies in (``exact``: ``path`` itself).

        ``layers`` stand in every thread besides our own; ``chat_model`` scores and summarises where it can, and is not
        needed; ``options`` are settings by name.
        """
        folder = Path(path) if exact else find_workspace(Path(path))
        settings = load(folder, options)
        return cls(open_door(folder, settings), settings, layers, chat_model)

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._workspace.root.path

    async def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at; ``pasted`` marks spans that are not looked into."""
        limit = int(self.settings.effective_window * self.settings.limit_share)
        return await concurrency.run(lambda: self._expand(text, limit, pasted=pasted))

    def _expand(
        self,
        text: str,
        limit: int,
        *,
        pasted: Sequence[tuple[int, int]] = (),
        also: str = "",
        tracked: bool = True,
    ) -> Expansion:
        from promptuary.references import expand, kinds, resolve_context  # noqa: PLC0415  (a search reads no message)

        window = self.settings.effective_window
        limits = expand.Limits(window, int(window * self.settings.warn_share), limit, self.settings.timeout)
        with self._workspace.visit() as visit:
            at = resolve_context.ResolveContext(visit, self._counter, self._searched)
            expansion = expand.expand(text, at, kinds.KINDS, limits, pasted=pasted, also=also, tracked=tracked)
        if expansion.named:
            self._workspace.usage.record(expansion.named)
        return expansion

    async def prepare(self, text: str, *, thread: str = "main") -> Turn:
        """Put a turn of a thread together: everything that stands in the window, and what ``text`` points at."""
        return await self._conversations().prepare(text, thread)

    async def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Keep the reply to a turn: what the assistant said, or its messages with those of tools."""
        return await self._conversations().finish(turn, reply)

    async def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply; nothing of it enters the history."""
        await self._conversations().abandon(turn)

    async def stats(self, thread: str = "main") -> Stats:
        """Return how full the window of a thread is with what was said."""
        kept = self._conversations(only_look=True)
        return await concurrency.run(lambda: kept.stats(thread))

    async def needs_compaction(self, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will make room in its history first."""
        return (await self.stats(thread)).needs_compaction

    async def add(self, word: str, *, thread: str = "main") -> None:
        """Keep a path in view of a thread, or queue a reference for its next message."""
        await self._conversations().view(thread).add(word)

    async def drop(self, word: str, *, thread: str = "main") -> None:
        """Take a path or a queued reference out of view again."""
        await self._conversations().view(thread).drop(word)

    async def pin(self, path: str, *, thread: str = "main", on: bool = True) -> None:
        """Put a tracked file before all others, or let it go back."""
        await self._conversations().view(thread).pin(path, on=on)

    async def clear(self, *, thread: str = "main") -> None:
        """Keep nothing in view of a thread."""
        await self._conversations().view(thread).clear()

    async def view(self, *, thread: str = "main") -> View:
        """Return what is kept in view of a thread, and what is queued for its next message."""
        return await self._conversations(only_look=True).view(thread).list()

    async def find(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first: discovery without a menu."""
        menu = await self.complete(f'@file:"{words}', limit=limit, timeout=_PATIENCE)
        return [item.label for item in menu.items]

    async def threads(self) -> Sequence[ThreadLine]:
        """Return every thread of the workspace, the last used first."""
        return await concurrency.run(self._conversations(only_look=True).sessions.threads)

    async def turns(self, thread: str = "main") -> Sequence[Recorded]:
        """Return the turns of a thread as the ledger has them."""
        sessions = self._conversations(only_look=True).sessions
        return await concurrency.run(lambda: sessions.turns(thread))

    async def history(self, thread: str = "main", *, everything: bool = False) -> Sequence[HistoryItem]:
        """Return what was said in a thread; ``everything`` brings back what was compacted."""
        sessions = self._conversations(only_look=True).sessions
        return await concurrency.run(lambda: sessions.history(thread, everything=everything))

    async def replay(self, thread: str = "main", number: int | None = None) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since."""
        sessions = self._conversations(only_look=True).sessions
        return await concurrency.run(lambda: sessions.replay(thread, number))

    def _conversations(self, *, only_look: bool = False) -> Conversations:
        """Return the threads of the workspace, whose parts are loaded and whose database is made only now.

        Who only looks makes no database: where there is none, there are no threads.
        """
        if self._kept is not None:
            return self._kept
        from promptuary.wiring.threads import Conversations  # noqa: PLC0415  (most expansions need no thread)

        def attach(text: str, also: str, limit: int) -> Expansion:
            return self._expand(text, limit, also=also, tracked=False)

        begun = not only_look or self._workspace.kind_of(Conversations.DATABASE) is not None
        parts = (self._workspace, self.settings, self._counter, attach, self._searched)
        found = Conversations(*parts, layers=self._layers, model=self._model, lasting=begun)
        if begun:
            self._kept = found
        return found

    async def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``.

        The listing of the workspace grows in the background; ``timeout`` is how many seconds a first answer may
        wait for it. ``ignored`` offers what ignore files hide, too.
        """
        completer = self._completers.get(ignored)
        if completer is None:
            from promptuary.references.completion.sources import Completer  # noqa: PLC0415  (most expansions need no menu)

            completer = Completer(self._workspace, self._counter, timeout=timeout, ignored=ignored)
            self._completers[ignored] = completer
        return await concurrency.run(lambda: completer.complete(text, limit=limit))

    async def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring what is indexed up to date; it can be searched by words at once.

        ``rebuild`` discards the old index; ``prune`` forgets what is gone even if a whole folder is.
        """
        work, named = self._file_memory(making=True).index, [paths] if isinstance(paths, str | Path) else paths
        call = partial(work, [*map(Path, named)], label=label, rebuild=rebuild, prune=prune, progress=progress)
        return await concurrency.run(call)

    async def unindex(self, path: str | Path) -> bool:
        """Index a folder no more; tell whether it was indexed."""
        files = self._file_memory()
        return await concurrency.run(lambda: files.remove(str(Path(path).absolute())))

    async def embed(self, go_on: Callable[[int], bool] = lambda _: True) -> int:
        """Make the vectors that are missing; ``go_on`` is told how many are done and may stop it."""
        files = self._file_memory()
        return await concurrency.run(lambda: files.embed(go_on))

    async def search(self, question: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best answers to a question from the indexed files, as they are now."""
        return await concurrency.run(lambda: self.search_now(question, limit=limit))

    def search_now(self, question: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Do what ``search`` does, and block until it is done."""
        return self._file_memory().search(SearchQuery(question, limit) if isinstance(question, str) else question)

    async def indexed(self) -> IndexStatus:
        """Return what is indexed."""
        return await concurrency.run(self._file_memory().status)

    async def watch(self, told: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date from now on, in the background; ``told`` hears of every sync."""
        if self._keeper is None:
            from promptuary.search.updater import IndexUpdater  # noqa: PLC0415  (only who watches needs it)

            self._keeper = IndexUpdater(self._file_memory(), debounce=self.settings.watch_debounce, told=told)
            self._keeper.start()

    def _file_memory(self, *, making: bool = False) -> SearchService:
        """Return the file memory, whose parts are loaded only now; who is not ``making`` one leaves no trace."""
        from promptuary.wiring.search import open_search  # noqa: PLC0415  (most expansions search nothing)

        with self._opening:
            if self._files is None or (making and not self._files.lasting):
                self._files = open_search(self._workspace, self.settings, making=making)
            return self._files

    async def close(self) -> None:
        """Let go of the workspace."""
        if self._keeper is not None:
            await concurrency.run(self._keeper.close)
        if self._kept is not None:
            await self._kept.close()
        self.let_go()

    def let_go(self) -> None:
        """Close what needs no loop to be closed: everything, if no thread was used and nothing is watched."""
        if self._files is not None:
            self._files.close()
        self._workspace.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
