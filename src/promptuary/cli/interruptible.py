"""Long work that Ctrl-C stops cleanly: it gets a signal and a few seconds to stop."""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from promptuary.base import concurrency

Result = TypeVar("Result")

_GRACE: Final = 3.0
"""Seconds that the work may continue after Ctrl-C. It runs in daemon threads, which do not block the exit."""

_TICK: Final = 0.2
"""Seconds of one wait. A signal that arrives just before a wait starts does not interrupt it."""


class StoppedError(Exception):
    """The work stopped on request."""


def run_interruptibly(work: Callable[[threading.Event], Result]) -> Result:
    """Return the result of ``work``. On Ctrl-C, set the event passed to ``work``, wait for it to end, and raise.

    Once the event is set, ``work`` may return or raise anything, such as ``StoppedError``.
    """
    stop, ended = threading.Event(), threading.Event()

    def attempt() -> Result:
        try:
            return work(stop)
        finally:
            ended.set()

    try:  # Ctrl-C may arrive before the task exists
        task = concurrency.begin(attempt)
        while not ended.wait(_TICK):
            pass
        return task.result()
    except KeyboardInterrupt:
        stop.set()
        ended.wait(_GRACE)
        raise
