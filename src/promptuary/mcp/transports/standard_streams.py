"""Standard input and output of a server: one message a line, of bounded length, read as soon as the program starts.

A thread reads while the MCP package is still being imported, and gives the answers that do not need it (``early``). The
package also gets all messages; its answer to a message that is already answered is not sent.
"""

import json
import queue
import threading
from contextlib import suppress
from typing import BinaryIO, Final

from promptuary.base import concurrency
from promptuary.mcp.transports.early import EarlyAnswers, RequestId

MAX_BYTES: Final = 4 << 20
"""The most bytes of a message."""
_MAX_WAITING: Final = 16
"""The most messages that are read ahead."""


class TooLarge:
    """Stands for a message that is too large."""


class StandardStreams:
    """The streams of one client, which gets ``early`` answers until the server is ready."""

    def __init__(self, source: BinaryIO, target: BinaryIO, early: EarlyAnswers | None) -> None:
        self._source, self._target, self._early = source, target, early
        self._answered: list[RequestId] = []
        self._waiting: queue.Queue[bytes | TooLarge | None] = queue.Queue(_MAX_WAITING)
        self._sending = threading.Lock()
        self._is_read = True
        concurrency.start_daemon(self._read_all, name="promptuary-mcp-input")

    def no_longer_early(self) -> None:
        """Leave all answers to the server, because it is ready."""
        with self._sending:
            self._early = None

    def next_message(self) -> bytes | TooLarge | None:
        """Wait for the next message, and return it; ``None`` at the end, or if the client no longer reads."""
        message = self._waiting.get()
        return message if self._is_read else None

    async def write(self, line: str) -> None:
        """Send a line of the server, unless it is the second answer to a request."""
        await concurrency.run(lambda: self._write(line))

    async def flush(self) -> None:
        """Do nothing: ``write`` sends at once."""

    def _write(self, line: str) -> None:
        with self._sending:
            if not self._is_answered(line):
                self._send(line.encode("utf-8", "replace"))

    def _send(self, data: bytes) -> None:
        try:
            self._target.write(data)
            self._target.flush()
        except OSError:
            self._is_read = False

    def _is_answered(self, line: str) -> bool:
        """Return whether a line is the second answer to a request."""
        if not self._answered:
            return False
        message = json.loads(line)
        if "method" in message or message.get("id") not in self._answered:
            return False
        self._answered.remove(message["id"])
        return True

    def _read_all(self) -> None:
        while (message := self._read()) is not None:
            if isinstance(message, bytes):
                self._answer_early(message)
            self._waiting.put(message)
        self._waiting.put(None)

    def _answer_early(self, message: bytes) -> None:
        with self._sending:
            found = None if self._early is None else self._early.answer(message)
            if found is not None:
                self._answered.append(found.id)
                self._send(found.line)

    def _read(self) -> bytes | TooLarge | None:
        """Return the next line that is not empty; ``None`` at the end."""
        with suppress(OSError, ValueError):  # it was closed
            while line := self._source.readline(MAX_BYTES):
                if len(line) == MAX_BYTES and not line.endswith(b"\n"):
                    while (rest := self._source.readline(MAX_BYTES)) and not rest.endswith(b"\n"):
                        pass
                    return TooLarge()
                if line.strip():
                    return line
        return None
