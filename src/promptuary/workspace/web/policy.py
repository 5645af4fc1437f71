"""What may be fetched from the network, and for how long. Loads faster than ``fetch``, which is seldom needed."""

import time
from dataclasses import dataclass

from promptuary.core.errors import Code, SourceError


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """What may be fetched. ``allow_hosts`` (``host`` or ``host:port``) opens a name wherever it leads."""

    allow_hosts: frozenset[str] = frozenset()
    deadline: float = 15.0
    max_bytes: int = 2 * 1024 * 1024
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment at which the whole fetch ends, lookups and reading included."""

    host: str
    seconds: float
    ends: float

    def left(self) -> float:
        """Return the seconds that remain; raise ``SourceError`` (``TIMEOUT``) if none do."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> SourceError:
        """Return the error that says so."""
        return SourceError(Code.TIMEOUT, f"{self.host} did not deliver within {self.seconds:g} seconds.")
