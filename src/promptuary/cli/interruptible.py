"""Long work that Ctrl-C stops in good order: it is asked to stop and gets a moment to do so."""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from promptuary import concurrency

Result = TypeVar("Result")

_GRACE: Final = 3.0
"""Seconds that the work may go on after Ctrl-C. It runs in threads that do not keep the program from ending."""

_TICK: Final = 0.2
"""Seconds of one wait. A signal that comes just before a wait begins does not interrupt it."""


class StoppedError(Exception):
    """The work was asked to stop, and did."""


def run_interruptibly(work: Callable[[threading.Event], Result]) -> Result:
    """Return what ``work`` returns. On Ctrl-C, set the event that ``work`` was given, wait for it, and raise.

    Once the event is set, ``work`` may return or raise anything, such as ``StoppedError``.
    """
    stop, ended = threading.Event(), threading.Event()

    def attempt() -> Result:
        try:
            return work(stop)
        finally:
            ended.set()

    try:  # Ctrl-C may come before there is a task to wait for
        task = concurrency.begin(attempt)
        while not ended.wait(_TICK):
            pass
        return task.result()
    except KeyboardInterrupt:
        stop.set()
        ended.wait(_GRACE)
        raise
