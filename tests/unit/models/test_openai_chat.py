"""A chat model behind a service: what it is sent, and that its answers are checked before they are believed."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from promptuary.base.errors import ConfigError, PromptuaryError, ServiceRefusedError
from promptuary.base.messages import Message
from promptuary.config.api_keys import KeyPlace
from promptuary.models.chat.openai_chat import EndpointChatModel
from promptuary.models.http import PostPolicy
from promptuary.models.json_answers import complete_json
from promptuary.testing.loopback import RESET, Loopback, Step, answer

POLICY = PostPolicy(timeout=5.0, attempts=3, pause=0.0)
QUESTION: list[Message] = [{"role": "user", "content": "Is it so?"}]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        serve(running, lambda _: said("yes"))
        yield running


def said(content: object, **more: object) -> bytes:
    message = {"role": "assistant", "content": content, **more}
    return answer(json.dumps({"choices": [{"index": 0, "message": message}]}), "application/json")


def serve(server: Loopback, answering: Callable[[Mapping[str, Any]], bytes]) -> None:
    def steps() -> Sequence[Step]:
        return (answering(json.loads(server.bodies[-1])),)

    server.routes["/v1/chat/completions"] = steps


def model(server: Loopback, **options: Any) -> EndpointChatModel:
    return EndpointChatModel(server.url("/v1"), "some-model", policy=POLICY, **options)


def complete(chat: EndpointChatModel, messages: Sequence[Message] = QUESTION, *, max_tokens: int = 7) -> str:
    return asyncio.run(chat.complete(messages, max_tokens=max_tokens))


def asked(server: Loopback) -> list[Any]:
    return [json.loads(body) for body in server.bodies]


def test_a_question_is_sent_as_the_protocol_says(server: Loopback) -> None:
    assert complete(model(server)) == "yes"
    assert asked(server) == [{"model": "some-model", "messages": QUESTION, "stream": False, "max_tokens": 7}]


def test_the_address_may_be_given_whole(server: Loopback) -> None:
    whole = EndpointChatModel(server.url("/v1/chat/completions"), "some-model", policy=POLICY)

    assert complete(whole) == "yes"


def test_tool_calls_of_a_conversation_are_sent_as_the_protocol_says(server: Loopback) -> None:
    call = {"id": "c1", "name": "look", "arguments": "{}"}
    complete(
        model(server),
        [
            {"role": "assistant", "content": "", "tool_calls": [call]},  # type: ignore[list-item]
            {"role": "tool", "content": "seen", "tool_call_id": "c1"},
        ],
    )

    assert asked(server)[0]["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "seen", "tool_call_id": "c1"},
    ]


def test_a_configured_length_replaces_the_one_asked_for(server: Loopback) -> None:
    complete(model(server, max_tokens=4000), max_tokens=16)

    assert asked(server)[0]["max_tokens"] == 4000


def test_a_model_that_names_the_length_otherwise_is_asked_so_from_then_on(server: Loopback) -> None:
    def picky(request: Mapping[str, Any]) -> bytes:
        if "max_tokens" in request:
            return answer('{"error": {"message": "use max_completion_tokens instead"}}', status=400)
        return said("yes")

    serve(server, picky)
    chat = model(server)

    assert [complete(chat), complete(chat)] == ["yes", "yes"]
    assert ["max_completion_tokens" in request for request in asked(server)] == [False, True, True]


def test_an_answer_in_parts_is_put_together(server: Loopback) -> None:
    parts = [{"type": "text", "text": "ye"}, {"type": "other"}, {"type": "text", "text": "s"}]
    serve(server, lambda _: said(parts))

    assert complete(model(server)) == "yes"


def test_a_schema_is_sent_for_the_service_to_hold_the_model_to(server: Loopback) -> None:
    serve(server, lambda _: said('{"n": 3}'))

    assert asyncio.run(complete_json(model(server), QUESTION, SCHEMA, max_tokens=7)) == {"n": 3}
    assert asked(server)[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


def test_a_service_without_schemas_is_told_in_words_from_then_on(server: Loopback) -> None:
    def plain(request: Mapping[str, Any]) -> bytes:
        return answer("unknown field", status=400) if "response_format" in request else said('Here: {"n": 3}')

    serve(server, plain)
    chat = model(server)

    assert [asyncio.run(complete_json(chat, QUESTION, SCHEMA, max_tokens=7)) for _ in range(2)] == [{"n": 3}] * 2
    assert ["response_format" in request for request in asked(server)] == [True, False, False]
    assert json.dumps(SCHEMA) in asked(server)[1]["messages"][-1]["content"]


def test_a_service_that_refuses_everything_is_tried_with_a_schema_again(server: Loopback) -> None:
    serve(server, lambda _: answer("no such model", status=404))
    chat = model(server)
    for _ in range(2):
        with pytest.raises(ServiceRefusedError, match="no such model"):
            asyncio.run(complete_json(chat, QUESTION, SCHEMA, max_tokens=7))

    assert ["response_format" in request for request in asked(server)] == [True, False, True, False]


def test_a_busy_service_is_asked_again(server: Loopback) -> None:
    serve(server, lambda _: said("yes") if len(server.bodies) == 3 else answer("busy", status=429))

    assert complete(model(server)) == "yes"
    assert len(server.bodies) == 3


def test_a_broken_connection_is_tried_again(server: Loopback) -> None:
    def steps() -> Sequence[Step]:
        return (RESET,) if len(server.bodies) == 1 else (said("yes"),)

    server.routes["/v1/chat/completions"] = steps

    assert complete(model(server)) == "yes"


def test_a_silent_service_ends_with_the_timeout(server: Loopback) -> None:
    server.routes["/v1/chat/completions"] = lambda: (60.0,)
    hasty = EndpointChatModel(server.url("/v1"), "m", policy=PostPolicy(timeout=0.2, attempts=1))

    with pytest.raises(PromptuaryError):
        complete(hasty)


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(PromptuaryError, match="The address htp:/x/chat/completions cannot be used: Only http://"):
        complete(EndpointChatModel("htp:/x", "some-model"))


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "{}",
        '{"choices": []}',
        '{"choices": [7]}',
        '{"choices": [{"message": null}]}',
        '{"choices": [{"message": {"content": null}}]}',
        '{"choices": [{"message": {"content": 7}}]}',
        '{"choices": [{"message": {"content": null, "refusal": "no"}}]}',
    ],
)
def test_an_answer_of_another_shape_is_an_error(server: Loopback, body: str) -> None:
    serve(server, lambda _: answer(body, "application/json"))

    with pytest.raises(PromptuaryError, match=r"127\.0\.0\.1:\d+ sends"):
        complete(model(server))


def test_the_key_comes_from_the_environment_and_is_in_no_error_and_no_log(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("CHAT_KEY", "sk-very-secret")
    chat = model(server, key=KeyPlace("CHAT_KEY"))
    complete(chat)
    assert "Bearer sk-very-secret" in server.requests[0]

    serve(server, lambda _: answer("your key sk-very-secret is bad", status=400))
    with pytest.raises(ServiceRefusedError) as raised:
        complete(chat)

    assert "sk-very-secret" not in f"{raised.value} {raised.value.__cause__} {caplog.text} {vars(chat)}"


def test_a_key_that_is_not_there_is_said_before_anything_is_sent(server: Loopback) -> None:
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        complete(model(server, key=KeyPlace("NO_SUCH_KEY")))
    assert server.accepted == 0


def test_plain_http_goes_to_this_machine_alone() -> None:
    with pytest.raises(PromptuaryError, match="use https"):
        complete(EndpointChatModel("http://192.0.2.1/v1", "m", policy=POLICY))


def test_text_that_is_no_unicode_is_sent_and_received_as_unicode(server: Loopback) -> None:
    serve(server, lambda _: said("\ud800 yes"))

    assert complete(model(server), [{"role": "user", "content": "\udfff?"}]).endswith(" yes")
