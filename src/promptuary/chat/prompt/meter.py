"""The token meter of the toolbar: what the references of a message cost, before it is sent.

``meter_text`` is pure. ``LiveMeter`` measures in the background when the person stops typing: no key ever waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from promptuary.base.errors import PromptuaryError
from promptuary.references.expansion import Measured

WIDTH: Final = 24
PAUSE: Final = 0.15
"""Seconds without a key before a message is measured."""
_FILLED, _EMPTY, _MARK, _MARK_FILLED = "━", "─", "┼", "╋"

Fragment = tuple[str, str]
"""A style and a text, as prompt_toolkit takes them."""


def meter_text(measured: Measured, *, busy: bool = False, unknown: bool = False, room: int = 1_000) -> list[Fragment]:
    """Return the meter: a bar of the window with marks at the warning and at the limit, and the figures.

    If it does not fit into ``room`` cells, the words are left out first, then the bar. ``unknown``: nothing of what is
    typed has been measured yet, so a figure of zero would be wrong.
    """
    spend = measured.spend
    if unknown and not spend.injected:
        return [("class:meter.low", "@ measuring …")]
    style = "class:meter.low" if spend.injected <= spend.warn_at else "class:meter.high"
    style = "class:meter.full" if spend.injected >= spend.limit * 0.98 else style
    window = max(spend.window, 1)
    filled = min(WIDTH, max(round(spend.injected / window * WIDTH), int(spend.injected > 0)))
    marks = {round(one / window * WIDTH) for one in (spend.warn_at, spend.limit)}
    cells = [_cell(place, filled, marks) for place in range(WIDTH)]
    bar: list[Fragment] = [(style, "".join(cells[:filled])), ("class:meter.rest", "".join(cells[filled:]))]
    share, wait = f"({spend.injected / window:.0%})", " …" if busy else ""
    words = f", message {measured.words:,}" if measured.words else ""
    words += f", {len(measured.uncounted)} not counted yet" if measured.uncounted else ""
    figures = f" @ {spend.injected:,} of {spend.window:,} tokens {share}"
    short = f" @ {spend.injected:,} {share}{wait}"
    said = next((one for one in (f"{figures}{words}{wait}", f"{figures}{wait}") if WIDTH + len(one) <= room), short)
    fits = WIDTH + len(said) <= room
    return [*(part for part in bar if part[1] and fits), (style, said if fits else said.lstrip())]


def _cell(place: int, filled: int, marks: set[int]) -> str:
    if place in marks:
        return _MARK_FILLED if place < filled else _MARK
    return _FILLED if place < filled else _EMPTY


class LiveMeter:
    """Measures what is typed when the person stops typing; calls ``changed`` when there is something new to show."""

    def __init__(
        self,
        measure: Callable[[str], Awaitable[Measured]],
        changed: Callable[[], object],
        *,
        pause: float = PAUSE,
    ) -> None:
        self._measure, self._changed, self._pause = measure, changed, pause
        self._wanted = ""
        self._task: asyncio.Task[None] | None = None
        self.measured: Measured | None = None

    @property
    def busy(self) -> bool:
        """Whether the figures shown are older than the text."""
        return self._task is not None and not self._task.done()

    @property
    def unknown(self) -> bool:
        """Whether what is typed refers to something, perhaps for the first time, and is not measured yet."""
        return self.busy and any(mark in self._wanted for mark in ("@", "#", "[["))

    def typed(self, text: str) -> None:
        """Take the current text of the message."""
        self._wanted = text
        if not self.busy:
            self._task = asyncio.ensure_future(self._catch_up())

    async def _catch_up(self) -> None:
        known: str | None = None
        while known != self._wanted:
            seen: str | None = None
            while seen != self._wanted:
                seen = self._wanted
                await asyncio.sleep(self._pause)
            try:
                self.measured = await self._measure(seen or "")
            except PromptuaryError:
                self.measured = None
            known = seen
        self._task = None
        self._changed()

    def close(self) -> None:
        """Stop measuring."""
        if self._task is not None:
            self._task.cancel()
