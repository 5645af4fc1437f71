"""However an address is spelled, redirected to or resolved: nothing private is ever connected to.

Two witnesses: servers on loopback that count what arrives, and an audit hook that sees every attempt
to connect. The hook also refuses whatever is not loopback, so that no test leaves this machine.
"""

import errno
import socket
import sys
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

import pytest

from promptuary.base.errors import Code, SourceError
from promptuary.testing.loopback import Loopback, answer, redirect
from promptuary.workspace.access import Access
from promptuary.workspace.web.fetch import Resolver, fetch

PUBLIC = "93.184.216.34"
SECRET = answer("SECRET", "text/plain")

_attempts: list[str] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect" or _attempts is None:
        return
    address = arguments[1]
    host = str(address[0]) if isinstance(address, tuple) else str(address)
    _attempts.append(host)
    if not ip_address(host).is_loopback:
        raise OSError(errno.ENETUNREACH, "no test connects to the outside")


sys.addaudithook(_watch)


@pytest.fixture
def attempts() -> Iterator[list[str]]:
    global _attempts  # noqa: PLW0603 - an audit hook cannot be removed, only told to look away
    _attempts = []
    yield _attempts
    _attempts = None


@pytest.fixture(scope="module")
def victim() -> Iterator[Loopback]:
    with Loopback({"*": SECRET}) as server:
        yield server


@pytest.fixture(scope="module")
def victim6() -> Iterator[Loopback | None]:
    try:
        server = Loopback({"*": SECRET}, host="::1")
    except OSError:
        yield None
        return
    with server:
        yield server


@pytest.fixture(scope="module")
def door() -> Iterator[Loopback]:
    """Serve an allowed host on loopback, from which every redirect starts."""
    with Loopback() as server:
        yield server


def _words(text: str) -> list[str]:
    return text.split()


