"""A small MCP server that does what a script says, also what no server should: over standard streams, or HTTP.

A program of its own, of the standard library alone, so that it starts at once: ``python tests/tool_server.py SCRIPT``.
The script, a JSON file, is read again for each request, so that a test can change what the server says meanwhile. What
it was asked is appended to a file beside it.
"""

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

LOOK = {"name": "look", "description": "Look something up.", "inputSchema": {"type": "object"}}
SAID = "Seen by the server."


class Server:
    """The server of a test: how it is configured, what it says, and what it was asked."""

    def __init__(self, script: Path) -> None:
        self.script = script

    @property
    def table(self) -> dict[str, Any]:
        """The table that configures it as a program."""
        return {"command": sys.executable, "args": ["-I", "-S", __file__, str(self.script)], "timeout": 20}

    def says(self, **what: Any) -> "Server":
        """Let it say something else from now on."""
        before = json.loads(self.script.read_text()) if self.script.exists() else {}
        new = self.script.with_suffix(".new")
        new.write_text(json.dumps({**before, **what}))
        new.rename(self.script)
        return self

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The messages that it got."""
        log = Path(f"{self.script}.log")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def calls(self) -> list[Any]:
        """Return the calls of its tools that it got: name and arguments."""
        got = (one["params"] for one in self.asked if one.get("method") == "tools/call")
        return [(one["name"], one.get("arguments")) for one in got]

    @contextmanager
    def over_http(self, status: int = 200, **headers: str) -> Iterator[str]:
        """Listen on this machine, and yield the address."""
        script = self.script

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                replies = answers(json.loads(body), script)
                data = json.dumps(replies[0]).encode() if replies else b""
                data = gzip.compress(data) if "content_encoding" in headers else data
                self.send_response(status if replies else 202)
                given = {name.replace("_", "-"): value for name, value in headers.items()}
                for name, value in {"content-type": "application/json", **given}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/mcp"
        finally:
            listening.shutdown()
            listening.server_close()
            thread.join()


def answers(message: Mapping[str, Any], script: Path) -> list[dict[str, Any]]:
    """Return what the script says to a message."""
    with Path(f"{script}.log").open("a") as log:
        log.write(json.dumps(message) + "\n")
    says, method, number = json.loads(script.read_text()), message.get("method"), message.get("id")
    if method is None or number is None:
        return []
    match says.get("does", {}).get(method):
        case "stalls":
            time.sleep(600)
        case "dies":
            print("out of cheese", file=sys.stderr, flush=True)
            os._exit(3)
        case "sends a line without end":
            while True:
                sys.stdout.write("x" * 65_536)
        case "chatters":
            while True:
                print('{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}')
        case "talks nonsense":
            return [{"jsonrpc": "2.0", "id": number, "result": {"content": 5, "tools": "none", "contents": [[]]}}]
        case "answers others":
            return [{"jsonrpc": "2.0", "id": other, "result": {"forged": True}} for other in (number + 1, "x", 0)]
        case "asks back":
            asked = {"jsonrpc": "2.0", "id": "mine", "method": says["asks"], "params": says.get("with", {})}
            return [asked, _reply(says, method, message, number)]
    return [_reply(says, method, message, number)]


def _reply(says: Mapping[str, Any], method: str, message: Mapping[str, Any], number: Any) -> dict[str, Any]:
    given = message.get("params") or {}
    match method:
        case "initialize":
            info = {"name": "small", "version": "1"}
            able = {"tools": {"listChanged": True}, "resources": {}}
            result: Any = {"protocolVersion": given["protocolVersion"], "capabilities": able, "serverInfo": info}
        case "tools/list":
            result = {"tools": says.get("tools", [LOOK])}
        case "tools/call":
            result = says.get("result", {"content": [{"type": "text", "text": SAID}]})
        case "resources/list":
            listed = says.get("resources", {"note://one": "One."})
            result = {"resources": [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in listed]}
        case "resources/read" if given["uri"] in says.get("resources", {"note://one": "One."}):
            text = says.get("resources", {"note://one": "One."})[given["uri"]]
            result = {"contents": [{"uri": given["uri"], "mimeType": "text/plain", "text": text}]}
        case _:
            error = {"code": -32601, "message": says.get("error", "no such thing")}
            return {"jsonrpc": "2.0", "id": number, "error": error}
    return {"jsonrpc": "2.0", "id": number, "result": result}


def main() -> None:
    """Serve over standard streams until they are closed."""
    for line in sys.stdin:
        for reply in answers(json.loads(line), Path(sys.argv[1])):
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
