"""Parses server-sent events, the format of streaming services: bytes to events, in linear time. Pure."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from promptuary.base.errors import PromptuaryError

_LONGEST_LINE: Final = 8 * 1024 * 1024
_DONE: Final = "[DONE]"


class ServerEvent(NamedTuple):
    """One event: its name, which many services leave out, and its data."""

    name: str
    data: str


def server_events(chunks: Iterable[bytes], service: str) -> Iterator[ServerEvent]:
    """Yield the events of a stream. Text after the last empty line is ignored: such an event is not complete.

    ``service`` is the name of the sender, for errors.
    """
    name, data = "", list[str]()
    for line in _lines(chunks, service):
        if not line:
            if data:
                yield ServerEvent(name, "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value


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


def _lines(chunks: Iterable[bytes], service: str) -> Iterator[str]:
    """Yield lines without their line breaks; the standard allows three kinds."""
    begun = list[bytes]()
    length = 0
    after_return = False
    for chunk in chunks:
        if after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]  # noqa: PLW2901  (the second half of the previous line break)
        after_return = after_return if not chunk else chunk[-1:] == b"\r"
        *ended, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in ended:
            yield b"".join([*begun, line]).decode("utf-8", "replace")
            begun, length = [], 0
        begun.append(rest)
        length += len(rest)
        if length > _LONGEST_LINE:
            raise PromptuaryError(f"{service} sends an endless line; check its address.")
