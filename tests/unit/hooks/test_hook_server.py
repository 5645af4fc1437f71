"""What a running server answers the hooks of coding agents."""

import asyncio
from pathlib import Path
from typing import Any

from promptuary.blocking import Promptuary
from promptuary.hooks.hook_server import HookServer
from tests.conftest import Files

SECRET = "The launch code is 4711."


def answered(server_of: Path, cwd: Path, *, exact: bool = False) -> dict[str, Any]:
    """Return what the server of a folder answers to an agent that runs in ``cwd``."""
    told = {"cwd": str(cwd), "session_id": "", "prompt": "What is the launch code?"}

    async def ask() -> dict[str, Any]:
        server = HookServer(server_of)
        try:
            return await server._answer({"agent": "claude-code", "when": "prompt", "told": told, "exact": exact})
        finally:
            await server.close()

    return asyncio.run(ask())


def test_an_agent_in_another_workspace_is_told_nothing_of_this_one(files: Files, tmp_path: Path) -> None:
    project = files({"a.md": "A.", "src/b.md": "B.", "vendor/promptuary.toml": "", "vendor/c.md": "C."})
    with Promptuary.open(project, exact=True, embedder="none") as promptuary:
        promptuary.memory.write(SECRET, kind="project")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "promptuary.toml").touch()

    assert SECRET in answered(project, project)["context"]
    for cwd in (elsewhere, project / "vendor"):
        assert answered(project, cwd) == {"error": "another workspace"}
    assert answered(project, project / "src", exact=True) == {"error": "another workspace"}
