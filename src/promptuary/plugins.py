"""Layers that other packages bring along.

A package names them in the entry point group ``promptuary.layers``; each is a ``Layer`` subclass or any function
without arguments that returns a layer. One that cannot be loaded is logged and left out: it must not take the others
along.
"""

import logging
from importlib.metadata import entry_points

from promptuary.core.errors import ConfigError
from promptuary.core.layers import Layer, check

GROUP = "promptuary.layers"

logger = logging.getLogger(__name__)


def installed_layers() -> list[Layer]:
    """Return one layer for each entry point that can be loaded, in the order of their names."""
    layers: list[Layer] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            layer = entry.load()()
        except Exception:  # somebody else's package: whatever it raises is its own failure
            logger.exception("the layer %s of %s could not be loaded", entry.name, entry.value)
            continue
        if not isinstance(layer, Layer):
            logger.error("the entry point %s gives %r, which is no layer", entry.name, layer)
            continue
        try:
            check([*layers, layer])
        except ConfigError as error:
            logger.error("the layer %s of %s is left out: %s", entry.name, entry.value, error)  # noqa: TRY400
            continue
        layers.append(layer)
    return layers
