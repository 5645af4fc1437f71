"""The server over standard input and output: one client, a message a line, each of bounded length."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from promptuary import concurrency
from promptuary.config.settings import SettingsOptions
from promptuary.machine import own_input
from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.transports.answering import answering_hooks
from promptuary.mcp.transports.messages import LARGEST, TOO_LARGE, error, refusal
from promptuary.mcp.workspaces import Workspaces


class BoundedLines:
    """The lines of standard input that are messages. Any other one is answered with an error, by ``outgoing``.

    The package of the protocol would pass them over, and a client would wait for its answer.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_first = True
        self.outgoing: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the lines."""
        while (read := await concurrency.run(self._read)) is not None:
            if isinstance(read, str):
                yield read
            else:
                await (await self.outgoing).send(SessionMessage(read))

    def _read(self) -> str | types.JSONRPCError | None:
        """Return the next line, or what it is answered with; ``None`` at the end."""
        while line := self._stream.readline(LARGEST):
            if len(line) == LARGEST and not line.endswith(b"\n"):
                while (rest := self._stream.readline(LARGEST)) and not rest.endswith(b"\n"):
                    pass
                return error(types.INVALID_REQUEST, TOO_LARGE)
            if line.strip():
                problem = refusal(line, first=self._is_first)
                self._is_first = self._is_first and problem is not None
                return problem or line.decode("utf-8", "replace")
        return None


async def serve(allowed: list[Path], options: SettingsOptions, *, chosen: bool) -> None:
    """Serve the client at standard input and output until it closes them."""
    server = PromptuaryServer(workspaces := Workspaces(allowed, options, chosen=chosen), one_client=True)
    source = own_input()
    try:
        lines = BoundedLines(source)
        async with answering_hooks(workspaces), stdio_server(stdin=cast("Any", lines)) as (incoming, outgoing):
            lines.outgoing.set_result(outgoing)
            await server.protocol.run(incoming, outgoing, server.protocol.create_initialization_options())
    finally:
        await server.close()


def run(allowed: list[Path], options: SettingsOptions, *, chosen: bool) -> None:
    """Serve until the client goes away. ``chosen``: the person named the folders, and did not merely start there."""
    asyncio.run(serve(allowed, options, chosen=chosen))
