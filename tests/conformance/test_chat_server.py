"""The service that tests talk to speaks as the real ones do: the official clients understand it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

from promptuary.base.messages import ToolCall  # noqa: E402
from promptuary.testing.chat_server import BreaksOff, ChatServer, Fails, Garbles, Refuses, Reply, Says, Silent  # noqa: E402

CALLS = [ToolCall(f"c{number}", "look", json.dumps({"path": f"a-long-name-{number}.py"})) for number in range(2)]
SAYS = Says("Let me look at it.", CALLS, usage=(1200, 30, 1000))
ASKED: list[Any] = [{"role": "user", "content": "Hello?"}]


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Client:
    """An official client: ``streamed`` returns text, calls and usage of an answer."""

    def __init__(self, server: ChatServer, wire: str) -> None:
        self.wire = wire
        options: dict[str, Any] = {"api_key": "any", "max_retries": 0, "timeout": 1.0}
        if wire == "openai":
            self.client = openai.OpenAI(base_url=server.openai_url, **options)
        else:
            self.client = anthropic.Anthropic(base_url=server.anthropic_url, **options)
        self.pieces: list[str] = []

    @property
    def errors(self) -> Any:
        return openai if self.wire == "openai" else anthropic

    def streamed(self) -> tuple[str, list[ToolCall], tuple[int, int, int]]:
        return self._openai() if self.wire == "openai" else self._anthropic()

    def whole(self) -> tuple[str, list[ToolCall]]:
        if self.wire == "openai":
            message = self.client.chat.completions.create(model="m", messages=ASKED).choices[0].message
            return message.content, [_openai_call(one) for one in message.tool_calls]
        blocks = self.client.messages.create(model="m", max_tokens=9, messages=ASKED).content
        text = "".join(one.text for one in blocks if one.type == "text")
        return text, [_anthropic_call(one) for one in blocks if one.type == "tool_use"]

    def _openai(self) -> tuple[str, list[ToolCall], tuple[int, int, int]]:
        with self.client.chat.completions.stream(
            model="m", messages=ASKED, stream_options={"include_usage": True}
        ) as stream:
            for event in stream:
                if event.type == "content.delta":
                    self.pieces.append(event.delta)
            done = stream.get_final_completion()
        message, usage = done.choices[0].message, done.usage
        cached = usage.prompt_tokens_details.cached_tokens
        calls = [_openai_call(one) for one in message.tool_calls or ()]
        return message.content, calls, (usage.prompt_tokens, usage.completion_tokens, cached)

    def _anthropic(self) -> tuple[str, list[ToolCall], tuple[int, int, int]]:
        with self.client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
            self.pieces.extend(stream.text_stream)
            done = stream.get_final_message()
        text = "".join(one.text for one in done.content if one.type == "text")
        calls = [_anthropic_call(one) for one in done.content if one.type == "tool_use"]
        cached = done.usage.cache_read_input_tokens
        return text, calls, (done.usage.input_tokens + cached, done.usage.output_tokens, cached)


def _openai_call(call: Any) -> ToolCall:
    return ToolCall(call.id, call.function.name, json.dumps(json.loads(call.function.arguments)))


def _anthropic_call(call: Any) -> ToolCall:
    return ToolCall(call.id, call.name, json.dumps(call.input))


@pytest.fixture
def served() -> Iterator[Any]:
    opened: list[Any] = []

    def serve(wire: str, *replies: Reply) -> Client:
        server = ChatServer(replies)
        client = Client(server, wire)
        opened.extend([client.client, server])
        return client

    yield serve
    for one in opened:
        one.close()


def test_an_answer_streams_with_its_text_its_calls_and_what_was_counted(wire: str, served: Any) -> None:
    client = served(wire, SAYS)

    assert client.streamed() == (SAYS.text, CALLS, (1200, 30, 1000))
    assert len(client.pieces) > 1


def test_an_answer_comes_as_a_whole(wire: str, served: Any) -> None:
    assert served(wire, SAYS).whole() == (SAYS.text, CALLS)


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, "BadRequestError"), (401, "AuthenticationError"), (429, "RateLimitError"), (503, "InternalServerError")],
)
def test_a_refusal_is_the_error_that_the_client_has_for_it(wire: str, served: Any, status: int, error: str) -> None:
    client = served(wire, Refuses(status, "because of that", retry_after=7))
    with pytest.raises(getattr(client.errors, error), match="because of that") as caught:
        client.streamed()

    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize("reply", [BreaksOff("It begins"), Garbles("It begins"), Fails("It begins"), Silent(9)])
def test_what_goes_wrong_goes_wrong_for_the_client_too(wire: str, served: Any, reply: Reply) -> None:
    client = served(wire, reply)
    with pytest.raises(Exception) as caught:  # noqa: PT011  (each client has errors of its own)
        client.streamed()

    assert not isinstance(caught.value, AssertionError)
    assert "".join(client.pieces) == getattr(reply, "text", "")


def test_a_slow_answer_arrives_piece_by_piece(wire: str, served: Any) -> None:
    client = served(wire, Says("One piece and another one.", pause=0.02))

    assert client.streamed()[0] == "One piece and another one."
