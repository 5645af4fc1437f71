"""Which URLs may be fetched: how a URL may be written, and which IP addresses are public.

Pure: resolves no name and opens no connection. A URL is parsed once, strictly, into a ``Target``; a URL that two
parsers could read differently is refused, not repaired. The lists below decide whether an address is public; they name
every special range. ``ipaddress.is_global`` is not used, because its results changed between releases and it trusts
addresses that embed others.
"""

import re
import unicodedata
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urljoin

from msgspec import Struct

from promptuary.base.errors import Code, SourceError

MAX_URL = 4096
"""Longer than any URL that a person writes; servers refuse at about twice this."""

_PUBLIC_V6 = IPv6Network("2000::/3")

_NOT_PUBLIC_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; some clouds keep their metadata here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host agent of a cloud, in public space but never public
        "169.254.0.0/16",  # link-local: the metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments: the metadata of one cloud
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)

# All outside 2000::/3 is refused before this list: loopback, mapped, NAT64, unique-local, multicast.
_NOT_PUBLIC_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address of the writer's choice
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # the former test network
        "3fff::/20",  # documentation
    )
)

# Names that are never on the public internet; refused without a lookup.
_LOCAL_NAMES = ("localhost", "local", "internal", "home.arpa")

_PARTS = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
# The old and the new IDNA rules for these give different hosts, so a name with one of them is ambiguous.
_DEVIATIONS = frozenset("ßẞς\u200c\u200d")
_UNQUOTED = "!#$%&'()*+,/:;=?@[]~"


class Target(Struct, frozen=True):
    """The checked parts of a URL. ``host`` is lower-case ASCII without brackets."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address, if the host is one and not a name."""
        if ":" in self.host or self.host.replace(".", "").isdigit():
            return ip_address(self.host)
        return None

    @property
    def authority(self) -> str:
        """The host, with the port unless it is the default port of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _default_port(self.scheme) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL as it is requested: without a fragment, in ASCII."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def local(self) -> bool:
        """Whether the name always means this machine or this site."""
        return any(self.host == name or self.host.endswith(f".{name}") for name in _LOCAL_NAMES)

    def named_in(self, hosts: Iterable[str]) -> bool:
        """Whether ``hosts`` names this host, alone or with exactly this port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        names = {self.host, host, f"{host}:{self.port}"}
        return any(entry.strip().lower() in names for entry in hosts)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether ``address`` is on the public internet, and does not embed an address that is not."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address.scope_id is not None or address not in _PUBLIC_V6:
        return False
    return not any(address in network for network in _NOT_PUBLIC_V6)


def parse_url(url: str) -> Target:
    """Parse ``url``. Raises ``SourceError`` (``BAD_URL``) for all but a plain http or https URL."""
    if len(url) > MAX_URL:
        raise _bad(f"The URL is longer than {MAX_URL} characters.")
    _check_characters(url)
    parts = _PARTS.fullmatch(url)
    if parts is None:
        raise _bad("Only http:// and https:// URLs with a host can be fetched.")
    scheme, authority, path, query = parts[1].lower(), parts[2], parts[3], parts[4] or ""
    if "@" in authority:
        raise _bad("The URL contains a user name or password; write it without the part before '@'.")
    host, port = _split(authority, scheme)
    return Target(scheme, host, port, quote((path or "/") + query, safe=_UNQUOTED))


def join_url(base: Target, location: str) -> Target:
    """Return the target of ``location``, a redirect of the server at ``base``."""
    _check_characters(location)
    try:
        return parse_url(urljoin(base.url, location))
    except ValueError:
        raise _bad("The URL of the redirect cannot be parsed.") from None


def _check_characters(url: str) -> None:
    if "\\" in url or " " in url or not url.isprintable():
        raise _bad("The URL contains white space, a control character or a backslash; percent-encode it.")


def _split(authority: str, scheme: str) -> tuple[str, int]:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise _bad("The host and port of the URL cannot be parsed; write host or host:port.")
    port = int(parts[2]) if parts[2] else _default_port(scheme)
    if not 1 <= port <= 65535:
        raise _bad("The port of the URL is not between 1 and 65535.")
    host = parts[1]
    return (_ipv6(host[1:-1]) if host.startswith("[") else _name(host)), port


def _ipv6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise _bad("The URL's host in brackets is not an IPv6 address.") from None
    if address.scope_id is not None:
        raise _bad("The URL's IPv6 address has a zone, which is valid on this machine only.")
    return str(address)


def _name(text: str) -> str:
    host = _ascii(text).removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        address = _ipv4(labels)
        # 010.8.8.8 is public if the zero means octal, and private if it does not.
        if is_public(address) and str(address) != host:
            raise _bad("The URL's host is an IPv4 address in an unusual form; write four decimal numbers.")
        return str(address)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _bad("The URL's host is not a valid name.")
    return host


def _ascii(text: str) -> str:
    if text.isascii():
        return text.lower()
    if len(text) > 253 or _DEVIATIONS.intersection(text):
        raise _bad("The URL's host is ambiguous or too long; write it in its xn-- form.")
    # The codec handles other full stops, but not all characters that stand for a digit.
    plain = unicodedata.normalize("NFKC", text).lower()
    try:
        return plain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise _bad("The URL's host is not a valid international name.") from None


def _ipv4(labels: list[str]) -> IPv4Address:
    """Parse an IPv4 address as resolvers do: parts may be hexadecimal or octal, and fewer than four."""
    wrong = _bad("The URL's host ends in a number but is not an IPv4 address.")
    if len(labels) > 4 or not all(_NUMBER.fullmatch(label) for label in labels):
        raise wrong
    try:
        *heads, last = (_number(label) for label in labels)
    except ValueError:
        raise wrong from None
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        raise wrong
    return IPv4Address(sum(head << (24 - 8 * place) for place, head in enumerate(heads)) + last)


def _number(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if label.startswith("0") else int(label)


def _default_port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def _bad(reason: str) -> SourceError:
    return SourceError(Code.BAD_URL, reason)
