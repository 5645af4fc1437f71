"""The MCP server: cold start beside other servers, 64 calls at once, and memory after 10,000 calls.

Peers: ``basic-memory mcp`` if ``PROMPTUARY_BENCH_BASIC_MEMORY`` is the Python of an environment with basic-memory, and
the official filesystem server if ``PROMPTUARY_BENCH_FILESYSTEM`` is its program (``mcp-server-filesystem`` of npm). A
bare server of the protocol's package shows how much of the start is its import.
"""

import asyncio
import os
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench.report import Row, report

ROUNDS = 5
AT_ONCE = 64
CALLS = int(os.environ.get("PROMPTUARY_BENCH_CALLS", "10000"))
PROMPTUARY = str(Path(sys.executable).with_name("promptuary"))
BARE = str(Path(__file__).with_name("bare_mcp_server.py"))
FILESYSTEM, BASIC_MEMORY = "PROMPTUARY_BENCH_FILESYSTEM", "PROMPTUARY_BENCH_BASIC_MEMORY"


def main() -> None:
    with TemporaryDirectory() as folder:
        workspace = Path(folder) / "site"
        workspace.mkdir()
        (workspace / "a.md").write_text("# Style\n\nBe brief. We deploy on Fridays.\n")
        by_words = {"PROMPTUARY_EMBEDDER": "none", "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"}
        environment = {"HOME": folder, "PATH": os.environ["PATH"], **by_words}
        report(
            "From the start of a server to its first answer (least of several runs)", _starts(workspace, environment)
        )
        report(
            f"{AT_ONCE} calls at once, and {CALLS:,} one after the other", asyncio.run(_calls(workspace, environment))
        )


def _starts(workspace: Path, environment: dict[str, str]) -> list[Row]:
    servers: dict[str, tuple[list[str], str, dict[str, Any]]] = {
        "promptuary mcp": ([PROMPTUARY, "mcp"], "expand_references", {"text": "@file:a.md"}),
        "a bare server of the protocol's package": ([sys.executable, "-P", BARE], "answer", {}),
    }
    if program := os.environ.get(FILESYSTEM):
        arguments = {"path": str(workspace / "a.md")}
        servers["server-filesystem"] = ([program, str(workspace)], "read_text_file", arguments)
    if python := os.environ.get(BASIC_MEMORY):
        servers["basic-memory mcp"] = ([str(Path(python).with_name("basic-memory")), "mcp"], "list_memory_projects", {})
    rows: list[Row] = []
    least = 0.0
    for name, (command, tool, arguments) in servers.items():
        taken = [asyncio.run(_first_answer(command, tool, arguments, workspace, environment)) for _ in range(ROUNDS)]
        tools, wall, cpu = (min(one[number] for one in taken) for number in range(3))
        least = least or wall
        rows += [Row(name, wall, "ms", wall / least), Row("  to its list of tools", tools, "ms")]
        rows.append(Row("  CPU time of it", cpu, "ms"))
    missing = [name for name in (FILESYSTEM, BASIC_MEMORY) if not os.environ.get(name)]
    for name in missing:
        print(f"  ({name} is not set: that server is left out)")
    return rows


async def _first_answer(
    command: Sequence[str], tool: str, arguments: dict[str, Any], workspace: Path, environment: dict[str, str]
) -> tuple[float, float, float]:
    """Return how long it took to the list of tools, to the first answer of one, and the CPU time of all."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], cwd=str(workspace), env=environment)
    with open(os.devnull, "w") as nothing:  # noqa: ASYNC230, PTH123
        async with Client(stdio_client(parameters, errlog=nothing), mode="legacy") as client:
            await client.list_tools()
            tools = time.perf_counter() - began
            result = await client.call_tool(tool, arguments)
            wall = time.perf_counter() - began
            assert not result.is_error, result
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return tools * 1_000, wall * 1_000, (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1_000


async def _calls(workspace: Path, environment: dict[str, str]) -> list[Row]:
    parameters = StdioServerParameters(command=PROMPTUARY, args=["mcp"], cwd=str(workspace), env=environment)
    async with Client(stdio_client(parameters), mode="legacy") as client:
        one = {"text": "@file:a.md"}
        await client.call_tool("expand_references", one)
        before = _memory(workspace)
        began = time.perf_counter()
        results = await asyncio.gather(*(client.call_tool("expand_references", one) for _ in range(AT_ONCE)))
        together = (time.perf_counter() - began) * 1_000
        assert not any(result.is_error for result in results)
        taken: list[float] = []
        marks: list[float] = []
        for number in range(CALLS):
            began = time.perf_counter()
            await client.call_tool("expand_references", one)
            taken.append((time.perf_counter() - began) * 1_000)
            if number % max(1, CALLS // 10) == CALLS // 10 - 1:
                marks.append(_memory(workspace))
        return [
            Row(f"{AT_ONCE} calls at once, all answered", together, "ms"),
            Row("one call, median", statistics.median(taken), "ms"),
            Row("one call, 99th of 100", sorted(taken)[int(len(taken) * 0.99)], "ms"),
            Row("memory after the first call", before, "MB"),
            Row(f"memory after {CALLS // 10:,} calls", marks[0], "MB", marks[0] / marks[0]),
            Row(f"memory after {CALLS:,} calls", marks[-1], "MB", marks[-1] / marks[0]),
        ]


def _memory(workspace: Path) -> float:
    """Return the resident memory of the server that works in ``workspace``, in megabytes."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if str((entry / "cwd").readlink()) != str(workspace) or b"mcp" not in (entry / "cmdline").read_bytes():
                    continue
                status = (entry / "status").read_text()
            except OSError:
                continue
            return int(status.partition("VmRSS:")[2].split()[0]) / 1_024
    raise AssertionError("the server is gone")
