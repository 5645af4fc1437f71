"""The messages that gateways received, in dictionaries: the second implementation of ``InboxStore``."""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from promptuary.core.layers import Json
from promptuary.core.ports.inbox import MOST_CHATS, EditOutcome, Received, SentPart
from promptuary.storage.inbox import InboxStore


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class InMemoryInbox(InboxStore):
    """An ``InboxStore`` that lives as long as the process."""

    def __init__(self, clock: Callable[[], str] = _now) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._messages: dict[int, tuple[str, Received]] = {}
        self._open: set[int] = set()
        self._notes: dict[tuple[str, str, str], Json] = {}
        self._count = 0

    def receive(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> int | None:
        """Store a message, and return its number; ``None`` if it was received before."""
        with self._lock:
            if self._find(gateway, chat, message) is not None:
                return None
            self._count += 1
            self._messages[self._count] = (gateway, Received(self._count, chat, message, dict(body), self._clock()))
            self._open.add(self._count)
            return self._count

    def edit(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> EditOutcome:
        """Replace a message that its sender edited, unless the answer was started."""
        with self._lock:
            found = self._find(gateway, chat, message)
            if found is None:
                return "unknown"
            if found.body == body and found.number in self._open:
                return "same"
            if found.begun or found.number not in self._open:
                return "late"
            self._messages[found.number] = (gateway, replace(found, body=dict(body)))
            return "replaced"

    def unanswered(self, gateway: str) -> Sequence[Received]:
        """Return the messages that wait for an answer, or for the rest of it, oldest first."""
        with self._lock:
            return [one for name, one in self._messages.values() if name == gateway and one.number in self._open]

    def begin(self, number: int) -> Received | None:
        """Record the start of an answer, and return the message as it was before; ``None`` if it was answered."""
        with self._lock:
            if number not in self._open:
                return None
            gateway, before = self._messages[number]
            self._messages[number] = (gateway, replace(before, begun=True))
            return before

    def ready(self, number: int, answer: str) -> None:
        """Store the whole answer, before its last part is sent."""
        self._change(number, lambda one: replace(one, answer=answer))

    def sending(self, number: int, part: int, *, again: bool = False) -> None:
        """Record that a part of the answer, counted from 0, is being sent; ``again``: it may have arrived before."""
        first = SentPart(since=self._clock())

        def noted(before: SentPart) -> SentPart:
            return replace(before, repeated=before.repeated or again)

        self._change(number, lambda one: replace(one, sent={**one.sent, part: noted(one.sent.get(part, first))}))

    def sent(self, number: int, part: int, message: str) -> None:
        """Record that a part was sent, and the id of its message."""

        def noted(one: Received) -> Received:
            return replace(one, sent={**one.sent, part: replace(one.sent[part], message=message)})

        self._change(number, noted)

    def answered(self, number: int) -> None:
        """Record that the whole answer was sent, and drop the text of the message."""
        self._change(number, lambda one: replace(one, body={}, answer=None, sent={}))
        self._open.discard(number)

    def last_messages(self, gateway: str, *, most: int = MOST_CHATS) -> Mapping[str, str]:
        """Return the id of the message that was received last in each chat, newest first."""
        newest: dict[str, str] = {}
        with self._lock:
            for name, one in reversed(self._messages.values()):
                if name == gateway and len(newest) < most:
                    newest.setdefault(one.chat, one.message)
        return newest

    def note(self, gateway: str, chat: str, name: str, value: Json) -> None:
        """Store a value for a chat under a name; ``None`` deletes it."""
        with self._lock:
            self._notes[gateway, chat, name] = value

    def noted(self, gateway: str, chat: str, name: str) -> Json:
        """Return the value under a name; ``None`` if there is none."""
        return self._notes.get((gateway, chat, name))

    def prune(self, before: str) -> int:
        """Delete messages that were answered and were received before a time, and return how many."""
        with self._lock:
            last = {(name, one.chat): number for number, (name, one) in self._messages.items()}
            old = [
                number
                for number, (_, one) in self._messages.items()
                if number not in self._open and one.received < before and number not in last.values()
            ]
            for number in old:
                del self._messages[number]
            return len(old)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _find(self, gateway: str, chat: str, message: str) -> Received | None:
        every = (
            one for name, one in self._messages.values() if (name, one.chat, one.message) == (gateway, chat, message)
        )
        return next(every, None)

    def _change(self, number: int, change: Callable[[Received], Received]) -> None:
        with self._lock:
            gateway, before = self._messages[number]
            self._messages[number] = (gateway, change(before))
