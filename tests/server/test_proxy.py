"""The proxy as its clients see it: the official ones, a real server, and a model service on loopback."""

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from promptuary.base.messages import ToolCall
from promptuary.base.principals import Principal
from promptuary.blocking import Promptuary
from promptuary.server.proxy.known import Recent
from promptuary.server.tokens import Limits
from promptuary.testing.chat_server import Refuses, Says
from tests.server.clients import PATHS, PROTOCOLS, STREAMED, Clients, text_of
from tests.server.conftest import RunningServer, StartServer
from tests.server.upstream import (
    Raw,
    Upstream,
    chunk,
    cut_in_stream,
    promise_more_than_comes,
    stall_in_stream,
)

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def sent(upstream: Upstream, at: int = -1) -> str:
    """Return the conversation that the service got, as text."""
    body = upstream.asked[at].json
    return json.dumps(body.get("messages") or body.get("input"), ensure_ascii=False)


@PROTOCOLS
@STREAMED
def test_a_reference_is_attached_and_the_answer_comes_as_it_is(
    clients: Clients, upstream: Upstream, protocol: str, stream: bool
) -> None:
    answer = clients.ask(protocol, "What is in @file:a.txt?", stream=stream)

    assert text_of(protocol, answer) == "Hello"
    assert "What is in @file:a.txt?" in sent(upstream)
    assert "the text of a" in sent(upstream)
    headers = upstream.asked[-1].headers
    assert "key-of-the-server" in (headers.get("x-api-key", "") + headers.get("authorization", ""))
    assert "pt_" not in str(headers)


@PROTOCOLS
@STREAMED
def test_a_tool_loop_repeats_what_was_attached_and_is_one_turn(
    proxied: RunningServer, clients: Clients, upstream: Upstream, protocol: str, stream: bool
) -> None:
    upstream.replies = [Says("Let me look.", calls=[ToolCall("c1", "read", '{"path":"b"}')]), Says("Done.")]
    first: list[Any] = [{"role": "user", "content": "Compare @file:a.txt with b"}]
    clients.ask(protocol, first, stream=stream, tools=True)
    wait_until(lambda: "promptuary_turns_total 1" in metrics(proxied))

    answer = clients.ask(protocol, first + tool_loop(protocol), stream=stream, tools=True)

    assert text_of(protocol, answer) == "Done."
    assert sent(upstream).count("the text of a") == 1
    assert sent(upstream)[: len(sent(upstream, 0)) - 3].startswith(sent(upstream, 0)[:-3].rpartition("<promptuary>")[0])
    assert "promptuary_turns_total 1" in metrics(proxied)
    assert "promptuary_turn_extensions_total 1" in metrics(proxied)


def tool_loop(protocol: str) -> list[Any]:
    """Return the messages of a call of a tool and its result."""
    match protocol:
        case "messages":
            use: Any = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "b"}}
            said: Any = [{"type": "text", "text": "Let me look."}, use]
            result = {"type": "tool_result", "tool_use_id": "c1", "content": "B"}
            return [{"role": "assistant", "content": said}, {"role": "user", "content": [result]}]
        case "responses":
            call: Any = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"b"}'}
            out = {"type": "function_call_output", "call_id": "c1", "output": "B"}
            return [{"role": "assistant", "content": "Let me look."}, call, out]
        case _:
            call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"b"}'}}
            said = {"role": "assistant", "content": "Let me look.", "tool_calls": [call]}
            return [said, {"role": "tool", "tool_call_id": "c1", "content": "B"}]


def metrics(server: RunningServer) -> str:
    secret = server.create(name="admin")
    return server.ask("GET", "/metrics", {"Authorization": f"Bearer {secret}"}).body.decode()


def wait_until(is_so: Callable[[], bool], seconds: float = 10.0) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, "it did not become so"
        time.sleep(0.01)


@PROTOCOLS
def test_an_image_passes_as_the_client_sent_it(clients: Clients, upstream: Upstream, protocol: str) -> None:
    match protocol:
        case "messages":
            source: Any = {"type": "base64", "media_type": "image/png", "data": PNG}
            parts: list[Any] = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
        case "responses":
            image: Any = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
            parts = [image, {"type": "input_text", "text": "What is it?"}]
        case _:
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
            parts = [image, {"type": "text", "text": "What is it?"}]

    answer = clients.ask(protocol, [{"role": "user", "content": parts}])

    assert text_of(protocol, answer) == "Hello"
    assert PNG in sent(upstream)


