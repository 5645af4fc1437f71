"""The least that a server can be with the protocol's package: what ``promptuary mcp`` starts with, whatever it does.

Run by ``bench.mcp``; answers one tool with a constant.
"""

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def tools(*_: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="answer", input_schema={"type": "object"})])


async def call(*_: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="42")])


async def main() -> None:
    server: Server[Any] = Server("bare", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
