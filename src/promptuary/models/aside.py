"""Work in another thread that the program does not end without: a library that is being loaded would bring it down."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Aside(Generic[Result]):
    """A piece of work, begun at once."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._found: list[Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._do, name="promptuary-load", daemon=False)
        self._thread.start()

    def result(self) -> Result:
        """Wait for the work, and return what it returned or raise what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def _do(self) -> None:
        try:
            self._found.append(self._work())
        except BaseException as error:  # noqa: BLE001  (carried over to whoever waits)
            self._error = error
