"""The server: answers requests of the protocol with tools, resources, prompts and completions.

It uses the low-level server of the MCP package, which sends our tool descriptions byte for byte, and calls one function
for each method. Every failure becomes an answer; nothing that a client sends ends the server.
"""

import asyncio
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from promptuary.base.errors import PromptuaryError
from promptuary.base.text import one_line
from promptuary.mcp import completions, prompts, resources
from promptuary.mcp.client import Client, Context
from promptuary.mcp.description import (
    INSTRUCTIONS,
    OFFERED,
    PROMPTS,
    SERVER,
    PromptDescription,
    list_answer,
    prompt_list,
    template_list,
)
from promptuary.mcp.elicitation import PausedCalls
from promptuary.mcp.resources import ListedResource
from promptuary.mcp.tools import CALLS, READING, ToolAnswer, ToolRequest, changes_something, check_arguments
from promptuary.mcp.workspaces import UsableWorkspaces

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_NOT_FOUND: Final = -32002
"""The protocol's code for a missing resource."""
_REPORT_EVERY: Final = 0.1
_LIST_SECONDS: Final = 0.25
"""How long the first list of resources may take: clients wait for it before their model begins."""


class _Protocol(Server[Any]):
    """The package's server, which says that the list of resources may change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *others: Any, **more: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(options, *others, **more)


class PromptuaryServer:
    """A server for ``workspaces``. ``one_client``: all requests are from the same client (standard streams).

    ``resources``: notes, sessions and files are offered as resources, too. ``tools`` are the names of those that it
    offers.
    """

    def __init__(
        self,
        workspaces: UsableWorkspaces,
        *,
        one_client: bool,
        resources: bool = False,
        tools: Collection[str] = tuple(OFFERED),
    ) -> None:
        self._workspaces, self._tools = workspaces, tools
        self._paused = PausedCalls()
        self._only = Client(lasting=True) if one_client else None
        self._clients: dict[int, Client] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._listing: set[asyncio.Task[list[ListedResource]]] = set()
        offered: dict[str, Any] = {
            "on_list_resources": self._list_resources,
            "on_list_resource_templates": self._list_templates,
            "on_read_resource": self._read_resource,
        }
        self.protocol: Server[Any] = _Protocol(
            SERVER["name"],
            version=SERVER["version"],
            title=SERVER["title"],
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            **(offered if resources else {}),
        )
        self.protocol.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self._roots_changed
        )

    async def close(self) -> None:
        """Cancel the waiting calls, and close the workspaces."""
        self._paused.close()
        for task in self._listing:
            task.cancel()
        await asyncio.gather(*self._listing, return_exceptions=True)
        await self._workspaces.close()

    def _client(self, context: Context) -> Client:
        client = self._only or self._of_session(context)
        client.meet(context)
        return client

    def _of_session(self, context: Context) -> Client:
        """Return the client of an HTTP session; a request without a session (protocol of 2026) gets a new client."""
        session = context.session.client_params
        if session is None or not context.session.can_send_request:
            return Client(lasting=False)
        if id(session) not in self._clients:
            self._clients[id(session)] = Client(lasting=True)
            weakref.finalize(session, self._left, id(session), asyncio.get_running_loop())
        return self._clients[id(session)]

    def _left(self, session: int, loop: asyncio.AbstractEventLoop) -> None:
        client = self._clients.pop(session, None)
        if client is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._close_for, id(client))

    def _close_for(self, client: int) -> None:
        task = asyncio.ensure_future(self._workspaces.leave(client))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _roots_changed(self, context: Context, _: types.NotificationParams) -> None:
        self._client(context).forget_roots()

    async def _interactive(
        self, context: Context, params: Any, work: Callable[[Client], Awaitable[Result]]
    ) -> Result | types.InputRequiredResult:
        """Run the work of a call that may ask the client something."""
        client = self._client(context)
        return await self._paused.run(
            client, lambda: work(client), state=params.request_state, answers=params.input_responses
        )

    async def _list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        client = self._client(context)
        usable = [name for name in self._tools if name in READING or self._workspaces.may_write(client)]
        return types.ListToolsResult.model_validate(list_answer("tools/list", usable), by_name=False)

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in self._tools:
            raise MCPError(code=types.INVALID_PARAMS, message=_no_such("tool", params.name, self._tools))
        return await self._interactive(context, params, lambda client: self._run_tool(context, client, params))

    async def _run_tool(
        self, context: Context, client: Client, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        stopped = threading.Event()
        try:
            given = check_arguments(params.name, params.arguments or {})
            self._check_scope(client, params.name, given)
            async with self._workspaces.use(client, given.pop("workspace", "")) as workspace:
                request = ToolRequest(params.name, workspace, given, Progress(context), stopped)
                answer = await CALLS[params.name](request)
        except PromptuaryError as error:
            answer = ToolAnswer(str(error), is_error=True)
        except MCPError:
            raise
        except Exception:  # the outermost loop: one call must not end the server
            logger.exception("the tool %s failed", params.name)
            answer = ToolAnswer("the tool failed; the log of promptuary mcp says why", is_error=True)
        finally:
            stopped.set()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=_sendable(answer.text))], is_error=answer.is_error
        )

    def _check_scope(self, client: Client, tool: str, given: Mapping[str, Any]) -> None:
        if changes_something(tool, given) and not self._workspaces.may_write(client):
            raise PromptuaryError("this token only reads: a token with the scope write is needed for this")

    async def _list_resources(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return the resources; none yet if the workspace has to be opened first: then the client is told later."""
        nothing: list[ListedResource] = []
        task = asyncio.ensure_future(self._quietly(context, self._find_resources, nothing))
        self._listing.add(task)
        client = self._client(context)
        is_ready = self._workspaces.is_open and self._workspaces.are_known(client)
        await asyncio.wait({task}, timeout=None if is_ready else _LIST_SECONDS)
        found = task.result() if task.done() else nothing
        if task.done():
            self._listing.discard(task)
        else:
            task.add_done_callback(lambda done: self._tell_listed(context, done))
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=resource.uri,
                    name=resource.name,
                    description=resource.description or None,
                    mime_type=resource.mime_type,
                )
                for resource in found
            ]
        )

    def _tell_listed(self, context: Context, task: "asyncio.Task[list[ListedResource]]") -> None:
        self._listing.discard(task)
        if not task.cancelled() and task.exception() is None and task.result():
            telling = asyncio.ensure_future(self._send_listed(context))
            self._leaving.add(telling)
            telling.add_done_callback(self._leaving.discard)

    async def _send_listed(self, context: Context) -> None:
        with suppress(Exception):  # the client has left; the package has many errors for that
            await context.session.send_resource_list_changed()

    async def _find_resources(self, client: Client) -> list[ListedResource]:
        async with self._workspaces.use(client) as workspace:
            return await resources.list_resources(workspace)

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate(template_list(), by_name=False)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        return await self._interactive(context, params, lambda client: self._read(client, params.uri))

    async def _read(self, client: Client, uri: str) -> types.ReadResourceResult:
        try:
            found = await resources.read(uri, self._workspaces, client)
        except resources.NoResourceError:
            raise MCPError(code=_NOT_FOUND, message="there is no such resource") from None
        except PromptuaryError as error:  # no folder can be used, whatever is asked for
            raise MCPError(code=_NOT_FOUND, message=str(error)) from None
        held = types.TextResourceContents(uri=uri, mime_type=found.mime_type, text=_sendable(found.text))
        return types.ReadResourceResult(contents=[held])

    async def _list_prompts(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        nothing: dict[str, PromptDescription] = {}
        found = await self._quietly(context, self._find_prompts, nothing)
        return types.ListPromptsResult.model_validate(prompt_list(found), by_name=False)

    async def _find_prompts(self, client: Client) -> dict[str, PromptDescription]:
        async with self._workspaces.use(client) as workspace:
            return await prompts.named_prompts(workspace)

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        return await self._interactive(context, params, lambda client: self._prompt_result(client, params))

    async def _prompt_result(self, client: Client, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        try:
            async with self._workspaces.use(client) as workspace:
                named = {} if params.name in PROMPTS else await prompts.named_prompts(workspace)
                known = {**named, **PROMPTS}
                _check_known(params.name, known)
                text = await prompts.prompt_text(params.name, params.arguments or {}, workspace)
        except PromptuaryError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=_sendable(text)))
        return types.GetPromptResult(description=known[params.name].description, messages=[said])

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        nothing: list[str] = []
        found = await self._quietly(context, lambda client: self._find_completions(client, params), nothing)
        values = [_sendable(value) for value in found]
        return types.CompleteResult(completion=types.Completion(values=values[: completions.MAX_VALUES]))

    async def _find_completions(self, client: Client, params: types.CompleteRequestParams) -> list[str]:
        name, typed = params.argument.name, params.argument.value
        async with self._workspaces.use(client) as workspace:
            if isinstance(params.ref, types.PromptReference):
                return await completions.complete_prompt(params.ref.name, name, typed, workspace)
            return await completions.complete_template(params.ref.uri, name, typed, workspace)

    async def _quietly(
        self, context: Context, work: Callable[[Client], Awaitable[Result]], otherwise: Result
    ) -> Result:
        """Return the result of ``work``; ``otherwise`` if there is no workspace, or the client cannot be asked for it.

        For lists and menus: in the protocol of 2026 the answer to these cannot contain questions.
        """
        client = self._client(context)
        if client.is_modern and not self._workspaces.are_known(client):
            return otherwise
        try:
            return await work(client)
        except PromptuaryError as error:
            logger.info("%s", one_line(str(error)))
            return otherwise


class Progress:
    """Reports progress to the client that asked for it, from any thread, at a limited rate."""

    def __init__(self, context: Context) -> None:
        self._context, self._loop = context, asyncio.get_running_loop()
        self._last = 0.0

    def __call__(self, done: int, total: int, said: str) -> None:
        """Send the amount done and the total."""
        now = self._loop.time()
        if now - self._last >= _REPORT_EVERY or done == total:
            self._last = now
            asyncio.run_coroutine_threadsafe(
                self._context.session.report_progress(float(done), float(total), said), self._loop
            )


def _check_known(name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise PromptuaryError(_no_such("prompt", name, known))


def _no_such(what: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {what} {one_line(name)[:80]}; there are: {', '.join(known)}"


def _sendable(text: str) -> str:
    """Return ``text`` without characters that UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
