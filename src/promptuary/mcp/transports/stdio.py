"""The server over standard input and output: one client, of which every line is answered."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from promptuary.base import concurrency
from promptuary.config.settings import SettingsOptions
from promptuary.hooks.hook_server import serve_hooks
from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.transports.messages import TOO_LARGE, error, refusal
from promptuary.mcp.transports.standard_streams import StandardStreams, TooLarge
from promptuary.mcp.workspaces import Workspaces


class MessageLines:
    """The lines of standard input that are valid messages. Any other line is answered with an error, by ``outgoing``.

    The MCP package would ignore them, and a client would wait for its answer.
    """

    def __init__(self, streams: StandardStreams) -> None:
        self._streams = streams
        self._is_first = True
        self.outgoing: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the valid lines."""
        while (read := await concurrency.run(self._read)) is not None:
            if isinstance(read, str):
                yield read
            else:
                await (await self.outgoing).send(SessionMessage(read))

    def _read(self) -> str | types.JSONRPCError | None:
        """Return the next line, or the error to answer it with; ``None`` at the end."""
        match self._streams.next_message():
            case None:
                return None
            case TooLarge():
                return error(types.INVALID_REQUEST, TOO_LARGE)
            case line:
                problem = refusal(line, first=self._is_first)
                self._is_first = self._is_first and problem is not None
                return problem or line.decode("utf-8", "replace")


async def serve(
    streams: StandardStreams, allowed: list[Path], options: SettingsOptions, *, chosen: bool, **offered: Any
) -> None:
    """Serve the client at standard input and output until it closes them."""
    server = PromptuaryServer(workspaces := Workspaces(allowed, options, chosen=chosen), one_client=True, **offered)
    try:
        lines = MessageLines(streams)
        ours = stdio_server(stdin=cast("Any", lines), stdout=cast("Any", streams))
        async with serve_hooks(workspaces.allowed), ours as (incoming, outgoing):
            lines.outgoing.set_result(outgoing)
            streams.no_longer_early()
            await server.protocol.run(incoming, outgoing, server.protocol.create_initialization_options())
    finally:
        await server.close()


def run(
    streams: StandardStreams, allowed: list[Path], options: SettingsOptions, *, chosen: bool, **offered: Any
) -> None:
    """Serve until the client disconnects. ``chosen``: the person named the folders, and did not only start there."""
    asyncio.run(serve(streams, allowed, options, chosen=chosen, **offered))
