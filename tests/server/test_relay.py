"""The byte door to a model service: whole answers or a clear end, bounded memory, and nobody left on the line."""

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import uvloop

from promptuary.base.errors import RelayError
from promptuary.testing.chat_server import Refuses, Says
from promptuary.testing.loopback import Loopback, Step, answer
from promptuary.workspace.web.relay import HOP_HEADER, Answer, Relay, RelayLimits
from tests.certificates import make_certificate
from tests.conftest import watched
from tests.server import upstream as service
from tests.server.upstream import Body, Deed, Raw, Upstream, chunk
from tests.waiting import wait_until

Result = TypeVar("Result")
IMPATIENT = RelayLimits(connect=5.0, first_byte=0.2, between=0.2, turn=0.2)
ASKED = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}).encode()
WHOLE = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello"}]}).encode()
JSON = [(b"content-type", b"application/json")]


def run(work: Callable[[Relay], Awaitable[Result]], **options: object) -> Result:
    """Run ``work`` with a relay on the loop that the server uses."""

    async def within() -> Result:
        relay = Relay(**options)  # type: ignore[arg-type]
        try:
            return await work(relay)
        finally:
            await relay.aclose()

    return uvloop.run(within())


async def read(answer: Answer) -> bytes:
    try:
        return b"".join([data async for data in answer.chunks])
    finally:
        await answer.aclose()


async def collect(answer: Answer, seen: list[bytes]) -> None:
    async for data in answer.chunks:
        seen.append(data)  # noqa: PERF401  (it ends with an error)


async def until(is_so: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, is_so)


async def post(relay: Relay, upstream: Upstream, body: bytes = ASKED, path: str = "/v1/messages") -> tuple[int, bytes]:
    answer = await relay.open("POST", f"{upstream.url}{path}", JSON, body)
    return answer.status, await read(answer)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.fixture
