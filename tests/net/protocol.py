"""Every answer of ``promptuary mcp`` over standard streams: lists, tools with good and bad arguments, completions."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.net.plain import Plain
from tests.net.world import World, next_second

_VERSIONS = ("2025-06-18", "2024-11-05", "1999-01-01")


class Client:
    """A client that writes each answer to a file of its own."""

    def __init__(self, world: World, folder: Path, plain: Plain, *arguments: str) -> None:
        self._folder, self._plain, self._number = folder, plain, 0
        folder.mkdir(parents=True)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "promptuary", "mcp", *arguments],
            cwd=world.work,
            env=world.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._errors: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        self._errors.extend(self._process.stderr)

    def send(self, message: dict[str, Any] | str) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request, write its answer, and return it."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(request)
        said, answer = [], None
        assert self._process.stdout is not None
        while answer is None:
            line = self._process.stdout.readline()
            if not line:
                break
            message = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                answer = message
            else:
                said.append(message)
                if "id" in message and "method" in message:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
        about = "-".join(re.findall(r"[a-z0-9]+", f"{method} {params.get('name', '')}".lower()))
        parts = [json.dumps(request, indent=1, ensure_ascii=False)]
        parts += [json.dumps(one, indent=1, ensure_ascii=False) for one in (*said, answer)]
        text = "\n-----\n".join(parts) + "\n"
        for content in ((answer or {}).get("result") or {}).get("content", ()):
            text += f"----- as text\n{content.get('text', '')}\n"
        (self._folder / f"{self._number:03}-{about}.txt").write_text(self._plain(text), encoding="utf-8")
        return (answer or {}).get("result")

    def close(self) -> None:
        """End it, and write what it said on the side."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait(60)
        text = f"exit code {code}\n{''.join(self._errors)}"
        (self._folder / "999-end.txt").write_text(self._plain(text), encoding="utf-8")


def _start(client: Client, version: str = _VERSIONS[0], **able: Any) -> None:
    client.ask("initialize", protocolVersion=version, capabilities=able, clientInfo={"name": "net", "version": "1"})
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def record_protocol(world: World, folder: Path, plain: Plain) -> None:
    """Talk to the server: all of it, then what differs with other flags and versions."""
    client = Client(world, folder / "usual", plain, "--resources")
    _start(client)
    _lists(client)
    _tools(client, world)
    _prompts(client)
    _resources(client)
    _completions(client)
    _mistakes(client)
    client.close()
    for name, arguments in (("plain", ()), ("with-hooks", ("--with-hooks",))):
        client = Client(world, folder / name, plain, *arguments)
        _start(client)
        _lists(client)
        client.close()
    for version in _VERSIONS:
        client = Client(world, folder / f"version-{version}", plain)
        _start(client, version)
        client.ask("ping")
        client.close()


