"""Clients of the protocol's own package for tests of the MCP server: over standard streams, HTTP, or in the process."""

import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from promptuary.mcp.server import PromptuaryServer
from promptuary.mcp.workspaces import Workspaces
from tests.programs import PROMPTUARY, impatient

Mode = Literal["auto", "legacy"]
MODES: Sequence[Mode] = ("auto", "legacy")
"""The two eras of the protocol."""


@asynccontextmanager
async def over_stdio(workspace: Path, mode: Mode, *arguments: str, **callbacks: Any) -> AsyncIterator[Client]:
    """Start ``promptuary mcp`` as a client does, and talk to it."""
    parameters = StdioServerParameters(
        command=PROMPTUARY[0],
        args=[*PROMPTUARY[1:], "mcp", "--embedder", "none", *arguments],
        cwd=str(workspace),
        env=dict(os.environ),
    )
    async with Client(stdio_client(parameters), mode=mode, **callbacks) as client:
        yield client


class HttpServer(NamedTuple):
    """A server that listens: where, and with which token."""

    url: str
    token: str


@contextmanager
def http_server(workspace: Path, *arguments: str, token_seconds: float | None = None) -> Iterator[HttpServer]:
    """Start ``promptuary mcp --http`` on any port, and end it afterwards.

    ``token_seconds``: how long a newcomer may take to show the token, where that is not the program's own patience.
    """
    limits = {} if token_seconds is None else {"promptuary.mcp.transports.http._TOKEN_SECONDS": token_seconds}
    command = [*(impatient(limits) if limits else PROMPTUARY), "mcp", "--http", "0", "--embedder", "none", *arguments]
    with subprocess.Popen(command, cwd=workspace, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline() + process.stderr.readline()
            url, file = re.search(r"http://\S+", said), re.search(r"(/\S+)$", said)
            assert url is not None, said
            assert file is not None, said
            yield HttpServer(url[0], Path(file[1]).read_text(encoding="utf-8").strip())
        finally:
            process.terminate()
            process.wait(20)


@asynccontextmanager
async def over_http(server: HttpServer, mode: Mode, **callbacks: Any) -> AsyncIterator[Client]:
    """Connect to a server that listens."""
    headers = {"authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode, **callbacks) as client,
    ):
        yield client


@asynccontextmanager
async def in_process(*allowed: Path, mode: Mode = "auto", **callbacks: Any) -> AsyncIterator[Client]:
    """Talk to a server in this process, without a transport."""
    server = PromptuaryServer(Workspaces([*allowed], {"embedder": "none"}), one_client=True, resources=True)
    try:
        async with Client(server.protocol, mode=mode, **callbacks) as client:
            yield client
    finally:
        await server.close()


def text_of(result: Any) -> str:
    """Return the text that a tool answered with."""
    (content,) = result.content
    return str(content.text)
