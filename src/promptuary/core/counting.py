"""What anything that measures needs, and no more."""

from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens exactly."""

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is."""
        ...
