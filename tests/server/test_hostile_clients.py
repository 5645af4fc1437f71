"""Clients that send too much, too little, or nonsense: a clear answer for them, and nothing for others to notice."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from promptuary.server.asgi import read_body
from promptuary.server.errors import Refusal
from tests.conftest import Figure
from tests.server.clients import PATHS, PROTOCOLS, Clients, text_of
from tests.server.conftest import Answer, RunningServer
from tests.server.upstream import Upstream
from tests.waiting import wait_until

LISTS = {"messages": "messages", "responses": "input", "chat": "messages"}
MODELS = {"messages": "claude-test", "responses": "gpt-test", "chat": "gpt-test"}


def body_of(protocol: str, text: str = "Hi", **more: Any) -> dict[str, Any]:
    body = {"model": MODELS[protocol], LISTS[protocol]: [{"role": "user", "content": text}], **more}
    return body | {"max_tokens": 10} if protocol == "messages" else body


def post(server: RunningServer, protocol: str, body: bytes) -> Answer:
    headers = {"Authorization": f"Bearer {server.create()}", "Content-Type": "application/json"}
    return server.ask("POST", PATHS[protocol], headers, body)


def nonsense(protocol: str) -> Iterator[tuple[str, bytes]]:
    whole = json.dumps(body_of(protocol))
    yield "nothing", b""
    yield "half of it", whole[: len(whole) // 2].encode()
    yield "two of them", (whole + whole).encode()
    yield "a list", b"[" + whole.encode() + b"]"
    yield "invalid UTF-8", whole.replace("Hi", "\xff").encode("latin-1")
    yield "half a surrogate", whole.replace("Hi", "\\ud800").encode()
    yield "deep lists", whole.replace('"Hi"', "[" * 100_000 + "]" * 100_000).encode()
    yield "deep lists that do not end", whole.replace('"Hi"', "[" * 1_000_000).encode()
    yield (
        "deep objects elsewhere",
        whole.replace("{", '{"x": ' + '{"a": ' * 100_000 + "1" + "}" * 100_000 + ", ", 1).encode(),
    )
    yield "no number", whole.replace('"Hi"', "NaN").encode()
    yield "a number that is too long", whole.replace('"Hi"', "9" * 100_000).encode()
    lists: list[Any] = [{"role": "user"}, [1, None, [], "x"], [{"role": {}, "content": 1}], "x" * 100, 7]
    lists += [
        [{"role": "user", "content": [3, {}]}],
        [{"role": "user", "content": [{"type": 1}]}],
        [{}],
        [{"role": "\0"}],
    ]
    for given in lists:
        yield f"{given} for the list", json.dumps({**body_of(protocol), LISTS[protocol]: given}).encode()
    yield "a BOM", b"\xef\xbb\xbf" + whole.encode()
    yield "UTF-16", whole.encode("utf-16")


@PROTOCOLS
def test_nonsense_is_refused_or_passed_on_but_never_a_failure_of_the_server(
    proxied: RunningServer, upstream: Upstream, clients: Clients, protocol: str
) -> None:
    for name, body in nonsense(protocol):
        answer = post(proxied, protocol, body)
        assert answer.status in (200, 400, 404, 413, 422), (name, answer.status, answer.body[:300])
        if answer.status != 200:
            error = json.loads(answer.body)
            assert error["error"]["message"], name
            assert (error.get("type") == "error") == (protocol == "messages"), name

    assert text_of(protocol, clients.ask(protocol, "Still there?")) == "Hello"


@PROTOCOLS
def test_fields_that_nobody_knows_pass_byte_for_byte(proxied: RunningServer, upstream: Upstream, protocol: str) -> None:
    unknown = r'{"b": 1.0, "a": 1e400, "é": "é\/", "n": 12345678901234567890123, "": [ ] }'
    body = json.dumps(body_of(protocol))[:-1] + f', "x_new": {unknown}}}'

    assert post(proxied, protocol, body.encode()).status == 200

    assert (
        r'{"b": 1.0, "a": 1e400, "é": "é\/", "n": 12345678901234567890123, "": [ ] }' in upstream.asked[0].body.decode()
    )


@PROTOCOLS
def test_a_field_that_is_there_twice_passes_once(proxied: RunningServer, upstream: Upstream, protocol: str) -> None:
    body = json.dumps(body_of(protocol))
    twice = f'{{"model": "another", {body[1:-1]}, "stream": false, "stream": false}}'

    answer = post(proxied, protocol, twice.encode())

    if answer.status == 200:
        sent = upstream.asked[0].body
        assert sent.count(b'"model"') == sent.count(b'"stream"') == 1
        assert b"another" not in sent
    else:
        assert answer.status == 400


@pytest.mark.torture
def test_a_body_at_the_limit_arrives_whole_and_one_beyond_it_does_not(
    proxied: RunningServer, upstream: Upstream, clients: Clients, figure: Figure
) -> None:
    size = figure(4 << 20, 64 << 20)
    text = "word " * ((size - 200_000) // 5)
    large = json.dumps(body_of("chat", text)).encode()

    assert post(proxied, "chat", large).status == 200
    assert text.encode() in upstream.asked[0].body

    with proxied.open_stream("/v1/chat/completions", b"", f"X-More: {'y' * 1000}\r\n") as client:
        assert b" 400 " in client.recv(1_000)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{proxied.port}\r\n"
    head += f"Authorization: Bearer {proxied.create()}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", proxied.port), 20) as client:
        client.sendall(f"{head}Content-Length: {(64 << 20) + 1}\r\n\r\n".encode() + b"x" * 1000)
        assert client.recv(1_000).startswith(b"HTTP/1.1 413")
    assert text_of("chat", clients.ask("chat", "Still there?")) == "Hello"
    assert len(upstream.asked) == 2


def test_a_client_that_stops_in_the_middle_of_its_body_is_forgotten(
    proxied: RunningServer, upstream: Upstream, clients: Clients
) -> None:
    body = json.dumps(body_of("chat", "x" * 100_000)).encode()
    half = f"Content-Length: {len(body)}\r\n"
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{proxied.port}\r\n"
    head += f"Authorization: Bearer {proxied.create()}\r\nContent-Type: application/json\r\n{half}\r\n"
    with ExitStack() as stack:
        for _ in range(100):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", proxied.port), 20))
            client.sendall(head.encode() + body[: len(body) // 2])
        assert text_of("chat", clients.ask("chat", "Me too?")) == "Hello"
    metrics = {"Authorization": f"Bearer {proxied.create()}"}
    wait_until(lambda: b"promptuary_running_requests 1\n" in proxied.ask("GET", "/metrics", metrics).body)

    assert len(upstream.asked) == 1


def test_a_request_hidden_in_another_reaches_nobody(proxied: RunningServer, upstream: Upstream) -> None:
    hidden = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
    whole = json.dumps(body_of("chat")).encode()
    for more in (
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: +5\r\n",
    ):
        with proxied.open_stream("/v1/chat/completions", whole, more) as client, suppress(OSError):
            client.sendall(hidden)
            client.settimeout(2)
            answers = client.recv(10_000)
            assert not answers or b" 400 " in answers.split(b"\r\n")[0], more

    assert upstream.asked == []


@pytest.mark.parametrize("path", PATHS.values())
def test_a_body_in_chunks_is_a_body(proxied: RunningServer, upstream: Upstream, path: str) -> None:
    protocol = next(name for name, found in PATHS.items() if found == path)
    body = json.dumps(body_of(protocol)).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{proxied.port}\r\nAuthorization: Bearer {proxied.create()}\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxied.port), 20) as client:
        client.sendall(head.encode())
        for at in range(0, len(body), 7):
            part = body[at : at + 7]
            client.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        client.sendall(b"0\r\nX-Api-Key: another\r\n\r\n")
        assert client.recv(10_000).startswith(b"HTTP/1.1 200")

    assert upstream.asked[0].json[LISTS[protocol]]


def test_a_body_that_comes_a_byte_at_a_time_has_an_end() -> None:
    async def drip() -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read() -> None:
        await read_body({"headers": ()}, drip, idle=5, seconds=0.2)

    with pytest.raises(Refusal) as refused:
        asyncio.run(read())
    assert refused.value.status == 408
