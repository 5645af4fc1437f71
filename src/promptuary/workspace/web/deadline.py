"""For how long something may be fetched. Separate from ``fetch``, which is slow to import."""

import time

from msgspec import Struct

from promptuary.base.errors import Code, SourceError


class Deadline(Struct, frozen=True):
    """The time at which the whole fetch must be finished, lookups and reading included."""

    host: str
    seconds: float
    ends: float

    def remaining(self) -> float:
        """Return the remaining seconds. Raises ``SourceError`` (``TIMEOUT``) if there are none."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise self.timeout_error()
        return left

    def timeout_error(self) -> SourceError:
        """Return the error for a fetch that took too long."""
        return SourceError(Code.TIMEOUT, f"{self.host} did not answer within {self.seconds:g} seconds.")


class StallLimit(Deadline, frozen=True):
    """A deadline for something large: the server may take long, but never ``seconds`` without sending anything."""

    def remaining(self) -> float:
        """Return how many seconds the next answer may take. Raises ``SourceError`` past the deadline."""
        return min(self.seconds, super().remaining())
