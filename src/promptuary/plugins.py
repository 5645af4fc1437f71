"""Plug-ins: what other packages declare as entry points.

A package declares a layer in the group ``promptuary.layers``: a ``Layer`` subclass, or a function without arguments
that returns a layer. A layer that cannot be loaded is logged and skipped, and does not affect others. Embedders are
declared in the group ``promptuary.embedders``; one is loaded when it is used.
"""

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points


def entries(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group. Cached per path: the lookup reads a file of every installed package."""
    return _entries(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _entries(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    del path  # a different one may have other packages
    return tuple(entry_points(group=group))
