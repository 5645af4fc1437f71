"""``Promptuary.models`` without ``async``; ``with_async.models`` is the same with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptuary.core.ports.models import FetchProgress, ModelInfo
    from promptuary.facades.without_async.calls import Calls
    from promptuary.wiring.core import Core


class BlockingModels:
    """Named models: ``Promptuary.models``. They belong to the person, not to a workspace."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core, self._calls = core, calls

    def list(self) -> Sequence[ModelInfo]:
        """Return every model of the catalogue, and other models that were fetched."""
        return self._calls.run(lambda: self._core.models().list())

    def show(self, name: str) -> ModelInfo:
        """Return a model with its files, each compared with the hash that it had when it was fetched."""
        return self._calls.run(lambda: self._core.models().show(name))

    def add(self, name: str, progress: FetchProgress | None = None) -> ModelInfo:
        """Fetch a model by its name, or from the repository ``OWNER/NAME``, unless it is there already."""
        return self._calls.run(lambda: self._core.models().add(name, progress))

    def remove(self, name: str) -> bool:
        """Delete the files of a model; return whether there were any."""
        return self._calls.run(lambda: self._core.models().remove(name))
