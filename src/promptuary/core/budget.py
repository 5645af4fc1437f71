"""Sharing a number of tokens among those who want some: whole tokens, nothing left over while anyone wants more."""

from collections.abc import Sequence
from dataclasses import dataclass


def water_fill(wants: Sequence[int], total: int) -> list[int]:
    """Return how much of ``total`` each gets: the small are served whole, the large share the rest equally.

    The earlier of two equals gets the odd token, so the result depends on nothing but the arguments.
    """
    shares = [0] * len(wants)
    left = max(total, 0)
    waiting = sorted(range(len(wants)), key=lambda index: (wants[index], index))
    for position, index in enumerate(waiting):
        fair = -(-left // (len(waiting) - position))
        shares[index] = min(max(wants[index], 0), fair)
        left -= shares[index]
    return shares


@dataclass(frozen=True, slots=True)
class Claim:
    """What one wants, and how much of that it has been promised."""

    wants: int
    promised: int = 0


def allocate(claims: Sequence[Claim], total: int) -> list[int]:
    """Return how much of ``total`` each gets: promises first, then the rest by water-filling.

    A promise holds only for what is wanted; where the promises alone are too much, they share by water-filling.
    """
    promised = water_fill([min(claim.wants, claim.promised) for claim in claims], total)
    left = max(total, 0) - sum(promised)
    more = water_fill([claim.wants - share for claim, share in zip(claims, promised, strict=True)], left)
    return [share + extra for share, extra in zip(promised, more, strict=True)]
