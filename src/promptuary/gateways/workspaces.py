"""The workspaces of the chats of a gateway, each limited for a conversation to what that may see."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from promptuary.base.errors import ConfigError
from promptuary.base.principals import Principal
from promptuary.base.references import format_reference
from promptuary.config.gateways import ChatRules
from promptuary.engine import Promptuary
from promptuary.gateways.inbox import AsyncInbox
from promptuary.gateways.people import chat_access
from promptuary.workspace_cache import WorkspaceCache


class OpenWorkspaces:
    """The workspaces of the chats, opened when they are needed."""

    def __init__(self, inbox: AsyncInbox) -> None:
        self._place, self._cache = inbox.place, WorkspaceCache()

    @asynccontextmanager
    async def of(self, principal: Principal, rules: ChatRules) -> AsyncIterator[Promptuary]:
        """Open the workspace of a chat for a principal, limited to what the rules let them refer to."""
        access = chat_access(rules)
        async with self._cache.acting_as(principal, access, rules, partial(self._open, rules)) as opened:
            yield opened

    async def check(self, rules: ChatRules) -> None:
        """Raise ``ConfigError`` if the workspace of a chat, or one of its folders, cannot be used."""
        try:
            whole = await self._open(rules)
        except ConfigError as error:
            raise ConfigError(f"{error} Create or repair it, or name another workspace.") from error
        for folder in filter(None, rules.folders):
            (outcome,) = (await whole.expand(format_reference("folder", folder))).outcomes
            if outcome.code is not None:
                raise ConfigError(f"{folder!r} is not a folder of {rules.workspace}: create it, or correct folders")

    async def close(self) -> None:
        await self._cache.close()

    async def _open(self, rules: ChatRules) -> Promptuary:
        folder = os.path.expanduser(rules.workspace) if rules.workspace else str(self._place)  # noqa: ASYNC240, PTH111
        size = rules.max_file_size
        # Exactly this folder: a search upwards might find the home folder.
        return await self._cache.whole((folder, size), lambda: Promptuary.open(folder, exact=True, max_file_size=size))
