"""A client of version 1 of the protocol's package against ``promptuary mcp``: run by ``try_mcp_clients.py``."""

import asyncio
import sys
from importlib.metadata import version
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def model(_: Any, params: Any) -> types.CreateMessageResult:
    """Answer what the server asks our model."""
    print(f"   (asked for sampling: {params.systemPrompt[:60]!r} …)")
    answer = types.TextContent(type="text", text='{"decisions": [], "experiences": []}')
    return types.CreateMessageResult(role="assistant", content=answer, model="scripted")


async def talk(session: ClientSession) -> None:
    """Use everything once."""
    greeting = await session.initialize()
    print(f"   protocol {greeting.protocolVersion}, server {greeting.serverInfo.name}")
    print("   tools:", ", ".join(one.name for one in (await session.list_tools()).tools))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("expand_references", {"text": "Look at @file:a.md"}),
        ("expand_references", {"text": "We decided to use Postgres.", "thread": "t"}),
        ("expand_references", {"text": "Go on", "thread": "t", "reply": "Noted."}),
        ("search_files", {"query": "deploy"}),
        ("write_memory", {"type": "project", "title": "Port", "content": "The port is 8080."}),
        ("search_recall_memories", {"query": "which port"}),
        ("record_experience", {"type": "task_solution", "intent": "build docs", "solution": "make docs"}),
        ("find_experiences", {"query": "build docs"}),
        ("track_file", {"path": "a.md", "thread": "t"}),
        ("explain_turn", {"thread": "t"}),
    ]
    for name, arguments in calls:
        result = await session.call_tool(name, arguments)
        assert not result.isError, result
        print(f"   {name}: {result.content[0].text[:70]!r}")
    held = await session.read_resource("file:///a.md")
    print(f"   file:///a.md: {held.contents[0].text[:40]!r}")
    prompt = await session.get_prompt("with_context", {"message": "See @file:a.md"})
    print(f"   with_context: {prompt.messages[0].content.text[:40]!r}")
    template = types.ResourceTemplateReference(type="ref/resource", uri="file:///{+path}")
    found = await session.complete(template, {"name": "path", "value": "a"})
    print(f"   completion of 'a': {found.completion.values}")


async def main(command: list[str], workspace: str, url: str, token: str) -> None:
    """Talk over both transports."""
    print(f"mcp {version('mcp')} over standard streams")
    parameters = StdioServerParameters(command=command[0], args=command[1:], cwd=workspace)
    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(read, write, sampling_callback=model) as session,
    ):
        await talk(session)
    print(f"mcp {version('mcp')} over HTTP")
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        streamablehttp_client(url, headers=headers) as (read, write, _),
        ClientSession(read, write, sampling_callback=model) as session,
    ):
        await talk(session)


asyncio.run(main(sys.argv[4:], *sys.argv[1:4]))
