"""Parses server-sent events, the format of streaming services: bytes to events, in linear time. Pure."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from promptuary.base.errors import PromptuaryError

_MAX_EVENT: Final = 16 * 1024 * 1024
_DONE: Final = "[DONE]"


class ServerEvent(NamedTuple):
    """One event: its name, which many services leave out, and its data."""

    name: str
    data: str


class EventReader:
    """Reads the events of a stream whose bytes arrive in pieces. ``service`` is the name of the sender, for errors."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._begun: list[bytes] = []
        self._length = 0
        self._after_return = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that ``chunk`` completes. Raises ``PromptuaryError`` if one has no end."""
        for line in self._lines(chunk):
            if not line:
                if self._data:
                    yield ServerEvent(self._name, "\n".join(self._data))
                self._name, self._data, self._length = "", [], 0
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                self._data.append(value)
            elif field == "event":
                self._name = value

    def _lines(self, chunk: bytes) -> Iterator[str]:
        """Yield lines without their line breaks; the standard allows three kinds."""
        if self._after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]  # the second half of the previous line break
            self._after_return = False
        self._after_return = self._after_return if not chunk else chunk[-1:] == b"\r"
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ended, rest = chunk.split(b"\n")
        for line in ended:
            self._count(len(line))
            yield b"".join([*self._begun, line]).decode("utf-8", "replace")
            self._begun = []
        self._begun.append(rest)
        self._count(len(rest))

    def _count(self, size: int) -> None:
        self._length += size
        if self._length > _MAX_EVENT:
            raise PromptuaryError(f"{self._service} sends an endless line or event; check its address.")


def server_events(chunks: Iterable[bytes], service: str) -> Iterator[ServerEvent]:
    """Yield the events of a stream. Text after the last empty line is ignored: such an event is not complete.

    ``service`` is the name of the sender, for errors.
    """
    reader = EventReader(service)
    for chunk in chunks:
        yield from reader.feed(chunk)


def json_events(chunks: Iterable[bytes], service: str) -> Iterator[dict[str, Any]]:
    """Yield the data of each event, which must be a JSON object, up to ``[DONE]``; then ``{}``, and nothing more.

    Raises ``PromptuaryError`` for anything else: the sender speaks another protocol. ``service`` is its name.
    """
    for event in server_events(chunks, service):
        if event.data.strip() == _DONE:
            yield {}
            return
        try:
            value = json.loads(event.data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise PromptuaryError(f"{service} sends a malformed piece of an answer; what arrived before it counts.")
        yield value
