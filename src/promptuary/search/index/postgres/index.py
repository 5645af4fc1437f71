"""The ``SearchIndex`` in PostgreSQL: the same logic as on disk, over tables that all servers share."""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from promptuary.base import concurrency
from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import Owner
from promptuary.database.port import Connection, Database
from promptuary.models.protocols import Embedder
from promptuary.search.index.catalog import rows
from promptuary.search.index.catalog.catalog import MAX_LINKS, Catalog
from promptuary.search.index.index import StoredIndex
from promptuary.search.index.parts import Generation
from promptuary.search.index.port import VectorStore
from promptuary.search.index.postgres.tables import (
    QUERIES,
    IndexConnection,
    IndexRows,
    TableGenerations,
    drop_generation,
)
from promptuary.search.index.postgres.vectors import TableVectors
from promptuary.search.index.postgres.words import LINKS, SAID, PostingIndex
from promptuary.search.index.writer import GenerationWriter

_MERGES: Final = 16
"""How often segments are merged after one write, at most."""


class TableCatalog(Catalog):
    """The catalogue of a generation; the words of conversations and links are among the other postings."""

    def __init__(self, own: IndexRows) -> None:
        super().__init__(database=own)
        self.lexical = PostingIndex(own, self.chunks)

    def spoken(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return the conversations in which people say any of these terms, the best first, with their scores."""
        return self.lexical.found_in(SAID, terms, limit)

    def linked(self, terms: Sequence[str], files: Collection[int] | None = None) -> list[tuple[int, str]]:
        """Return the first chunks of files whose links have text with any of these terms, each with that text."""
        best = [number for number, _ in self.lexical.found_in(LINKS, terms, MAX_LINKS)] if terms else []
        return self._read(lambda own: rows.linked(own, {"chunks": json.dumps(best)}, files)) if best else []


class TableGeneration:
    """One generation in tables. It has vectors only if there are a ``store`` and an ``embedder``."""

    def __init__(self, path: Path, own: IndexRows, store: VectorStore | None, embedder: Embedder | None) -> None:
        self.path = path
        self.catalog: Catalog
        self.catalog = catalog = TableCatalog(own)
        self.lexical = catalog.lexical
        self._own, self._store, self._embedder = own, store, embedder
        self._vectors: TableVectors | None = None

    @property
    def vectors(self) -> TableVectors | None:
        """The vectors, opened on first use: a remote embedder may have to report their dimensions."""
        if self._vectors is None and self._store is not None and self._embedder is not None:
            self._vectors = TableVectors(self._own, self._embedder.dimensions)
        return self._vectors

    def close(self) -> None:
        """Do nothing: the database is not its own."""


class PostgresIndex(StoredIndex):
    """The index ``name`` of ``owner``, or of everybody, in ``database``, which is closed with it."""

    def __init__(
        self,
        database: Database,
        name: str,
        recipe: str,
        *,
        owner: Owner | None = None,
        store: VectorStore | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._database = database
        self._rows = IndexRows(database, owner, name)
        self._tables = TableGenerations(database, self._rows, name)
        super().__init__(self._tables, recipe, store=store, embedder=embedder)
        self._merging: concurrency.Task[None] | None = None

    @contextmanager
    def writing(self, *, rebuild: bool = False) -> Iterator[GenerationWriter | None]:
        """Become the writer; ``None`` if another one is at work. Afterwards, segments are merged in the background."""
        with super().writing(rebuild=rebuild) as writer:
            yield writer
        if writer is not None and (self._merging is None or self._merging.wait(0)):
            self._merging = concurrency.begin(self._merge, daemon=True, name="promptuary-merge")

    def close(self) -> None:
        """Close the database, after what is being merged."""
        if self._merging is not None:
            self._merging.wait()
        super().close()
        self._database.close()

    def _now(self) -> Generation | None:
        own = super()._now()
        if isinstance(own, TableGeneration):
            own.lexical.version = self._tables.version
        return own

    def _merge(self) -> None:
        # Another server may be at it, or the next writer does it.
        with suppress(PromptuaryError):
            current = self._generations.current()
            words = PostingIndex(self._rows.of(int(current.name)), lambda _: {}) if current else None
            for _ in range(_MERGES):
                if words is None or not words.merge():
                    break

    def _generation(self, path: Path, *, writing: bool) -> TableGeneration:  # noqa: ARG002  (one lock for all servers)
        return TableGeneration(path, self._rows.of(int(path.name)), self._store, self._embedder)


def drop_indexes(database: Database, prefix: str, *, but: str = "") -> None:
    """Delete the indexes of everybody whose names begin with ``prefix``, except ``but``."""

    def work(connection: Connection) -> None:
        connection.act_as(None)
        key = {"tenant": connection.tenant}
        for owner, number in connection.execute(QUERIES["named"], {**key, "prefix": prefix, "but": but}).fetchall():
            drop_generation(IndexConnection(connection, {**key, "owner": owner, "generation": number}))

    database.write(work)
