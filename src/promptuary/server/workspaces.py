"""The served workspaces: each is opened once, and again for each principal, as that sees it.

Those in use stay open, of the idle ones the last few do: each has indexes of its own, and open files.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.principals import Principal
from promptuary.config.settings import SettingsOptions
from promptuary.engine import Promptuary
from promptuary.server.tokens import Token

_MAX_IDLE: Final = 200

_Key = tuple[str, Principal, frozenset[str] | None, tuple[str, ...], frozenset[str]]


class _Opened(Struct):
    """A workspace as a principal sees it, and how many requests use it now."""

    promptuary: Promptuary
    users: int = 0


class Workspaces:
    """The workspaces by name."""

    def __init__(
        self, folders: Mapping[str, Path], options: SettingsOptions | None = None, *, most_idle: int = _MAX_IDLE
    ) -> None:
        self.folders = dict(folders)
        self._options: SettingsOptions = options or {}
        self._most_idle = most_idle
        self._whole: dict[str, Promptuary] = {}
        self._parts: OrderedDict[_Key, _Opened] = OrderedDict()
        self._lock = asyncio.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.folders)

    @asynccontextmanager
    async def of(self, token: Token, name: str) -> AsyncIterator[Promptuary]:
        """Open a workspace for the principal of a token, limited to what the token may refer to."""
        key = (name, token.principal, token.kinds, token.folders, token.hosts)
        async with self._lock:
            opened = self._parts.get(key)
            if opened is None:
                whole = await self._open(name)
                part = await whole.acting_as(token.principal, access=token.access)
                opened = self._parts[key] = _Opened(part)
            opened.users += 1
            self._parts.move_to_end(key)
        try:
            yield opened.promptuary
        finally:
            opened.users -= 1
            await self._close_idle(self._most_idle)

    async def open_all(self) -> None:
        """Open every workspace. Raises ``PromptuaryError`` if one cannot be used."""
        for name in self.folders:
            async with self._lock:
                await self._open(name)

    async def warm_up(self) -> None:
        """Load what the first request would have to wait for: layers, indexes, a model for search by meaning."""
        for whole in list(self._whole.values()):
            await whole.threads.preview("warm up", thread=None)

    async def purge_recorded(self) -> None:
        """Remove recorded conversations that are older than the settings of their workspaces allow."""
        for whole in list(self._whole.values()):
            await whole.purge_recorded()

    @property
    def are_open(self) -> bool:
        """Whether every workspace is open."""
        return len(self._whole) == len(self.folders)

    def __len__(self) -> int:
        """Return how many principals have one open."""
        return len(self._parts)

    async def close(self) -> None:
        """Close everything."""
        await self._close_idle(0)
        for whole in self._whole.values():
            await whole.close()
        self._whole.clear()

    async def _open(self, name: str) -> Promptuary:
        if name not in self._whole:
            folder = self.folders[name]
            # Exactly this folder: a search upwards might find the home folder.
            self._whole[name] = await concurrency.run(
                lambda: Promptuary.open(folder, exact=True, served=True, **self._options)
            )
        return self._whole[name]

    async def _close_idle(self, most: int) -> None:
        if len(self._parts) <= most:  # as after nearly every request
            return
        async with self._lock:
            idle = [key for key, part in self._parts.items() if not part.users]
            for key in idle[: max(len(idle) - most, 0)]:
                await self._parts.pop(key).promptuary.close()
