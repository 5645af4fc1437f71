"""A file memory to test with, and everything that can be found in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from promptuary.config.settings import load
from promptuary.core.ports.index import Counts
from promptuary.core.search import SearchQuery
from promptuary.search.service import SearchService
from promptuary.wiring.search import open_search
from promptuary.wiring.workspace import open_door

Place = tuple[str, int, int, str]
"""Path, first line, last line, text."""


@contextmanager
def file_memory(workspace: Path, **options: Any) -> Iterator[SearchService]:
    """Open the file memory of ``workspace``, by words alone unless ``options`` say otherwise."""
    settings = load(workspace, {"embedder": "none", **options})
    files = open_search(open_door(workspace, settings), settings)
    try:
        yield files
    finally:
        files.close()


def places(files: SearchService, words: str) -> set[Place]:
    """Return every place that a search for ``words`` finds."""
    hits = files.search(SearchQuery(words, 100_000)).hits
    return {(hit.path, hit.start_line, hit.end_line, hit.text) for hit in hits}


def everything(files: SearchService, *probes: str) -> tuple[Counts, list[set[Place]]]:
    """Return how much is indexed, and what each probe finds."""
    found = [places(files, probe) for probe in probes]
    return files.status().counts, found
