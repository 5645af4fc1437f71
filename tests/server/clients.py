"""The official clients of both providers, for tests of the server."""

from typing import Any

import anthropic
import openai
import pytest

from tests.server.conftest import RunningServer

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
PROTOCOLS = pytest.mark.parametrize("protocol", ["messages", "responses", "chat"])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
PATHS = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}


class Clients:
    """The official clients, as one function for each protocol: ``ask(protocol, messages, stream)`` returns the text."""

    def __init__(self, server: RunningServer, secret: str, **more: Any) -> None:
        self.openai = openai.OpenAI(base_url=f"{server.base}/v1", api_key=secret, max_retries=0, **more)
        self.anthropic = anthropic.Anthropic(base_url=server.base, api_key=secret, max_retries=0, **more)

    def close(self) -> None:
        self.openai.close()
        self.anthropic.close()

    def ask(self, protocol: str, text: Any, *, stream: bool = False, tools: bool = False, **more: Any) -> Any:
        """Ask, and return what the client makes of the answer: its last event or the whole."""
        messages: Any = text if isinstance(text, list) else [{"role": "user", "content": text}]
        match protocol:
            case "messages":
                extra: Any = {"tools": [{"name": "read", "input_schema": SCHEMA}]} if tools else {}
                made: Any = self.anthropic.messages.create(
                    model="claude-test", max_tokens=1000, messages=messages, stream=stream, **extra, **more
                )
            case "responses":
                extra = {"tools": [{"type": "function", "name": "read", "parameters": SCHEMA}]} if tools else {}
                made = self.openai.responses.create(model="gpt-test", input=messages, stream=stream, **extra, **more)
            case _:
                tool = {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}
                extra = {"tools": [tool]} if tools else {}
                made = self.openai.chat.completions.create(
                    model="gpt-test", messages=messages, stream=stream, **extra, **more
                )
        return list(made) if stream else made


def text_of(protocol: str, answer: Any) -> str:
    """Return the words of an answer of a client, whole or streamed."""
    if not isinstance(answer, list):
        match protocol:
            case "messages":
                return "".join(block.text for block in answer.content if block.type == "text")
            case "responses":
                return str(answer.output_text)
            case _:
                return answer.choices[0].message.content or ""
    match protocol:
        case "messages":
            deltas = [event.delta for event in answer if event.type == "content_block_delta"]
            return "".join(delta.text for delta in deltas if delta.type == "text_delta")
        case "responses":
            return "".join(event.delta for event in answer if event.type == "response.output_text.delta")
        case _:
            return "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices)
