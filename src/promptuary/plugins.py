"""Layers that other packages bring along.

A package names them in the entry point group ``promptuary.layers``; each is a ``Layer`` subclass or any function
without arguments that returns a layer. One that cannot be loaded is logged and left out: it must not take the others
along.
"""

import logging
from importlib.metadata import entry_points

from promptuary.core.layers import Layer

GROUP = "promptuary.layers"

logger = logging.getLogger(__name__)


def installed_layers() -> list[Layer]:
    """Return one layer for each entry point that can be loaded, in the order of their names."""
    layers = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            layer = entry.load()()
        except Exception:  # somebody else's package: whatever it raises is its own failure
            logger.exception("the layer %s of %s could not be loaded", entry.name, entry.value)
            continue
        if isinstance(layer, Layer):
            layers.append(layer)
        else:
            logger.error("the entry point %s gives %r, which is no layer", entry.name, layer)
    return layers