@PROTOCOLS
@STREAMED
def test_an_error_of_the_service_reaches_the_client_in_its_own_words(
    clients: Clients, upstream: Upstream, protocol: str, stream: bool
) -> None:
    upstream.replies = [Refuses(429, "Slow down.", retry_after=7)]
    client: Any = anthropic if protocol == "messages" else openai

    with pytest.raises(client.RateLimitError, match=r"Slow down\.") as caught:
        clients.ask(protocol, "Hi", stream=stream)
    assert caught.value.response.headers["retry-after"] == "7"


@PROTOCOLS
def test_a_stream_that_breaks_off_is_an_error_for_the_client(
    clients: Clients, upstream: Upstream, protocol: str
) -> None:
    upstream.replies = [cut_in_stream()]
    client: Any = anthropic if protocol == "messages" else openai

    with pytest.raises(client.APIError, match="closed the connection early"):
        clients.ask(protocol, "Hi", stream=True)


@PROTOCOLS
def test_a_service_that_promises_more_than_comes_is_a_clear_error(
    clients: Clients, upstream: Upstream, protocol: str
) -> None:
    upstream.replies = [promise_more_than_comes()]
    client: Any = anthropic if protocol == "messages" else openai

    with pytest.raises(client.InternalServerError, match="closed the connection early"):
        clients.ask(protocol, "Hi")


@PROTOCOLS
def test_a_model_that_is_not_there_or_not_allowed_is_the_same_error(
    proxied: RunningServer, upstream: Upstream, protocol: str
) -> None:
    client: Any = anthropic if protocol == "messages" else openai
    said = []
    for models in ((), ("other",)):
        limited = Clients(proxied, proxied.create(models=models))
        model = "nobody-knows-it" if not models else "claude-test" if protocol == "messages" else "gpt-test"
        with pytest.raises(client.NotFoundError) as caught:
            post(limited, protocol, {"model": model, **minimal(protocol)})
        said.append(str(caught.value).replace(model, "X"))
        limited.close()
    assert said[0] == said[1]
    assert not upstream.asked


def minimal(protocol: str) -> dict[str, Any]:
    if protocol == "responses":
        return {"input": "Hi"}
    return {"max_tokens": 1000, "messages": [{"role": "user", "content": "Hi"}]}


def post(clients: Clients, protocol: str, body: dict[str, Any]) -> Any:
    client: Any = clients.anthropic if protocol == "messages" else clients.openai
    path = PATHS[protocol] if protocol == "messages" else PATHS[protocol].removeprefix("/v1")
    return client.post(path, body=body, cast_to=object)


def test_with_the_clients_own_key_that_key_is_passed_on_and_unknown_models_too(
    proxied: RunningServer, upstream: Upstream
) -> None:
    client = openai.OpenAI(
        base_url=f"{proxied.base}/v1",
        api_key="key-of-the-client",
        default_headers={"X-Promptuary-Token": proxied.create()},
    )

    client.chat.completions.create(model="newest", messages=[{"role": "user", "content": "Hi"}])
    made = client.files.create(file=("a.txt", b"abc"), purpose="user_data")
    assert client.files.retrieve(made.id).id == made.id
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve("file-of-somebody-else")

    assert [asked.headers["authorization"] for asked in upstream.asked] == ["Bearer key-of-the-client"] * 3
    assert upstream.asked[0].json["model"] == "newest"
    assert "x-promptuary-token" not in upstream.asked[0].headers
    client.close()


def test_with_the_servers_key_few_other_paths_pass(
    proxied: RunningServer, clients: Clients, upstream: Upstream
) -> None:
    clients.openai.embeddings.create(model="gpt-embed", input="Hi", encoding_format="float")
    clients.openai.completions.create(model="gpt-old", prompt="Hi")
    assert (
        clients.anthropic.messages.count_tokens(
            model="claude-test", messages=[{"role": "user", "content": "Hi"}]
        ).input_tokens
        == 42
    )
    with pytest.raises(openai.NotFoundError):
        clients.openai.files.list()
    assert [asked.path for asked in upstream.asked] == [
        "/v1/embeddings",
        "/v1/completions",
        "/v1/messages/count_tokens",
    ]


