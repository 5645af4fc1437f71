"""``Promptuary`` without ``async``: the same methods, which return when they are done.

The work is done by an event loop in a thread of its own, so a loop that runs in the caller's thread (a notebook, an
application) is neither needed nor in the way.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from promptuary import concurrency, engine
from promptuary.core.errors import PromptuaryError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event
    from collections.abc import Callable, Coroutine, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from types import TracebackType

    from promptuary.config.settings import Settings
    from promptuary.context.history import Stats
    from promptuary.core.expansion import Expansion
    from promptuary.core.layers import Layer
    from promptuary.core.messages import Item as HistoryItem
    from promptuary.core.messages import Message
    from promptuary.core.ports.models import ChatModel
    from promptuary.core.ports.threads import Recorded, ThreadLine
    from promptuary.core.receipts import Receipt
    from promptuary.core.search import SearchQuery, SearchResult
    from promptuary.references.completion.menu import Completion
    from promptuary.search.service import IndexStatus
    from promptuary.search.sync import Progress, SyncReport
    from promptuary.search.updater import IndexUpdate
    from promptuary.threads.attachments import View
    from promptuary.threads.ledger import Replay
    from promptuary.threads.turn import Turn

__all__ = ["Promptuary"]

Result = TypeVar("Result")

_CLOSED = "This Promptuary is closed; open the workspace again."


class Promptuary:
    """See ``promptuary.Promptuary``. May be used from several threads, also where an event loop is running."""

    def __init__(self, inner: engine.Promptuary) -> None:
        self._inner = inner
        self._loop: _Loop | None = None
        self._closed = False
        self._changing = threading.Lock()

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
        """Open the workspace that ``path`` lies in; ``options`` are settings by name."""
        return cls(engine.Promptuary.open(path, exact=exact, layers=layers, chat_model=chat_model, **options))

    @property
    def path(self) -> Path:
        """The root of the workspace."""
        return self._inner.path

    @property
    def settings(self) -> Settings:
        """The settings that hold."""
        return self._inner.settings

    def expand(self, text: str, *, pasted: Sequence[tuple[int, int]] = ()) -> Expansion:
        """Return ``text`` with everything it points at."""
        return self._run(self._inner.expand(text, pasted=pasted))

    def complete(self, text: str, *, limit: int = 20, timeout: float = 0.0, ignored: bool = False) -> Completion:
        """Return what the ``@`` and ``#`` menus offer at the end of ``text``."""
        return self._run(self._inner.complete(text, limit=limit, timeout=timeout, ignored=ignored))

    def prepare(self, text: str, *, thread: str = "main") -> Turn:
        """Put a turn of a thread together."""
        return self._run(self._inner.prepare(text, thread=thread))

    def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Keep the reply to a turn."""
        return self._run(self._inner.finish(turn, reply))

    def abandon(self, turn: Turn) -> None:
        """End a turn that gets no reply."""
        self._run(self._inner.abandon(turn))

    def stats(self, thread: str = "main") -> Stats:
        """Return how full the window of a thread is with what was said."""
        return self._run(self._inner.stats(thread))

    def needs_compaction(self, thread: str = "main") -> bool:
        """Return whether the next turn of a thread will make room in its history first."""
        return self._run(self._inner.needs_compaction(thread))

    def add(self, word: str, *, thread: str = "main") -> None:
        """Keep a path in view of a thread, or queue a reference for its next message."""
        self._run(self._inner.add(word, thread=thread))

    def drop(self, word: str, *, thread: str = "main") -> None:
        """Take a path or a queued reference out of view again."""
        self._run(self._inner.drop(word, thread=thread))

    def pin(self, path: str, *, thread: str = "main", on: bool = True) -> None:
        """Put a tracked file before all others, or let it go back."""
        self._run(self._inner.pin(path, thread=thread, on=on))

    def clear(self, *, thread: str = "main") -> None:
        """Keep nothing in view of a thread."""
        self._run(self._inner.clear(thread=thread))

    def view(self, *, thread: str = "main") -> View:
        """Return what is kept in view of a thread, and what is queued for its next message."""
        return self._run(self._inner.view(thread=thread))

    def find(self, words: str, *, limit: int = 20) -> Sequence[str]:
        """Return the files that ``words`` may mean, the likeliest first."""
        return self._run(self._inner.find(words, limit=limit))

    def threads(self) -> Sequence[ThreadLine]:
        """Return every thread of the workspace, the last used first."""
        return self._run(self._inner.threads())

    def turns(self, thread: str = "main") -> Sequence[Recorded]:
        """Return the turns of a thread as the ledger has them."""
        return self._run(self._inner.turns(thread))

    def history(self, thread: str = "main", *, everything: bool = False) -> Sequence[HistoryItem]:
        """Return what was said in a thread; ``everything`` brings back what was compacted."""
        return self._run(self._inner.history(thread, everything=everything))

    def replay(self, thread: str = "main", number: int | None = None) -> Replay:
        """Return a past turn exactly as it was sent, and which of its sources have changed since."""
        return self._run(self._inner.replay(thread, number))

    def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Index folders from now on, and bring what is indexed up to date."""
        return self._run(self._inner.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress))

    def unindex(self, path: str | Path) -> bool:
        """Index a folder no more; tell whether it was indexed."""
        return self._run(self._inner.unindex(path))

    def embed(self, go_on: Callable[[int], bool] = lambda _: True) -> int:
        """Make the vectors that are missing; ``go_on`` is told how many are done and may stop it."""
        return self._run(self._inner.embed(go_on))

    def search(self, question: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best answers to a question from the indexed files, as they are now."""
        # Needs no loop, which would take longer to load than a search takes.
        with self._changing:
            if self._closed:
                raise PromptuaryError(_CLOSED)
        return self._inner.search_now(question, limit=limit)

    def indexed(self) -> IndexStatus:
        """Return what is indexed."""
        return self._run(self._inner.indexed())

    def watch(self, told: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date from now on, in the background; ``told`` hears of every sync."""
        self._run(self._inner.watch(told))

    def close(self) -> None:
        """Let go of the workspace; what is under way in other threads ends with an error. Again is harmless."""
        with self._changing:
            if self._closed:
                return
            self._closed = True
            if self._loop is None:
                self._inner.let_go()
                return
            loop = self._loop
        try:
            _result(loop.submit(self._inner.close()))
        finally:
            loop.stop()
            loop.thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        # Handed over under the lock: what is handed over before a close is called off by it, never forgotten.
        with self._changing:
            if self._closed:
                work.close()
                raise PromptuaryError(_CLOSED)
            future = self._started().submit(work)
        return _result(future)

    def _started(self) -> _Loop:
        if self._loop is None:
            self._loop = _Loop()
            weakref.finalize(self, self._loop.stop).atexit = False
        return self._loop


class _Loop:
    """An event loop in a daemon thread: nothing that hangs in it keeps the program from ending."""

    _loop: AbstractEventLoop
    _stop: Event

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415  (a search needs none)

        self._asyncio = asyncio
        running = threading.Event()
        self.thread = concurrency.start_daemon(lambda: asyncio.run(self._serve(running)), name="promptuary-blocking")
        running.wait()

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Begin ``work``."""
        return self._asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Call off what is under way, and let the thread end."""
        with suppress(RuntimeError):  # it is closed already
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self, running: threading.Event) -> None:
        self._loop = self._asyncio.get_running_loop()
        self._stop = self._asyncio.Event()
        running.set()
        await self._stop.wait()


def _result(future: Future[Result]) -> Result:
    """Wait for what was begun; whatever interrupts the waiting, such as Ctrl-C, calls it off."""
    from concurrent.futures import CancelledError  # noqa: PLC0415  (loaded with the loop)

    try:
        return future.result()
    except CancelledError as error:
        raise PromptuaryError("This Promptuary was closed while it was at work.") from error
    finally:
        future.cancel()
