"""What may be fetched from the network. Apart from ``fetch``, which takes time to load and is seldom needed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """What may be fetched. ``allow_hosts`` (``host`` or ``host:port``) opens a name wherever it leads."""

    allow_hosts: frozenset[str] = frozenset()
    deadline: float = 15.0
    max_bytes: int = 2 * 1024 * 1024
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})
