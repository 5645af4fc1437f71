"""Waiting for something that happens in another thread or process: never a fixed time, and never for ever."""

import time
from collections.abc import Callable


def wait_until(is_so: Callable[[], object], *, seconds: float = 30.0, pause: float = 0.01) -> None:
    """Return as soon as ``is_so`` returns something true; fail after ``seconds``."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"it did not happen within {seconds:g} seconds"
        time.sleep(pause)
