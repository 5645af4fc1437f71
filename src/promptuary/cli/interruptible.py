"""Long work that Ctrl-C ends in good order: it is asked to stop, and given a moment to do so."""

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

Result = TypeVar("Result")

_PATIENCE: Final = 3.0
"""Seconds that work may go on after Ctrl-C. It runs in threads that do not keep the program from ending."""


class StoppedError(Exception):
    """The work was asked to stop, and did."""


def attended(work: Callable[[threading.Event], Result]) -> Result:
    """Return what ``work`` returns; on Ctrl-C set the event that it was given, wait for it, and raise.

    ``work`` may end as it likes once the event is set, also with a ``StoppedError``.
    """
    task = _Task(work)
    try:
        task.thread.start()
        task.ended.wait()
    except KeyboardInterrupt:
        task.stop.set()
        task.ended.wait(_PATIENCE)
        raise
    return task.result()


class _Task(Generic[Result]):
    def __init__(self, work: Callable[[threading.Event], Result]) -> None:
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name="promptuary-attended", daemon=True)
        self._work = work
        self._result: list[Result] = []
        self._error: BaseException | None = None

    def result(self) -> Result:
        """Return what the work returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self) -> None:
        try:
            self._result.append(self._work(self.stop))
        except BaseException as error:  # noqa: BLE001  (carried over to whoever waits)
            self._error = error
        finally:
            self.ended.set()
