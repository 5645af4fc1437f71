"""The opened workspaces of a process that acts for many principals: each is opened once, and again for each principal.

Those in use stay open; of the idle ones only the last few do, since each may have databases and indexes of its own.
Opening one holds up nobody but those who wait for the same. Who may open what is decided by those who ask.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

from promptuary.base import concurrency
from promptuary.base.principals import Principal
from promptuary.engine import Promptuary
from promptuary.workspace.access import Access

MOST_IDLE: Final = 64
"""How many idle principals stay open. Each may need five files and two megabytes; opening one again takes 20 ms."""


class _Opening:
    """A workspace that is open, or is being opened, and how many use it now."""

    def __init__(self, opened: Awaitable[Promptuary]) -> None:
        self.task = asyncio.ensure_future(opened)
        self.users = 0

    async def wait(self) -> Promptuary:
        """Return it opened. One who is cancelled leaves the others waiting."""
        return await asyncio.shield(self.task)

    @property
    def promptuary(self) -> Promptuary | None:
        """It, if it was opened."""
        is_open = self.task.done() and not self.task.cancelled() and self.task.exception() is None
        return self.task.result() if is_open else None


class WorkspaceCache:
    """Workspaces by key, and by key and principal. ``most_idle`` principals stay open when nobody uses them."""

    def __init__(self, *, most_idle: int = MOST_IDLE) -> None:
        self._most_idle = most_idle
        self._whole: dict[Hashable, _Opening] = {}
        self._parts: OrderedDict[Hashable, _Opening] = OrderedDict()

    async def whole(self, key: Hashable, open_whole: Callable[[], Promptuary]) -> Promptuary:
        """Return the workspace ``key``, which ``open_whole`` opens in a thread unless it is open."""
        opening = self._whole.get(key)
        if opening is None:
            opening = self._whole[key] = _Opening(concurrency.run(open_whole))
        try:
            return await opening.wait()
        finally:
            if opening.task.done() and opening.promptuary is None and self._whole.get(key) is opening:
                del self._whole[key]  # the next one tries again

    @asynccontextmanager
    async def acting_as(
        self, principal: Principal, access: Access, rights: Hashable, whole: Callable[[], Awaitable[Promptuary]]
    ) -> AsyncIterator[Promptuary]:
        """Open the workspace that ``whole`` returns for a principal, limited by ``access``.

        ``rights`` stands for the workspace and the access: two with equal ones share what is opened.
        """
        key = (principal, rights)
        opening = self._parts.get(key)
        if opening is None:

            async def opened() -> Promptuary:
                return await (await whole()).acting_as(principal, access=access)

            opening = self._parts[key] = _Opening(opened())
        opening.users += 1
        self._parts.move_to_end(key)
        try:
            yield await opening.wait()
        finally:
            opening.users -= 1
            if opening.task.done() and opening.promptuary is None and self._parts.get(key) is opening:
                del self._parts[key]
            await self._close_idle(self._most_idle)

    @property
    def wholes(self) -> list[Promptuary]:
        """The workspaces that are open."""
        return [opened for one in self._whole.values() if (opened := one.promptuary) is not None]

    def __len__(self) -> int:
        """Return how many principals have one open."""
        return len(self._parts)

    async def close(self) -> None:
        """Close everything."""
        await self._close_idle(0)
        for whole in self.wholes:
            await whole.close()
        self._whole.clear()

    async def _close_idle(self, most: int) -> None:
        if len(self._parts) <= most:  # as after nearly every request
            return
        idle = [key for key, one in self._parts.items() if not one.users and one.task.done()]
        for key in idle[: max(len(idle) - most, 0)]:
            # Out of the list first: nobody gets one that is being closed. Whoever is cancelled waits, and closes it.
            opened = self._parts.pop(key).promptuary
            if opened is not None:
                await concurrency.shielded(opened.close())
