"""Fetches a page: the only code that fetches a URL.

Each hop, redirects too, is parsed strictly, resolved once, refused if any of its addresses is not public, and connected
to one of exactly those addresses; the name is used for the Host header and the certificate. Nothing is taken from the
environment: no proxy, no cookie, no stored password. One deadline covers everything, and sizes are checked before bytes
are stored. ``workspace.documents.pages`` turns the bytes into text. Synchronous: callers run it in a thread.
"""

import socket
import time
from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from promptuary.base import concurrency
from promptuary.base.errors import Code, SourceError
from promptuary.workspace.access import Access
from promptuary.workspace.web.addresses import Target, is_public, join_url, parse_url
from promptuary.workspace.web.deadline import Deadline

if TYPE_CHECKING:
    from promptuary.workspace.documents.pages import PageText
    from promptuary.workspace.web.http import HttpResponse

__all__ = ["Page", "Resolver", "fetch", "get_following", "hops", "resolve_host", "system_resolver"]

Resolver = Callable[[str, int], Sequence[str]]
"""Resolves a host for a port to all its addresses, as text. Raises ``OSError`` if there are none."""

DateSource = Literal["published", "modified", "fetched"]
"""Where a page's date comes from: the page itself, the server, or the day of the fetch."""

_MAX_ADDRESSES = 6


class Page(Struct, frozen=True):
    """A fetched page as text. ``date`` is a day, ``fetched`` a time; ``size`` and ``sha256`` are those of the body."""

    url: str
    final_url: str
    title: str
    text: str
    content_type: str
    language: str
    date: str
    dated: DateSource
    fetched: str
    size: int
    sha256: str
    truncated: bool
    notes: tuple[str, ...]


def system_resolver(host: str, port: int) -> Sequence[str]:
    """Resolve with the operating system."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def fetch(url: str, access: Access, *, resolve: Resolver = system_resolver) -> Page:
    """Return the page at ``url`` as text. Raises ``SourceError`` if it is refused or cannot be fetched."""
    target = parse_url(url)
    deadline = Deadline(target.host, access.fetch_timeout, time.monotonic() + access.fetch_timeout)
    target, response = get_following(target, access, deadline, resolve)
    return _page(url, target, response, deadline)


def get_following(
    target: Target, access: Access, deadline: Deadline, resolve: Resolver = system_resolver
) -> "tuple[Target, HttpResponse]":
    """Return the response to a GET request, and its final target after redirects. Raises ``SourceError``."""
    steps = hops(target, access, deadline, resolve)
    target, addresses = next(steps)
    from promptuary.workspace.web.http import get  # noqa: PLC0415  (90 ms, not for what is refused)

    while (response := get(target, addresses, max_bytes=access.max_page_bytes, deadline=deadline)).redirect is not None:
        target, addresses = steps.send(response.redirect)
    return target, response


def hops(
    target: Target, access: Access, deadline: Deadline, resolve: Resolver = system_resolver
) -> Generator[tuple[Target, tuple[str, ...]], str, None]:
    """Yield where to connect, each with its checked addresses; send the URL of each redirect.

    Raises ``SourceError`` for an address that is not allowed, and for too many redirects.
    """
    allowed_host = target.named_in(access.hosts)
    for _ in range(access.max_redirects + 1):
        addresses = _allowed_addresses(target, access, resolve, deadline, allowed_host=allowed_host)
        following = _follow(target, (yield target, addresses))
        # A public page may not redirect to a private host, even if the person allowed that host.
        allowed_host = allowed_host and following.named_in(access.hosts)
        target = following
    raise SourceError(Code.FETCH_FAILED, f"{target.host} redirects more than {access.max_redirects} times.")


def _allowed_addresses(
    target: Target, access: Access, resolve: Resolver, deadline: Deadline, *, allowed_host: bool
) -> tuple[str, ...]:
    """Return the addresses of ``target``. Raises ``SourceError`` if one of them is not allowed."""
    if not allowed_host and target.port not in access.ports:
        allowed = ", ".join(map(str, sorted(access.ports)))
        name = target.authority
        raise _blocked_error(f"Port {target.port} is not one of {allowed}. {_how_to_allow(name)}")
    if not allowed_host and target.local:
        raise _not_public(target)
    literal = target.address
    found = (literal,) if literal else resolve_host(target, resolve, deadline)
    if not allowed_host and not all(is_public(address) for address in found):
        raise _not_public(target)
    return tuple(str(address) for address in found[:_MAX_ADDRESSES])


def resolve_host(target: Target, resolve: Resolver, deadline: Deadline) -> tuple[IPv4Address | IPv6Address, ...]:
    """Resolve a name once. A lookup cannot be cancelled: past the deadline it is abandoned."""
    lookup = concurrency.begin(lambda: resolve(target.host, target.port))
    if not lookup.wait(deadline.remaining()):
        raise deadline.timeout_error()
    unknown = _failure(f"{target.host} has no address; check the name, and whether you are online.")
    try:
        found = tuple(dict.fromkeys(map(ip_address, lookup.result())))
    except (OSError, ValueError) as error:
        if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
            raise _failure(f"{target.host} cannot be looked up: no name server answers; are you online?") from error
        raise unknown from error
    if not found:
        raise unknown
    return found


def _follow(target: Target, location: str) -> Target:
    try:
        following = join_url(target, location)
    except SourceError as error:
        raise SourceError(error.code, f"{target.host} redirects to a bad URL. {error.reason}") from None
    if target.scheme == "https" and following.scheme == "http":
        raise _failure(
            f"{target.host} redirects from https to http, where anyone on the network could change the page."
        )
    return following


def _page(url: str, target: Target, response: "HttpResponse", deadline: Deadline) -> Page:
    from promptuary.workspace.documents.pages import read_body  # noqa: PLC0415  (starts processes; only a success needs it)

    body = response.body
    content_type = response.headers.get("content-type", "")
    content = read_body(body, content_type, url=target.url, seconds=deadline.remaining())
    now = datetime.now(UTC)
    date, dated = _page_date(content, response.headers.get("last-modified", ""), now)
    return Page(
        url=url,
        final_url=target.url,
        title=content.title,
        text=content.text,
        content_type=content.content_type,
        language=content.language,
        date=date,
        dated=dated,
        fetched=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        size=len(body),
        sha256=sha256(body).hexdigest(),
        truncated=content.truncated,
        notes=content.notes,
    )


def _page_date(content: "PageText", modified: str, now: datetime) -> tuple[str, DateSource]:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    if content.published:
        return content.published, "published"
    try:
        return parsedate_to_datetime(modified).date().isoformat(), "modified"
    except (ValueError, OverflowError):
        return now.date().isoformat(), "fetched"


def _not_public(target: Target) -> SourceError:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return _blocked_error(f"{host} is not on the public internet. {_how_to_allow(host)}")


def _how_to_allow(host: str) -> str:
    return f"If you trust {host}, allow it by name (--allow-host {host}, or allow_hosts in your configuration)."


def _blocked_error(reason: str) -> SourceError:
    return SourceError(Code.BLOCKED_ADDRESS, reason)


def _failure(reason: str, cause: Exception | None = None) -> SourceError:
    error = SourceError(Code.FETCH_FAILED, reason)
    error.__cause__ = cause
    return error