def _lists(client: Client) -> None:
    for method in ("ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        client.ask(method)


def _tools(client: Client, world: World) -> None:
    def call(name: str, **arguments: Any) -> Any:
        return client.ask("tools/call", name=name, arguments=arguments)

    for text in ("hello", "See @file:README.md and @diff", "@file:absent.py @file:.env", "@symbol:App.run @git:1", ""):
        call("expand_references", text=text)
    call("expand_references", text="See @file:docs/deploy.md", thread="talk")
    call("expand_references", text="And now?", thread="talk", reply="On Fridays. I prefer Mondays.")
    call("expand_references", text="Again", reply="Nobody waits for this.")
    call("expand_references", text=7)
    call("expand_references")
    call("expand_references", text="x", more=1)
    call("expand_references", text="x", workspace="/absent")
    call("expand_references", text="@file:picture.png @file:paper.pdf")
    for arguments in ({"query": "deploy"}, {"query": "names", "limit": 1, "paths": ["docs/*"]}, {"query": "zebra"}):
        call("search_files", **arguments)
    call("search_files", query="")
    call("search_files", query="x", limit=0)
    call("search_files", query="x", limit="many")
    next_second()
    call("write_memory", type="project", title="Deploying", content="We deploy on Fridays, never before noon.")
    next_second()
    call("write_memory", type="user", title="Town", content="Lives in Berlin.", tags=["place"], context="It matters.")
    call("write_memory", type="feedback", title="Tabs", content="Use tabs.", audience="shared")
    call("write_memory", type="odd", title="x", content="x")
    call("write_memory", type="project", title="x")
    call("write_memory", type="project", title="Key", content="sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    call("write_memory", type="project", title="x", content="y", memory_id="000000000000")
    written = sorted((world.work / ".promptuary/memory").rglob("deploying*.md"))
    if written:
        key = written[0].stem.rpartition("-")[2]
        next_second()
        call("write_memory", type="project", title="Deploying", content="We deploy on Mondays.", memory_id=key)
        call("search_recall_memories", memory_id=key)
        call("search_recall_memories", relative_path=str(written[0].relative_to(world.work / ".promptuary/memory")))
    call("search_recall_memories", query="when do we deploy?")
    call("search_recall_memories", query="zebra")
    call("search_recall_memories")
    call("search_recall_memories", query="x", memory_id="y")
    next_second()
    call("record_experience", type="task_solution", intent="deploy the site", solution="make deploy", tags=["deploy"])
    next_second()
    call(
        "record_experience", type="error_recovery", intent="build", solution="again", problem="disk", outcome="failure"
    )
    call("record_experience", type="odd", intent="x", solution="y")
    call("find_experiences", query="how do I deploy the site?")
    call("find_experiences", query="zebra", limit=2)
    call("find_experiences")
    call("track_file", path="docs/style.md", thread="talk")
    call("track_file", path="docs/style.md", thread="talk")
    call("track_file", path="absent.md", thread="talk")
    call("track_file", path=".env")
    call("expand_references", text="What is tracked, and when do we deploy?", thread="talk", reply="Something.")
    call("track_file", path="docs/style.md", thread="talk", stop=True)
    call("explain_turn", thread="talk")
    call("explain_turn", thread="talk", turn=1)
    call("explain_turn", thread="talk", turn=99)
    call("explain_turn", thread="absent")
    call("explain_turn", turn="one")
    call("absent_tool", x=1)
    client.ask("tools/call", name="search_files")
    client.ask("tools/call", arguments={})


def _prompts(client: Client) -> None:
    for name, arguments in (
        ("with_context", {"message": "Look at @file:README.md", "refs": "@diff @file:docs/style.md"}),
        ("with_context", {}),
        ("review_changes", {}),
        ("review_changes", {"base": "main~1", "focus": "names"}),
        ("review_changes", {"base": "zzz"}),
        ("absent", {}),
    ):
        client.ask("prompts/get", name=name, arguments=arguments)


def _resources(client: Client) -> None:
    for uri in ("file:///README.md", "file:///absent.md", "file:///.env", "file:///etc/passwd", "file:///picture.png",
                "memory://absent", "session://absent", "odd://x", "file:///odd/empty.txt"):  # fmt: skip
        client.ask("resources/read", uri=uri)
    listed = client.ask("resources/list") or {}
    for one in listed.get("resources", ())[:4]:
        client.ask("resources/read", uri=one["uri"])


def _completions(client: Client) -> None:
    for value in ("@file:ap", "@", "see #do", "nothing"):
        ref = {"type": "ref/prompt", "name": "with_context"}
        client.ask("completion/complete", ref=ref, argument={"name": "message", "value": value})
        client.ask("completion/complete", ref=ref, argument={"name": "refs", "value": value})
    ref = {"type": "ref/prompt", "name": "review_changes"}
    client.ask("completion/complete", ref=ref, argument={"name": "base", "value": "ma"})
    for uri, name in (("file:///{+path}", "path"), ("memory://{+path}", "path"), ("session://{name}", "name")):
        ref = {"type": "ref/resource", "uri": uri}
        client.ask("completion/complete", ref=ref, argument={"name": name, "value": "d"})
    client.ask("completion/complete", ref={"type": "ref/prompt", "name": "absent"}, argument={"name": "x", "value": ""})


def _mistakes(client: Client) -> None:
    client.ask("absent/method")
    client.ask("tools/list", cursor="absent")
    client.ask("logging/setLevel", level="debug")
    client.ask("initialize")
    client.send("{broken")
    client.send('{"jsonrpc": "2.0", "method": "notifications/absent"}')
    client.ask("ping")
