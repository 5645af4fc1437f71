"""Which URLs can be read in one way only, and which addresses are public."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptuary.base.errors import Code, SourceError
from promptuary.workspace.web.addresses import MAX_URL, Target, is_public, join_url, parse_url

# The special ranges once more, written as first and last address, so that a slip in a prefix length shows.
NOT_PUBLIC_V4 = [
    ("0.0.0.0", "0.255.255.255"),
    ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("127.0.0.0", "127.255.255.255"),
    ("168.63.129.16", "168.63.129.16"),
    ("169.254.0.0", "169.254.255.255"),
    ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.0.2.0", "192.0.2.255"),
    ("192.31.196.0", "192.31.196.255"),
    ("192.52.193.0", "192.52.193.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"),
    ("192.175.48.0", "192.175.48.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"),
    ("224.0.0.0", "255.255.255.255"),
]
NOT_PUBLIC_V6 = [
    ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff"),
    ("3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
]


def reference(address: IPv4Address | IPv6Address) -> bool:
    ranges = NOT_PUBLIC_V4 if isinstance(address, IPv4Address) else NOT_PUBLIC_V6
    return not any(int(ip_address(first)) <= int(address) <= int(ip_address(last)) for first, last in ranges)


def borders() -> list[IPv4Address | IPv6Address]:
    found: list[IPv4Address | IPv6Address] = []
    for ranges, kind in ((NOT_PUBLIC_V4, IPv4Address), (NOT_PUBLIC_V6, IPv6Address)):
        top = 2 ** (32 if kind is IPv4Address else 128) - 1
        for pair in ranges:
            numbers = {int(ip_address(end)) + step for end in pair for step in (-1, 0, 1)}
            found += [kind(number) for number in numbers if 0 <= number <= top]
    return found


def test_every_border_of_a_special_range_is_where_the_registry_puts_it() -> None:
    assert [str(address) for address in borders() if is_public(address) != reference(address)] == []


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
@example(ip_address("2606:4700::1111"))
@example(ip_address("8.8.8.8"))
def test_an_address_is_public_exactly_if_no_special_range_holds_it(
    address: IPv4Address | IPv6Address,
) -> None:
    assert is_public(address) == reference(address)


@given(st.ip_addresses(v=4))
def test_no_ipv6_address_that_wraps_an_ipv4_address_is_public(inner: IPv4Address) -> None:
    number = int(inner)
    wrapped = [
        IPv6Address(number),  # compatible
        IPv6Address((0xFFFF << 32) | number),  # mapped
        IPv6Address((0xFFFF << 48) | number),  # translated
        IPv6Address((0x64FF9B << 96) | number),  # NAT64
        IPv6Address((0x64FF9B0001 << 80) | number),  # local NAT64
        IPv6Address((0x2002 << 112) | (number << 80)),  # 6to4
        IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),  # Teredo
    ]
    assert [str(address) for address in wrapped if is_public(address)] == []


def test_an_address_with_a_zone_is_never_public() -> None:
    assert not is_public(IPv6Address("2606:4700::1111%eth0"))


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://example.com", Target("http", "example.com", 80, "/")),
        ("HTTPS://Example.COM./a/b?q=1#part", Target("https", "example.com", 443, "/a/b?q=1")),
        ("http://example.com:8080?q", Target("http", "example.com", 8080, "/?q")),
        ("http://example.com:/x", Target("http", "example.com", 80, "/x")),
        ("http://[2606:4700:0::1111]:81/", Target("http", "2606:4700::1111", 81, "/")),
        ("http://8.8.8.8./", Target("http", "8.8.8.8", 80, "/")),
        (
            "http://bücher.example/straße?q=ü%20x",
            Target("http", "xn--bcher-kva.example", 80, "/stra%C3%9Fe?q=%C3%BC%20x"),
        ),
        ("http://example.com/@user/a:b", Target("http", "example.com", 80, "/@user/a:b")),
        ('http://example.com/a"<b>', Target("http", "example.com", 80, "/a%22%3Cb%3E")),
        ("http://under_score.example/", Target("http", "under_score.example", 80, "/")),
    ],
)
def test_a_plain_url_is_taken_apart(url: str, target: Target) -> None:
    assert parse_url(url) == target


@pytest.mark.parametrize(
    ("spelling", "address"),
    [
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("①②⑦.⓪.0.１", "127.0.0.1"),
        ("١٢٧.0.0.1", None),
        ("256.0.0.1", None),
        ("134744072", None),
        ("010.8.8.8", None),
        ("0127.0.0.1", None),
        ("1.2.3.4.5", None),
        ("127.0.0.08", None),
        ("4294967296", None),
        ("127.0.0.0x100", None),
        ("a.1", None),
        ("127..1", None),
    ],
)
def test_a_host_that_ends_in_a_number_is_an_ipv4_address_or_nothing(spelling: str, address: str | None) -> None:
    if address is None:
        with pytest.raises(SourceError, match="BAD_URL"):
            parse_url(f"http://{spelling}/")
    else:
        assert parse_url(f"http://{spelling}/").host == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:example.com",
        "http:/example.com",
        "http://",
        "http:///path",
        "http://?q",
        "http://:80/",
        "http://user@example.com/",
        "http://user:secret@example.com/",
        "http://@example.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com/a b",
        "http://example.com/\t",
        " http://example.com/",
        "http://example.com/\n",
        "http://exam\x00ple.com/",
        "http://example.com/\u200b",
        "http://example.com/\ud800",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:-1/",
        "http://example.com:８０/",
        "http://example.com:80:80/",
        "http://::1/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[fe80::1%25lo]/",
        "http://[fe80::1%lo]/",
        "http://[v1.x]/",
        "http://[127.0.0.1]/",
        "http://ex%61mple.com/",
        "http://127%2e0%2e0%2e1/",
        "http://a..b/",
        "http://-a.example/",
        "http://a-.example/",
        "http://exa mple.com/",
        "http://example.com／x@y/",
        "http://faß.example/",
        "http://a\u200db.example/",
        f"http://{'a' * 64}.example/",
        f"http://{'a.' * 130}example/",
        f"http://{'ü' * 260}.example/",
        f"http://{'ü' * 60}.example/",
        "http://example.com/" + "a" * MAX_URL,
    ],
)
def test_a_url_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_url(url)
    assert caught.value.code is Code.BAD_URL


@given(st.text(max_size=80).map("http://{}".format) | st.from_regex(r"https?://[^/]{1,60}/.{0,20}", fullmatch=True))
def test_what_is_read_from_a_url_is_read_the_same_again(url: str) -> None:
    target = _parsed(url)
    if target is not None:
        assert target.url.isascii()
        assert _parsed(target.url) == target


def _parsed(url: str) -> Target | None:
    try:
        return parse_url(url)
    except SourceError:
        return None


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/x", "https://example.com/x"),
        ("x?y", "https://example.com/a/x?y"),
        ("//other.example/", "https://other.example/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("?q", "https://example.com/a/b?q"),
        ("../../..", "https://example.com/"),
    ],
)
def test_a_redirect_is_read_against_the_page_that_sent_it(location: str, url: str) -> None:
    assert join_url(parse_url("https://example.com/a/b"), location).url == url


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://[", "/a b", "\thttp://x.example", "//u@x.example/"])
def test_a_redirect_to_a_bad_url_is_refused(location: str) -> None:
    with pytest.raises(SourceError, match="BAD_URL"):
        join_url(parse_url("https://example.com/a/b"), location)


@pytest.mark.parametrize(
    ("url", "entry", "named"),
    [
        ("http://LOCALHOST:8000/", "localhost", True),
        ("http://localhost:8000/", "LocalHost:8000", True),
        ("http://localhost:8001/", "localhost:8000", False),
        ("http://[::1]:8000/", "::1", True),
        ("http://[::1]:8000/", "[::1]", True),
        ("http://[::1]:8000/", "[::1]:8000", True),
        ("http://a.localhost/", "localhost", False),
        ("http://localhost.example/", "localhost", False),
        ("http://example.com/", "example.com:80", True),
    ],
)
def test_an_allowed_host_is_named_exactly(url: str, entry: str, *, named: bool) -> None:
    assert parse_url(url).named_in({entry}) is named


@pytest.mark.parametrize(
    "host", ["localhost", "a.localhost", "printer.local", "metadata.google.internal", "x.home.arpa"]
)
def test_names_that_mean_this_machine_or_site_are_known(host: str) -> None:
    assert parse_url(f"http://{host}/").local


@pytest.mark.parametrize("host", ["example.com", "notlocalhost", "localhost.example", "internal.example"])
def test_other_names_are_not_taken_for_local(host: str) -> None:
    assert not parse_url(f"http://{host}/").local
