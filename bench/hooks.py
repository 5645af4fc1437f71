"""How long an agent waits for a hook: with nobody to ask, and while ``promptuary mcp`` runs; wall clock and CPU time.

The limits are 350 ms and 150 ms. Least of several runs, since other programs on the machine only make it slower.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench.report import Row, report

ROUNDS = 9
COLD, HOT = 350.0, 150.0
PROMPTUARY = str(Path(sys.executable).with_name("promptuary"))
NOTES = 50


def main() -> None:
    with TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "site"
        workspace.mkdir()
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
        _remember(workspace, environment)
        rows = _rows("cold", lambda event, told: hook(event, told, workspace, environment), COLD)
        rows += asyncio.run(_beside_a_server(workspace, environment))
    report("A hook, as an agent waits for it (least of several runs; ratio to the limit)", rows)


def _remember(workspace: Path, environment: dict[str, str]) -> None:
    program = (
        "from promptuary.blocking import Promptuary\n"
        "with Promptuary.open('.', exact=True) as p:\n"
        f"    for n in range({NOTES}):\n"
        "        p.memory.write(f'Fact {n}: we deploy part {n} on Fridays.', title=f'Fact {n}', kind='project')\n"
        "        p.experiences.add('task_solution', f'deploy part {n}', f'make deploy-{n}')\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=workspace, env=environment, check=True)


async def _beside_a_server(workspace: Path, environment: dict[str, str]) -> list[Row]:
    parameters = StdioServerParameters(command=PROMPTUARY, args=["mcp"], cwd=str(workspace), env=environment)
    async with Client(stdio_client(parameters)):
        hook("UserPromptSubmit", "warm", workspace, environment)
        return await asyncio.to_thread(
            _rows, "while mcp runs", lambda event, told: hook(event, told, workspace, environment), HOT
        )


def _rows(how: str, run: Callable[[str, str], tuple[float, float]], limit: float) -> list[Row]:
    rows = []
    prompts = {
        "UserPromptSubmit": "When do we deploy part 7?",
        "UserPromptSubmit with @diff": "When do we deploy part 7? See @diff",
        "SessionStart": "",
        "Stop": "",
    }
    for name, prompt in prompts.items():
        taken = [run(name.split()[0], prompt) for _ in range(ROUNDS)]
        wall, cpu = min(one[0] for one in taken), min(one[1] for one in taken)
        rows.append(Row(f"{name}, {how} (at most {limit:.0f} ms)", wall, "ms", wall / limit))
        rows.append(Row("  CPU time of it", cpu, "ms"))
    return rows


def hook(event: str, prompt: str, workspace: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run a hook; return how long it took, and its CPU time, in milliseconds."""
    told = json.dumps({"cwd": str(workspace), "prompt": prompt, "session_id": "s"}).encode()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [PROMPTUARY, "hook", "claude-code", event], input=told, env=environment, check=True, capture_output=True
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall * 1_000, cpu * 1_000
