"""Model services that misbehave, as the official clients see them through a real server."""

import functools
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from promptuary.blocking import Promptuary
from promptuary.server.proxy import proxy as proxying
from promptuary.testing.chat_server import MessagesWire, Refuses, Says
from promptuary.workspace.web.relay import Relay, RelayLimits
from tests.server import upstream as service
from tests.server.clients import PATHS, PROTOCOLS, STREAMED, Clients, text_of
from tests.server.conftest import RunningServer, StartServer
from tests.server.upstream import Deed, Raw, Upstream, chunk
from tests.waiting import wait_until

IMPATIENT = RelayLimits(first_byte=0.3, between=0.3)
HEAD = service._STREAM


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server wait for services as long as a test does."""
    monkeypatch.setattr(proxying, "Relay", functools.partial(Relay, limits=IMPATIENT))


def errors_of(protocol: str) -> Any:
    return anthropic if protocol == "messages" else openai


def check_that_others_are_answered(clients: Clients, upstream: Upstream, protocol: str) -> None:
    upstream.replies = [Says("Hello")]
    assert text_of(protocol, clients.ask(protocol, "And now?")) == "Hello"


NOT_BEGUN: list[tuple[Deed, int, str]] = [
    (service.stall_before_headers(), 504, "did not begin to answer"),
    (Raw([]), 502, "closed the connection early"),
    (Raw([0.05, "reset"]), 502, "closed the connection early"),
    (service.no_http(), 502, "does not answer in valid HTTP"),
    (service.endless_headers(), 502, "bytes of headers"),
    (service.many_headers(300), 502, "more than 200 headers"),
    (Raw([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 60.0]), 502, "valid HTTP"),
    (Raw([b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 60.0]), 502, "valid HTTP"),
]


@PROTOCOLS
@STREAMED
def test_a_service_that_does_not_begin_well_is_an_error_of_the_protocol_and_hurts_nobody_else(
    clients: Clients, upstream: Upstream, protocol: str, stream: bool
) -> None:
    for deed, status, why in NOT_BEGUN:
        upstream.replies = [deed]
        with pytest.raises(errors_of(protocol).InternalServerError, match=why) as caught:
            clients.ask(protocol, "Hi", stream=stream)
        assert caught.value.status_code == status
        assert f"127.0.0.1:{upstream.port}" in caught.value.message

    check_that_others_are_answered(clients, upstream, protocol)


@PROTOCOLS
@pytest.mark.parametrize(
    "deed",
    [service.stall_in_stream, service.cut_in_stream, service.reset_in_stream, service.bad_chunks],
    ids=lambda deed: deed.__name__,
)
def test_a_stream_that_breaks_off_ends_with_an_error_of_the_protocol(
    clients: Clients, upstream: Upstream, protocol: str, deed: Callable[[bytes], Deed]
) -> None:
    upstream.replies = [deed(b": begun\n\n")]

    with pytest.raises(errors_of(protocol).APIError, match=rf"127\.0\.0\.1:{upstream.port} "):
        clients.ask(protocol, "Hi", stream=True)

    wait_until(lambda: upstream.open == 0)
    check_that_others_are_answered(clients, upstream, protocol)


@PROTOCOLS
@STREAMED
def test_a_redirect_is_not_followed_by_anybody(
    clients: Clients, upstream: Upstream, protocol: str, stream: bool
) -> None:
    with Upstream() as elsewhere:
        for status in (301, 302, 303, 307, 308):
            upstream.replies = [service.redirect_to(f"{elsewhere.url}{PATHS[protocol]}", status)]
            with pytest.raises(errors_of(protocol).APIStatusError) as caught:
                clients.ask(protocol, "Hi", stream=stream)
            assert "location" not in caught.value.response.headers

        assert elsewhere.asked == []
    check_that_others_are_answered(clients, upstream, protocol)


@pytest.mark.parametrize("status", [500, 502, 503, 529])
@PROTOCOLS
def test_a_service_that_asks_for_time_gets_it_from_the_client(
    clients: Clients, upstream: Upstream, protocol: str, status: int
) -> None:
    upstream.replies = [Refuses(status, "Too much to do.", retry_after=11)]

    with pytest.raises(errors_of(protocol).APIStatusError, match=r"Too much to do\.") as caught:
        clients.ask(protocol, "Hi")

    assert caught.value.status_code == status
    assert caught.value.response.headers["retry-after"] == "11"
    assert len(upstream.asked) == 1


def test_an_answer_that_is_compressed_unasked_is_read_by_the_client(clients: Clients, upstream: Upstream) -> None:
    upstream.replies = [service.gzip_unasked(MessagesWire().whole(Says("Hello, small one")))]

    assert text_of("messages", clients.ask("messages", "Hi")) == "Hello, small one"


@PROTOCOLS
def test_a_page_for_browsers_is_no_answer_and_is_not_recorded(
    clients: Clients, upstream: Upstream, protocol: str, workspace: Path, proxied: RunningServer
) -> None:
    upstream.replies = [service.html_page()]

    with suppress(openai.APIError, anthropic.APIError, AttributeError):
        clients.ask(protocol, "Hi", extra_headers={"X-Promptuary-Thread": "one"})

    check_that_others_are_answered(clients, upstream, protocol)
    admin = {"Authorization": f"Bearer {proxied.create()}"}
    wait_until(lambda: b"promptuary_unfinished_records 0" in proxied.ask("GET", "/metrics", admin).body)
    with Promptuary.open(workspace) as promptuary:
        assert [turn.status for turn in promptuary.threads.turns(thread="one")] == ["prepared"]


def test_an_event_of_ten_megabytes_passes_and_is_not_held(
    proxied: RunningServer, clients: Clients, upstream: Upstream
) -> None:
    count, piece = 160, b"A word. " * 8_192
    parts: list[Any] = [HEAD, chunk(b'data: {"choices":[{"index":0,"delta":{"content":"')]
    parts += [chunk(piece)] * count
    parts += [chunk(b'"}}]}\n\ndata: [DONE]\n\n'), b"0\r\n\r\n"]
    upstream.replies = [Raw(parts)]
    body = {"model": "gpt-test", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"Authorization": f"Bearer {proxied.create()}", "Content-Type": "application/json"}

    answer = proxied.ask("POST", "/v1/chat/completions", headers, json.dumps(body).encode())

    assert answer.body.count(piece[:8]) == count * 8_192
    assert answer.body.endswith(b"data: [DONE]\n\n")
    check_that_others_are_answered(clients, upstream, "chat")


def test_a_slow_stream_takes_as_long_as_it_takes(clients: Clients, upstream: Upstream) -> None:
    upstream.replies = [Says("a word and another word and one more", pause=0.1)]

    assert text_of("chat", clients.ask("chat", "Hi", stream=True)) == "a word and another word and one more"


@PROTOCOLS
def test_a_server_that_is_its_own_service_is_told_so(
    monkeypatch: pytest.MonkeyPatch, start_server: StartServer, protocol: str
) -> None:
    server = start_server()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", server.create())
    monkeypatch.setenv("ANTHROPIC_API_KEY", server.create())
    looped = Clients(server, server.create())

    with pytest.raises(errors_of(protocol).InternalServerError, match="this server") as caught:
        looped.ask(protocol, "Hi")

    assert caught.value.status_code == 508
    looped.close()


def test_a_service_that_sends_without_end_holds_no_memory_for_a_client_that_does_not_read(
    proxied: RunningServer, upstream: Upstream
) -> None:
    upstream.replies = [Raw([HEAD, *[chunk(b": " + b"x" * 65_536 + b"\n\n")] * 2_000, b"0\r\n\r\n"])]
    body = {"model": "gpt-test", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}

    with proxied.open_stream("/v1/chat/completions", json.dumps(body).encode()) as client:
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        before = -1
        while upstream.asked[0].sent != before:  # until it can send no more
            before = upstream.asked[0].sent
            with suppress(AssertionError):
                wait_until(lambda: upstream.asked[0].sent != before, seconds=0.5)  # noqa: B023  (called at once)

        assert before < 40 << 20
    wait_until(lambda: upstream.hung_up)
