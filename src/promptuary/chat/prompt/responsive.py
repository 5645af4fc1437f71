"""Keeps an interactive program responsive to keys while its threads compute."""

import gc
import sys
from typing import Final

_TURN: Final = 0.001
"""The thread switch interval in seconds. Python's default of 5 ms, times the threads, is a delay that people notice."""


_GARBAGE: Final = (2_000, 10, 100)
"""When the garbage collector runs: often, because it takes 60 ms if the garbage of drawing accumulates."""


def answer_keys_first() -> None:
    """Shorten the thread switch interval, and exempt what was loaded so far from garbage collection."""
    sys.setswitchinterval(_TURN)
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