LOOPBACK_V4 = _words("""
127.0.0.1 127.0.0.1. 127.1 127.0.1 127.000.000.001 0127.0.0.1 0177.0.0.1 0177.0.0.01 0177.1
017700000001 00000177.0.0.1 0x7f.0.0.1 0x7F.0x0.0x0.0x1 0X7f.1 0x7f000001 0x7f.0.1 0x00000007f.1
2130706433 2130706433. 0 0. 00 0x0 0x 0.0.0.0 0.0 0.0.0 127.127.127.127 127.255.255.254 127.0.0.2
127.65535 0x7f.0xffff 127。0。0。1 127．0．0．1 127｡0｡0｡1 １２７.０.０.１ ①②⑦.⓪.⓪.① ①②⑦。0。0。1
𝟏𝟐𝟕.𝟎.𝟎.𝟏 𝟭𝟮𝟳.1 ０ｘ７ｆ.１ ²130706433 127.0.0.¹ ١٢٧.٠.٠.١ 127.0.0.1%00 127.0.0.1%20 127%2e0%2e0%2e1
%31%32%37.0.0.1 127.0.0.1%2f 127.0.0.1%09 12７.0.0.1 4294967295
340282366920938463463374607431768211457 127.0.0.1.1 127..0.1 .127.0.0.1 127.0.0.256 127.0.0.1..
""")
PRIVATE_V4 = _words("""
10.0.0.1 10.255.255.255 0xa.1 012.0.0.1 167772161 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1.1
0xc0a80001 169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 169.254.170.2
100.100.100.200 100.64.0.1 192.0.0.192 192.0.0.9 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255
198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16
""")
V6 = _words("""
[::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [0::1] [::] [::127.0.0.1]
[::7f00:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:0001] [0:0:0:0:0:ffff:127.0.0.1]
[::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1]
[2002:7f00:1::] [2002:7f00:1::1] [2002:a9fe:a9fe::] [2001:0:7f00:1::] [2001::80ff:fffe]
[2001:db8::1] [2001:20::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fe80::1] [fe80::a9fe:a9fe] [fec0::1]
[ff02::1] [ff0e::1] [100::1] [3fff::1] [5f00::1] [4000::1] [::1%25lo] [::1%lo] [fe80::1%25eth0]
[fe80::1%1] [::1]. [::1]1 [[::1]] [::1 ::1] ::1 [::ffff:0x7f.1] [::ffff:127.1] [v1.::1] [::①]
[::1%00] [2606:4700::1111%25lo]
""")
NAMES = _words("""
localhost LOCALHOST LocalHost localhost. ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ loc\u00adalhost
local\u200bhost localhost%00 localhost%2e a.localhost a.b.localhost. xn--localhost foo.local
printer.local. metadata.google.internal METADATA.google.internal. instance-data.ec2.internal
kubernetes.default.svc host.docker.internal router.home.arpa metadata intranet rebind.test
127.0.0.1.nip.example localtest.example ip6-localhost evil.example ẽvil.example еxample.com
xn--e1afmkfd.example faß.de
""")
WHOLE = [
    "http://example.com@127.0.0.1:{port}/",
    "http://user:pass@127.0.0.1:{port}/",
    "http://example.com:80@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@example.com/",
    "http://example.com%40127.0.0.1:{port}/",
    "http://example.com＠127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@example.com/",
    "http://example.com\\@127.0.0.1:{port}/",
    "http:\\\\127.0.0.1:{port}\\",
    "http://\\127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@example.com/",
    "http://127.0.0.1:{port}?@example.com/",
    "http://127.0.0.1:{port};@example.com/",
    "http://example.com#@127.0.0.1:{port}@x/",
    "http://127.0.0.1\t:{port}/",
    "http://127.0.0.1:{port}\t/",
    "ht\ttp://127.0.0.1:{port}/",
    " http://127.0.0.1:{port}/",
    "http://127.0.0.1 :{port}/",
    "http://127.0.0.1:{port} @example.com/",
    "http://\u00a0127.0.0.1:{port}/",
    "http://127.0.0.1\u3000:{port}/",
    "http://127.0.0.1\x0b:{port}/",
    "http:127.0.0.1:{port}/",
    "http:/127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/",
    "http:////127.0.0.1:{port}/",
    "HTTP://127.0.0.1:{port}/",
    "hTTp://localhost:{port}/",
    "https://127.0.0.1:{port}/",
    "http://127.0.0.1:0{port}/",
    "http://127.0.0.1:+{port}/",
    "http://127.0.0.1:{port}:80/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:0/",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET",
    "dict://127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/",
    "file://127.0.0.1/etc/passwd",
    "file:///etc/passwd",
    "jar:http://127.0.0.1:{port}!/",
    "url:http://127.0.0.1:{port}/",
    "http+unix://127.0.0.1:{port}/",
    "view-source:http://127.0.0.1:{port}/",
]
SPELLINGS = [f"http://{host}:{{port}}/" for host in [*LOOPBACK_V4, *PRIVATE_V4, *V6, *NAMES]] + WHOLE
REFUSED = {Code.BAD_URL, Code.BLOCKED_ADDRESS}


def never(host: str, port: int) -> Sequence[str]:
    raise OSError(f"nothing should look {host}:{port} up")