def own_certificate(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as found:
        yield found


def test_an_answer_comes_byte_for_byte_with_its_status_and_headers(upstream: Upstream) -> None:
    value = '{"a": 1.0,   "b": "\\u00e9é"}'
    upstream.replies = [Body(value, 201, headers={"Request-Id": "req_7", "Keep-Alive": "timeout=5"})]

    async def work(relay: Relay) -> Answer:
        answer = await relay.open("POST", f"{upstream.url}/v1/messages?beta=true", [*JSON, (b"X-One", b"1")], WHOLE)
        assert await read(answer) == value.encode()
        return answer

    answer = run(work)

    assert answer.status == 201
    assert answer.headers == [
        (b"content-length", str(len(value.encode())).encode()),
        (b"content-type", b"application/json"),
        (b"request-id", b"req_7"),
    ]
    (asked,) = upstream.asked
    assert (asked.body, asked.target, asked.headers["x-one"]) == (WHOLE, "/v1/messages?beta=true", "1")
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.headers["host"] == f"127.0.0.1:{upstream.port}"


def test_headers_of_the_connection_stay_with_it_and_none_can_add_a_line(upstream: Upstream) -> None:
    sent = [
        (b"Connection", b"close"),
        (b"transfer-encoding", b"chunked"),
        (b"Host", b"evil"),
        (b"Content-Length", b"1"),
    ]

    async def work(relay: Relay) -> None:
        await read(await relay.open("POST", f"{upstream.url}/v1/messages", sent, WHOLE))
        for bad in (b"1\r\nX-Evil: 1", b"1\nX-Evil: 1", b"1\0"):
            with pytest.raises(RelayError, match="line break"):
                await relay.open("POST", f"{upstream.url}/v1/messages", [(b"x-one", bad)], WHOLE)

    run(work)

    (asked,) = upstream.asked
    assert asked.body == WHOLE
    assert "connection" not in asked.headers
    assert [value for name, value in asked.raw_headers if name.lower() == "host"] == [f"127.0.0.1:{upstream.port}"]


@pytest.mark.parametrize(
    ("deed", "status", "why"),
    [
        (service.stall_before_headers(), 504, "did not begin to answer within 0.2 seconds"),
        (Raw([b"HTTP/1.1 200 OK\r\nContent-", 60.0]), 504, "did not begin to answer"),
        (Raw([]), 502, "closed the connection early"),
        (Raw([0.05, "reset"]), 502, "closed the connection early"),
        (service.no_http(), 502, "valid HTTP"),
        (Raw([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 60.0]), 502, "valid HTTP"),
        (service.endless_headers(), 502, "bytes of headers"),
        (service.many_headers(300), 502, "more than 200 headers"),
        (Raw([b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, 60.0]), 502, "bytes of headers"),
        (Raw([b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 60.0]), 502, "valid HTTP"),
        (Raw([b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"]), 502, "valid HTTP"),
        (Raw([b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"]), 502, "valid HTTP"),
    ],
    ids=range(12),
)
def test_a_service_that_does_not_begin_well_is_an_error_with_a_sentence(
    deed: Deed, status: int, why: str, upstream: Upstream
) -> None:
    upstream.replies = [deed]

    async def work(relay: Relay) -> RelayError:
        with pytest.raises(RelayError, match=why) as caught:
            await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        return caught.value

    error = run(work, limits=IMPATIENT)

    assert error.status == status
    assert str(error).startswith(f"127.0.0.1:{upstream.port} ")
    assert len(upstream.asked) == 1  # it may have begun to work on it
    wait_until(lambda: upstream.open == 0)


@pytest.mark.parametrize(
    ("deed", "first", "why"),
    [
        (service.stall_in_stream(b"data: 1\n\n"), b"data: 1\n\n", "sent nothing for 0.2 seconds"),
        (service.cut_in_stream(b"data: 1\n\n"), b"data: 1\n\n", "closed the connection early"),
        (service.reset_in_stream(b"data: 1\n\n"), b"data: 1\n\n", "closed the connection early"),
        (service.promise_more_than_comes(b"{}"), b"{}", "closed the connection early"),
        (service.bad_chunks(b"data: 1\n\n"), b"data: 1\n\n", "valid HTTP"),
    ],
    ids=range(5),
)
def test_an_answer_that_breaks_off_is_cut_and_never_looks_complete(
    deed: Deed, first: bytes, why: str, upstream: Upstream
) -> None:
    upstream.replies = [deed]
    seen: list[bytes] = []

    async def work(relay: Relay) -> None:
        answer = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        with pytest.raises(RelayError, match=why):
            await collect(answer, seen)
        await answer.aclose()

    run(work, limits=IMPATIENT)

    assert b"".join(seen) == first
    wait_until(lambda: upstream.open == 0)


def test_what_comes_after_an_answer_is_nobodys(upstream: Upstream) -> None:
    forged = answer('{"forged": true}', "application/json")
    upstream.replies = [service.send_more_than_promised(b"{}", forged), Body({"own": 1})]

    async def work(relay: Relay) -> list[tuple[int, bytes]]:
        return [await post(relay, upstream), await post(relay, upstream)]

    assert run(work) == [(200, b"{}"), (200, b'{"own": 1}')]
    assert [asked.connection for asked in upstream.asked] == [1, 2]


def test_bytes_that_nobody_asked_for_end_an_idle_connection(upstream: Upstream) -> None:
    late: list[Step] = [answer("{}", "application/json"), 0.1, answer('{"forged": true}', "application/json"), 60.0]
    upstream.replies = [Raw(late), Body({"own": 1})]

    async def work(relay: Relay) -> bytes:
        await post(relay, upstream)
        await until(lambda: not upstream.open)
        return (await post(relay, upstream))[1]

    assert run(work) == b'{"own": 1}'


def test_an_answer_without_a_length_ends_with_its_connection(upstream: Upstream) -> None:
    upstream.replies = [Raw([b"HTTP/1.1 200 OK\r\n\r\nall", 0.05, b" of it"]), Raw([b"HTTP/1.1 204 No\r\n\r\n"])]

    async def work(relay: Relay) -> list[tuple[int, bytes]]:
        return [await post(relay, upstream), await post(relay, upstream)]

    assert run(work) == [(200, b"all of it"), (204, b"")]


def test_other_methods_and_statuses_pass(upstream: Upstream) -> None:
    async def work(relay: Relay) -> list[tuple[int, bytes]]:
        found = []
        for method, path in (("HEAD", "/"), ("GET", "/v1/models"), ("DELETE", "/v1/files/file-1"), ("GET", "/nothing")):
            answer = await relay.open(method, f"{upstream.url}{path}", [])
            found.append((answer.status, await read(answer)))
        return found

    head, models, deleted, nothing = run(work)

    assert head == (200, b"")
    assert b"scripted" in models[1]
    assert deleted[0] == 200
    assert nothing[0] == 404
    assert upstream.accepted == 1


@pytest.mark.parametrize(
    "deed", [service.redirect_to("http://127.0.0.1:9/"), service.html_page(), service.gzip_unasked({"a": 1})]
)
def test_what_is_not_what_a_client_wants_passes_as_it_is_and_is_not_followed(deed: Body, upstream: Upstream) -> None:
    upstream.replies = [deed]

    async def work(relay: Relay) -> Answer:
        answer = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        expected = deed.value if isinstance(deed.value, bytes) else str(deed.value).encode()
        assert await read(answer) == expected
        return answer

    answer = run(work)

    assert answer.status == deed.status
    assert {(name.lower().encode(), value.encode()) for name, value in deed.headers.items()} <= set(answer.headers)


def test_connections_are_used_again_and_bounded(upstream: Upstream) -> None:
    upstream.replies = [Says("x" * 200, pause=0.01)]

    async def work(relay: Relay) -> list[tuple[int, bytes]]:
        found = await asyncio.gather(*[post(relay, upstream) for _ in range(10)])
        upstream.replies = [Says("Again")]
        await asyncio.gather(*[post(relay, upstream) for _ in range(4)])
        return found

    found = run(work, limits=RelayLimits(connections=4))

    assert {status for status, _ in found} == {200}
    assert upstream.accepted == 4
    assert len(upstream.asked) == 14


def test_who_waits_too_long_for_a_connection_is_told(upstream: Upstream) -> None:
    upstream.replies = [service.stall_in_stream(b"data: 1\n\n")]

    async def work(relay: Relay) -> RelayError:
        first = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        with pytest.raises(RelayError, match="try again later") as caught:
            await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        await first.aclose()
        upstream.replies = [Says("Hello")]
        assert (await post(relay, upstream))[0] == 200
        return caught.value

    assert run(work, limits=RelayLimits(connections=1, turn=0.1)).status == 503


def test_idle_connections_are_few_and_end_after_a_while(upstream: Upstream) -> None:
    upstream.replies = [Says("x" * 100, pause=0.01)]

    async def work(relay: Relay) -> None:
        await asyncio.gather(*[post(relay, upstream) for _ in range(6)])
        assert 1 <= upstream.open <= 6
        await until(lambda: not upstream.open)

    run(work, limits=RelayLimits(keep_alive=0.1, idle_connections=2))


def test_a_connection_that_the_service_closed_meanwhile_is_replaced() -> None:
    """The service says nothing about it, and the next request is already on its way."""
    listener = socket.create_server(("127.0.0.1", 0))
    reply = answer("{}", "application/json")
    served: list[int] = []

    def serve() -> None:
        for number in range(2):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(reply)
                served.append(number)
                if number == 0:
                    connection.recv(65_536)  # the second request, which gets no answer

    thread = threading.Thread(target=serve)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/messages"

    async def work(relay: Relay) -> None:
        for _ in range(2):
            found = await relay.open("POST", url, [(b"x-stainless-retry-count", b"1")], ASKED)
            assert await read(found) == b"{}"

    try:
        run(work)
    finally:
        thread.join()
        listener.close()
    assert served == [0, 1]


async def _cancel_when(task: "asyncio.Task[Result]", is_so: Callable[[], object]) -> None:
    await until(is_so)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_cancelling_closes_the_connection_at_every_moment(upstream: Upstream) -> None:
    async def work(relay: Relay) -> None:
        opening = asyncio.ensure_future(relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED))
        await _cancel_when(opening, lambda: True)  # before it connects
        upstream.replies = [service.stall_before_headers()]
        opening = asyncio.ensure_future(relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED))
        await _cancel_when(opening, lambda: upstream.asked)
        await until(lambda: upstream.hung_up)
        upstream.replies = [service.stall_in_stream(b"data: 1\n\n")]
        reading = asyncio.ensure_future(post(relay, upstream))
        await _cancel_when(reading, lambda: len(upstream.asked) == 2 and upstream.asked[1].sent)
        await until(lambda: len(upstream.hung_up) == 2)
        opened = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        await opened.aclose()  # nobody has read anything
        await until(lambda: len(upstream.hung_up) == 3)
        upstream.replies = [Says("Hello")]
        assert (await post(relay, upstream))[0] == 200  # and every turn was given back

    run(work, limits=RelayLimits(connections=1, turn=5.0))

    wait_until(lambda: upstream.open == 0)


def test_whoever_reads_while_it_is_closed_gets_an_end_and_never_the_answer_of_another(upstream: Upstream) -> None:
    upstream.replies = [service.stall_in_stream(b"data: 1\n\n"), Body("first"), Body("second")]

    async def work(relay: Relay) -> list[bytes]:
        stalled = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        assert await anext(stalled.chunks) == b"data: 1\n\n"
        waiting = asyncio.ensure_future(anext(stalled.chunks))
        await asyncio.sleep(0.01)
        await stalled.aclose()
        with pytest.raises(RelayError):
            await waiting
        first = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        await anext(first.chunks)
        await first.aclose()
        second = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        return [data async for data in first.chunks] + [await read(second)]

    assert run(work) == [b"second"]


def test_a_slow_reader_holds_back_a_fast_service(upstream: Upstream) -> None:
    size = 64 << 20
    upstream.replies = [Raw([service._STREAM, *[chunk(b"x" * 65_536)] * (size // 65_536), b"0\r\n\r\n"])]

    async def work(relay: Relay) -> int:
        answer = await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)
        largest = 0
        first = len(await anext(answer.chunks))
        before = -1
        while upstream.asked[0].sent != before:  # until it sends no more
            before = upstream.asked[0].sent
            await asyncio.sleep(0.05)
        held = before
        async for data in answer.chunks:
            first, largest = first + len(data), max(largest, len(data))
        assert first == size
        assert largest < 1 << 20
        return held

    assert run(work) < 16 << 20  # what the system holds for both


@pytest.mark.parametrize("status", [502, 503, 504, 529])
def test_an_overloaded_service_is_asked_once_more(status: int, upstream: Upstream) -> None:
    upstream.replies = [Refuses(status), Says("Hello")]

    assert run(lambda relay: post(relay, upstream))[0] == 200
    assert len(upstream.asked) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 408, 429, 500])
def test_other_refusals_are_the_answer(status: int, upstream: Upstream) -> None:
    upstream.replies = [Refuses(status, "no", 7), Says("Hello")]

    assert run(lambda relay: post(relay, upstream))[0] == status
    assert len(upstream.asked) == 1


def test_a_service_is_not_asked_again_if_the_client_retries_or_if_it_wants_time(upstream: Upstream) -> None:
    upstream.replies = [Refuses(503), Refuses(529, "busy", 30), Refuses(502), Refuses(502), Says("Hello")]

    async def work(relay: Relay) -> list[int]:
        counted = [*JSON, (b"X-Stainless-Retry-Count", b"1")]
        first = await relay.open("POST", f"{upstream.url}/v1/messages", counted, ASKED)
        await first.aclose()
        return [first.status, (await post(relay, upstream))[0], (await post(relay, upstream))[0]]

    assert run(work) == [503, 529, 502]
    assert len(upstream.asked) == 4


def test_a_service_that_is_not_there_is_looked_for_twice_and_then_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    async def work(relay: Relay) -> RelayError:
        with pytest.raises(RelayError, match=f"127.0.0.1:{port} refuses the connection or cannot be reached") as caught:
            await relay.open("GET", f"http://127.0.0.1:{port}/v1/models", [])
        return caught.value

    assert run(work).status == 502


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://192.0.2.1/v1/messages", "is not on this machine, and plain http shows your texts"),
        ("ftp://127.0.0.1/", "Only http:// and https://"),
        ("http://user@127.0.0.1/", "user name or password"),
        ("http://nothing.invalid/v1", "nothing.invalid"),
    ],
)
def test_an_address_that_may_not_be_called_is_refused(url: str, why: str) -> None:
    async def work(relay: Relay) -> RelayError:
        with pytest.raises(RelayError, match=why) as caught:
            await relay.open("POST", url, [(b"x-stainless-retry-count", b"1")], ASKED)
        return caught.value

    assert run(work).status == 502


def test_a_host_that_the_person_allowed_is_called_by_its_name(upstream: Upstream) -> None:
    async def work(relay: Relay) -> int:
        answer = await relay.open("POST", f"http://localhost:{upstream.port}/v1/messages", JSON, ASKED)
        await read(answer)
        return answer.status

    assert run(work) == 200
    assert upstream.asked[0].headers["host"] == f"localhost:{upstream.port}"


@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_this_server_itself_is_no_service(bound: str, upstream: Upstream) -> None:
    async def work(relay: Relay) -> RelayError:
        with pytest.raises(RelayError, match="is this server itself") as caught:
            await relay.open("POST", f"http://localhost:{upstream.port}/v1/messages", JSON, ASKED)
        return caught.value

    assert run(work, listening=[(bound, upstream.port)]).status == 508
    assert upstream.asked == []


def test_a_request_that_comes_back_over_other_servers_is_refused(upstream: Upstream) -> None:
    async def work(relay: Relay) -> None:
        await post(relay, upstream)
        own = upstream.asked[0].headers[HOP_HEADER.decode()].encode()
        for hops in (own, b"0123, " + own, b"1, 2, 3, 4"):
            with pytest.raises(RelayError, match="leads back to this server"):
                await relay.open("POST", f"{upstream.url}/v1/messages", [(b"X-Promptuary-Hop", hops)], ASKED)
        await read(await relay.open("POST", f"{upstream.url}/v1/messages", [(HOP_HEADER, b"0123")], ASKED))
        assert upstream.asked[1].headers[HOP_HEADER.decode()].encode() == b"0123, " + own

    run(work)

    assert len(upstream.asked) == 2


def test_a_certificate_that_nobody_vouches_for_is_refused(own_certificate: ssl.SSLContext) -> None:
    async def work(relay: Relay) -> None:
        with pytest.raises(RelayError, match="no valid certificate"):
            await relay.open("GET", server.url("/v1/models"), [])

    with Loopback({"*": answer("{}")}, tls=own_certificate) as server:
        run(work)
        assert server.requests == []


def test_an_encrypted_connection_carries_a_stream(
    own_certificate: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("cert.pem")))

    async def work(relay: Relay) -> bytes:
        return await read(await relay.open("POST", server.url("/v1/messages", "localhost"), JSON, b"x" * 300_000))

    with Loopback({"*": answer(b"y" * 500_000)}, tls=own_certificate) as server:
        assert run(work) == b"y" * 500_000
        assert server.bodies == [b"x" * 300_000]


def test_closing_the_relay_ends_what_is_under_way(upstream: Upstream) -> None:
    upstream.replies = [service.stall_before_headers()]

    async def work(relay: Relay) -> None:
        opening = asyncio.ensure_future(relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED))
        await until(lambda: upstream.asked)
        await relay.aclose()
        with pytest.raises(RelayError):
            await opening
        with pytest.raises(RelayError, match="stopping"):
            await relay.open("POST", f"{upstream.url}/v1/messages", JSON, ASKED)

    run(work)


def test_it_is_the_door_that_connects(upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the standard loop, whose connections the interpreter reports."""

    async def work() -> None:
        relay = Relay()
        await read(await relay.open("POST", f"http://localhost:{upstream.port}/v1/messages", JSON, ASKED))
        await relay.aclose()

    with watched(tmp_path, monkeypatch) as watcher:
        asyncio.run(work())

    assert watcher.found == []
    assert watcher.passed["workspace socket.connect"] > 0
