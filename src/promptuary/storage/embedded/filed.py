"""How one file goes into the catalogue: its row, its text, and its chunks; those that stay keep their numbers."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from promptuary.core.indexing import Document
from promptuary.core.recall import Chunk, IndexedFile
from promptuary.storage.embedded import catalog_rows as rows
from promptuary.storage.embedded.columns import bound
from promptuary.storage.sql import queries

_QUERIES = queries(__package__, "catalog_queries.sql")

Filed = tuple[IndexedFile, str, Sequence[Chunk]]
"""A file to be written, with its text and its chunks."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was changed: the chunks that are new, and the numbers of those that are gone.

    ``fresh`` tells that the full text index never heard of the new ones.
    """

    new: Sequence[Document]
    dropped: Sequence[int]
    fresh: bool = False


def put_file(own: sqlite3.Connection, folder: int, filed: Filed, last: int) -> tuple[Written, int]:
    """Write one file; ``last`` is the highest number that a chunk has, and is returned as it is then."""
    file, text, chunks = filed
    number, new_file = rows.add_file(own, folder, file)
    before = {} if new_file else rows.chunks_by_hash(own, number)
    new: list[tuple[int, Chunk, bytes]] = []
    for chunk in chunks:
        digest = chunk.digest
        same = before.get(digest)
        if not same:
            last += 1
            new.append((last, chunk, digest))
            continue
        one, first, last_line = same.pop()
        if (first, last_line) != (chunk.first, chunk.last):
            own.execute(_QUERIES["shift_chunk"], (chunk.first, chunk.last, one))
    dropped = [one for same in before.values() for one, _, _ in same]
    rows.drop_chunks(own, dropped)
    if chunks or not new_file:
        own.execute(_QUERIES["put_content"], {"file": number, "text": bound(text) if chunks else ""})
    return Written(rows.add_chunks(own, number, file.path, new), dropped), last
