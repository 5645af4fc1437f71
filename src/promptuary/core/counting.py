"""The token counter as the core sees it."""

from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens exactly."""

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is."""
        ...
