"""The connection to one server: opened at first use, kept, and opened again when it broke. Lives on one event loop.

Every wait has a limit, and every failure becomes a sentence that is remembered: for a while it answers everybody who
asks again, so that a server that does not start costs one wait and not one in each turn. What a server says about an
error is kept apart from our own words (``ServerSaidError``): it may be written for a model to read.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from mcp import Client
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    Implementation,
    PaginatedRequestParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
)
from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from promptuary._version import __version__
from promptuary.base.errors import PromptuaryError, ServerSaidError
from promptuary.base.text import beginning, one_line, valid_unicode
from promptuary.config.tool_servers import NamedServer
from promptuary.tool_servers.contents import ServerText, text_of_call, text_of_resource
from promptuary.tool_servers.definitions import Listing, usable_resources, usable_tools
from promptuary.tool_servers.transport import to_address, to_program

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

RETRY_SECONDS: Final = 30.0
"""How long a failure to start is remembered before the next use tries again."""
_FRESH_SECONDS: Final = 60.0
"""How long a list is used before it is asked for again."""
_MOST_START_SECONDS: Final = 120.0
"""How long a server may take to start, though no turn waits for it that long: some are downloaded first."""
_MOST_PAGES: Final = 20
_LONGEST_REASON: Final = 300

Phase = Literal["not started", "starting", "connected", "failed"]


class _Anything(BaseModel):
    """The object that a server sent, of which only what we use is looked at."""

    model_config = ConfigDict(extra="allow")


class ServerState(Struct, frozen=True):
    """What is known of a server without asking it: a ``reason`` if it failed, and what of its lists is not used."""

    name: str
    phase: Phase
    reason: str = ""
    left_out: tuple[str, ...] = ()


class Connection:
    """One server."""

    def __init__(self, server: NamedServer, workspace: Path, allow_hosts: frozenset[str]) -> None:
        self.server = server
        self._workspace, self._allow_hosts = workspace, allow_hosts
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[ClientSession] | None = None
        self._stop = asyncio.Event()
        self._phase: Phase = "not started"
        self._reason = ""
        self._retry_at = self._began = 0.0
        self._unlisted: dict[str, tuple[float, PromptuaryError]] = {}
        """Why a list could not be had, and until when nobody asks for it again."""
        self._lists: dict[str, tuple[float, Listing]] = {}

    @property
    def state(self) -> ServerState:
        """What is known of it."""
        left_out = tuple(reason for _, listing in self._lists.values() for reason in listing.left_out)
        return ServerState(self.server.name, self._phase, self._reason, left_out)

    def forgive(self) -> None:
        """Try again at the next use, whatever failed."""
        self._retry_at = 0.0
        self._unlisted.clear()

    async def tools(self) -> Listing:
        """Return its tools. Raises ``PromptuaryError``."""
        return await self._listed("tools", self._fetch_tools)

    async def resources(self) -> Listing:
        """Return its resources; none if it has no such thing. Raises ``PromptuaryError``."""
        return await self._listed("resources", self._fetch_resources)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ServerText:
        """Return the result of a tool. Raises ``PromptuaryError``."""
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        # Not by the package's own method: that checks the result by a schema of the server, however long it takes.
        answer = await self._ask(lambda session: session.send_request(request, _Anything), self.server.timeout)
        said = answer.model_extra or {}
        if said.get("resultType", "complete") != "complete":
            raise PromptuaryError(f"the server {self.server.name} asks for something more, which is not supported")
        return text_of_call(said)

    async def read(self, uri: str) -> ServerText:
        """Return a resource. Raises ``PromptuaryError``."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        answer = await self._ask(lambda session: session.send_request(request, _Anything), self.server.timeout)
        return text_of_resource(answer.model_extra or {})

    async def close(self) -> None:
        """End the connection, and the program."""
        self._stop.set()
        if self._task is not None:
            if self._phase == "starting":
                self._task.cancel()
            await asyncio.wait([self._task])

    # How it is asked

    async def _ask(self, work: Callable[[ClientSession], Awaitable[Result]], seconds: float) -> Result:
        """Return what ``work`` returns for the open session, within ``seconds`` once it is open."""
        name = self.server.name
        session = await self._session()
        try:
            async with asyncio.timeout(seconds):
                return await work(session)
        except TimeoutError:
            raise PromptuaryError(f"the server {name} gave no answer within {seconds:g} seconds") from None
        except MCPError as error:
            if self._phase != "connected":
                raise self._refusal() from error
            said = beginning(valid_unicode(str(error.error.message)), _LONGEST_REASON)
            raise ServerSaidError(f"the server {name} answers with an error ({error.error.code})", said) from error
        except (PromptuaryError, asyncio.CancelledError):
            raise
        except Exception as error:
            logger.debug("the server %s answers outside of the protocol", name, exc_info=True)
            if self._phase != "connected":
                raise self._refusal() from error
            raise PromptuaryError(
                f"the server {name} gave an answer that cannot be used ({type(error).__name__})"
            ) from error

    async def _session(self) -> ClientSession:
        """Return the open session; wait for one that is being opened for as long as a turn waits for a server."""
        if self._stop.is_set():
            raise PromptuaryError("the workspace is closed")
        if self._phase == "failed" and self._task is not None:
            await asyncio.wait([self._task], timeout=self.server.start_timeout)  # its program is being stopped
        if self._task is None or self._task.done():
            if time.monotonic() < self._retry_at:
                raise self._refusal()
            self._begin()
        if self._ready is None:
            raise AssertionError("a connection that has begun is going to be ready")
        seconds = self.server.start_timeout
        try:
            # Who comes later does not wait as long again.
            async with asyncio.timeout_at(self._began + seconds):
                return await asyncio.shield(self._ready)
        except TimeoutError:  # it goes on starting, and may be there in the next turn
            raise PromptuaryError(
                f"the server {self.server.name} did not start within {seconds:g} seconds; it may be ready later"
            ) from None

    def _refusal(self) -> PromptuaryError:
        return PromptuaryError(f"the server {self.server.name} is not available: {self._reason or 'it has ended'}")

    # How it is opened and kept

    def _begin(self) -> None:
        self._phase, self._reason = "starting", ""
        self._began = asyncio.get_running_loop().time()
        self._lists.clear()
        self._ready = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())  # nobody may wait for it
        self._task = asyncio.ensure_future(self._keep_open(self._ready))

    async def _keep_open(self, ready: "asyncio.Future[ClientSession]") -> None:
        """Open the connection, and keep it until it breaks or is closed. Never raises."""
        broken, began = asyncio.Event(), time.monotonic()
        try:
            server = self.server.filled_in(os.environ, str(self._workspace))
            transport = self._transport(server, lambda reason: self._fail(reason, broken))
            info = Implementation(name="promptuary", version=__version__)
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(_MOST_START_SECONDS):
                    client = await stack.enter_async_context(
                        Client(transport, client_info=info, cache=None, message_handler=self._noticed)
                    )
                if not broken.is_set():
                    self._phase = "connected"
                    ready.set_result(client.session)
                ended = [asyncio.ensure_future(one.wait()) for one in (broken, self._stop)]
                await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
                for one in ended:
                    one.cancel()
        except asyncio.CancelledError:
            self._fail("it was stopped", broken)
        except BaseException as error:
            self._fail(_in_words(error), broken)
            logger.debug("the connection to %s failed", self.server.name, exc_info=True)
        if self._stop.is_set():
            self._phase = "not started"
        elif not ready.done() or time.monotonic() - began < RETRY_SECONDS:
            self._retry_at = time.monotonic() + RETRY_SECONDS
        if not ready.done():
            ready.set_exception(self._refusal())

    def _transport(self, server: NamedServer, failed: Callable[[str], object]) -> AbstractAsyncContextManager[Any]:
        if server.command:
            return to_program(server, self._workspace, failed)
        return to_address(server, self._allow_hosts, failed)

    def _fail(self, reason: str, broken: asyncio.Event) -> None:
        """Remember why the connection broke; the first reason is the cause of the others."""
        if self._phase != "failed" and not self._stop.is_set():
            self._phase, self._reason = "failed", beginning(one_line(reason), _LONGEST_REASON)
        broken.set()

    async def _noticed(self, message: object) -> None:
        """Forget a list when the server says that it has changed."""
        method = str(getattr(getattr(message, "root", message), "method", ""))
        for name in ("tools", "resources"):
            if method == f"notifications/{name}/list_changed":
                self._lists.pop(name, None)

    # What it lists

    async def _listed(self, name: str, fetch: Callable[[ClientSession], Awaitable[Listing]]) -> Listing:
        known = self._lists.get(name)
        if known is not None and self._phase == "connected" and time.monotonic() - known[0] < _FRESH_SECONDS:
            return known[1]
        retry_at, refusal = self._unlisted.get(name, (0.0, None))
        if refusal is not None and time.monotonic() < retry_at:
            raise PromptuaryError(str(refusal))
        try:
            found = await self._ask(fetch, self.server.start_timeout)
        except PromptuaryError as error:
            if self._phase == "connected":
                self._unlisted[name] = (time.monotonic() + RETRY_SECONDS, error)
            raise
        self._lists[name] = (time.monotonic(), found)
        return found

    async def _fetch_tools(self, session: ClientSession) -> Listing:
        capabilities = session.server_capabilities
        if capabilities is None or capabilities.tools is None:
            return Listing()
        said: list[Mapping[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            said += [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                break
        return usable_tools(self.server, said)

    async def _fetch_resources(self, session: ClientSession) -> Listing:
        capabilities = session.server_capabilities
        if capabilities is None or capabilities.resources is None:
            return Listing()
        said: list[Mapping[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await session.list_resources(params=PaginatedRequestParams(cursor=cursor))
            said += [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in page.resources]
            if (cursor := page.next_cursor) is None:
                break
        return usable_resources(said)


def _in_words(error: BaseException) -> str:
    """Return the cause of a failure in a few words."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, PromptuaryError):
        return str(error)
    if isinstance(error, MCPError):
        return f"it refuses the connection: {error.error.message}"
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
