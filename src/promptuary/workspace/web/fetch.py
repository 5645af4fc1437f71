"""The door to the network: the only code that fetches a URL.

Each hop, redirects too, is parsed strictly, looked up once, refused if any of its addresses is not
public, and connected by one of exactly those addresses; the name stays for the Host header and the
certificate. Nothing is taken from the environment: no proxy, no cookie, no stored password. One
deadline covers everything, and sizes are counted before bytes are kept. What the bytes mean is the
concern of ``workspace.pages``. Synchronous: callers run it in a thread.
"""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Literal

from promptuary import concurrency
from promptuary.core.errors import Code, SourceError
from promptuary.workspace.web.addresses import Target, is_public, join_url, parse_url
from promptuary.workspace.web.policy import Deadline, FetchPolicy

if TYPE_CHECKING:
    from promptuary.workspace.web.http import HttpResponse
    from promptuary.workspace.web.pages import PageText

__all__ = ["Page", "Resolver", "fetch", "look_up", "system_resolver"]

Resolver = Callable[[str, int], Sequence[str]]
"""Looks up a host for a port: all its addresses as text. Raises ``OSError`` if there are none."""

DateSource = Literal["published", "modified", "fetched"]
"""Where a page's date comes from: the page itself, the server, or the day it was fetched."""

_MAX_ADDRESSES = 6


@dataclass(frozen=True, slots=True)
class Page:
    """A fetched text. ``date`` is a day, ``fetched`` a time; ``size`` and ``sha256`` the body's."""

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
    """Ask the operating system."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def fetch(url: str, policy: FetchPolicy, *, resolve: Resolver = system_resolver) -> Page:
    """Return what stands at ``url``, as text. Raises ``SourceError`` if it may not or cannot be had."""
    target = parse_url(url)
    deadline = Deadline(target.host, policy.deadline, time.monotonic() + policy.deadline)
    opened = target.named_in(policy.allow_hosts)
    for _ in range(policy.max_redirects + 1):
        addresses = _vetted(target, policy, resolve, deadline, opened=opened)
        from promptuary.workspace.web.http import get  # noqa: PLC0415  (90 ms, not for what is refused)

        reply = get(target, addresses, max_bytes=policy.max_bytes, deadline=deadline)
        if reply.redirect is None:
            return _page(url, target, reply, deadline)
        following = _follow(target, reply.redirect)
        # A stranger's page may not lead into a private place, even if that place is open to the person.
        opened = opened and following.named_in(policy.allow_hosts)
        target = following
    raise SourceError(Code.FETCH_FAILED, f"More than {policy.max_redirects} redirects: {target.host} leads nowhere.")


def _vetted(
    target: Target, policy: FetchPolicy, resolve: Resolver, deadline: Deadline, *, opened: bool
) -> tuple[str, ...]:
    """Return the addresses that may be connected to for ``target``; refuse if one of them may not."""
    if not opened and target.port not in policy.ports:
        allowed = ", ".join(map(str, sorted(policy.ports)))
        name = target.authority
        raise _blocked(f"Port {target.port} is not one of {allowed}. If you trust {name}: --allow-host {name}")
    if not opened and target.local:
        raise _not_public(target)
    literal = target.address
    found = (literal,) if literal else look_up(target, resolve, deadline)
    if not opened and not all(is_public(address) for address in found):
        raise _not_public(target)
    return tuple(str(address) for address in found[:_MAX_ADDRESSES])


def look_up(target: Target, resolve: Resolver, deadline: Deadline) -> tuple[IPv4Address | IPv6Address, ...]:
    """Resolve a name once. A lookup cannot be cancelled: past the deadline it is left to end by itself."""
    lookup = concurrency.begin(lambda: resolve(target.host, target.port))
    if not lookup.wait(deadline.left()):
        raise deadline.passed()
    unknown = _failed(f"{target.host} has no address: is the name right?")
    try:
        found = tuple(dict.fromkeys(map(ip_address, lookup.result())))
    except (OSError, ValueError) as error:
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
        raise _failed(f"{target.host} redirects from https to http, where anyone on the way could change the page.")
    return following


def _page(url: str, target: Target, reply: "HttpResponse", deadline: Deadline) -> Page:
    from promptuary.workspace.web.pages import read_body  # noqa: PLC0415  (starts processes; only a success needs it)

    body = reply.body
    content_type = reply.headers.get("content-type", "")
    content = read_body(body, content_type, url=target.url, seconds=deadline.left())
    now = datetime.now(UTC)
    date, dated = _dated(content, reply.headers.get("last-modified", ""), now)
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


def _dated(content: "PageText", modified: str, now: datetime) -> tuple[str, DateSource]:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    if content.published:
        return content.published, "published"
    try:
        return parsedate_to_datetime(modified).date().isoformat(), "modified"
    except (ValueError, OverflowError):
        return now.date().isoformat(), "fetched"


def _not_public(target: Target) -> SourceError:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return _blocked(f"{host} is not on the public internet. If you trust it: --allow-host {host}")


def _blocked(reason: str) -> SourceError:
    return SourceError(Code.BLOCKED_ADDRESS, reason)


def _failed(reason: str, cause: Exception | None = None) -> SourceError:
    error = SourceError(Code.FETCH_FAILED, reason)
    error.__cause__ = cause
    return error
