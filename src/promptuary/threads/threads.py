"""The threads of one principal in one workspace. What is synchronous here blocks; facades put it into threads."""

from collections.abc import Sequence

from promptuary.core.errors import PromptuaryError
from promptuary.core.messages import Item, Message
from promptuary.core.ports.threads import StateDatabase, ThreadInfo, TurnRecord
from promptuary.core.receipts import Receipt
from promptuary.core.threads import AttachmentList, HistoryStats, Replay
from promptuary.layers.runner import HookLog, dispose
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.threads.attachments import Attachments
from promptuary.threads.ledger import Ledger
from promptuary.threads.turn import Thread, ThreadOptions, Turn
from promptuary.workspace.workspace import Workspace

_LONGEST_NAME = 200


class Threads:
    """Everything that can be done with threads. Whoever opened ``database`` closes it."""

    def __init__(
        self, options: ThreadOptions, files: TrackedFiles, workspace: Workspace, database: StateDatabase
    ) -> None:
        self._options, self._files, self._database = options, files, database
        self._ledger = Ledger(options.store, workspace)
        self._threads: dict[str, Thread] = {}

    @property
    def persistent(self) -> bool:
        """Whether what is done here outlives the process."""
        return self._database.persistent

    def is_current(self) -> bool:
        """Tell whether the database is still there: it may have been removed or replaced."""
        return self._database.is_current()

    async def prepare(self, text: str, *, thread: str) -> Turn:
        """Assemble a turn: what is in the window of the thread, and what ``text`` points at."""
        return await self._thread(thread).prepare(text)

    async def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Record the reply to a turn."""
        return await self._thread(turn.thread).finish(turn, reply)

    async def abandon(self, turn: Turn) -> None:
        """End a turn without a reply."""
        await self._thread(turn.thread).abandon(turn)

    async def attach(self, word: str, *, thread: str) -> None:
        """Track a path in a thread, or queue a reference for its next message."""
        await self._attachments(thread).add(word)

    def detach(self, word: str, *, thread: str) -> None:
        """Untrack a path, or remove a queued reference."""
        self._attachments(thread).drop(word)

    def pin(self, path: str, *, thread: str, on: bool) -> None:
        """Put a tracked file before all others, or undo that."""
        self._attachments(thread).pin(path, on=on)

    def detach_all(self, *, thread: str) -> None:
        """Untrack everything, and empty the queue."""
        self._attachments(thread).clear()

    def attachments(self, *, thread: str) -> AttachmentList:
        """Return what is tracked in a thread and queued for its next message."""
        return self._attachments(thread).list()

    def list(self) -> Sequence[ThreadInfo]:
        """Return every thread, the most recently used first."""
        return self._ledger.threads()

    def turns(self, *, thread: str) -> Sequence[TurnRecord]:
        """Return the turns of a thread in the order of their numbers."""
        return self._ledger.turns(_named(thread))

    def history(self, *, thread: str, everything: bool) -> Sequence[Item]:
        """Return the history of a thread."""
        return self._ledger.history(_named(thread), everything=everything)

    def replay(self, *, thread: str, number: int | None) -> Replay:
        """Return a past turn as it was sent."""
        return self._ledger.replay(_named(thread), number)

    def stats(self, *, thread: str) -> HistoryStats:
        """Return how much of the window the history of a thread takes."""
        return self._thread(thread).stats()

    async def dispose(self) -> None:
        """Dispose the layers."""
        await dispose(self._options.layers, HookLog())

    def _thread(self, name: str) -> Thread:
        known = self._threads.get(name)
        if known is None:
            known = self._threads.setdefault(name, Thread(_named(name), self._options))
        return known

    def _attachments(self, name: str) -> Attachments:
        return Attachments(_named(name), self._options.store, self._files, self._options.counter)


def _named(name: str) -> str:
    if not name or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise PromptuaryError(f"{name!r} cannot name a thread; use up to {_LONGEST_NAME} printable characters")
    return name
