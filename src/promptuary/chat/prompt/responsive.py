"""Lets keys be answered while threads of this process compute: for a program that a person talks to."""

import gc
import sys
from typing import Final

_TURN: Final = 0.001
"""Seconds after which a thread that computes gives way; Python's own 5 ms, times the threads, a person can feel."""


_GARBAGE: Final = (2_000, 10, 100)
"""When the garbage collector runs: often, because what drawing leaves behind takes it 60 ms if it is left to gather."""


def answer_keys_first() -> None:
    """Let threads take short turns, and let the garbage collector pass over what was loaded so far."""
    sys.setswitchinterval(_TURN)
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
