"""The server over standard input and output: one client, a message a line, each of bounded length."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from mcp.server.stdio import stdio_server

from promptuary import concurrency
from promptuary.config.settings import SettingsOptions
from promptuary.machine import own_input
from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.transports.answering import answering_hooks
from promptuary.mcp.workspaces import Workspaces

LONGEST_LINE: Final = 4 << 20
"""Bytes of a message; as much as the protocol's package takes over HTTP."""
_TOO_LONG: Final = "too long\n"


class BoundedLines:
    """The lines of standard input. One that is too long is replaced by one that is no JSON, which gets an error."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the lines."""
        while line := await concurrency.run(self._read):
            yield line

    def _read(self) -> str:
        line = self._stream.readline(LONGEST_LINE)
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            return line.decode("utf-8", "replace")
        while (rest := self._stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        return _TOO_LONG


async def serve(allowed: list[Path], options: SettingsOptions) -> None:
    """Serve the client at standard input and output until it closes them."""
    server = PromptuaryServer(workspaces := Workspaces(allowed, options), one_client=True)
    source = own_input()
    try:
        lines = cast("Any", BoundedLines(source))
        async with answering_hooks(workspaces), stdio_server(stdin=lines) as (incoming, outgoing):
            await server.protocol.run(incoming, outgoing, server.protocol.create_initialization_options())
    finally:
        await server.close()


def run(allowed: list[Path], options: SettingsOptions) -> None:
    """Serve until the client goes away."""
    asyncio.run(serve(allowed, options))
