"""``Promptuary.models`` with ``async``: blocking work runs in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptuary import concurrency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.core.ports.models import FetchProgress, ModelInfo
    from promptuary.wiring.core import Core


class AsyncModels:
    """Named models: ``Promptuary.models``. They belong to the person, not to a workspace."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def list(self) -> Sequence[ModelInfo]:
        """Return every model of the catalogue, and other models that were fetched."""
        return await concurrency.run(lambda: self._core.models().list())

    async def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with the hash that it had when it was fetched."""
        return await concurrency.run(lambda: self._core.models().show(name))

    async def add(self, name: str, progress: FetchProgress | None = None) -> ModelInfo:
        """Fetch a model by its name, or from the repository ``OWNER/NAME``, unless it is there already."""
        return await concurrency.run(lambda: self._core.models().add(name, progress))

    async def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any."""
        return await concurrency.run(lambda: self._core.models().remove(name))
