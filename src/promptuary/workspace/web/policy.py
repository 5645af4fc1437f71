"""What may be fetched from the network, and for how long. Separate from ``fetch``, which is slow to import."""

import time

from msgspec import Struct

from promptuary.base.errors import Code, SourceError


class FetchPolicy(Struct, frozen=True):
    """What may be fetched. ``allow_hosts`` (``host`` or ``host:port``) are allowed even if they are not public.

    ``timeout`` is in seconds and covers the whole fetch.
    """

    allow_hosts: frozenset[str] = frozenset()
    timeout: float = 15.0
    max_bytes: int = 2 * 1024 * 1024
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})


class Deadline(Struct, frozen=True):
    """The time at which the whole fetch must be finished, lookups and reading included."""

    host: str
    seconds: float
    ends: float

    def left(self) -> float:
        """Return the remaining seconds. Raises ``SourceError`` (``TIMEOUT``) if there are none."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> SourceError:
        """Return the error for a fetch that took too long."""
        return SourceError(Code.TIMEOUT, f"{self.host} did not answer within {self.seconds:g} seconds.")


class StallLimit(Deadline, frozen=True):
    """A deadline for something large: the server may take long, but never ``seconds`` without sending anything."""

    def left(self) -> float:
        """Return how many seconds the next answer may take. Raises ``SourceError`` past the deadline."""
        return min(self.seconds, super().left())
