"""The sessions of MCP clients on a server. Each belongs to one token and one workspace, and is unknown to any other.

What a client says about itself widens nothing: its roots and its model are not asked for.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.engine import Promptuary
from promptuary.mcp.client import Client
from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.transports.http import MessageFilter, receive_again, session_manager
from promptuary.mcp.transports.standard_streams import MAX_BYTES
from promptuary.server.asgi import Headers, Receive, Scope, Send, read_body, values
from promptuary.server.tokens import Token
from promptuary.server.workspaces import Workspaces

MAX_OF_TOKEN: Final = 32
"""The most sessions of one token; one more ends the one that was not used for the longest time."""
_SESSION: Final = MCP_SESSION_ID_HEADER.encode().lower()


class TokenWorkspaces:
    """The workspace of a request, as the principal of its token sees it."""

    is_open = True

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def are_known(self, client: Client) -> bool:
        """Return that a client is asked for no roots."""
        del client
        return True

    def may_write(self, client: Client) -> bool:
        """Return whether the token of a client has the scope for that."""
        return "write" in _token(client.request.scope).scopes

    @asynccontextmanager
    async def use(self, client: Client, name: str = "") -> AsyncIterator[Promptuary]:
        """Use the workspace in the address of a request. Raises ``PromptuaryError`` if ``name`` is another one."""
        scope: Scope = client.request.scope
        served = scope["promptuary.request"].workspace
        if name not in {"", served}:
            raise PromptuaryError(
                f"there is no workspace {one_line(name)[:80]} at this address; it is that of {served}"
            )
        async with self._workspaces.of(_token(scope), served) as workspace:
            yield workspace

    @asynccontextmanager
    async def around(self, path: str, client: Client) -> AsyncIterator[tuple[Promptuary, str]]:
        """Use the same workspace, in which every path is."""
        async with self.use(client) as workspace:
            yield workspace, path.lstrip("/")

    async def leave(self, client_id: int) -> None:
        """Do nothing: a client has nothing open between its requests."""

    async def close(self) -> None:
        """Do nothing: the workspaces are the server's."""


class McpSessions:
    """Answers requests, each in the session that it names and that its token has begun."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._of_tokens: dict[str, OrderedDict[str, AuthenticatedUser]] = {}
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to answer."""
        server = PromptuaryServer(TokenWorkspaces(self._workspaces), one_client=False)
        self._manager = session_manager(server)
        self._answer = MessageFilter(self._manager.handle_request)
        started = asyncio.Event()

        async def run() -> None:  # one task begins and ends it, as the package wants
            async with self._manager.run():
                started.set()
                await self._stopping.wait()
            await server.close()

        self._running = asyncio.create_task(run())
        await started.wait()

    async def stop(self) -> None:
        """End every session."""
        self._stopping.set()
        if self._running is not None:
            await self._running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        token = _token(scope)
        if scope["method"] == "POST":
            body = await read_body(scope, receive, most=MAX_BYTES)
            receive = receive_again([{"type": "http.request", "body": body, "more_body": False}], receive)
        # The package binds a session to the user that begins it, and answers any other with 404.
        owner = f"{token.id} {scope['promptuary.request'].workspace}"
        scope["user"] = user = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        sessions = self._of_tokens.setdefault(token.id, OrderedDict())
        begun: list[str] = []

        async def send_on(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                begun.extend(_session_ids(message["headers"]))
            await send(message)

        for session in _session_ids(scope["headers"]):
            if session in sessions:
                sessions.move_to_end(session)
        await self._answer(scope, receive, send_on)
        for session in begun:
            if scope["method"] == "DELETE":
                sessions.pop(session, None)
            elif session not in sessions:
                sessions[session] = user
        while len(sessions) > MAX_OF_TOKEN:
            await self._end(scope, *sessions.popitem(last=False))

    async def _end(self, scope: Scope, session: str, user: AuthenticatedUser) -> None:
        """End a session as its client would."""
        headers = [(name, value) for name, value in scope["headers"] if name not in {_SESSION, b"content-length"}]
        asked = {**scope, "method": "DELETE", "headers": [*headers, (_SESSION, session.encode())], "user": user}

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def drop(_: MutableMapping[str, Any]) -> None:
            pass

        await self._manager.handle_request(asked, receive, drop)


def _token(scope: Scope) -> Token:
    token: Token = scope["promptuary.token"]
    return token


def _session_ids(headers: Headers) -> list[str]:
    return [value.decode("latin-1") for value in values(headers, _SESSION)]
