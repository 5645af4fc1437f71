"""Fetching from a server that means well: what is asked, what is followed, and what a page says."""

import gzip
import hashlib
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpcore2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from promptuary.base.errors import Code, SourceError
from promptuary.testing.loopback import Loopback, Route, Step, answer, redirect
from promptuary.workspace.access import Access
from promptuary.workspace.web.deadline import Deadline
from promptuary.workspace.web.fetch import Page, fetch
from promptuary.workspace.web.http import _GuardedStream
from tests.certificates import make_certificate

HOST = "site.test"
MODIFIED = "Wed, 05 Jun 2024 01:02:03 GMT"
POLICY = Access(hosts=frozenset({HOST}), fetch_timeout=5.0)


def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def get(server: Loopback, route: Route, policy: Access = POLICY) -> Page:
    server.routes["/page"] = route
    return fetch(server.url("/page", HOST), policy, resolve=here)


def failure(server: Loopback, route: Route, policy: Access = POLICY) -> SourceError:
    with pytest.raises(SourceError) as caught:
        get(server, route, policy)
    return caught.value


def text(body: bytes | str, **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer(body, "text/plain; charset=utf-8", headers=named)


def test_a_page_says_where_it_came_from_and_what_it_is(server: Loopback) -> None:
    body = "<title>Greeting</title><main><h1>Hello</h1><p>See <a href='more'>more</a>.</main>"
    page = get(server, answer(body))
    url = server.url("/page", HOST)
    assert page == Page(
        url=url,
        final_url=url,
        title="Greeting",
        text=f"# Hello\n\nSee [more]({server.url('/more', HOST)}).",
        content_type="text/html",
        language="markdown",
        date=page.fetched[:10],
        dated="fetched",
        fetched=page.fetched,
        size=len(body),
        sha256=hashlib.sha256(body.encode()).hexdigest(),
        truncated=False,
        notes=(),
    )
    assert abs((datetime.fromisoformat(page.fetched) - datetime.now(UTC)).total_seconds()) < 60


@pytest.mark.parametrize(
    ("response", "date", "dated"),
    [
        (
            answer("<time datetime=2020-02-03>x</time>", headers={"Last-Modified": MODIFIED}),
            "2020-02-03",
            "published",
        ),
        (text("x", last_modified=MODIFIED), "2024-06-05", "modified"),
        (text("x", last_modified="Wed, 99 Jun 99999 01:02:03 GMT"), None, "fetched"),
        (text("x", last_modified="yesterday"), None, "fetched"),
    ],
)
def test_a_page_has_the_best_date_that_is_known(
    server: Loopback, response: bytes, date: str | None, dated: str
) -> None:
    page = get(server, response)
    assert (page.date, page.dated) == (date or page.fetched[:10], dated)


def test_nothing_but_the_page_is_asked_for_and_nothing_of_the_person_is_told(server: Loopback) -> None:
    server.requests.clear()
    server.routes["/a b"] = text("x")
    fetch(server.url("/page?q=ü&r=%20#part", HOST), replace(POLICY), resolve=here)
    lines = server.requests[0].split("\r\n")
    assert lines[0] == "GET /page?q=%C3%BC&r=%20 HTTP/1.1"
    assert sorted(line.split(":")[0] for line in lines[1:] if line) == [
        "Accept",
        "Accept-Encoding",
        "Connection",
        "Host",
        "User-Agent",
    ]
    assert f"Host: {HOST}:{server.port}" in lines
    assert re.search(r"User-Agent: promptuary/[\d.]+\r\n", server.requests[0])


def test_redirects_are_followed_and_cookies_are_not_kept(server: Loopback) -> None:
    server.routes |= {
        "/a": redirect("/b"),
        "/b": redirect("c/d?e#f", 308).replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n"),
    }
    server.routes["/c/d"] = text("arrived")
    server.requests.clear()
    page = fetch(server.url("/a", HOST), POLICY, resolve=here)
    assert (page.text, page.url, page.final_url) == (
        "arrived",
        server.url("/a", HOST),
        server.url("/c/d?e", HOST),
    )
    assert "ookie" not in "".join(server.requests)


def test_redirects_end(server: Loopback) -> None:
    server.requests.clear()
    error = failure(server, redirect("/page"), replace(POLICY, max_redirects=3))
    assert (error.code, len(server.requests)) == (Code.FETCH_FAILED, 4)
    assert "redirects more than 3 times" in error.reason


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("file:///etc/passwd", Code.BAD_URL),
        ("http://user@site.test/", Code.BAD_URL),
        ("http://unknown.test/", Code.BLOCKED_ADDRESS),
        ("http://site.test:70000/", Code.BAD_URL),
    ],
)
def test_a_redirect_is_held_to_the_same_rules(server: Loopback, location: str, code: Code) -> None:
    assert failure(server, redirect(location)).code is code


