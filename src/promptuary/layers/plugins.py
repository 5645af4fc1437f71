"""Layers of other packages, each of which runs in a thread of its own."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, get_args

from promptuary.base import concurrency
from promptuary.base.errors import ConfigError
from promptuary.layers.layer import Hook, Layer, check
from promptuary.plugins import entries

GROUP: Final = "promptuary.layers"

logger = logging.getLogger(__name__)


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
        _run_apart(layer)
    return layers


def _run_apart(layer: Layer) -> None:
    """Let every hook of ``layer`` run in its own thread: one that blocks must not hold up the other layers."""
    own = _OwnLoop(f"promptuary-layer-{layer.id}")
    for hook in get_args(Hook):
        if getattr(type(layer), hook) is not getattr(Layer, hook) or hook == "dispose":
            setattr(layer, hook, partial(own.call, getattr(layer, hook), last=hook == "dispose"))


class _OwnLoop:
    """An event loop in a thread, which hooks share so that what one opens the next can use."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, hook: Callable[..., Awaitable[Any]], *arguments: object, last: bool = False) -> Any:
        """Run ``hook`` in the thread; leave that behind if nobody waits any longer, and start another for the next."""
        loop = self._loop = self._loop or self._start()

        async def run() -> Any:
            return await hook(*arguments)

        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), loop))
        except asyncio.CancelledError:
            last = True
            raise
        finally:
            if last:
                self._loop = None
                loop.call_soon_threadsafe(loop.stop)

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()

        def serve() -> None:
            try:
                loop.run_forever()
            finally:
                loop.close()

        concurrency.start_daemon(serve, name=self._name)
        return loop
