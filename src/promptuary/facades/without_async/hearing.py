"""A run without ``async``: its callbacks are called in the thread that waits for it.

So ``on_event`` may print and ``confirm`` may ask at a terminal, and Ctrl-C ends the run like any other call.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
from typing import TYPE_CHECKING

from promptuary.core.errors import PromptuaryError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from promptuary.core.messages import ToolCall
    from promptuary.core.runs import Confirm, OnEvent, RunEvent


class Hearing:
    """The callbacks of a run; ``inbox`` holds the calls for the thread that waits for it."""

    def __init__(self, on_event: OnEvent | None, confirm: Confirm | None) -> None:
        self.inbox: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._on_event, self._confirm = on_event, confirm
        self.on_event: OnEvent | None = self._tell if on_event else None
        self.confirm: Confirm | None = self._ask if confirm else None

    def _tell(self, event: RunEvent) -> None:
        told = self._on_event
        if told is not None:
            self.inbox.put(lambda: _plain(told(event), "on_event"))

    async def _ask(self, call: ToolCall) -> bool:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bool] = loop.create_future()

        def ask() -> None:
            agreed = bool(self._confirm and _plain(self._confirm(call), "confirm"))
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(agreed))

        self.inbox.put(ask)
        return await answer


def _plain(given: object | Awaitable[object], name: str) -> object:
    """Return the result of a function, which must not be awaitable."""
    if inspect.iscoroutine(given):
        given.close()
        raise PromptuaryError(f"{name} must be a plain function here: nobody awaits what it returns")
    return given