def at_home(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def mixed(host: str, port: int) -> Sequence[str]:
    return [PUBLIC, "127.0.0.1"]


def mixed6(host: str, port: int) -> Sequence[str]:
    return ["2606:4700::1111", PUBLIC, "::ffff:127.0.0.1"]


class Rebinding:
    """Answers with a public address first, and with loopback ever after."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return [PUBLIC] if self.asked == 1 else ["127.0.0.1"]


def outcome(url: str, policy: Access, resolve: Resolver) -> Code | None:
    try:
        fetch(url, policy, resolve=resolve)
    except SourceError as error:
        return error.code
    return None


def spelled(victim: Loopback, victim6: Loopback | None) -> list[str]:
    """Every spelling, for the server that it would reach if it were let through."""
    ports = {True: victim6.port if victim6 else victim.port, False: victim.port}
    return [url.format(port=ports["[" in url]) for url in SPELLINGS]


def policy_for(*servers: Loopback | None) -> Access:
    """Open the servers' ports, so that only the address can be what is refused."""
    ports = {server.port for server in servers if server}
    return Access(fetch_timeout=5.0, ports=frozenset({80, 443, *ports}))


def test_there_are_enough_spellings() -> None:
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 200


@pytest.mark.parametrize("resolve", [at_home, mixed, mixed6], ids=lambda resolve: resolve.__name__)
def test_no_spelling_connects_directly(
    resolve: Resolver, victim: Loopback, victim6: Loopback | None, attempts: list[str]
) -> None:
    policy = policy_for(victim, victim6)
    outcomes = {url: outcome(url, policy, resolve) for url in spelled(victim, victim6)}
    assert {url: code for url, code in outcomes.items() if code not in REFUSED} == {}
    assert attempts == []
    assert victim.accepted == 0
    assert victim6 is None or victim6.accepted == 0


def test_no_spelling_connects_through_a_redirect(
    door: Loopback, victim: Loopback, victim6: Loopback | None, attempts: list[str]
) -> None:
    policy = Access(hosts=frozenset({"pub.test"}), fetch_timeout=5.0, ports=policy_for(door, victim, victim6).ports)
    outcomes = {}
    for number, url in enumerate(spelled(victim, victim6)):
        door.routes[f"/{number}"] = redirect(url, status=(301, 302, 303, 307, 308)[number % 5])
        outcomes[url] = outcome(door.url(f"/{number}", "pub.test"), policy, at_home)
    # A spelling without "//" is a path on the door, which is not there; a control character is no HTTP.
    assert {url: code for url, code in outcomes.items() if code not in REFUSED | {Code.FETCH_FAILED}} == {}
    assert len([code for code in outcomes.values() if code in REFUSED]) > 190
    assert set(attempts) == {"127.0.0.1"}
    assert door.accepted == len(attempts)
    assert victim.accepted == 0
    assert victim6 is None or victim6.accepted == 0


def test_no_name_connects_by_answering_differently_the_second_time(
    victim: Loopback, victim6: Loopback | None, attempts: list[str]
) -> None:
    policy = policy_for(victim, victim6)
    for url in spelled(victim, victim6):
        resolver = Rebinding()
        assert outcome(url, policy, resolver) in REFUSED | {Code.FETCH_FAILED}, url
        assert resolver.asked <= 1, url
    # The only attempts were at the address that had been checked; the hook above stopped them.
    assert set(attempts) == {PUBLIC}
    assert victim.accepted == 0
    assert victim6 is None or victim6.accepted == 0


def test_a_name_that_moves_after_it_was_checked_is_not_followed(attempts: list[str]) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])
    with Loopback({"*": answer("first", "text/plain")}) as server:
        policy = Access(hosts=frozenset({"moving.test"}))
        page = fetch(server.url("/", "moving.test"), policy, resolve=lambda _host, _port: next(answers))
    assert page.text == "first"
    assert attempts == ["127.0.0.1"]
    assert next(answers) == ["127.0.0.2"]


def test_an_address_is_never_looked_up(victim: Loopback, attempts: list[str]) -> None:
    for host in ("127.0.0.1", "2130706433", "[::1]", "0x7f.1", "localhost", "a.localhost"):
        code = outcome(f"http://{host}:{victim.port}/", policy_for(victim), never)
        assert code is Code.BLOCKED_ADDRESS
    assert attempts == []


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("localhost", "LOCALHOST"),
        ("a.test", "a.test"),
        ("a.test", "a.test:{port}"),
    ],
)
def test_the_counter_counts_when_a_host_is_allowed(host: str, entry: str, attempts: list[str]) -> None:
    with Loopback({"*": SECRET}) as server:
        policy = Access(hosts=frozenset({entry.format(port=server.port)}))
        assert fetch(f"http://{host}:{server.port}/", policy, resolve=at_home).text == "SECRET"
        assert server.accepted == 1
    assert attempts == ["127.0.0.1"]


