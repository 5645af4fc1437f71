"""``Promptuary.search`` without ``async``; ``with_async.search`` is the same with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from promptuary.core.search import (
        EmbedProgress,
        IndexStatus,
        IndexUpdate,
        SearchQuery,
        SearchResult,
        SyncProgress,
        SyncReport,
    )
    from promptuary.facades.without_async.calls import Calls
    from promptuary.search.service import SearchService
    from promptuary.wiring.core import Core

Result = TypeVar("Result")


class BlockingSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, core: Core, calls: Calls) -> None:
        self._core, self._calls = core, calls

    def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Add folders to the index, and bring it up to date; it can be searched by words at once."""
        return self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return self._run(lambda search: search.remove(path))

    def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute missing vectors, and return how many."""
        return self._run(lambda search: search.embed(progress))

    def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best hits in the indexed files, as they are now."""
        return self._calls.run(lambda: self._core.find(query, limit=limit))

    def status(self) -> IndexStatus:
        """Return what is indexed."""
        return self._run(lambda search: search.status())

    def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop``; ``on_update`` is called with every update."""
        self._run(lambda search: search.watch(on_update))

    def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        self._run(lambda search: search.stop())

    def _run(self, work: Callable[[SearchService], Result]) -> Result:
        return self._calls.run(lambda: work(self._core.search()))
