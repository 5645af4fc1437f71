"""The open workspaces of a gateway: each is opened once, and limited for each conversation to what it may see.

Workspaces in use stay open; of the idle ones only the last few do, so that a thousand chats do not need a thousand
open databases.
"""

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from promptuary.base.errors import ConfigError
from promptuary.base.principals import Principal
from promptuary.base.references import format_reference
from promptuary.config.gateways import ChatRules
from promptuary.engine import Promptuary
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.people import chat_access

_MAX_IDLE: Final = 32

_Key = tuple[Principal, ChatRules]


class _Opened(Struct):
    """A workspace as a principal sees it, and how many conversations use it now."""

    promptuary: Promptuary
    users: int = 0


class OpenWorkspaces:
    """The workspaces of the chats, opened when they are needed."""

    def __init__(self, inbox: AsyncInbox, *, most_idle: int = _MAX_IDLE) -> None:
        self._place, self._most_idle = inbox.place, most_idle
        self._whole: dict[tuple[str, int], Promptuary] = {}
        self._parts: OrderedDict[_Key, _Opened] = OrderedDict()
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def of(self, principal: Principal, rules: ChatRules) -> AsyncIterator[Promptuary]:
        """Open the workspace of a chat for a principal, limited to what the rules let them refer to."""
        key = (principal, rules)
        async with self._lock:
            opened = self._parts.get(key)
            if opened is None:
                whole = await self._open(rules)
                opened = self._parts[key] = _Opened(await whole.acting_as(principal, access=chat_access(rules)))
            opened.users += 1
            self._parts.move_to_end(key)
        try:
            yield opened.promptuary
        finally:
            opened.users -= 1
            await self._close_idle(self._most_idle)

    async def check(self, rules: ChatRules) -> None:
        """Raise ``ConfigError`` if the workspace of a chat, or one of its folders, cannot be used."""
        async with self._lock:
            try:
                whole = await self._open(rules)
            except ConfigError as error:
                raise ConfigError(f"{error} Create or repair it, or name another workspace.") from error
        for folder in filter(None, rules.folders):
            (outcome,) = (await whole.expand(format_reference("folder", folder))).outcomes
            if outcome.code is not None:
                raise ConfigError(f"{folder!r} is not a folder of {rules.workspace}: create it, or correct folders")

    async def close(self) -> None:
        await self._close_idle(0)
        for whole in self._whole.values():
            await whole.close()
        self._whole.clear()

    async def _open(self, rules: ChatRules) -> Promptuary:
        folder = os.path.expanduser(rules.workspace) if rules.workspace else str(self._place)  # noqa: ASYNC240, PTH111
        key = (folder, rules.max_file_size)
        if key not in self._whole:
            # Exactly this folder: a search upwards might find the home folder.
            self._whole[key] = Promptuary.open(folder, exact=True, max_file_size=rules.max_file_size)
        return self._whole[key]

    async def _close_idle(self, most: int) -> None:
        async with self._lock:
            idle = [key for key, one in self._parts.items() if not one.users]
            for key in idle[: max(len(idle) - most, 0)]:
                await self._parts.pop(key).promptuary.close()
