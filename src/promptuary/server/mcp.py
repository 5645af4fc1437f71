"""MCP as an area of the server: each request acts as the principal of its token, in the workspace of its address.

The package of the protocol is an extra, and heavy: it is imported with the first request.
"""

import asyncio
from typing import TYPE_CHECKING

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.extras import check_mcp
from promptuary.server.asgi import Receive, Scope, Send
from promptuary.server.errors import Refusal
from promptuary.server.workspaces import Workspaces

if TYPE_CHECKING:
    from promptuary.server.mcp_sessions import McpSessions


class Mcp:
    """Answers clients of the protocol about the workspaces of a server."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._sessions: McpSessions | None = None
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await (await self._started())(scope, receive, send)

    async def _started(self) -> "McpSessions":
        async with self._starting:
            if self._sessions is None:
                try:
                    check_mcp()
                except PromptuaryError as error:
                    raise Refusal(501, str(error)) from error
                self._sessions = await concurrency.run(self._load)
                await self._sessions.start()
            return self._sessions

    def _load(self) -> "McpSessions":
        from promptuary.server.mcp_sessions import McpSessions  # noqa: PLC0415  (its package is an extra, and heavy)

        return McpSessions(self._workspaces)

    async def shutdown(self) -> None:
        """End every session."""
        if self._sessions is not None:
            await self._sessions.stop()
