"""Published prices of models: a list by name, and the arithmetic. Pure.

Prices are in US dollars for a million tokens, as the providers list them for the first price band in autumn 2026. They
change: a price in the configuration takes precedence.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

_MILLION: Final = 1_000_000


class Price(Struct, frozen=True):
    """Dollars for a million tokens: read, written, and read from the provider's cache."""

    read: float
    written: float
    cached: float

    def cost(self, read: int, written: int, cached: int = 0) -> float:
        """Return the cost of a request; ``cached`` is the part of ``read`` that came from the cache."""
        new = max(read - cached, 0)
        return (new * self.read + cached * self.cached + written * self.written) / _MILLION


# The longest matching prefix wins.
_PRICES: Final[Mapping[str, Price]] = {
    "gpt-4o": Price(2.5, 10.0, 1.25),
    "gpt-4o-mini": Price(0.15, 0.6, 0.075),
    "gpt-4.1": Price(2.0, 8.0, 0.5),
    "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
    "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
    "gpt-5": Price(1.25, 10.0, 0.125),
    "gpt-5-mini": Price(0.25, 2.0, 0.025),
    "gpt-5-nano": Price(0.05, 0.4, 0.005),
    "gpt-5.2": Price(1.75, 14.0, 0.175),
    "o1": Price(15.0, 60.0, 7.5),
    "o3": Price(2.0, 8.0, 0.5),
    "o3-mini": Price(1.1, 4.4, 0.55),
    "o4-mini": Price(1.1, 4.4, 0.275),
    "claude-3-haiku": Price(0.25, 1.25, 0.03),
    "claude-3-5-haiku": Price(0.8, 4.0, 0.08),
    "claude-haiku-4-5": Price(1.0, 5.0, 0.1),
    "claude-sonnet": Price(3.0, 15.0, 0.3),
    "claude-opus-4": Price(15.0, 75.0, 1.5),
    "claude-opus-4-5": Price(5.0, 25.0, 0.5),
    "gemini-2.0-flash": Price(0.1, 0.4, 0.025),
    "gemini-2.5-flash": Price(0.3, 2.5, 0.03),
}


def price_of(model: str) -> Price | None:
    """Return the listed price of a model, or ``None``. A provider prefix such as ``openai/`` is ignored."""
    bare = model.rsplit("/", 1)[-1].lower()
    prefixes = [prefix for prefix in _PRICES if bare.startswith(prefix)]
    return _PRICES[max(prefixes, key=len)] if prefixes else None