@pytest.mark.parametrize("status", [304, 400, 403, 404, 418, 429, 500, 503])
def test_a_status_that_is_no_success_is_told(server: Loopback, status: int) -> None:
    error = failure(server, answer("sorry", status=status))
    assert (error.code, error.reason) == (Code.FETCH_FAILED, f"{HOST} answers with HTTP status {status}.")


def test_a_redirect_without_a_place_to_go_is_told(server: Loopback) -> None:
    assert "status 302" in failure(server, answer("x", status=302)).reason


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"packed", mtime=0)),
        ("x-gzip", gzip.compress(b"packed", mtime=0)),
        ("GZIP", gzip.compress(b"packed", mtime=0)),
        ("deflate", zlib.compress(b"packed")),
        ("deflate", raw_deflate(b"packed")),
        ("identity", b"packed"),
    ],
)
def test_a_compressed_body_is_unpacked(server: Loopback, encoding: str, body: bytes) -> None:
    page = get(server, text(body, content_encoding=encoding))
    assert (page.text, page.size) == ("packed", 6)


@pytest.mark.parametrize(
    ("encoding", "body", "code"),
    [
        ("br", b"x", Code.UNSUPPORTED_TYPE),
        ("zstd", b"x", Code.UNSUPPORTED_TYPE),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), Code.UNSUPPORTED_TYPE),
        ("gzip", b"not gzip", Code.FETCH_FAILED),
        ("gzip", gzip.compress(b"cut off", mtime=0)[:-6], Code.FETCH_FAILED),
        ("gzip", gzip.compress(b"two", mtime=0) + gzip.compress(b"parts", mtime=0), Code.FETCH_FAILED),
        ("deflate", b"\x00", Code.FETCH_FAILED),
    ],
)
def test_a_body_that_cannot_be_unpacked_is_refused(server: Loopback, encoding: str, body: bytes, code: Code) -> None:
    assert failure(server, text(body, content_encoding=encoding)).code is code


def test_an_empty_body_is_an_empty_page(server: Loopback) -> None:
    assert get(server, text(b"", content_encoding="gzip")).text == ""
    assert get(server, b"HTTP/1.1 204 Nothing\r\n\r\n").text == ""


