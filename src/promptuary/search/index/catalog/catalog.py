"""The catalogue of an index: folders, files with their stamps, chunks with their lines and texts.

It is one SQLite file, or the rows of one index in PostgreSQL; queries.postgres.sql has the queries for that.

The full-text index and the vectors hold numbers of chunks; the catalogue says what a number means. A file is written
atomically, several of them in one transaction. The catalogue also lists the changes that the full-text index has not
committed yet, so that the next writer can repair what a killed process left. Knows neither tantivy nor vectors.
"""

import json
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from promptuary.base.files import Folder
from promptuary.database.columns import from_column, to_column
from promptuary.database.port import Connection, Result, Work
from promptuary.database.queries import queries, script
from promptuary.database.sqlite import SqliteDatabase
from promptuary.search.index.catalog import rows
from promptuary.search.index.catalog.rows import (
    CHECKPOINTED,
    EMBEDDED,
    VECTORS,
    WRITTEN,
    CatalogChange,
    FileContent,
    as_damage,
    put_file,
)
from promptuary.search.index.port import ChunkTraits, IndexedChunk, OfDay, UnembeddedChunk
from promptuary.search.values import Chunk, Filters, IndexCounts, IndexedFile, note_name

if TYPE_CHECKING:
    from promptuary.search.index.document import Document

_QUERIES = queries(__package__, "queries.sql")
MAX_LINKS: Final = 200
"""How many links a search considers, the best first."""
_ENDS: Final = str.maketrans({'"': " ", "\0": " "})


class CatalogDatabase(Protocol):
    """The database of a catalogue: a file, or the rows of one index among others."""

    def read(self, work: Work[Result], /) -> Result: ...
    def write(self, work: Work[Result], /) -> Result: ...
    def checkpoint(self, work: Work[object], /) -> object: ...
    def close(self) -> None: ...


