"""The open workspaces of a server, and which of them a client may use.

A client whose model is used has its own workspaces, since code in them asks its model; all others share theirs.
Everything belongs to one principal: the person who started the server.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.config.settings import SettingsOptions, load
from promptuary.engine import Promptuary
from promptuary.mcp.client import Client, ClientModel
from promptuary.mcp.folders import is_wide, usable_folders

logger = logging.getLogger(__name__)

_MAX_OPEN: Final = 64
_CLIENT: Final = "the-client"
"""The name of the client's model in the settings."""
_RECALL_MILLISECONDS: Final = 8_000
"""How long the client's model may take to choose notes: a person's own model may be slow."""
_TOO_WIDE: Final = (
    "this server was started in {folder}, which is or contains your home folder, and the client names no roots, so no "
    "folder is used; start it with: promptuary mcp --workspace DIR"
)
_JOBS: Final = ("recall_model", "writeback_model", "experience_model", "file_reference_scoring_model")
"""The settings that name a model for a job."""


class UsableWorkspaces(Protocol):
    """What clients of a server may use: folders of the person who started it, or the workspaces of their tokens."""

    @property
    def is_open(self) -> bool: ...

    def are_known(self, client: Client) -> bool: ...

    def may_write(self, client: Client) -> bool: ...

    def use(self, client: Client, name: str = "") -> AbstractAsyncContextManager[Promptuary]: ...

    def around(self, path: str, client: Client) -> AbstractAsyncContextManager[tuple[Promptuary, str]]: ...

    async def leave(self, client_id: int) -> None: ...

    async def close(self) -> None: ...


class Workspaces:
    """Workspaces by folder, opened on first use. ``allowed`` are the folders that the person lets clients use.

    Unless the first of them was ``chosen``, it is the folder in which the server happened to be started: if that is the
    home folder or one around it, only roots of the client inside it are used.
    """

    def __init__(self, allowed: Sequence[Path], options: SettingsOptions, *, chosen: bool = True) -> None:
        self.allowed = list(allowed)
        self._too_wide = [] if chosen else [folder for folder in self.allowed[:1] if is_wide(folder)]
        # A client has servers of its own, and its model must not reach those of the person through us.
        self._options: SettingsOptions = {**options, "mcp": {}}
        self._open: dict[tuple[Path, int], Promptuary] = {}
        self._opening = asyncio.Lock()
        self._refused: set[str] = set()

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def are_known(self, client: Client) -> bool:
        """Return whether a client need not be asked for its roots."""
        return not client.has_roots or client.knows_roots

    def may_write(self, client: Client) -> bool:
        """Return whether a client may write: every client is the person's own."""
        del client
        return True

    @asynccontextmanager
    async def use(self, client: Client, name: str = "") -> AsyncIterator[Promptuary]:
        """Use the workspace that a client calls ``name``, a folder or the last part of one; without it, the first.

        Raises ``PromptuaryError`` if the client may use none, or none of that name.
        """
        yield await self._of(client, name)

    async def _of(self, client: Client, name: str) -> Promptuary:
        folders = await self.folders(client)
        if not name:
            return await self._open_folder(folders[0], client)
        matching = [folder for folder in folders if str(folder) == name.rstrip("/") or folder.name == name]
        if not matching:
            known = ", ".join(one_line(str(folder)) for folder in folders[:5])
            raise PromptuaryError(f"there is no workspace {one_line(name)[:80]}; there are: {known}")
        return await self._open_folder(matching[0], client)

    @asynccontextmanager
    async def around(self, path: str, client: Client) -> AsyncIterator[tuple[Promptuary, str]]:
        """Use the workspace with an absolute path in it, and the path relative to it; else the first, and the path.

        A path that starts with a slash and is in no workspace is relative to the first one.
        """
        folders = await self.folders(client)
        inside = [folder for folder in folders if path == str(folder) or path.startswith(f"{folder}/")]
        if not inside:
            yield await self._open_folder(folders[0], client), path.lstrip("/")
            return
        best = max(inside, key=lambda folder: len(folder.parts))
        yield await self._open_folder(best, client), path[len(str(best)) :].lstrip("/")

    async def folders(self, client: Client) -> list[Path]:
        """Return the folders that a client may use. Raises ``PromptuaryError`` if there are none."""
        roots = await client.roots()
        allowed = (
            self.allowed if roots is not None else [folder for folder in self.allowed if folder not in self._too_wide]
        )
        if not allowed:
            raise PromptuaryError(_TOO_WIDE.format(folder=one_line(str(self._too_wide[0]))))
        folders, refused = await concurrency.run(lambda: usable_folders(allowed, roots))
        for uri in refused:
            if uri not in self._refused and len(self._refused) < 100:
                self._refused.add(uri)
                logger.warning("the root %s is not used: it is not in a folder that this server is for", uri[:200])
        if not folders:
            raise PromptuaryError(
                "none of the client's roots is in a folder that this server was started for; "
                "promptuary mcp --root DIR adds one"
            )
        return folders

    async def _open_folder(self, folder: Path, client: Client) -> Promptuary:
        key = (folder, id(client) if client.has_model else 0)
        async with self._opening:
            if key not in self._open:
                if len(self._open) >= _MAX_OPEN:
                    raise PromptuaryError("too many workspaces are open; restart promptuary mcp")
                options = await concurrency.run(lambda: self._chosen(folder, client))
                self._open[key] = await concurrency.run(lambda: Promptuary.open(folder, exact=True, **options))
                for note in self._open[key].settings.warnings:
                    logger.warning("%s", one_line(note))
            return self._open[key]

    def _chosen(self, folder: Path, client: Client) -> SettingsOptions:
        """Return the options with the client's model for every job, unless the person has chosen models."""
        settings = load(folder, self._options) if client.has_model else None
        if settings is None or any(getattr(settings, name) for name in _JOBS):
            return self._options
        given: Any = {**self._options, **dict.fromkeys(_JOBS, _CLIENT), "models": {_CLIENT: ClientModel(client)}}
        if settings.origin("recall_timeout_ms") == "default":
            given["recall_timeout_ms"] = _RECALL_MILLISECONDS
        options: SettingsOptions = given
        return options

    async def close(self) -> None:
        for workspace in self._open.values():
            await workspace.close()
        self._open.clear()

    async def leave(self, client_id: int) -> None:
        """Close the workspaces of a client that has disconnected."""
        for key in [key for key in self._open if key[1] == client_id]:
            await self._open.pop(key).close()
