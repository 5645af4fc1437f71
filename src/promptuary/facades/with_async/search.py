"""``Promptuary.search`` with ``async``; ``without_async.search`` is the same without."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from promptuary import concurrency

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
    from promptuary.search.service import SearchService
    from promptuary.wiring.core import Core

Result = TypeVar("Result")


class AsyncSearch:
    """The file index of the workspace: ``Promptuary.search``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def index(
        self,
        paths: str | Path | Sequence[str | Path] = (),
        *,
        label: str = "",
        rebuild: bool = False,
        prune: bool = False,
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Add folders to the index, and bring it up to date; it can be searched by words at once.

        ``rebuild`` discards the old index; ``prune`` drops files that are gone even if a whole folder is missing.
        """
        return await self._run(
            lambda search: search.index(paths, label=label, rebuild=rebuild, prune=prune, progress=progress)
        )

    async def remove(self, path: str | Path) -> bool:
        """Stop indexing a folder; return whether it was indexed."""
        return await self._run(lambda search: search.remove(path))

    async def embed(self, progress: EmbedProgress | None = None) -> int:
        """Compute missing vectors, and return how many.

        ``progress`` is called with the number computed so far and returns whether to continue.
        """
        return await self._run(lambda search: search.embed(progress))

    async def find(self, query: str | SearchQuery, *, limit: int = 10) -> SearchResult:
        """Return the best hits in the indexed files, as they are now."""
        return await concurrency.run(lambda: self._core.find(query, limit=limit))

    async def status(self) -> IndexStatus:
        """Return what is indexed."""
        return await self._run(lambda search: search.status())

    async def watch(self, on_update: Callable[[IndexUpdate], None] | None = None) -> None:
        """Keep the index up to date in the background until ``stop``; ``on_update`` is called with every update."""
        await self._run(lambda search: search.watch(on_update))

    async def stop(self) -> None:
        """Stop watching. Does nothing if it is not watching."""
        await self._run(lambda search: search.stop())

    async def _run(self, work: Callable[[SearchService], Result]) -> Result:
        return await concurrency.run(lambda: work(self._core.search()))
