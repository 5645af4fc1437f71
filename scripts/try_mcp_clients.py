"""Tries ``promptuary mcp`` with clients of others: an older version of the protocol's package, and the inspector.

    python scripts/try_mcp_clients.py --python PATH/TO/python --inspector PATH/TO/mcp-inspector

The Python is that of an environment with ``mcp<2``; the inspector is ``@modelcontextprotocol/inspector`` of npm (0.15
runs with Node 20). Everything happens in a temporary home. ``docs/decisions/2026-11-17-clients.md`` has the output.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROMPTUARY = str(Path(sys.executable).with_name("promptuary"))
METHODS = [
    ["--method", "tools/call", "--tool-name", "expand_references", "--tool-arg", "text=Look at @file:a.md"],
    ["--method", "resources/read", "--uri", "file:///a.md"],
    ["--method", "resources/templates/list"],
    ["--method", "prompts/get", "--prompt-name", "with_context", "--prompt-args", "message=See @file:a.md"],
]


def main() -> None:
    """Try what was given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="a Python with mcp<2")
    parser.add_argument("--inspector", help="the program mcp-inspector")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "PROMPTUARY_EMBEDDER": "none"}
        workspace = Path(folder) / "site"
        workspace.mkdir()
        (workspace / "a.md").write_text("# Style\n\nBe brief. We deploy on Fridays.\n")
        if options.python:
            _old_client(options.python, workspace)
        if options.inspector:
            _inspector(options.inspector, workspace)


def _old_client(python: str, workspace: Path) -> None:
    command = [PROMPTUARY, "mcp", "--http", "0"]
    with subprocess.Popen(command, cwd=workspace, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = re.search(r"http://\S+", server.stderr.readline())
        token = Path(server.stderr.readline().split()[-1]).read_text().strip()
        script = str(Path(__file__).with_name("old_mcp_client.py"))
        try:
            subprocess.run(
                [python, script, str(workspace), url[0] if url else "", token, PROMPTUARY, "mcp"], check=True
            )
        finally:
            server.terminate()


def _inspector(program: str, workspace: Path) -> None:
    for method in METHODS:
        done = subprocess.run(
            [program, "--cli", PROMPTUARY, "mcp", *method], cwd=workspace, capture_output=True, text=True, check=False
        )
        print(f"mcp-inspector --cli promptuary mcp {' '.join(method)}: exit code {done.returncode}")
        print("".join(f"   {line}\n" for line in done.stdout.splitlines()[:12]) or done.stderr)


if __name__ == "__main__":
    main()
