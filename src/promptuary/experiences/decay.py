"""The numbers of decay, which signatures use as defaults; apart from ``core.experiences``, which is slow to import."""

from typing import Final

HALF_LIFE: Final = 30.0
"""Days without a use after which an experience is worth half."""
PRUNE_BELOW: Final = 0.05
"""Strength below which an experience is not found, and is removed when the store is pruned."""
