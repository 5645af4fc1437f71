"""One line a request in the log, and the audit trail: who asked for what, when and with which result; never any text.

Both are written by one thread, beside the requests. What waits is bounded: if the disk or the terminal is too slow,
rows are dropped and counted.
"""

import queue
import sys
import threading
from contextlib import suppress
from typing import Final, Literal, TextIO

import msgspec
from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.clock import now
from promptuary.base.errors import PromptuaryError
from promptuary.server.metrics import Metrics
from promptuary.server.tokens import Token, TokenStore

LogFormat = Literal["text", "json", "off"]
_MAX_WAITING: Final = 10_000


class Entry(Struct, frozen=True):
    """A request that was answered. ``route`` is a pattern, since a path may hold anything."""

    method: str
    route: str
    status: int
    milliseconds: float
    token: Token | None = None
    thread: str = ""
    turn: str = ""


class Audit:
    """Writes entries until it is closed."""

    def __init__(
        self, store: TokenStore, metrics: Metrics, form: LogFormat = "text", stream: TextIO | None = None
    ) -> None:
        self._store, self._metrics, self._form, self._stream = store, metrics, form, stream or sys.stderr
        self._waiting: queue.Queue[Entry | None] = queue.Queue(_MAX_WAITING)
        self._ended = threading.Event()
        self._ended.set()

    def start(self) -> None:
        """Start to write."""
        self._ended.clear()
        concurrency.start_daemon(self._work, name="promptuary-audit")

    def add(self, entry: Entry) -> None:
        """Add an entry; returns at once."""
        try:
            self._waiting.put_nowait(entry)
        except queue.Full:
            self._metrics.add("audit_dropped")

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, for at most some seconds."""
        if not self._ended.is_set():
            with suppress(queue.Full):
                self._waiting.put(None, timeout=seconds)
                self._ended.wait(seconds)

    def _work(self) -> None:
        while (entry := self._waiting.get()) is not None:
            try:
                self._write(entry)
            except (OSError, ValueError, PromptuaryError):  # the terminal is closed, or the disk is full
                self._metrics.add("audit_dropped")
        self._ended.set()

    def _write(self, entry: Entry) -> None:
        if entry.token is not None:
            self._store.add_audit(
                entry.token, entry.method, entry.route, entry.status, thread=entry.thread, turn=entry.turn
            )
        if self._form != "off":
            self._stream.write(f"{format_entry(entry, self._form)}\n")
            self._stream.flush()


def format_entry(entry: Entry, form: LogFormat) -> str:
    """Return the line of the log for an entry."""
    about = {
        "time": now(),
        "method": entry.method,
        "route": entry.route,
        "status": entry.status,
        "ms": round(entry.milliseconds, 1),
        "token": entry.token.id if entry.token else "",
        "thread": entry.thread,
        "turn": entry.turn,
    }
    if form == "json":
        return msgspec.json.encode({name: value for name, value in about.items() if value != ""}).decode()
    ids = [f"{name}={about[name]}" for name in ("token", "thread", "turn") if about[name]]
    return " ".join([str(about["time"]), entry.method, entry.route, str(entry.status), f"{about['ms']}ms", *ids])
