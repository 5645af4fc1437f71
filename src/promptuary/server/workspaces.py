"""The served workspaces by name, as the principal of a token sees them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from promptuary.config.settings import SettingsOptions
from promptuary.engine import Promptuary
from promptuary.server.tokens import Token
from promptuary.workspace_cache import MOST_IDLE, WorkspaceCache


class Workspaces:
    """The workspaces by name."""

    def __init__(
        self, folders: Mapping[str, Path], options: SettingsOptions | None = None, *, most_idle: int = MOST_IDLE
    ) -> None:
        self.folders = dict(folders)
        self._options: SettingsOptions = options or {}
        self._cache = WorkspaceCache(most_idle=most_idle)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.folders)

    @asynccontextmanager
    async def of(self, token: Token, name: str) -> AsyncIterator[Promptuary]:
        """Open a workspace for the principal of a token, limited to what the token may refer to."""
        rights = (name, token.kinds, token.folders, token.hosts)
        async with self._cache.acting_as(token.principal, token.access, rights, partial(self._open, name)) as opened:
            yield opened

    async def open_all(self) -> None:
        """Open every workspace. Raises ``PromptuaryError`` if one cannot be used."""
        for name in self.folders:
            await self._open(name)

    async def warm_up(self) -> None:
        """Load what the first request would have to wait for: layers, indexes, a model for search by meaning."""
        for whole in self._cache.wholes:
            await whole.threads.preview("warm up", thread=None)

    async def purge_recorded(self) -> None:
        """Remove recorded conversations that are older than the settings of their workspaces allow."""
        for whole in self._cache.wholes:
            await whole.purge_recorded()

    @property
    def are_open(self) -> bool:
        """Whether every workspace is open."""
        return len(self._cache.wholes) == len(self.folders)

    def __len__(self) -> int:
        """Return how many principals have one open."""
        return len(self._cache)

    async def close(self) -> None:
        """Close everything."""
        await self._cache.close()

    async def _open(self, name: str) -> Promptuary:
        # Exactly this folder: a search upwards might find the home folder.
        return await self._cache.whole(
            name, lambda: Promptuary.open(self.folders[name], exact=True, served=True, **self._options)
        )
