"""Progress of long work: on a terminal one line that is erased at the end, elsewhere a line every few seconds."""

import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self, TextIO

from promptuary.cli.terminal import columns, cut

_EVERY: Final = 0.1
"""Seconds between two updates."""
_EVERY_LINE: Final = 5.0
"""Seconds between two lines where there is no terminal."""
_CELLS: Final = 20
_ROOM_FOR_CELLS: Final = 72


class ProgressLine:
    """A line such as ``[#####...]  1,204 of 5,310 files  812/s  5 s left``; call it with the numbers done and total.

    ``shown=False`` disables it. The rate is measured over the last ``looks_back`` seconds, because a fast start does
    not predict the rest. May be called from any thread, one at a time.
    """

    def __init__(
        self,
        stream: TextIO,
        unit: str,
        *,
        shown: bool = True,
        looks_back: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._unit = unit
        self._shown = shown
        self._redrawn = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._looks_back = looks_back
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()
        self._drawn_at: float | None = None
        self._drawn = 0

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` are done; a lower number than before means that other work has started."""
        if not self._shown:
            return
        now = self._clock()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        if self._drawn_at is None:
            self._drawn_at = now
        if not self._seen:
            self._seen.append((now, done))
        if now - self._drawn_at < (_EVERY if self._redrawn else _EVERY_LINE):
            return
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self._looks_back:
            self._seen.popleft()
        self._drawn_at = now
        if not self._redrawn:
            with suppress(OSError, ValueError):
                print(self._line(done, total), file=self._stream, flush=True)
            return
        self._draw(self._line(done, total))

    def say(self, text: str) -> None:
        """Show a text until the first numbers arrive."""
        if self._shown and self._redrawn:
            self._draw(text)

    def close(self) -> None:
        """Erase the line."""
        if self._drawn:
            self._draw("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _line(self, done: int, total: int) -> str:
        (then, had), (now, have) = self._seen[0], self._seen[-1]
        rate = (have - had) / (now - then) if now > then else 0.0
        parts = [f"{done:,} of {total:,} {self._unit}"]
        if rate > 0:
            parts += [f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s", f"{duration((total - done) / rate)} left"]
        if total > 0 and self._redrawn and columns(self._stream) >= _ROOM_FOR_CELLS:
            full = min(_CELLS, _CELLS * done // total)
            parts.insert(0, f"[{'#' * full}{'.' * (_CELLS - full)}]")
        return "  ".join(parts)

    def _draw(self, line: str) -> None:
        # Some terminals wrap after a full last column, and the second line could not be erased.
        line = cut(line, columns(self._stream) - 1)
        # Overwrite with blanks, which works on every terminal; a control sequence does not.
        blanks = " " * (self._drawn - len(line))
        back = "\r" if blanks or not line else ""
        # Set before writing, so that an interrupted line is erased too.
        self._drawn = len(line)
        # A closed stream must not stop the work.
        with suppress(OSError, ValueError):
            self._stream.write(f"\r{line}{blanks}{back}{line if blanks and line else ''}")
            self._stream.flush()


def duration(seconds: float) -> str:
    """Return a duration for people: ``0.8 s``, ``41 s``, ``3 min``, ``2 h 5 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
