"""Layers of other packages."""

import logging

from promptuary.base.errors import ConfigError
from promptuary.layers.layer import Layer, check
from promptuary.plugins import entries

logger = logging.getLogger(__name__)


GROUP = "promptuary.layers"


def installed_layers() -> list[Layer]:
    """Return a layer for each entry point that can be loaded, sorted by name."""
    layers: list[Layer] = []
    for entry in sorted(entries(GROUP), key=lambda entry: entry.name):
        try:
            layer = entry.load()()
        except Exception:  # a plug-in may raise anything
            logger.exception("the layer %s of %s could not be loaded", entry.name, entry.value)
            continue
        if not isinstance(layer, Layer):
            logger.error("the entry point %s returns %r, which is not a layer", entry.name, layer)
            continue
        try:
            check([*layers, layer])
        except ConfigError as error:
            logger.error("the layer %s of %s is skipped: %s", entry.name, entry.value, error)  # noqa: TRY400
            continue
        layers.append(layer)
    return layers
