"""Tries the hooks and the MCP server in the real programs: Claude Code, Codex and Gemini, with a model on loopback.

They are too large for ``make test`` (hundreds of megabytes). Get them from the registries, and run

    python scripts/try_hooks.py --claude PATH/TO/claude --codex PATH/TO/codex --gemini PATH/TO/gemini

The binary of Claude Code is in the wheel of ``claude-agent-sdk`` (``_bundled/claude``); Codex and Gemini are the npm
packages ``@openai/codex`` and ``@google/gemini-cli``. Everything happens in a temporary home; nothing leaves the
machine. ``docs/decisions/2026-11-17-clients.md`` has the output.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

PROMPT = "When do we deploy the site? See @diff"
FACT = "never before noon"
REPLY = "On Fridays, after noon."


class Model(BaseHTTPRequestHandler):
    """Answers every model with one sentence, by the protocol of its vendor, and keeps what it was asked."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            request = json.loads(body)
        except ValueError:
            request = {}
        self.asked.append(request)
        if "count_tokens" in self.path or "countTokens" in self.path:
            self._json({"input_tokens": 100, "totalTokens": 100})
        elif "streamGenerateContent" in self.path:
            self._events(f"data: {json.dumps(gemini_answer())}\r\n\r\n")
        elif "generateContent" in self.path:
            self._json(gemini_answer())
        elif self.path.startswith("/v1/messages"):
            self._stream(anthropic_events(), request)
        elif self.path.startswith("/v1/responses"):
            self._stream(openai_events(), request)
        else:
            self._json({})

    def do_GET(self) -> None:
        """Answer what else is looked for."""
        self._json({"data": [], "models": []})

    def _json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[dict[str, Any]], request: dict[str, Any]) -> None:
        if not request.get("stream"):
            self._json(
                {
                    **events[0].get("message", {}),
                    "content": [{"type": "text", "text": REPLY}],
                    "stop_reason": "end_turn",
                }
            )
            return
        self._events("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events))

    def _events(self, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def anthropic_events() -> list[dict[str, Any]]:
    """Return the events of an answer of Anthropic's API."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": usage}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def openai_events() -> list[dict[str, Any]]:
    """Return the events of an answer of OpenAI's API."""
    part = {"type": "output_text", "text": REPLY, "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details}
    response = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0, "delta": REPLY},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]


def gemini_answer() -> dict[str, Any]:
    """Return an answer of Google's API."""
    content = {"role": "model", "parts": [{"text": REPLY}]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def run(command: list[str], home: Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the temporary home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = {**kept, "HOME": str(home), "PROMPTUARY_EMBEDDER": "none", **more}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        stdin=subprocess.DEVNULL,
    )


def prepared(folder: Path) -> tuple[Path, Path]:
    """Return a home, and a workspace in it with a note and a change that is not committed."""
    home, workspace = folder / "home", folder / "home" / "site"
    workspace.mkdir(parents=True)
    (workspace / "app.py").write_text("print('one')\n")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Begin"],
    ):
        run(["git", *words], home, workspace)
    (workspace / "app.py").write_text("print('two')\n")
    note = ["memory", "write", "--title", "Deploying", "--kind", "project", f"We deploy on Fridays, {FACT}."]
    done = run([*promptuary(), *note], home, workspace)
    assert done.returncode == 0, done.stderr
    return home, workspace


def promptuary() -> list[str]:
    """Return the command of this installation."""
    return [str(Path(sys.executable).with_name("promptuary"))]


def report(name: str, done: subprocess.CompletedProcess[str], home: Path) -> None:
    """Print what the model was sent, and what was learnt."""
    sent = [json.dumps(one) for one in Model.asked]
    print(f"{name}: exit code {done.returncode}, {len(sent)} requests to the model")
    print(f"  the note came in with the prompt:       {any(FACT in one for one in sent)}")
    print(f"  what @diff points at came in with it:   {any('two' in one and '+print' in one for one in sent)}")
    print(f"  the tools of promptuary mcp are offered: {any('expand_references' in one for one in sent)}")
    print(f"  it printed:                             {done.stdout.strip()[-120:]!r}")
    if done.returncode or not sent:
        print(done.stdout[-1_500:], done.stderr[-3_000:])
    mark = home / ".local/state/promptuary/learnt"
    end = time.monotonic() + 30
    while not (mark.is_dir() and any(mark.iterdir())) and time.monotonic() < end:
        time.sleep(0.2)
    print(f"  the turn was learnt from:               {mark.is_dir() and any(mark.iterdir())}")


def try_claude(binary: str, url: str) -> None:
    """Run one prompt in Claude Code."""
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = prepared(Path(folder))
        install = run([*promptuary(), "install", "claude-code", "--yes"], home, workspace)
        print(install.stderr.strip())
        version = run([binary, "--version"], home, workspace).stdout.strip()
        Model.asked.clear()
        done = run(
            [binary, "-p", PROMPT, "--allowedTools", "mcp__promptuary"],
            home,
            workspace,
            ANTHROPIC_BASE_URL=url,
            ANTHROPIC_API_KEY="loopback",
            DISABLE_TELEMETRY="1",
            DISABLE_AUTOUPDATER="1",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            IS_SANDBOX="1",
        )
        report(f"Claude Code {version}", done, home)
        undone = run([*promptuary(), "install", "claude-code", "--undo", "--yes"], home, workspace)
        print(f"  undone: {undone.stderr.strip()}")


def try_codex(binary: str, url: str) -> None:
    """Run one prompt in Codex."""
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = prepared(Path(folder))
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(
            f'model = "gpt-5"\nmodel_provider = "loopback"\n\n[model_providers.loopback]\nname = "loopback"\n'
            f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "LOOPBACK_KEY"\n'
        )
        install = run([*promptuary(), "install", "codex", "--yes"], home, workspace)
        print(install.stderr.strip())
        version = run([binary, "--version"], home, workspace).stdout.strip()
        Model.asked.clear()
        bypass = "--dangerously-bypass-hook-trust"
        known = bypass in run([binary, "exec", "--help"], home, workspace).stdout
        command = [binary, "exec", "--skip-git-repo-check", *([bypass] if known else []), PROMPT]
        done = run(command, home, workspace, LOOPBACK_KEY="x")
        report(f"Codex ({version})", done, home)
        undone = run([*promptuary(), "install", "codex", "--undo", "--yes"], home, workspace)
        print(f"  undone: {undone.stderr.strip()}")


def try_gemini(binary: str, url: str) -> None:
    """Run one prompt in Gemini."""
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = prepared(Path(folder))
        (home / ".gemini").mkdir()
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
        }
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
        install = run([*promptuary(), "install", "gemini", "--yes"], home, workspace)
        print(install.stderr.strip())
        version = run([binary, "--version"], home, workspace).stdout.strip()
        Model.asked.clear()
        given = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "loopback", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        # Without a person who could be asked it offers only those tools of a server for which nobody has to be.
        done = run([binary, "-m", "gemini-2.5-flash", "--yolo", "-p", PROMPT], home, workspace, **given)
        report(f"Gemini {version}", done, home)
        undone = run([*promptuary(), "install", "gemini", "--undo", "--yes"], home, workspace)
        print(f"  undone: {undone.stderr.strip()}")


def main() -> None:
    """Try what was given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claude", help="the binary of Claude Code")
    parser.add_argument("--codex", help="the program of Codex")
    parser.add_argument("--gemini", help="the program of Gemini")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    if options.claude:
        try_claude(options.claude, url)
    if options.codex:
        try_codex(options.codex, url)
    if options.gemini:
        try_gemini(options.gemini, url)
    server.shutdown()


if __name__ == "__main__":
    main()