def test_the_models_are_listed_for_both_clients(proxied: RunningServer) -> None:
    clients = Clients(proxied, proxied.create(models=("fast", "claude-test")))
    assert [model.id for model in clients.openai.models.list()] == ["fast", "claude-test"]
    assert [model.id for model in clients.anthropic.models.list()] == ["fast", "claude-test"]
    assert clients.openai.models.retrieve("fast").id == "fast"
    with pytest.raises(openai.NotFoundError):
        clients.openai.models.retrieve("gpt-test")
    clients.close()


def test_what_somebody_made_upstream_is_absent_for_everybody_else(proxied: RunningServer, upstream: Upstream) -> None:
    mine = Clients(proxied, proxied.create(principal=Principal(user="ann")))
    theirs = Clients(proxied, proxied.create(principal=Principal(user="bob")))
    made = mine.ask("responses", "Hi")
    streamed = mine.ask("responses", "Hi", stream=True)[0].response.id
    count = len(upstream.asked)

    for name in (made.id, streamed, "resp_never"):
        with pytest.raises(openai.NotFoundError) as absent:
            theirs.openai.responses.retrieve(name)
        with pytest.raises(openai.NotFoundError):
            theirs.openai.responses.delete(name)
        with pytest.raises(openai.NotFoundError):
            theirs.ask("responses", "And then?", previous_response_id=name)
        assert "there is nothing at this address" in str(absent.value)
    assert len(upstream.asked) == count

    assert mine.openai.responses.retrieve(made.id).id == made.id
    assert text_of("responses", mine.ask("responses", "And then?", previous_response_id=streamed)) == "Hello"
    mine.close()
    theirs.close()


def test_limits_of_a_day_are_errors_that_clients_know(proxied: RunningServer, upstream: Upstream) -> None:
    few = Clients(proxied, proxied.create(limits=Limits(requests=1)))
    few.ask("chat", "Hi")
    with pytest.raises(openai.RateLimitError, match="has used its requests of today"):
        few.ask("chat", "Hi")
    poor = Clients(proxied, proxied.create(limits=Limits(money=0.0)))
    with pytest.raises(anthropic.APIStatusError, match="has used its money of today") as caught:
        poor.ask("messages", "Hi")
    assert caught.value.status_code == 402
    assert len(upstream.asked) == 1
    few.close()
    poor.close()


def test_titles_probes_and_requests_of_hooks_pass_untouched(
    proxied: RunningServer, clients: Clients, upstream: Upstream
) -> None:
    clients.ask("messages", "Title for @file:a.txt", extra_headers={"User-Agent": "claude-cli/2.1"})
    clients.ask("chat", "Is it there?", max_tokens=5)
    clients.ask("chat", "Tags of @file:a.txt", metadata={"task": "tags_generation"})
    clients.ask("chat", "<promptuary>remembered</promptuary> and @file:a.txt")

    assert not [asked for asked in upstream.asked if b"the text of a" in asked.body]
    assert "promptuary_auxiliary_total 3" in metrics(proxied)


def test_a_request_for_few_tokens_is_no_probe_if_it_refers_to_something_or_names_a_thread(
    proxied: RunningServer, clients: Clients, upstream: Upstream
) -> None:
    clients.ask("chat", "In a word: what is in @file:a.txt?", max_tokens=50)
    clients.ask("chat", "In a word?", max_tokens=50, extra_headers={"X-Promptuary-Thread": "mine"})

    assert b"the text of a" in upstream.asked[0].body
    assert "promptuary_turns_total 2" in metrics(proxied)


def test_a_reference_that_cannot_be_read_is_told_to_the_model_and_in_a_header(
    clients: Clients, upstream: Upstream
) -> None:
    raw = clients.openai.chat.completions.with_raw_response.create(
        model="gpt-test", messages=[{"role": "user", "content": "See @file:missing.txt"}]
    )

    assert "missing.txt" in raw.headers["x-promptuary-warning"]
    assert "could not be attached" in sent(upstream)