def test_a_body_in_chunks_or_until_the_end_of_the_connection_is_whole(server: Loopback) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
    assert get(server, head + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").text == "abcde"

    def until_end() -> Iterator[Step]:
        yield head + b"\r\nall of it"

    assert get(server, until_end).text == "all of it"


def test_what_is_not_text_is_refused(server: Loopback) -> None:
    assert failure(server, answer(b"\x89PNG", "image/png")).code is Code.UNSUPPORTED_TYPE


def test_a_name_without_an_address_is_told() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    def nothing(host: str, port: int) -> Sequence[str]:
        return []

    def nonsense(host: str, port: int) -> Sequence[str]:
        return ["not an address"]

    for resolve in (unknown, nothing, nonsense):
        with pytest.raises(SourceError) as caught:
            fetch("http://nowhere.example/", Access(), resolve=resolve)
        assert caught.value.code is Code.FETCH_FAILED
        assert caught.value.reason == "nowhere.example has no address; check the name, and whether you are online."


def test_without_a_network_one_is_told_so() -> None:
    def offline(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    with pytest.raises(SourceError) as caught:
        fetch("https://example.org/", Access(), resolve=offline)
    assert (caught.value.code, "online" in caught.value.reason) == (Code.FETCH_FAILED, True)
    assert "check the name" not in caught.value.reason


@pytest.mark.parametrize(
    "cut",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Type: te",
        b"",
    ],
)
def test_a_connection_that_is_lost_on_the_way_is_not_called_invalid(server: Loopback, cut: bytes) -> None:
    def route() -> Iterator[Step]:
        if cut:
            yield cut

    assert failure(server, route).reason == f"{HOST} closed the connection early."


def test_what_is_no_http_is_called_so(server: Loopback) -> None:
    assert failure(server, b"SSH-2.0-OpenSSH\r\n\r\n").reason == f"{HOST} does not answer in valid HTTP."


def test_a_lookup_that_hangs_ends_with_the_deadline() -> None:
    release = threading.Event()

    def hang(host: str, port: int) -> Sequence[str]:
        release.wait(10)
        return []

    with pytest.raises(SourceError) as caught:
        fetch("http://slow.example/", Access(fetch_timeout=0.2), resolve=hang)
    release.set()
    assert caught.value.code is Code.TIMEOUT


def test_an_address_that_refuses_leaves_the_next_one_a_turn(server: Loopback) -> None:
    server.routes["/page"] = text("second")
    page = fetch(server.url("/page", HOST), POLICY, resolve=lambda _host, _port: ["127.0.0.9", "127.0.0.1"])
    assert page.text == "second"


def test_a_host_that_refuses_connections_is_told() -> None:
    with Loopback() as gone:
        url = gone.url("/", HOST)
    with pytest.raises(SourceError) as caught:
        fetch(url, POLICY, resolve=here)
    assert caught.value.code is Code.FETCH_FAILED
    assert caught.value.reason == f"{HOST} refuses the connection or cannot be reached."


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"), HOST)


@pytest.fixture
def secure(certificate: Path) -> Iterator[tuple[Loopback, list[str | None]]]:
    asked: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    with Loopback({"/page": text("private"), "/down": redirect(f"http://{HOST}/")}, tls=context) as server:
        yield server, asked


def test_a_certificate_is_checked_against_the_name_while_the_address_is_pinned(
    secure: tuple[Loopback, list[str | None]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, asked = secure
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("cert.pem")))
    assert fetch(server.url("/page", HOST), POLICY, resolve=here).text == "private"
    assert asked == [HOST]
    other = replace(POLICY, hosts=frozenset({"other.test"}))
    with pytest.raises(SourceError, match="has no valid certificate") as caught:
        fetch(server.url("/page", "other.test"), other, resolve=here)
    assert caught.value.code is Code.FETCH_FAILED


def test_a_certificate_that_nobody_vouches_for_is_refused(secure: tuple[Loopback, list[str | None]]) -> None:
    with pytest.raises(SourceError, match=r"FETCH_FAILED.*has no valid certificate"):
        fetch(secure[0].url("/page", HOST), POLICY, resolve=here)


def test_a_deadline_that_passes_between_connecting_and_the_handshake_closes_the_connection(server: Loopback) -> None:
    connected = httpcore2.SyncBackend().connect_tcp("127.0.0.1", server.port)
    stream = _GuardedStream(connected, Deadline(HOST, 1.0, time.monotonic() - 1.0), 1_000)
    with pytest.raises(SourceError, match="TIMEOUT"):
        stream.start_tls(ssl.create_default_context(), HOST)

    assert connected.get_extra_info("socket").fileno() == -1


def test_a_redirect_from_https_to_http_is_refused(
    secure: tuple[Loopback, list[str | None]], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("cert.pem")))
    with pytest.raises(SourceError, match=r"FETCH_FAILED.*from https to http"):
        fetch(secure[0].url("/down", HOST), POLICY, resolve=here)


def nowhere(host: str, port: int) -> Sequence[str]:
    raise OSError("nothing resolves")


@given(
    st.text(max_size=60)
    | st.text(max_size=40).map("http://{}".format)
    | st.from_regex(r"https?://[a-z0-9.:@\[\]%\\-]{0,30}(/.*)?", fullmatch=True)
)
@example("http://[::1%]/")
@example("http://a.b:443/")
@example("http://\u2488com/")
def test_any_text_is_refused_or_fetched_and_nothing_else(url: str) -> None:
    # The literal addresses among them are public at best; no port is open, so that none is ever called.
    with pytest.raises(SourceError) as caught:
        fetch(url, Access(ports=frozenset({1}), fetch_timeout=1.0), resolve=nowhere)
    assert caught.value.code in {Code.BAD_URL, Code.BLOCKED_ADDRESS, Code.FETCH_FAILED}


@given(st.from_regex(r"[a-z0-9.-]{1,30}\.(example|com|test)", fullmatch=True))
def test_any_name_that_does_not_resolve_is_told(host: str) -> None:
    with pytest.raises(SourceError) as caught:
        fetch(f"http://{host}/", Access(fetch_timeout=1.0), resolve=nowhere)
    assert caught.value.code in {Code.BAD_URL, Code.FETCH_FAILED}


def test_the_http_library_is_loaded_only_when_something_is_fetched() -> None:
    program = (
        "import sys; from promptuary.workspace.web.fetch import fetch, Access\n"
        "try: fetch('http://localhost/', Access())\n"
        "except Exception: print(sorted({'httpcore2', 'selectolax', 'subprocess'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