class Catalog:
    """The catalogue in the file ``path``, in ``database`` or, without either, in memory. Safe to use from any thread.

    Raises ``IndexDamagedError`` for a file that cannot be read. ``timeout`` is how many seconds to wait for a lock.
    """

    def __init__(
        self, path: Path | None = None, *, timeout: float = 30.0, database: "CatalogDatabase | None" = None
    ) -> None:
        with as_damage():
            self._database: CatalogDatabase = database or SqliteDatabase(
                path, [script(__package__, "schema_1.sql")], timeout=timeout, durable=False
            )
        self._folders: dict[Folder, int] = {}
        self._uncommitted: dict[Folder, int] = {}
        self._highest: int | None = None

    def meta(self, name: str) -> str:
        """Return a property of the whole index; empty if it was never set."""

        def found(connection: Connection) -> str:
            row = connection.execute(_QUERIES["get_meta"], {"name": name}).fetchone()
            return "" if row is None else str(row[0])

        return self._read(found)

    def set_meta(self, name: str, value: str) -> None:
        """Store a property of the whole index."""
        self._write(lambda own: own.execute(_QUERIES["set_meta"], {"name": name, "value": value}))

    def folders(self) -> Sequence[tuple[Folder, int]]:
        """Return the folders with the number of their files."""
        every = self._read(lambda own: own.execute(_QUERIES["folders"]).fetchall())
        return [(Folder(from_column(path), from_column(label)), int(files)) for path, label, files in every]

    def files(self, folder: Folder) -> dict[str, IndexedFile]:
        """Return the files of a folder by their paths."""
        key = {"folder": to_column(folder.path)}
        return {
            one.path: one for one in self._read(lambda own: [*map(rows.to_file, own.execute(_QUERIES["files"], key))])
        }

    def revisions(self) -> dict[tuple[str, str], str]:
        """Return the hash of every file by its folder and path."""
        every = self._read(lambda own: own.execute(_QUERIES["revisions"]).fetchall())
        return {(from_column(folder), from_column(path)): bytes(sha).hex() for folder, path, sha in every}

    def content(self, folder: Folder, path: str) -> tuple[str, Sequence[Chunk]]:
        """Return the text of a file and its chunks as they were put; nothing if there is no such file."""

        def work(own: Connection) -> tuple[str, Sequence[Chunk]]:
            place = own.execute(
                _QUERIES["find_folder"], {"path": to_column(folder.path), "label": to_column(folder.label)}
            )
            key = {"folder": (place.fetchone() or [None])[0], "path": to_column(path)}
            row = own.execute(_QUERIES["find_file"], key).fetchone()
            return ("", ()) if row is None else rows.content_of(own, int(row[0]))

        return self._read(work)

    def files_at(self, folder: Folder, paths: Iterable[str]) -> tuple[dict[str, IndexedFile], bool]:
        """Return the files at and below these paths, and whether the folder has others."""

        def work(own: Connection) -> tuple[dict[str, IndexedFile], bool]:
            found: dict[str, IndexedFile] = {}
            for path in paths:
                at = own.execute(_QUERIES["file_at"], {"folder": to_column(folder.path), "path": to_column(path)})
                found.update((one.path, one) for one in map(rows.to_file, at))
            enough = {"folder": to_column(folder.path), "limit": len(found) + 1}
            return found, len(own.execute(_QUERIES["some_files"], enough).fetchall()) > len(found)

        return self._read(work)

    def put(self, folder: Folder, files: Sequence[FileContent]) -> CatalogChange:
        """Write files of a folder, all of them or none. Chunks that they had before keep their numbers."""

        def work(own: Connection) -> tuple[CatalogChange, int]:
            place = self._folder_number(own, folder)
            last = rows.highest(own) if self._highest is None else self._highest
            new: list[Document] = []
            dropped: list[int] = []
            for one in files:
                change, last = put_file(own, place, one, last)
                new += change.new
                dropped += change.dropped
            if dropped:
                # A file that is in the batch twice may have lost the chunks that it had just got.
                gone = set(dropped)
                new = [one for one in new if one.id not in gone]
            return CatalogChange(new, dropped, fresh=True), last

        change, last = self._write(work)
        # Only after the commit: a transaction may run more than once, or be rolled back.
        self._highest = last
        return change

    def touch(self, folder: Folder, file: IndexedFile) -> None:
        """Record that a file looks different on disk but has the same content."""
        self._write(lambda own: rows.add_file(own, self._folder_number(own, folder), file))

    def move(self, folder: Folder, old: str, file: IndexedFile) -> CatalogChange:
        """Rename a file; its chunks keep their numbers, and must be indexed again under the new path."""

        def work(own: Connection) -> CatalogChange:
            place = self._folder_number(own, folder)
            row = own.execute(_QUERIES["find_file"], {"folder": place, "path": to_column(old)}).fetchone()
            if row is None:
                raise ValueError(f"{old} is not indexed")
            moved_to = {"id": row[0], "path": to_column(file.path), "name": to_column(note_name(file.path))}
            own.execute(_QUERIES["move_file"], moved_to)
            number, _ = rows.add_file(own, place, file)
            moved = [one for one, *_ in own.execute(_QUERIES["chunks_of"], {"file": number}).fetchall()]
            own.executemany(_QUERIES["add_pending"], [{"chunk": one} for one in moved])
            return CatalogChange(rows.documents(own, moved)[0], ())

        return self._write(work)

    def drop(self, folder: Folder, paths: Sequence[str]) -> CatalogChange:
        """Delete files; paths that are not there are ignored."""

        def work(own: Connection) -> CatalogChange:
            place = self._folder_number(own, folder)
            dropped: list[int] = []
            for path in paths:
                row = own.execute(_QUERIES["find_file"], {"folder": place, "path": to_column(path)}).fetchone()
                if row is None:
                    continue
                gone = [one for one, *_ in own.execute(_QUERIES["chunks_of"], {"file": row[0]}).fetchall()]
                rows.drop_chunks(own, gone)
                for query in ("drop_content", "drop_file"):
                    own.execute(_QUERIES[query], {"id": row[0]})
                dropped += gone
            return CatalogChange((), dropped)

        return self._write(work)

    def drop_folder(self, folder: Folder) -> None:
        """Delete a folder, whose files are deleted already."""
        self._folders.pop(folder, None)
        self._write(lambda own: own.execute(_QUERIES["drop_folder"], {"path": to_column(folder.path)}))

    def pending_changes(self) -> CatalogChange:
        """Return the changes that the full-text index may not have: what a killed process left."""

        def work(own: Connection) -> CatalogChange:
            after = {"written": rows.number(own, WRITTEN)}
            numbers = {one for (one,) in own.execute(_QUERIES["new_chunks"], after)}
            numbers |= {one for (one,) in own.execute(_QUERIES["pending"])}
            return CatalogChange(*rows.documents(own, sorted(numbers)))

        return self._read(work)

    def checkpoint(self) -> None:
        """Write everything to disk, so that the full-text index is never ahead of the catalogue."""
        with as_damage():
            # Something must be written: SQLite syncs nothing if there is nothing to write.
            self._database.checkpoint(lambda own: rows.set_number(own, CHECKPOINTED, time.time_ns()))

    def clear_pending(self) -> None:
        """Record that the full-text index has all changes."""

        def work(own: Connection) -> None:
            rows.set_number(own, WRITTEN, rows.highest(own))
            own.execute(_QUERIES["clear_pending"])

        self._write(work)

    def has_pending(self) -> bool:
        """Return whether the full-text index lacks changes: a killed writer may have left some."""

        def work(own: Connection) -> bool:
            pending = own.execute(_QUERIES["pending"]).fetchone() is not None
            return pending or rows.highest(own) > rows.number(own, WRITTEN)

        return self._read(work)

    def select(self, filters: Filters) -> Sequence[tuple[int, str, str]]:
        """Return the number, folder and path of every file that passes the filters. ``filters.paths`` is ignored."""
        tags = tuple(map(rows.to_tag, filters.tags))
        wanted = {
            "kinds": json.dumps(filters.kinds) if filters.kinds else None,
            "labels": json.dumps(filters.labels) if filters.labels else None,
            "folders": json.dumps(filters.folders) if filters.folders else None,
            "since": filters.since,
            "until": filters.until,
            "tags": json.dumps(tags) if tags else None,
        }
        every = self._read(lambda own: own.execute(_QUERIES["select_files"], wanted).fetchall())
        return [(int(number), from_column(folder), from_column(path)) for number, folder, path in every]

    def chunks(self, numbers: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these numbers that still exist."""

        def work(own: Connection) -> dict[int, IndexedChunk]:
            found = own.execute(_QUERIES["chunks"], {"numbers": json.dumps(numbers)}).fetchall()
            texts = rows.Texts(own, {row[6] for row in found})  # their files
            return {one: rows.to_chunk(row, texts) for one, *row in found}

        return self._read(work)

    def traits(self, numbers: Sequence[int]) -> dict[int, ChunkTraits]:
        """Return the documents of these chunks."""
        return self._read(lambda own: rows.traits(own, json.dumps(numbers)))

    def dated(self, first: int, until: int, limit: int, files: Collection[int] | None = None) -> list[OfDay]:
        """Return chunks of the days from ``first`` on and before ``until``, those whose files say so first.

        ``files`` restricts them to these files.
        """
        only = None if files is None else json.dumps(sorted(files))
        said = {"first": first, "until": until, "files": only, "limit": limit}
        changed = {"since": first * rows.DAY, "end": until * rows.DAY, "files": only}

        def work(own: Connection) -> list[OfDay]:
            found = dict(own.execute(_QUERIES["chunks_of_days"], said).fetchall())
            of_days = [OfDay(int(chunk), int(file), said=True) for chunk, file in found.items()]
            more = own.execute(_QUERIES["changed_chunks"], {**changed, "limit": max(0, limit - len(of_days))})
            return [*of_days, *(OfDay(int(chunk), int(file), said=False) for chunk, file in more)]

        return self._read(work)

    def spoken(self, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return the conversations in which people say any of these terms, the best first, with their BM25 scores.

        A conversation has the number of the chunk that holds what is said in it.
        """
        key = {"query": _any_of(terms), "limit": limit}
        return self._read(
            lambda own: [(int(one), -float(score)) for one, score in own.execute(_QUERIES["spoken"], key)]
        )

    def linked(self, terms: Sequence[str], files: Collection[int] | None = None) -> list[tuple[int, str]]:
        """Return the first chunks of files whose links have text with any of these terms, each with that text.

        ``files`` restricts them to these files.
        """

        def work(own: Connection) -> list[tuple[int, str]]:
            if own.execute(_QUERIES["some_link"]).fetchone() is None:
                return []
            return rows.linked(own, {"query": _any_of(terms), "limit": MAX_LINKS}, files)

        return self._read(work) if terms else []

    def has_conversations(self) -> bool:
        """Return whether there is any conversation."""
        return self._read(lambda own: own.execute(_QUERIES["some_conversation"]).fetchone() is not None)

    def hashes(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the hashes of the chunks with these numbers."""
        key = {"numbers": json.dumps(numbers)}
        return self._read(lambda own: {one: bytes(sha).hex() for one, sha in own.execute(_QUERIES["hashes"], key)})

    def highest(self) -> int:
        """Return the number of the last chunk; 0 if there is none."""
        return self._read(lambda own: int(own.execute(_QUERIES["last_chunk"]).fetchone()[0]))

    def all_hashes(self) -> list[str]:
        """Return the hashes of all chunks, each once."""
        return self._read(lambda own: [bytes(sha).hex() for (sha,) in own.execute(_QUERIES["all_hashes"])])

    def chunks_of(self, files: Iterable[int]) -> list[int]:
        """Return the chunks of these files."""
        key = {"files": json.dumps(list(files))}
        return self._read(lambda own: [one for (one,) in own.execute(_QUERIES["chunks_of_files"], key)])

    def unembedded(self, limit: int, first: Iterable[str] = ()) -> Sequence[UnembeddedChunk]:
        """Return chunks that lack a vector: those of the paths in ``first``, then of the files that changed last."""

        def work(own: Connection) -> list[UnembeddedChunk]:
            texts, valid = rows.Texts(own), [path for path in first if isinstance(to_column(path), str)]
            key = {"limit": limit, "first": json.dumps(valid), "above": rows.number(own, EMBEDDED)}
            found = own.execute(_QUERIES["unembedded"], key)
            return [rows.to_unembedded(row, texts) for row in found.fetchall()]

        return self._read(work)

    def lacking_vectors(self, above: int, limit: int) -> Sequence[tuple[int, str]]:
        """Return the numbers and hashes of chunks that lack a vector, above a number and in order."""

        def work(own: Connection) -> list[tuple[int, str]]:
            key = {"limit": limit, "above": max(above, rows.number(own, EMBEDDED))}
            return [(one, bytes(sha).hex()) for one, sha in own.execute(_QUERIES["lacking_vectors"], key)]

        return self._read(work)

    def set_embedded(self, numbers: Sequence[int], *, vectors: bool) -> None:
        """Record that these chunks need no vector any more; ``vectors``: some of them got one."""

        def work(own: Connection) -> None:
            own.executemany(_QUERIES["add_embedded"], [{"chunk": one} for one in numbers])
            above = {"above": rows.number(own, EMBEDDED), "limit": 1}
            lacking = own.execute(_QUERIES["lacking_vectors"], above).fetchone()
            last = int(own.execute(_QUERIES["last_chunk"]).fetchone()[0])
            # So that the table stays small: it holds only chunks that were embedded out of order.
            done = lacking[0] - 1 if lacking else max(last, *numbers)
            own.execute(_QUERIES["forget_embedded"], {"above": done})
            rows.set_number(own, EMBEDDED, done)
            if vectors:
                rows.set_number(own, VECTORS, 1)

        if numbers:
            self._write(work)

    def clear_embedded(self) -> None:
        """Record that every chunk lacks its vector."""

        def work(own: Connection) -> None:
            own.execute(_QUERIES["clear_embedded"])
            rows.set_number(own, EMBEDDED, 0)
            rows.set_number(own, VECTORS, 0)

        self._write(work)

    def has_vectors(self) -> bool:
        """Return whether any chunk may have a vector."""
        return self._read(lambda own: rows.number(own, VECTORS)) > 0

    def lacks_vectors(self) -> bool:
        """Return whether any chunk lacks its vector."""
        return bool(self.lacking_vectors(0, 1))

    def counts(self) -> IndexCounts:
        """Return how much the index holds."""

        def work(own: Connection) -> IndexCounts:
            return IndexCounts(*own.execute(_QUERIES["counts"], {"above": rows.number(own, EMBEDDED)}).fetchone())

        return self._read(work)

    def languages(self) -> dict[str, int]:
        """Return how many chunks there are in each language, the most first."""
        every = self._read(lambda own: own.execute(_QUERIES["languages"]).fetchall())
        return {str(language): int(chunks) for language, chunks in every}

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _folder_number(self, connection: Connection, folder: Folder) -> int:
        """Return the number of a folder; cached only once it is committed."""
        known = self._folders.get(folder)
        if known is None:
            known = rows.folder_number(connection, folder)
            self._uncommitted[folder] = known
        return known

    def _read(self, work: Work[Result]) -> Result:
        with as_damage():
            return self._database.read(work)

    def _write(self, work: Work[Result]) -> Result:
        self._uncommitted.clear()
        with as_damage():
            result = self._database.write(work)
        self._folders |= self._uncommitted
        return result


def _any_of(terms: Sequence[str]) -> str:
    """Return a full-text expression for texts with any of these terms."""
    # A quoted term is data, without operators; these two characters would end it.
    return " OR ".join(f'"{term.translate(_ENDS)}"' for term in terms)
