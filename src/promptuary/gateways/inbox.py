"""``AsyncInbox``: the store of the gateways' messages. Blocking calls run in a thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from promptuary.base import concurrency
from promptuary.gateways.inbox_store import InboxStore
from promptuary.workspace.user_folders import make_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from promptuary.base.values import Json
    from promptuary.gateways.inbox_store import EditOutcome, Received

Result = TypeVar("Result")

_AT_ONCE: Final = 8
"""How many threads use the store at once. It serializes writes; more threads would only wait."""


class AsyncInbox:
    """The messages that gateways received, and what was sent in answer. The methods are those of ``InboxStore``."""

    def __init__(self, store: InboxStore, place: Path) -> None:
        self._store = store
        self._few = asyncio.Semaphore(_AT_ONCE)
        self.place = place
        """The workspace of chats without one: an empty folder."""

    @classmethod
    async def open(cls) -> AsyncInbox:
        """Open the inbox of this person."""
        return await concurrency.run(cls._open)

    @classmethod
    def _open(cls) -> AsyncInbox:
        folder = make_folder(state_folder() / "gateways")
        # Chats without a workspace share one that belongs to the person and stays empty.
        return cls(InboxStore(folder / "inbox.db"), make_folder(folder / "no_workspace"))

    async def receive(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> int | None:
        """Store a message, and return its number; ``None`` if it was received before."""
        return await self._run(lambda store: store.receive(gateway, chat, message, body))

    async def edit(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> EditOutcome:
        """Replace a message that its sender edited, unless the answer has begun."""
        return await self._run(lambda store: store.edit(gateway, chat, message, body))

    async def list_unanswered(self, gateway: str) -> Sequence[Received]:
        """Return the messages that wait for an answer, or for the rest of it, the oldest first."""
        return await self._run(lambda store: store.list_unanswered(gateway))

    async def begin(self, number: int) -> Received | None:
        """Record that the answer begins, and return the message; ``None`` if it is already answered."""
        return await self._run(lambda store: store.begin(number))

    async def store_answer(self, number: int, answer: str) -> None:
        """Store the whole answer, before its last part is sent."""
        await self._run(lambda store: store.store_answer(number, answer))

    async def mark_sending(self, number: int, part: int, *, again: bool = False) -> None:
        """Record that a part of the answer, counted from 0, is being sent; ``again``: it may have arrived before."""
        await self._run(lambda store: store.mark_sending(number, part, again=again))

    async def mark_sent(self, number: int, part: int, message: str) -> None:
        """Record that a part was sent, and the id of its message."""
        await self._run(lambda store: store.mark_sent(number, part, message))

    async def mark_answered(self, number: int) -> None:
        """Record that the whole answer was sent."""
        await self._run(lambda store: store.mark_answered(number))

    async def last_messages(self, gateway: str) -> Mapping[str, str]:
        """Return the id of the last received message of each chat, the newest first."""
        return await self._run(lambda store: store.last_messages(gateway))

    async def set_note(self, gateway: str, chat: str, name: str, value: Json) -> None:
        """Store a value for a chat under a name; ``None`` deletes it."""
        await self._run(lambda store: store.set_note(gateway, chat, name, value))

    async def get_note(self, gateway: str, chat: str, name: str) -> Json:
        """Return the value that was stored under a name; ``None`` if there is none."""
        return await self._run(lambda store: store.get_note(gateway, chat, name))

    async def prune(self, before: str) -> int:
        """Delete the records of answered messages that were received before a time."""
        return await self._run(lambda store: store.prune(before))

    async def close(self) -> None:
        """Close the store."""
        await self._run(lambda store: store.close())

    async def _run(self, work: Callable[[InboxStore], Result]) -> Result:
        async with self._few:
            return await concurrency.run(lambda: work(self._store))