def test_the_counter_counts_on_ipv6_too(victim6: Loopback | None, attempts: list[str]) -> None:
    if victim6 is None:
        pytest.skip("no IPv6 on loopback here")
    with Loopback({"*": SECRET}, host="::1") as server:
        assert fetch(server.url(), Access(hosts=frozenset({"[::1]"})), resolve=never).text == "SECRET"
        assert server.accepted == 1
    assert attempts == ["::1"]


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 11211])
def test_a_port_that_is_not_for_the_web_is_refused_before_any_lookup(port: int, attempts: list[str]) -> None:
    with pytest.raises(SourceError) as caught:
        fetch(f"http://example.com:{port}/", Access(), resolve=never)
    assert caught.value.code is Code.BLOCKED_ADDRESS
    assert f"--allow-host example.com:{port}" in caught.value.reason
    assert attempts == []


def test_an_allowed_port_opens_no_other_port(victim: Loopback, attempts: list[str]) -> None:
    policy = Access(hosts=frozenset({"127.0.0.1:1"}))
    assert outcome(victim.url(), policy, never) is Code.BLOCKED_ADDRESS
    assert attempts == []


def test_an_open_host_may_lead_to_another_open_host(victim: Loopback, attempts: list[str]) -> None:
    policy = Access(hosts=frozenset({"mine.test", "other.test"}))
    with Loopback({"*": redirect(victim.url("/", "mine.test"))}) as other:
        assert outcome(other.url("/", "other.test"), policy, at_home) is None


def test_a_strangers_page_cannot_lead_into_a_private_host_that_is_open(
    victim: Loopback, attempts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a public page must not be a way to press a button on someone's own server."""
    hosts = {"mine.test": ["127.0.0.1"], "stranger.test": ["127.0.0.3"]}
    # A public server cannot be had without leaving this machine: for this test, 127.0.0.3 counts as one.
    monkeypatch.setattr("promptuary.workspace.web.fetch.is_public", lambda address: str(address) == "127.0.0.3")
    before = victim.accepted
    with Loopback({"*": redirect(victim.url("/delete", "mine.test"))}, host="127.0.0.3") as stranger:
        policy = Access(hosts=frozenset({"mine.test"}), ports=frozenset({stranger.port, victim.port}))
        code = outcome(stranger.url("/", "stranger.test"), policy, lambda host, _port: hosts[host])
        assert stranger.accepted == 1
    assert code is Code.BLOCKED_ADDRESS
    assert victim.accepted == before


def test_the_reason_says_how_to_open_the_door(attempts: list[str]) -> None:
    for url, name in (
        ("http://localhost/", "localhost"),
        ("http://[::1]/", "[::1]"),
        ("http://intra.test/", "intra.test"),
    ):
        with pytest.raises(SourceError) as caught:
            fetch(url, Access(), resolve=lambda _host, _port: ["10.0.0.7"])
        assert caught.value.reason == (
            f"{name} is not on the public internet. If you trust {name}, allow it by name (--allow-host {name}, or"
            " allow_hosts in your configuration)."
        )
    assert attempts == []


def test_the_environment_offers_no_way_around(
    victim: Loopback, monkeypatch: pytest.MonkeyPatch, attempts: list[str]
) -> None:
    before = victim.accepted
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{victim.port}")
    assert outcome("http://example.com/", Access(), lambda _host, _port: [PUBLIC]) is Code.FETCH_FAILED
    assert attempts == [PUBLIC]
    assert victim.accepted == before


def test_the_hook_sees_a_connection(victim: Loopback, attempts: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", victim.port)):
        pass
    assert attempts == ["127.0.0.1"]
    with pytest.raises(OSError, match="outside"):
        socket.create_connection((PUBLIC, 80), timeout=1)
