"""Where a service that the person configured may be, and how it may be called.

Unlike the URL of a page, this address is the person's own, so it may be on this machine or in a private network. Never
pass an address that comes from a workspace or a model. Plain http is used only for this machine and for hosts that the
person allowed, because a key and the person's texts are sent. Shared by what waits in a thread (``models.http``) and by
what waits on an event loop (``relay``).
"""

from collections.abc import Set as AbstractSet

from promptuary.base.errors import PromptuaryError, SourceError
from promptuary.base.text import one_line
from promptuary.workspace.web.addresses import Target, parse_url
from promptuary.workspace.web.deadline import Deadline
from promptuary.workspace.web.fetch import Resolver, resolve_host, system_resolver


def service_target(url: str) -> Target:
    """Parse the address of a service. Raises ``PromptuaryError``."""
    try:
        return parse_url(url)
    except SourceError as error:
        raise PromptuaryError(f"The address {one_line(url)[:100]} cannot be used: {error.reason}") from None


def service_addresses(
    target: Target, allow_hosts: AbstractSet[str], deadline: Deadline, resolve: Resolver = system_resolver
) -> tuple[str, ...]:
    """Return the addresses of a service, looked up once. Raises ``PromptuaryError`` if it may not be called so.

    ``allow_hosts``, each with its port or for all of them, may be called with plain http.
    """
    literal = target.address
    found = (literal,) if literal else resolve_host(target, resolve, deadline)
    plain = target.scheme == "http" and not target.named_in(allow_hosts)
    if plain and not all(address.is_loopback for address in found):
        raise PromptuaryError(
            f"{target.authority} is not on this machine, and plain http shows your texts to anyone on the network: "
            f"use https. If you trust the network, allow the host {target.authority}."
        )
    return tuple(map(str, found))
