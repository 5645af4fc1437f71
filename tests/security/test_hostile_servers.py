"""Servers that lie, stall, drip, flood and break off: each ends in time, in a typed error, in little memory.

The servers run here; what fetches runs in a process of its own, where its peak memory can be measured.
"""

import gzip
import itertools
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.testing.loopback import RESET, Loopback, Route, Step, answer, redirect
from promptuary.workspace.access import Access
from promptuary.workspace.web.fetch import fetch

DEADLINE = 0.8
GRACE = 2.0
MAX_GROWTH = 16 * 1024 * 1024

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
FOREVER = 3600.0


def steps(*some: Step) -> Route:
    return lambda: some


def endless(*start: Step, then: Step, every: float = 0.0) -> Route:
    pause: tuple[Step, ...] = (every,) if every else ()
    return lambda: itertools.chain(start, itertools.cycle((then, *pause)))


def zeros(size: int) -> bytes:
    """Return ``size`` zeros in a thousandth of the room, without header and checksum."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(bytes(size)) + packer.flush()


def page_of_tags(body: str) -> Route:
    return answer(gzip.compress(body.encode()), headers={"Content-Encoding": "gzip"})


def numbered_headers() -> Iterator[Step]:
    yield OK
    for number in itertools.count():
        yield f"X-{number}: {'x' * 900}\r\n".encode()


BOMB = zeros(64 * 1024 * 1024)
GZIP = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + BOMB
SLOW = {Code.TIMEOUT}
BIG = {Code.RESPONSE_TOO_LARGE}
BROKEN = {Code.FETCH_FAILED}
READ_OR_STOPPED = {None, Code.TIMEOUT, Code.FETCH_FAILED}
CASES: dict[str, tuple[Route, set[Code] | set[Code | None]]] = {
    "gzip-bomb": (answer(GZIP, "text/plain", headers={"Content-Encoding": "gzip"}), BIG),
    "deflate-bomb": (answer(b"\x78\x9c" + BOMB, "text/plain", headers={"Content-Encoding": "deflate"}), BIG),
    "raw-deflate-bomb": (answer(BOMB, "text/plain", headers={"Content-Encoding": "deflate"}), BIG),
    "bomb-in-a-bomb": (
        answer(gzip.compress(GZIP), "text/plain", headers={"Content-Encoding": "gzip, gzip"}),
        {Code.UNSUPPORTED_TYPE},
    ),
    "brotli-unasked": (
        answer(b"\x00" * 100, "text/plain", headers={"Content-Encoding": "br"}),
        {Code.UNSUPPORTED_TYPE},
    ),
    "silent": (steps(FOREVER), SLOW),
    "half-a-status-line": (steps(b"HTTP/1.1 2", FOREVER), SLOW),
    "headers-drip": (endless(OK, then=b"X", every=0.02), SLOW),
    "body-drips": (endless(OK, b"Content-Length: 1000000\r\n\r\n", then=b"x", every=0.02), SLOW),
    "chunks-drip": (endless(OK, b"Transfer-Encoding: chunked\r\n\r\n", then=b"1\r\nx\r\n", every=0.02), SLOW),
    "headers-without-end": (numbered_headers, BROKEN),
    "one-header-without-end": (endless(OK, b"X-Long: ", then=b"x" * 65_536), BROKEN),
    "many-headers": (steps(OK, b"A: b\r\n" * 5_000, b"\r\nbody"), BROKEN),
    "interim-answers-without-end": (endless(then=b"HTTP/1.1 100 Continue\r\n\r\n" * 1000), BIG | SLOW),
    "status-line-without-end": (endless(b"HTTP/1.1 200 ", then=b"x" * 65_536), BROKEN),
    "body-without-end": (endless(OK, b"\r\n", then=b"x" * 65_536), BIG),
    "chunks-without-end": (
        endless(OK, b"Transfer-Encoding: chunked\r\n\r\n", then=b"1000\r\n" + b"x" * 4096 + b"\r\n"),
        BIG,
    ),
    "chunk-extension-without-end": (
        endless(OK, b"Transfer-Encoding: chunked\r\n\r\n1;", then=b"x" * 65_536),
        BROKEN,
    ),
    "trailers-without-end": (
        endless(OK, b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", then=b"A: b\r\n" * 5_000),
        BROKEN,
    ),
    "huge-chunk": (steps(OK, b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n", b"x" * 4_000_000), BIG),
    "huge-length": (steps(OK, b"Content-Length: 99999999999999999\r\n\r\n", FOREVER), BIG),
    "absurd-length": (steps(OK, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", FOREVER), BROKEN | BIG),
    "negative-length": (steps(OK, b"Content-Length: -1\r\n\r\nx"), BROKEN),
    "two-lengths": (steps(OK, b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), BROKEN),
    "length-too-long": (steps(OK, b"Content-Length: 1000\r\n\r\nshort"), BROKEN),
    "reset-before-the-answer": (steps(RESET), BROKEN),
    "reset-in-the-headers": (steps(OK, RESET), BROKEN),
    "reset-in-the-body": (steps(OK, b"Content-Length: 1000\r\n\r\nshort", 0.05, RESET), BROKEN),
    "closes-at-once": (steps(), BROKEN),
    "not-http": (steps(b"SSH-2.0-OpenSSH_9.9\r\n", b"\0" * 100), BROKEN),
    "http-0.9": (steps(b"<html>hello"), BROKEN),
    "switching-protocols": (steps(b"HTTP/1.1 101 Now\r\nUpgrade: x\r\n\r\n", FOREVER), BROKEN),
    "redirect-loop": (redirect("/redirect-loop"), BROKEN),
    "redirect-to-itself-growing": (redirect("x/" * 900), BROKEN | {Code.BAD_URL}),
    "redirect-with-an-endless-body": (
        endless(b"HTTP/1.1 302 F\r\nLocation: /closes-at-once\r\n\r\n", then=b"x" * 65_536),
        BROKEN,
    ),
    "redirect-header-injection": (steps(b"HTTP/1.1 302 F\r\nLocation: /a\tb\r\n\r\n"), {Code.BAD_URL}),
    "deep-page": (page_of_tags("<div>" * 100_000), READ_OR_STOPPED),
    "page-of-angles": (page_of_tags("<" * 1_000_000), READ_OR_STOPPED),
    "page-of-paragraphs": (page_of_tags("<p>x" * 500_000), READ_OR_STOPPED),
    "binary-as-text": (answer(bytes(100_000), "text/plain"), {Code.UNSUPPORTED_TYPE}),
}

PROGRAM = """
import json, sys, time
from promptuary.base.errors import SourceError
from promptuary.workspace.web.fetch import Access, fetch

