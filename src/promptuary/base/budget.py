"""Counting tokens, and dividing them among claims.

Only whole tokens are divided, and none is left over while a claim is unmet.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct


class TokenCounter(Protocol):
    """Counts tokens exactly."""

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` is."""
        ...


def most_tokens(text: str) -> int:
    """Return an upper bound of the tokens of ``text`` in any vocabulary: all but the first take a byte or more."""
    return 4 * len(text) + 1


def water_fill(wants: Sequence[int], total: int, weights: Sequence[int] = ()) -> list[int]:
    """Return how much of ``total`` each claim gets: small ones are met in full, large ones share the rest by weight.

    ``weights`` are positive integers; without them they share it equally. Of two equals, the earlier gets the odd
    token, so the result is deterministic.
    """
    heavy = weights or [1] * len(wants)
    shares = [0] * len(wants)
    left, weight = max(total, 0), sum(heavy)
    for index in sorted(range(len(wants)), key=lambda index: (wants[index] / heavy[index], index)):
        fair = -(-left * heavy[index] // weight)
        shares[index] = min(max(wants[index], 0), fair)
        left -= shares[index]
        weight -= heavy[index]
    return shares


class Claim(Struct, frozen=True):
    """How many tokens are wanted, and how many of them are guaranteed."""

    wants: int
    promised: int = 0


def allocate(claims: Sequence[Claim], total: int) -> list[int]:
    """Return how much of ``total`` each gets: promises first, then the rest by water-filling.

    A promise counts only up to what is wanted. If the promises alone exceed ``total``, they share it by water-filling.
    """
    promised = water_fill([min(claim.wants, claim.promised) for claim in claims], total)
    left = max(total, 0) - sum(promised)
    more = water_fill([claim.wants - share for claim, share in zip(claims, promised, strict=True)], left)
    return [share + extra for share, extra in zip(promised, more, strict=True)]
