"""Threads of a workspace: puts the store, the layers and the turn together. The engine loads it when a thread is used.

A plain expansion needs none of this: no database is made in a workspace before somebody starts a thread in it.
"""

from collections.abc import Sequence
from typing import ClassVar

from promptuary.config.settings import Settings
from promptuary.context.assemble import Room
from promptuary.context.history import CachingCounter, CompactionPolicy, Stats
from promptuary.core.counting import TokenCounter
from promptuary.core.errors import PromptuaryError
from promptuary.core.layers import Layer, check
from promptuary.core.messages import Message
from promptuary.core.ports.models import ChatModel
from promptuary.core.ports.threads import StateStore
from promptuary.core.receipts import Receipt
from promptuary.core.search import Search
from promptuary.layers.instructions.layer import Instructions
from promptuary.layers.recall import SemanticRecall
from promptuary.layers.runner import Account, dispose
from promptuary.layers.tracked.layer import TrackedFiles
from promptuary.plugins import installed_layers
from promptuary.storage.in_memory import InMemoryStore
from promptuary.storage.sqlite.threads import EmbeddedStore
from promptuary.threads.attachments import InView
from promptuary.threads.ledger import Sessions
from promptuary.threads.turn import Conversation, Expand, Thread, Turn
from promptuary.workspace.disk.private_folder import private_folder
from promptuary.workspace.indexed_folders import IndexedFoldersFile
from promptuary.workspace.workspace import Workspace


class Conversations:
    """Every thread of a workspace; ``lasting`` says whether they are kept, or forgotten with the process."""

    DATABASE: ClassVar = ".promptuary/state.db"

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        counter: TokenCounter,
        expand: Expand,
        search: Search | None = None,
        *,
        layers: Sequence[Layer] = (),
        model: ChatModel | None = None,
        lasting: bool = True,
    ) -> None:
        self._files = TrackedFiles(workspace, scoring_model=model)
        recalled = [_recall(workspace, search, settings.recall_tokens)] if search and settings.recall_tokens else []
        self._layers = [Instructions(workspace), self._files, *recalled, *installed_layers(), *layers]
        check(self._layers)
        self._counter = counter
        self._store = _store(workspace) if lasting else InMemoryStore()
        self.sessions = Sessions(self._store, workspace)
        window = settings.effective_window
        self._common = Conversation(
            store=self._store,
            layers=self._layers,
            counter=CachingCounter(counter),
            room=Room(window, min(settings.reply_reserve, window // 2)),
            limit=int(window * settings.limit_share),
            policy=CompactionPolicy(threshold=settings.compact_share, goal=settings.compact_share / 2),
            model=model,
            expand=expand,
            resource=str(workspace.root.path),
        )
        self._threads: dict[str, Thread] = {}

    async def prepare(self, text: str, thread: str) -> Turn:
        """Put a turn together."""
        return await self._thread(thread).prepare(text)

    async def finish(self, turn: Turn, reply: str | Sequence[Message]) -> Receipt:
        """Keep the reply to a turn."""
        return await self._thread(turn.thread).finish(turn, reply)

    async def abandon(self, turn: Turn) -> None:
        """End a turn without a reply."""
        await self._thread(turn.thread).abandon(turn)

    def stats(self, thread: str) -> Stats:
        """Return how full the window of a thread is."""
        return self._thread(thread).stats()

    def view(self, thread: str) -> InView:
        """Return what is kept in view of a thread."""
        return InView(self._named(thread), self._store, self._files, self._counter)

    async def close(self) -> None:
        """Dispose the layers and let go of the store."""
        await dispose(self._layers, Account())
        self._store.close()

    def _thread(self, name: str) -> Thread:
        known = self._threads.get(name)
        if known is None:
            known = self._threads.setdefault(name, Thread(self._named(name), self._common))
        return known

    def _named(self, name: str) -> str:
        if not name or not name.isprintable() or len(name) > 200:
            raise PromptuaryError(f"{name!r} cannot name a thread; use up to 200 printable characters")
        return name


def _recall(workspace: Workspace, search: Search, tokens: int) -> Layer:
    home = workspace.root.path
    return SemanticRecall(search, lambda: bool(IndexedFoldersFile(home).all()), str(home), most=tokens)


def _store(workspace: Workspace) -> StateStore:
    return EmbeddedStore(private_folder(workspace.root.path) / Conversations.DATABASE.rpartition("/")[2])