def test_a_failure_of_ours_fails_no_request(proxied: RunningServer, clients: Clients, upstream: Upstream) -> None:
    raw = clients.openai.chat.completions.with_raw_response.create(
        model="gpt-test",
        messages=[{"role": "user", "content": "See @file:a.txt"}],
        extra_headers={"X-Promptuary-Thread": "no `name`"},
    )

    assert raw.parse().choices[0].message.content == "Hello"
    assert "sent unchanged" in raw.headers["x-promptuary-warning"]
    assert upstream.asked[0].json["messages"] == [{"role": "user", "content": "See @file:a.txt"}]


@PROTOCOLS
@STREAMED
def test_in_own_mode_the_thread_is_the_conversation(
    clients: Clients, proxied: RunningServer, upstream: Upstream, protocol: str, stream: bool
) -> None:
    headers = {"X-Promptuary-Mode": "own", "X-Promptuary-Thread": "plans"}
    clients.ask(protocol, "My name is Ann.", stream=stream, extra_headers=headers)
    wait_until(lambda: "promptuary_unfinished_records 0" in metrics(proxied))

    clients.ask(protocol, "What is my name?", stream=stream, extra_headers=headers)

    assert "My name is Ann." in sent(upstream)
    assert "What is my name?" in sent(upstream)


