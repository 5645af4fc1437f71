"""The messages that gateways received, in a separate database: they belong to no workspace."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field

from promptuary.base.clock import now
from promptuary.base.values import Json
from promptuary.database import schema
from promptuary.database.columns import from_column, to_column, to_text
from promptuary.database.errors import sound
from promptuary.database.port import Connection, Cursor
from promptuary.database.queries import queries
from promptuary.database.sqlite import SqliteDatabase

_QUERIES: Final = queries(__package__, "inbox.sql")


EditOutcome = Literal["replaced", "late", "same", "unknown"]
"""The result of an edit by the sender: the message still waited, its answer had begun, it is the same, or is new."""

MAX_CHATS: Final = 1000
"""The most chats that are read for missed messages at a start."""


class SentPart(Struct, frozen=True):
    """One of the messages of an answer.

    ``message`` is its id; it is empty while the message is being sent, and if the process ended then, it is unknown
    whether it arrived. ``since`` is when it was first sent. ``repeated``: it was sent again without knowing that.
    """

    message: str = ""
    since: str = ""
    repeated: bool = False


class Received(Struct, frozen=True):
    """A message that is not answered yet.

    ``body`` is the message as the gateway stored it; ``begun`` says that an earlier process began to answer.
    ``answer`` is the whole answer, if there is one already. ``sent`` are the parts that were sent so far, by number.
    """

    number: int
    chat: str
    message: str
    body: Mapping[str, Json]
    received: str
    begun: bool = False
    answer: str | None = None
    sent: Mapping[int, SentPart] = field(default_factory=dict)


class InboxStore:
    """The messages that gateways received, in the file ``path``, which is created if needed; its folder must exist."""

    def __init__(self, path: Path, *, timeout: float = 30.0, clock: Callable[[], str] = now) -> None:
        self._clock = clock
        self._database = SqliteDatabase(path, schema.steps(schema.INBOX), timeout=timeout)

    def receive(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> int | None:
        """Store a message, and return its number; ``None`` if it was received before."""
        row = {**_key(gateway, chat, message), "received": self._clock(), "body": to_column(to_text(dict(body)))}

        def received(connection: Connection) -> int | None:
            if _run(connection, "known", row).fetchone() is not None:
                return None
            (number,) = _run(connection, "count", {}).fetchone()
            _run(connection, "receive", {**row, "number": number})
            return int(number)

        return self._database.write(received)

    def edit(self, gateway: str, chat: str, message: str, body: Mapping[str, Json]) -> EditOutcome:
        """Replace a message that its sender edited, unless the answer has begun."""
        text = to_column(to_text(dict(body)))

        def edited(connection: Connection) -> EditOutcome:
            found = _run(connection, "known", _key(gateway, chat, message)).fetchone()
            if found is None:
                return "unknown"
            number, status, before = found
            if before == text:
                return "same"
            if status != "waiting":
                return "late"
            _run(connection, "replace_body", {"number": number, "body": text})
            return "replaced"

        return self._database.write(edited)

    def list_unanswered(self, gateway: str) -> Sequence[Received]:
        """Return the messages that wait for an answer, or for the rest of it, the oldest first."""

        def found(connection: Connection) -> list[Received]:
            rows = _run(connection, "unanswered", {"gateway": to_column(gateway)}).fetchall()
            return [self._to_received(connection, row) for row in rows]

        return self._database.read(found)

    def begin(self, number: int) -> Received | None:
        """Record that the answer begins; return the message as it was before, or ``None`` if it is already answered."""

        def begun(connection: Connection) -> Received | None:
            row = _run(connection, "one", {"number": number}).fetchone()
            if row is None:
                return None
            _run(connection, "begin", {"number": number})
            return self._to_received(connection, row)

        return self._database.write(begun)

    def store_answer(self, number: int, answer: str) -> None:
        """Store the whole answer, before its last part is sent."""
        self._write("ready", number=number, answer=to_column(answer))

    def mark_sending(self, number: int, part: int, *, again: bool = False) -> None:
        """Record that a part of the answer, counted from 0, is being sent; ``again``: it may have arrived before."""
        self._write("sending", number=number, part=part, since=self._clock(), again=int(again))

    def mark_sent(self, number: int, part: int, message: str) -> None:
        """Record that a part was sent, and the id of its message."""
        self._write("sent", number=number, part=part, message=to_column(message))

    def mark_answered(self, number: int) -> None:
        """Record that the whole answer was sent, and delete the text of the message."""

        def ended(connection: Connection) -> None:
            for query in ("answered", "drop_parts"):
                _run(connection, query, {"number": number})

        self._database.write(ended)

    def last_messages(self, gateway: str, *, most: int = MAX_CHATS) -> Mapping[str, str]:
        """Return the id of the last received message of each chat, the newest first."""
        named = {"gateway": to_column(gateway), "most": most}
        rows = self._database.read(lambda connection: _run(connection, "last_messages", named).fetchall())
        return {from_column(chat): from_column(message) for chat, message in rows}

    def set_note(self, gateway: str, chat: str, name: str, value: Json) -> None:
        """Store a value for a chat under a name; ``None`` deletes it."""
        key = {"gateway": to_column(gateway), "chat": to_column(chat), "name": name}
        if value is None:
            self._write("forget_note", **key)
        else:
            self._write("note", **key, value=to_column(to_text(value)))

    def get_note(self, gateway: str, chat: str, name: str) -> Json:
        """Return the value that was stored under a name; ``None`` if there is none."""
        key = {"gateway": to_column(gateway), "chat": to_column(chat), "name": name}
        row = self._database.read(lambda connection: _run(connection, "noted", key).fetchone())
        with sound(self._database.name):
            value: Json = None if row is None else json.loads(from_column(row[0]))
            return value

    def prune(self, before: str) -> int:
        """Delete the records of answered messages that were received before a time, and return how many."""
        named = {"before": before}
        return self._database.write(lambda connection: _run(connection, "prune", named).rowcount)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _write(self, query: str, **values: Any) -> None:
        self._database.write(lambda connection: _run(connection, query, values))

    def _to_received(self, connection: Connection, row: tuple[Any, ...]) -> Received:
        number, chat, message, body, received, status, answer = row
        parts = _run(connection, "parts", {"number": number}).fetchall()
        with sound(self._database.name):
            return Received(
                int(number),
                from_column(chat),
                from_column(message),
                json.loads(from_column(body)),
                str(received),
                begun=status == "begun",
                answer=None if answer is None else from_column(answer),
                sent={
                    int(part): SentPart(from_column(message), str(since), repeated=bool(repeated))
                    for part, message, since, repeated in parts
                },
            )


def _run(connection: Connection, query: str, values: Mapping[str, Any]) -> Cursor:
    return connection.execute(_QUERIES[query], {"tenant": connection.tenant, **values})


def _key(gateway: str, chat: str, message: str) -> dict[str, Any]:
    return {"gateway": to_column(gateway), "chat": to_column(chat), "message": to_column(message)}