def memory(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))

def try_one(url):
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before, start = memory("VmRSS"), time.monotonic()
    try:
        fetch(url, policy, resolve=lambda host, port: ["127.0.0.1"])
        code = None
    except SourceError as error:
        code = error.code
    return code, time.monotonic() - start, memory("VmHWM") - before

deadline, base, names = json.loads(sys.stdin.read())
policy = Access(hosts=frozenset({"hostile.test"}), fetch_timeout=60)
fetch(base + "warm", policy, resolve=lambda host, port: ["127.0.0.1"])
policy = Access(hosts=frozenset({"hostile.test"}), fetch_timeout=deadline)
print(json.dumps({name: try_one(base + name) for name in names}))
"""

Results = dict[str, tuple[str | None, float, int]]


@pytest.fixture(scope="module")
def results() -> Results:
    routes: dict[str, Route] = {f"/{name}": route for name, (route, _) in CASES.items()}
    with Loopback({"/warm": answer("<p>warm"), **routes}) as server:
        request = json.dumps([DEADLINE, server.url("/", "hostile.test"), list(CASES)])
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], input=request, check=True, capture_output=True, text=True, timeout=60
        )
    found: Results = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_server_gets_a_typed_error_in_time_and_in_little_memory(name: str, results: Results) -> None:
    code, seconds, growth = results[name]
    assert code in CASES[name][1]
    assert seconds <= DEADLINE + GRACE
    assert growth <= MAX_GROWTH


def test_a_server_that_never_finishes_its_handshake_ends_with_the_deadline() -> None:
    with Loopback() as server:
        url = server.url("/", "hostile.test").replace("http:", "https:")
        policy = Access(hosts=frozenset({"hostile.test"}), fetch_timeout=0.4)
        with pytest.raises(SourceError) as caught:
            fetch(url, policy, resolve=lambda _host, _port: ["127.0.0.1"])
    assert caught.value.code is Code.TIMEOUT