@pytest.mark.parametrize("protocol", ["messages", "chat"])
def test_a_client_that_waits_long_for_a_stream_is_kept_alive(
    proxied: RunningServer, upstream: Upstream, protocol: str
) -> None:
    proxied.application.areas["proxy"]._keep_alive = 0.05
    stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    upstream.replies = [Raw([0.4, stream, 0.3, chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n"])]

    body = {"model": "claude-test" if protocol == "messages" else "gpt-test", "stream": True, **minimal(protocol)}
    headers = {"Authorization": f"Bearer {proxied.create()}", "Content-Type": "application/json"}
    answer = proxied.ask("POST", PATHS[protocol], headers, json.dumps(body).encode())

    mark = b"event: ping" if protocol == "messages" else b": keep-alive"
    assert answer.body.count(mark) >= 5
    assert answer.body.endswith(b"data: [DONE]\n\n")


def test_what_a_client_sends_is_recorded_by_default_and_not_at_all_if_the_token_says_so(
    proxied: RunningServer, upstream: Upstream, workspace: Path
) -> None:
    quiet, open_ = Clients(proxied, proxied.create(record="off")), Clients(proxied, proxied.create())
    quiet.ask("chat", "Whisper @file:a.txt")
    assert "the text of a" in sent(upstream)
    open_.ask("chat", "Speak @file:a.txt", extra_headers={"X-Promptuary-Thread": "spoken"})
    wait_until(lambda: "promptuary_unfinished_records 0" in metrics(proxied))

    with Promptuary.open(workspace) as promptuary:
        assert [thread.id for thread in promptuary.threads.list()] == ["spoken"]
        assert [turn.status for turn in promptuary.threads.turns(thread="spoken")] == ["finished"]
    quiet.close()
    open_.close()


class Stalling:
    """A service that takes every request and never answers; ``closed`` counts connections that its clients closed."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked = self.closed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1_000_000)
            self.asked += 1
            while connection.recv(1_000_000):
                pass
        self.closed += 1

    def close(self) -> None:
        self._listener.close()


ENDPOINTS: list[tuple[str, str, dict[str, Any]]] = [
    *(("POST", PATHS[name], {"stream": stream, **minimal(name)}) for name in PATHS for stream in (False, True)),
    ("POST", "/v1/messages/count_tokens", minimal("messages")),
    ("POST", "/v1/embeddings", {"input": "Hi"}),
    ("POST", "/v1/completions", {"prompt": "Hi", "stream": True}),
    ("GET", "/v1/files", {}),
    ("POST", "/v1/batches", {"endpoint": "/v1/responses"}),
]


def test_on_every_endpoint_a_client_that_goes_away_closes_the_service_at_once(
    monkeypatch: pytest.MonkeyPatch, start_server: StartServer
) -> None:
    service = Stalling()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{service.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", service.url)
    server = start_server()
    secret = server.create()
    for count, (method, path, body) in enumerate(ENDPOINTS, 1):
        content = json.dumps({"model": "any", **body}).encode() if body else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Promptuary-Token: {secret}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head.encode() + content)
            wait_until(lambda: service.asked == count)  # noqa: B023  (called at once)
        wait_until(lambda: service.closed == count)  # noqa: B023
    service.close()


def test_a_client_that_goes_away_in_the_middle_of_a_stream_closes_the_service(
    proxied: RunningServer, upstream: Upstream
) -> None:
    upstream.replies = [stall_in_stream(b'data: {"choices":[{"index":0,"delta":{"content":"He"}}]}\n\n')]
    clients = Clients(proxied, proxied.create())
    stream = clients.openai.chat.completions.create(
        model="gpt-test", messages=[{"role": "user", "content": "Hi"}], stream=True
    )
    assert next(iter(stream)).choices[0].delta.content == "He"

    stream.close()

    wait_until(lambda: len(upstream.hung_up) == 1)
    clients.close()


@PROTOCOLS
@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"model": 7}', {}, 404),
        (b"{}", {"Content-Encoding": "gzip"}, 415),
        (b"{}", {"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_request_that_cannot_be_read_is_an_error_of_its_protocol(
    proxied: RunningServer, protocol: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    given = {"Content-Type": "application/json", "x-api-key": proxied.create(), **headers}

    answer = proxied.ask("POST", PATHS[protocol], given, body)

    assert answer.status == status
    error = json.loads(answer.body)
    assert error["error"]["message"]
    assert (error.get("type") == "error") == (protocol == "messages")


def test_a_conversation_that_is_continued_upstream_is_one_thread(
    proxied: RunningServer, clients: Clients, upstream: Upstream, workspace: Path
) -> None:
    first = clients.ask("responses", "Look at @file:a.txt", extra_headers={"X-Promptuary-Thread": "one"})
    second = clients.ask("responses", "And then?", previous_response_id=first.id)
    clients.ask("responses", "And now?", previous_response_id=second.id)
    wait_until(lambda: "promptuary_unfinished_records 0" in metrics(proxied))

    assert "the text of a" not in sent(upstream)
    with Promptuary.open(workspace) as promptuary:
        said = [item.words for item in promptuary.threads.history(thread="one") if item.role == "user"]
    assert [*filter(None, said)] == ["Look at @file:a.txt", "And then?", "And now?"]


def test_an_alias_goes_to_its_own_service_under_the_name_it_has_there(
    upstream: Upstream, start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAST_KEY", "key-of-fast")
    table = {"base_url": upstream.openai_url, "model": "small-1", "key_env": "FAST_KEY"}
    server = start_server(settings={"models": {"fast": table}})
    client = openai.OpenAI(base_url=f"{server.base}/v1", api_key=server.create())

    client.chat.completions.create(model="fast", messages=[{"role": "user", "content": "Hi"}])

    assert upstream.asked[0].json["model"] == "small-1"
    assert upstream.asked[0].headers["authorization"] == "Bearer key-of-fast"
    assert [model.id for model in client.models.list()] == ["fast"]
    client.close()


def test_fields_that_name_another_address_are_dropped(clients: Clients, upstream: Upstream) -> None:
    clients.ask("chat", "Hi", extra_body={"api_base": "http://127.0.0.1:9", "base_url": "http://127.0.0.1:9"})

    assert "api_base" not in upstream.asked[0].json
    assert "base_url" not in upstream.asked[0].json


def test_a_revoked_token_ends_its_streams_and_closes_the_service(proxied: RunningServer, upstream: Upstream) -> None:
    upstream.replies = [stall_in_stream(b'data: {"choices":[{"index":0,"delta":{"content":"He"}}]}\n\n')]
    secret = proxied.create(name="short")
    clients = Clients(proxied, secret)
    stream = iter(
        clients.openai.chat.completions.create(
            model="gpt-test", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
    )
    next(stream)

    proxied.store.revoke(secret.split("_")[1])

    wait_until(lambda: len(upstream.hung_up) == 1)
    with pytest.raises((openai.APIError, openai.APIConnectionError, httpx2.HTTPError)):
        next(stream)
    clients.close()


def test_parallel_requests_of_one_session_are_all_answered(proxied: RunningServer, upstream: Upstream) -> None:
    upstream.replies = [Says("Hello", pause=0.02)]
    clients = Clients(proxied, proxied.create())

    def ask(number: int) -> str:
        headers = {"X-Session-Id": "one"}
        return text_of("chat", clients.ask("chat", f"Question {number}", stream=True, extra_headers=headers))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(24))) == ["Hello"] * 24
    clients.close()


@PROTOCOLS
def test_in_own_mode_the_results_of_tools_continue_the_turn(
    proxied: RunningServer, clients: Clients, upstream: Upstream, protocol: str, workspace: Path
) -> None:
    headers = {"X-Promptuary-Mode": "own", "X-Promptuary-Thread": "plans"}
    upstream.replies = [Says("Let me look.", calls=[ToolCall("c1", "read", '{"path":"b"}')]), Says("Done.")]
    first: list[Any] = [{"role": "user", "content": "Compare @file:a.txt with b"}]
    clients.ask(protocol, first, tools=True, extra_headers=headers)
    wait_until(lambda: "promptuary_unfinished_records 0" in metrics(proxied))

    answer = clients.ask(protocol, first + tool_loop(protocol), tools=True, extra_headers=headers)
    wait_until(lambda: "promptuary_unfinished_records 0" in metrics(proxied))

    assert text_of(protocol, answer) == "Done."
    assert sent(upstream).count("the text of a") == 1
    assert "Let me look." in sent(upstream)
    with Promptuary.open(workspace) as promptuary:
        roles = [item.role for item in promptuary.threads.history(thread="plans")]
        assert roles == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("own_key", [False, True])
def test_services_of_the_machine_that_need_no_key_are_used_only_if_they_are_named(
    proxied: RunningServer, upstream: Upstream, own_key: bool
) -> None:
    secret = proxied.create()
    headers = (
        {"X-Promptuary-Token": secret, "Authorization": "Bearer sk-script_1"} if own_key else {"x-api-key": secret}
    )
    body = json.dumps({"model": "vllm/any", **minimal("chat")}).encode()

    answer = proxied.ask("POST", "/v1/chat/completions", {"Content-Type": "application/json", **headers}, body)

    # With a key of its own, a client asks the usual service for a model of that name; else there is none.
    assert answer.status == (200 if own_key else 404)
    assert [asked.headers["authorization"] for asked in upstream.asked] == ["Bearer sk-script_1"] * own_key


def test_an_error_that_comes_after_signs_of_life_is_an_event_of_the_stream(
    proxied: RunningServer, upstream: Upstream
) -> None:
    proxied.application.areas["proxy"]._keep_alive = 0.05
    body = b'{"error":{"message":"Overloaded."}}'
    head = b"HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    upstream.replies = [Raw([0.3, head + body])]
    clients = Clients(proxied, proxied.create())

    with pytest.raises(openai.APIError, match="Overloaded"):
        clients.ask("chat", "Hi", stream=True)
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        clients.ask("messages", "Hi", stream=True)
    clients.close()


def test_what_is_remembered_has_bounds() -> None:
    recent: Recent[str] = Recent(3, 10)
    for key, size in (("a", 1), ("b", 1), ("c", 1), ("d", 1)):
        recent.put(key, key, size)
    assert [recent.get(key) for key in "abcd"] == [None, "b", "c", "d"]
    recent.put("e", "e", 9)
    assert [recent.get(key) for key in "bcde"] == [None, None, "d", "e"]
    recent.put("f", "f", 11)
    assert recent.get("f") is None


def test_a_client_that_reads_paths_itself_gets_only_references_that_name_their_kind(
    clients: Clients, upstream: Upstream
) -> None:
    aider = {"User-Agent": "aider/0.86"}
    clients.ask("chat", "Look at @a.txt", extra_headers=aider)
    assert "the text of a" not in sent(upstream)
    clients.ask("chat", "Look at @file:a.txt", extra_headers=aider)
    assert "the text of a" in sent(upstream)
    clients.ask("chat", "Look at @a.txt now")
    assert "the text of a" in sent(upstream)


def test_nothing_is_added_beyond_the_window_of_a_model_that_is_known(
    proxied: RunningServer, upstream: Upstream
) -> None:
    def ask(words: int) -> bytes:
        messages = [{"role": "system", "content": "word " * words}, {"role": "user", "content": "See @file:a.txt"}]
        body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {proxied.create()}"}
        assert proxied.ask("POST", "/v1/chat/completions", headers, body).status == 200
        return upstream.asked[-1].body

    assert b"the text of a" in ask(1_000)
    assert b"the text of a" not in ask(127_000)
