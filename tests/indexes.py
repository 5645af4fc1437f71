"""A file memory to test with, and everything that can be found in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from promptuary.config import load
from promptuary.core.indexing import Counts
from promptuary.core.recall import Question
from promptuary.doors import open_door
from promptuary.file_memory import FileMemory
from promptuary.filing import open_file_memory

Place = tuple[str, int, int, str]
"""Path, first line, last line, text."""


@contextmanager
def file_memory(workspace: Path, **options: Any) -> Iterator[FileMemory]:
    """Open the file memory of ``workspace``, by words alone unless ``options`` say otherwise."""
    settings = load(workspace, {"embedder": "none", **options})
    files = open_file_memory(open_door(workspace, settings), settings)
    try:
        yield files
    finally:
        files.close()


def places(files: FileMemory, words: str) -> set[Place]:
    """Return every place that a search for ``words`` finds."""
    hits = files.search(Question(words, 100_000)).hits
    return {(hit.path, hit.first, hit.last, hit.text) for hit in hits}


def everything(files: FileMemory, *probes: str) -> tuple[Counts, list[set[Place]]]:
    """Return how much is indexed, and what each probe finds."""
    found = [places(files, probe) for probe in probes]
    return files.status().counts, found
