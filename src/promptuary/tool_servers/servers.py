"""All servers of the person, for the threads of the program: one place that opens, keeps and closes connections.

Nothing is started before it is used, and what is listed for a turn is asked of all servers at once: who is late is left
out of that turn. The package of the protocol, an extra and heavy, is imported by the thread of the connections.
"""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptuary.base import concurrency
from promptuary.base.errors import CLOSED, PromptuaryError
from promptuary.base.extras import check_mcp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from promptuary.config.tool_servers import NamedServer
    from promptuary.tool_servers.connection import Connection, ServerState
    from promptuary.tool_servers.contents import ServerText
    from promptuary.tool_servers.definitions import Listing, ServerResource, ServerTool

Result = TypeVar("Result")

_CLOSING_SECONDS: Final = 5.0


class ToolServers:
    """The servers that the person configured. May be used from several threads; methods block unless they await."""

    def __init__(self, servers: Sequence[NamedServer], workspace: Path, allow_hosts: Sequence[str] = ()) -> None:
        self._servers = {one.name: one for one in servers}
        self._workspace, self._allow_hosts = workspace, frozenset(allow_hosts)
        self._lock = threading.Lock()
        self._loop: _Loop | None = None
        self._connections: dict[str, Connection] = {}
        self._closed = False

    @property
    def names(self) -> Sequence[str]:
        """The names of all servers."""
        return tuple(self._servers)

    def named(self, name: str) -> NamedServer:
        """Return the server called ``name``. Raises ``PromptuaryError``, which says which there are."""
        if name not in self._servers:
            there = ", ".join(self._servers) or "none; see [mcp.NAME] in docs/configuration.md"
            raise PromptuaryError(f"no server is called {name[:60]!r}; there is {there}")
        return self._servers[name]

    def states(self) -> Sequence[ServerState]:
        """Return what is known of each server that was used."""
        return [one.state for one in tuple(self._connections.values())]

    def offered(self) -> tuple[Sequence[ServerTool], Sequence[str]]:
        """Return the tools of all servers that are ready in time, and a sentence for each that is not."""
        with_tools = [one.name for one in self._servers.values() if one.tools]
        if not with_tools:
            return (), ()
        try:
            found = self._run(lambda: self._offered(with_tools))
        except PromptuaryError as error:  # without the package of the protocol, the rest of a turn goes on
            return (), [str(error)]
        tools = [
            tool
            for listing in found.values()
            if not isinstance(listing, str)
            for tool in listing.tools
            if tool.server.tools
        ]
        failed = [listing for listing in found.values() if isinstance(listing, str)]
        return tools, failed

    def listing(self, name: str, *, resources: bool = False) -> Listing:
        """Return the tools, or the resources, of a server. Raises ``PromptuaryError``."""
        self.named(name)

        async def ask() -> Listing:
            connection = self._connection(name)
            return await (connection.resources() if resources else connection.tools())

        return self._run(ask)

    def resources(self, name: str) -> Sequence[ServerResource]:
        """Return the resources of a server for a menu; none if it is not available."""
        try:
            return self.listing(name, resources=True).resources
        except PromptuaryError:
            return ()

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any]) -> ServerText:
        """Return the result of a tool. Raises ``PromptuaryError``."""
        import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

        return await asyncio.wrap_future(
            self._submit(lambda: self._connection(tool.server.name).call(tool.name, arguments))
        )

    def read(self, name: str, value: str) -> ServerText:
        """Return what ``@name:value`` means: a resource by its URI or name, or what the tool for it answers."""
        server = self.named(name)
        return self._run(lambda: self._called(server, value) if server.reference else self._read(server, value))

    def forgive(self, name: str) -> None:
        """Try a server again at the next use, whatever failed."""
        self.named(name)

        async def forgive() -> None:
            self._connection(name).forgive()

        self._run(forgive)

    def close(self) -> None:
        """Close all connections, and end the programs."""
        with self._lock:
            self._closed, loop, self._loop = True, self._loop, None
        if loop is None:
            return
        closing = loop.submit(self._close_all())
        with suppress(TimeoutError, CancelledError):  # what hangs is left to the daemon thread
            closing.result(_CLOSING_SECONDS)
        loop.end()

    # On the event loop

    def _connection(self, name: str) -> Connection:
        from promptuary.tool_servers.connection import Connection  # noqa: PLC0415  (an extra, and heavy)

        found = self._connections.get(name)
        if found is None:
            found = self._connections[name] = Connection(self._servers[name], self._workspace, self._allow_hosts)
        return found

    async def _offered(self, names: Sequence[str]) -> dict[str, Listing | str]:
        import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

        async def ask(name: str) -> Listing | str:
            try:
                return await self._connection(name).tools()
            except PromptuaryError as error:
                return str(error)

        return dict(zip(names, await asyncio.gather(*map(ask, names)), strict=True))

    async def _read(self, server: NamedServer, value: str) -> ServerText:
        connection = self._connection(server.name)
        if ":" in value:
            return await connection.read(value)
        listed = (await connection.resources()).resources
        uris = [one.uri for one in listed if value in {one.name, one.uri}]
        if not uris:
            # Their names are the server's words, which are not for an error that a model reads.
            raise PromptuaryError(
                f"the server {server.name} has no resource called {value[:80]!r}; "
                f"`promptuary mcp resources {server.name}` lists them"
            )
        return await connection.read(uris[0])

    async def _called(self, server: NamedServer, value: str) -> ServerText:
        connection = self._connection(server.name)
        tool = next((one for one in (await connection.tools()).tools if one.name == server.reference), None)
        if tool is None:
            raise PromptuaryError(f"the server {server.name} has no tool {server.reference}, which its reference calls")
        if not tool.argument:
            raise PromptuaryError(f"the tool {server.reference} does not take one text, so no reference can call it")
        return await connection.call(tool.name, {tool.argument: value})

    async def _close_all(self) -> None:
        import asyncio  # noqa: PLC0415  (loaded already where this is awaited)

        await asyncio.gather(*(one.close() for one in self._connections.values()))

    # From other threads

    def _run(self, work: Callable[[], Awaitable[Result]]) -> Result:
        future = self._submit(work)
        try:
            return future.result()
        except CancelledError as error:
            raise PromptuaryError(CLOSED) from error
        finally:
            future.cancel()

    def _submit(self, work: Callable[[], Awaitable[Result]]) -> Future[Result]:
        async def begun() -> Result:
            return await work()

        check_mcp()
        with self._lock:
            if self._closed:
                raise PromptuaryError(CLOSED)
            if self._loop is None:
                self._loop = _Loop()
            return self._loop.submit(begun())


class _Loop:
    """The event loop of the connections, in a daemon thread."""

    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415  (most programs have no server)

        self._asyncio, self._loop = asyncio, asyncio.new_event_loop()
        self._thread = concurrency.start_daemon(self._loop.run_forever, name="promptuary-mcp")

    def submit(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start ``work``."""
        return self._asyncio.run_coroutine_threadsafe(work, self._loop)

    def end(self) -> None:
        """Stop, and wait for the thread, but not for what hangs in it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()
