"""A search to test with, and everything that can be found with it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

from promptuary.config.settings import SettingsOptions, load
from promptuary.search.index.index import DiskIndex
from promptuary.search.indexes import open_search
from promptuary.search.plan import _CLOCK_TICK
from promptuary.search.service import SearchService
from promptuary.search.values import IndexCounts, SearchQuery
from promptuary.workspace.workspace import open_door
from tests.waiting import wait_until

Place = tuple[str, int, int, str]
"""Path, first line, last line, text."""


@contextmanager
def search_of(workspace: Path, **options: Unpack[SettingsOptions]) -> Iterator[SearchService]:
    """Open the search of ``workspace``, by words only unless ``options`` say otherwise."""
    settings = load(workspace, SettingsOptions(embedder="none") | options)
    service = open_search(open_door(workspace, settings), settings)
    try:
        yield service
    finally:
        service.close()


def index_of(service: SearchService) -> DiskIndex:
    """Return the index that a search reads and writes."""
    index = service.backend.index
    assert isinstance(index, DiskIndex)
    return index


def let_stamps_age(folder: Path) -> None:
    """Wait until the stamps of all files are older than a tick of the clock: the index trusts them only then."""
    newest = max(path.stat().st_ctime_ns for path in folder.rglob("*"))
    wait_until(lambda: time.time_ns() - newest > _CLOCK_TICK)


def places(service: SearchService, words: str) -> set[Place]:
    """Return every place that a search for ``words`` finds, also those with the same text."""
    hits = service.find(SearchQuery(words, 100_000, per_file=0, merge_copies=False)).hits
    return {(hit.path, hit.start_line, hit.end_line, hit.text) for hit in hits}


def everything(service: SearchService, *probes: str) -> tuple[IndexCounts, list[set[Place]]]:
    """Return how much is indexed, and what each probe finds."""
    found = [places(service, probe) for probe in probes]
    return service.status().counts, found
