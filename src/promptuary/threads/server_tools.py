"""The tools of MCP servers that the person configured, as tools for runs.

Their results are inside a boundary that they cannot forge, like pages from the web, and take a part of the window.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptuary.base import concurrency
from promptuary.base.blocks import Block, Omitted
from promptuary.base.budget import water_fill
from promptuary.base.errors import PromptuaryError, ServerSaidError
from promptuary.base.text import one_line
from promptuary.config.tool_servers import SEPARATOR
from promptuary.context.receipt_entries import cost_of_tool
from promptuary.references.expand import RankedSource, fit
from promptuary.references.kinds.server import external
from promptuary.threads.consent import ToolConsent
from promptuary.threads.run_values import Tool
from promptuary.tool_servers.contents import ServerText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptuary.app import App
    from promptuary.base.budget import TokenCounter
    from promptuary.tool_servers.definitions import ServerTool
    from promptuary.tool_servers.servers import ToolServers

RESULT_SHARE: Final = 4
"""The most that the result of a tool takes, as a part of the window."""
_DESCRIPTION_SHARE: Final = 8
"""The most that the descriptions of tools of other servers take together, as a part of the window."""
_LATE: Final = 5.0
"""Seconds beyond the limit of a server after which a call is given up even if the server's own limit did not end it."""


class ServerTools:
    """The tools of other servers, for the runs of one principal."""

    def __init__(self, app: App, servers: ToolServers) -> None:
        self._app, self._servers = app, servers

    def all(self) -> Sequence[Tool]:
        """Return the tools of the servers that are ready in time; the others become notes. Blocks."""
        found, failed = self._servers.offered()
        for sentence in failed:
            self._app.note(f"{sentence}; its tools are not offered")
        return [self._tool(one) for one in found]

    def _tool(self, one: ServerTool) -> Tool:
        server = one.server
        about = one_line(f"It is of the MCP server {server.name}: {server.target}")[:500]
        consent = ToolConsent(one.spec.name, one.digest, about)
        seconds = server.start_timeout + server.timeout + _LATE
        return Tool(one.spec, partial(self._call, one), writes=True, timeout=seconds, consent=consent)

    async def _call(self, one: ServerTool, given: Mapping[str, Any]) -> str:
        window = self._app.settings.effective_window // RESULT_SHARE
        limit = min(one.server.result_tokens or window, window)
        try:
            answer = await self._servers.call(one, given)
        except ServerSaidError as error:
            said = await self._shown(ServerText(error.said), f"{one.spec.name}: error", limit)
            raise PromptuaryError(f"{error}\n\n{said}") from error
        text = await self._shown(answer, f"result of {one.spec.name}", limit)
        if answer.is_error:
            raise PromptuaryError(f"the tool reports an error\n\n{text}")
        return text

    async def _shown(self, answer: ServerText, label: str, limit: int) -> str:
        """Return what a server said inside a boundary, in as much detail as fits into ``limit`` tokens."""

        def show() -> str:
            source = external(answer, label, self._app.workspace.access)
            (block,) = fit([RankedSource(source)], limit, self._app.counter)
            return block.text if isinstance(block, Block) else "there is no room for it"

        return await concurrency.run(show)


def fitting(
    tools: Sequence[Tool], window: int, counter: TokenCounter, *, uses_tools: bool
) -> tuple[Sequence[Tool], Sequence[Omitted]]:
    """Return the tools that are described to a model, and which of other servers are not: ours come first.

    Those of others are left out if they take too much of the window together, or if the model calls no tools.
    """
    others = {tool.name: cost_of_tool(tool.spec, counter) for tool in tools if tool.consent is not None and uses_tools}
    wanted: dict[str, int] = {}
    for name, cost in others.items():
        wanted[_server_of(name)] = wanted.get(_server_of(name), 0) + cost
    # A server with many tools must not push out those of another.
    shares = water_fill(list(wanted.values()), window // _DESCRIPTION_SHARE)
    left = dict(zip(wanted, shares, strict=True))
    kept, out = list[Tool](), list[Omitted]()
    for tool in tools:
        cost = others.get(tool.name, 0)
        if tool.consent is None:
            kept.append(tool)
        elif not uses_tools:
            out.append(Omitted(tool.name, "the model calls no tools"))
        elif cost > left[_server_of(tool.name)]:
            reason = f"the descriptions of other servers' tools get 1/{_DESCRIPTION_SHARE} of the window"
            out.append(Omitted(tool.name, f"{reason}; name those you want in tools = […] of [mcp.NAME]", tokens=cost))
        else:
            kept.append(tool)
            left[_server_of(tool.name)] -= cost
    return kept, out


def _server_of(tool: str) -> str:
    return tool.partition(SEPARATOR)[0]
