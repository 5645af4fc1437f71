"""Hears of commits as they happen, on one connection of the process that no transaction uses.

A transaction that tells of something sends one notice, with a number and nothing else, on the channel of its workspace.
Behind a pooler that lends a connection for each transaction no notice arrives, and would reach somebody else: whoever
asks is told so, and asks the server itself from time to time. Knows nothing of what changed.
"""

import threading
import time
from contextlib import suppress
from typing import Any, Final

import psycopg

from promptuary.base import concurrency

_TICK: Final = 0.5
"""Seconds after which it is checked whether there is another channel to listen to, or nobody who listens."""
_SILENCE: Final = 30.0
"""Seconds without a notice after which it is checked whether the server is still there."""
_RETRY: Final = 5.0
"""Seconds until a connection that was lost is replaced."""


class Listener:
    """Counts what is heard on channels of the database at ``url``; it connects when it is first asked."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._wanted: set[str] = set()
        self._heard: dict[str, int] = {}
        self._lost = 0
        """How often a connection was lost: meanwhile anything may have been said."""
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def heard(self, channel: str) -> tuple[int, int] | None:
        """Return what differs after each notice on a channel; ``None`` if it is not being listened to, or not yet."""
        with self._lock:
            if not self._wanted:
                concurrency.start_daemon(self._run, name="promptuary-listener")
            self._wanted.add(channel)
            count = self._heard.get(channel)
            return None if count is None else (self._lost, count)

    def close(self) -> None:
        """End the connection, soon."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.is_set():
            with (
                suppress(psycopg.Error),
                psycopg.connect(
                    self._url, autocommit=True, prepare_threshold=None, connect_timeout=5, keepalives_idle=30
                ) as raw,
            ):
                if not _is_direct(raw):
                    return
                self._listen(raw)
            with self._lock:
                self._lost += 1
                self._heard.clear()
            self._closed.wait(_RETRY)

    def _listen(self, raw: psycopg.Connection[Any]) -> None:
        checked = time.monotonic()
        while not self._closed.is_set():
            for channel in self._wanted - self._heard.keys():
                raw.execute(f'LISTEN "{channel}"')
                with self._lock:
                    self._heard[channel] = 0
            for notice in raw.notifies(timeout=_TICK, stop_after=1):
                checked = time.monotonic()
                with self._lock:
                    self._heard[notice.channel] += 1
            if time.monotonic() - checked > _SILENCE:
                checked = time.monotonic()
                raw.execute("SELECT 1")


def _is_direct(raw: psycopg.Connection[Any]) -> bool:
    """Return whether a connection has a process of the server to itself: a pooler says another number than its own."""
    row = raw.execute("SELECT pg_backend_pid()").fetchone()
    return row is not None and row[0] == raw.info.backend_pid
