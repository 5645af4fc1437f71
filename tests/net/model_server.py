"""A chat service on loopback that answers as it was told to, in the form of OpenAI's chat completions."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

Reply = dict[str, Any] | tuple[int, str]
"""What the service says, or the status and the sentence with which it refuses."""


def calls(name: str, **arguments: object) -> dict[str, Any]:
    """Return a call of a tool."""
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def says(text: str, *called: dict[str, Any], stop: str = "", read: int = 50, written: int = 5) -> Reply:
    """Return an answer: text, calls, why it ended, and what it cost."""
    return {
        "text": text,
        "calls": called,
        "stop": stop or ("tool_calls" if called else "stop"),
        "usage": (read, written),
    }


class ModelServer:
    """Answers requests with what it was given last, one after the other; keeps what was sent to it."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self._replies: list[Reply] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                service.requests.append(json.loads(body))
                reply = service.next_reply()
                if isinstance(reply, tuple):
                    self._answer(reply[0], "application/json", json.dumps({"error": {"message": reply[1]}}).encode())
                elif service.requests[-1].get("stream"):
                    self._answer(200, "text/event-stream", _streamed(reply))
                else:
                    self._answer(200, "application/json", json.dumps(_whole(reply)).encode())

            def _answer(self, status: int, kind: str, data: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (as in the class above it)
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, *replies: Reply) -> None:
        """Set what is answered from now on; the last reply is repeated."""
        self._replies = list(replies)

    def next_reply(self) -> Reply:
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _usage(reply: dict[str, Any]) -> dict[str, int]:
    read, written = reply["usage"]
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _whole(reply: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply["text"] or None}
    if reply["calls"]:
        message["tool_calls"] = list(reply["calls"])
    choice = {"index": 0, "message": message, "finish_reason": reply["stop"]}
    return {"id": "x", "object": "chat.completion", "created": 1, "choices": [choice], "usage": _usage(reply)}


def _streamed(reply: dict[str, Any]) -> bytes:
    called: list[dict[str, Any]] = [{**one, "index": index} for index, one in enumerate(reply["calls"])]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in reply["text"].splitlines(keepends=True)]
    deltas += [{"tool_calls": [one]} for one in called]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reply["stop"]}]})
    chunks.append({"choices": [], "usage": _usage(reply)})
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1}
    lines = [f"data: {json.dumps({**head, **one})}\n\n" for one in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()
