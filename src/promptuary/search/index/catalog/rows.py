"""Converts files and chunks to rows of the catalogue, and back. Raises ``ValueError`` for an invalid row."""

import json
import sqlite3
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import DatabaseDamagedError, IndexDamagedError, PromptuaryError, UnknownFormatError
from promptuary.base.files import Folder, Stamp
from promptuary.base.text_language import passage_language
from promptuary.database.columns import from_column, to_column
from promptuary.database.port import Connection
from promptuary.database.queries import queries
from promptuary.search.index.document import Document
from promptuary.search.index.port import HEAD_LINES, ChunkTraits, IndexedChunk, UnembeddedChunk
from promptuary.search.query import extra_terms, folded
from promptuary.search.values import FILE_KINDS, Chunk, FileKind, IndexedFile, NoteLink, as_tag, note_name

_QUERIES = queries(__package__, "queries.sql")

Place = tuple[int, int, int]
"""The number of a chunk, its first and its last line."""

Identity = tuple[bytes, str | bytes | None, str, int | None, str]
"""The hash of a chunk, and its own words, its names, its date and its days as stored in columns."""
_IDENTITY: Final = ("sha256", "own", "names", "date", "days")
DAY: Final = 86_400
"""The seconds of a day."""

WRITTEN: Final = "written"
"""The full-text index has every chunk up to this number."""
CHECKPOINTED: Final = "settled"
"""When everything was last written to disk."""
EMBEDDED: Final = "embedded"
"""Every chunk up to this number has its vector, or needs none."""
VECTORS: Final = "vectors"
"""Above zero if the vector index has a vector."""


class Texts:
    """The lines of files, each file read once; for one transaction. ``files`` are those that will be needed."""

    __slots__ = ("_connection", "_lines")

    def __init__(self, connection: Connection, files: Collection[int] = ()) -> None:
        self._connection = connection
        found = connection.execute(_QUERIES["get_contents"], {"files": json.dumps(sorted(files))}) if files else ()
        # The last element is the rest of the text: a chunk near the beginning needs no more lines.
        self._lines = {int(file): [from_column(text)] for file, text in found}

    def lines(self, file: int, first: int, last: int) -> str:
        """Return the lines of a chunk."""
        lines = self._lines.get(file)
        if lines is None:
            row = self._connection.execute(_QUERIES["get_content"], {"file": file}).fetchone()
            lines = self._lines[file] = [from_column(row[0])] if row else []
        if len(lines) == 1:
            lines[:] = lines[0].split("\n", last)
        if len(lines) > 1 and last >= len(lines):
            lines[-1:] = lines[-1].split("\n")
        return "\n".join(lines[first - 1 : last])


@contextmanager
def as_damage() -> Iterator[None]:
    """Convert every error that a rebuild repairs to ``IndexDamagedError``."""
    try:
        yield
    except (DatabaseDamagedError, UnknownFormatError) as error:
        raise IndexDamagedError(f"the index is damaged ({error.__cause__ or error})") from error
    except PromptuaryError as error:
        # Our statements are valid, so an error in one means that a table or a column is missing.
        if getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
            raise IndexDamagedError(f"the index is of another version ({error.__cause__})") from error
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IndexDamagedError(f"the index is damaged ({error})") from error


def folder_number(connection: Connection, folder: Folder) -> int:
    """Return the number of a folder; add it if it is not there."""
    values = {"path": to_column(folder.path), "label": to_column(folder.label)}
    row = connection.execute(_QUERIES["find_folder"], values).fetchone()
    if row is None:
        connection.execute(_QUERIES["use_folder"], values)
        row = connection.execute(_QUERIES["find_folder"], values).fetchone()
    return int(row[0])


def add_file(
    connection: Connection, folder: int, file: IndexedFile, chunks: Sequence[Chunk] | None = None
) -> tuple[int, bool]:
    """Add or update a file, with these ``chunks`` or those it had; return its number, and whether it is new.

    The chunks are counted, not written.
    """
    stamp = file.stamp
    values = {
        "folder": folder,
        "path": to_column(file.path),
        "name": to_column(note_name(file.path)),
        "size": stamp.size,
        "modified": stamp.modified,
        "changed": stamp.changed,
        "inode": _signed(stamp.inode),
        "sha256": bytes.fromhex(file.sha256),
        "kind": file.kind,
        "date": file.date,
        "tags": to_tags(file.tags),
        "chunks": None if chunks is None else len(chunks),
        "conversations": None if chunks is None else sum(1 for one in chunks if one.own),
    }
    added = connection.execute(_QUERIES["add_file"], values).fetchone()
    if added is not None:
        return int(added[0]), True
    return int(connection.execute(_QUERIES["change_file"], values).fetchone()[0]), False


def to_file(row: Sequence[Any]) -> IndexedFile:
    """Return the file of a row."""
    path, size, modified, changed, inode, sha256, kind, date, tags = row
    return IndexedFile(
        from_column(path),
        Stamp(int(size), int(modified), int(changed), int(inode) % 2**64),
        bytes(sha256).hex(),
        _kind(kind),
        int(date),
        tuple(str(tags).strip("\n").split("\n")) if tags else (),
    )


def to_tags(tags: Sequence[str]) -> str:
    """Return tags as stored in a column: each between two line feeds, so that a single one can be found."""
    return "\n".join(["", *map(to_tag, tags), ""]) if tags else ""


def to_tag(tag: str) -> str:
    """Return a tag as it is compared, in characters that the database accepts."""
    return " ".join(as_tag(tag).split()).replace("\0", "").encode("utf-8", "replace").decode()


def same_chunks(connection: Connection, file: int) -> dict[Identity, list[Place]]:
    """Return the chunks of a file by what identifies them, the last first: they are taken from the end."""
    found: dict[Identity, list[Place]] = defaultdict(list)
    for number, first, last, sha256, *fields in connection.execute(_QUERIES["chunks_of"], {"file": file}):
        found[bytes(sha256), *fields].insert(0, (number, first, last))
    return dict(found)


def content_of(connection: Connection, file: int) -> tuple[str, list[Chunk]]:
    """Return the text of a file and its chunks."""
    row = connection.execute(_QUERIES["get_content"], {"file": file}).fetchone()
    texts, cut = Texts(connection), connection.execute(_QUERIES["chunks_in"], {"file": file}).fetchall()
    links = _links_in(connection, file)
    chunks = [replace(_chunk(file, fields, texts), links=tuple(links[one])) for *fields, one in cut]
    return from_column(row[0]) if row else "", chunks


def _links_in(connection: Connection, file: int) -> dict[int, list[NoteLink]]:
    """Return the links of the chunks of a file."""
    links: dict[int, list[NoteLink]] = defaultdict(list)
    for chunk, target, text in connection.execute(_QUERIES["links_in"], {"file": file}):
        links[chunk].append(NoteLink(from_column(target), from_column(text)))
    return links


def drop_chunks(connection: Connection, numbers: Sequence[int]) -> None:
    """Delete chunks, and mark them as pending for the full-text index."""
    if not numbers:
        return
    keys = [{"chunk": one} for one in numbers]
    for query in ("drop_link_texts", "drop_links", "drop_days", "drop_chunk"):
        connection.executemany(_QUERIES[query], keys)
    connection.executemany(_QUERIES["drop_conversation"], keys)
    connection.executemany(_QUERIES["add_pending"], keys)


def add_chunks(
    connection: Connection, file: int, path: str, chunks: Sequence[tuple[int, Chunk, Identity]], language: str = ""
) -> list[Document]:
    """Add chunks with their numbers and identities; return them as documents for the full-text index.

    ``language`` is that of chunks that do not say.
    """
    if not chunks:
        return []
    connection.executemany(
        _QUERIES["add_chunk"],
        [
            {
                "id": number,
                "file": file,
                "start_line": one.start_line,
                "end_line": one.end_line,
                "heading": _packed(one.heading),
                "language": passage_language(one.text) or language,
                **dict(zip(_IDENTITY, same, strict=True)),
            }
            for number, one, same in chunks
        ],
    )
    if days := [{"day": day, "chunk": number} for number, chunk, _ in chunks for day in chunk.days]:
        connection.executemany(_QUERIES["add_day"], days)
    if said := [{"chunk": number, "said": findable(one.own)} for number, one, _ in chunks if one.own]:
        connection.executemany(_QUERIES["add_conversation"], said)
    if links := [(number, one) for number, chunk, _ in chunks for one in chunk.links]:
        _add_links(connection, links)
    return [_document(number, file, path, one) for number, one, _ in chunks]


def _add_links(connection: Connection, links: Sequence[tuple[int, NoteLink]]) -> None:
    last = int(connection.execute(_QUERIES["last_link"]).fetchone()[0])
    numbered = list(enumerate(links, last + 1))
    connection.executemany(
        _QUERIES["add_link"],
        [
            {
                "id": number,
                "chunk": chunk,
                "target": to_column(one.target),
                "name": to_column(one.name),
                "text": to_column(one.text),
            }
            for number, (chunk, one) in numbered
        ],
    )
    texts = [{"id": number, "text": findable(one.text)} for number, (_, one) in numbered]
    connection.executemany(_QUERIES["add_link_text"], texts)


def linked(connection: Connection, query: Mapping[str, object], files: Collection[int] | None) -> list[tuple[int, str]]:
    """Return the first chunks of the files that the links of a query point at, each with the text of the link."""
    named: dict[int, tuple[NoteLink, str]] = {}
    paths: dict[int, dict[str, int]] = defaultdict(dict)
    for link, text, target, source, file, path in connection.execute(_QUERIES["linked"], query):
        named[link] = NoteLink(from_column(target), from_column(text)), from_column(source)
        paths[link][from_column(path)] = int(file)
    found: dict[tuple[int, str], None] = {}
    for link, (one, source) in named.items():
        path = one.pointed_at(source, paths[link])
        if path is not None and (files is None or paths[link][path] in files):
            found[paths[link][path], one.text] = None
    numbers = sorted({file for file, _ in found})
    chunks = connection.execute(_QUERIES["first_chunks"], {"files": json.dumps(numbers)})
    first = {file: chunk for file, chunk, _ in chunks}
    return [(first[file], text) for file, text in found if file in first]


def findable(own: str) -> str:
    """Return the words of a conversation, or the text of a link, as indexed: valid text in one spelling."""
    text = folded(own).replace("\0", " ")
    return f"{text} {extra}" if (extra := extra_terms(text)) else text


def _identity(chunk: Chunk) -> Identity:
    # In a chat between people, all words are their own; they are not stored twice.
    own = "" if not chunk.own else None if chunk.own == chunk.text else to_column(chunk.own)
    days = " ".join(map(str, chunk.days))
    return chunk.digest, own, _packed(chunk.names) if chunk.names else "[]", chunk.date, days


def _document(number: int, file: int, path: str, chunk: Chunk) -> Document:
    links = tuple(one.text for one in chunk.links)
    return Document(number, file, path, chunk.heading, chunk.text, chunk.names, chunk.own, links)


@lru_cache(maxsize=64)
def _packed(texts: tuple[str, ...]) -> str:
    """Return a heading, or names, as a column stores them. Cached: neighbours have the same."""
    return f"[{', '.join(map(json.dumps, texts))}]"


def highest(connection: Connection) -> int:
    """Return the highest number that a chunk may have had."""
    return max(int(connection.execute(_QUERIES["highest"]).fetchone()[0]), number(connection, WRITTEN))


def documents(connection: Connection, numbers: Sequence[int]) -> tuple[list[Document], list[int]]:
    """Return chunks as documents for the full-text index, and the numbers of those that are gone."""
    texts = Texts(connection)
    there: list[Document] = []
    gone: list[int] = []
    links: dict[int, dict[int, list[NoteLink]]] = {}
    for chunk in numbers:
        row = connection.execute(_QUERIES["document"], {"chunk": chunk}).fetchone()
        if row is None:
            gone.append(chunk)
            continue
        file, path, *fields = row
        if file not in links:
            links[file] = _links_in(connection, file)
        whole = replace(_chunk(file, fields, texts), links=tuple(links[file].get(chunk, ())))
        there.append(_document(chunk, int(file), from_column(path), whole))
    return there, gone


def to_chunk(row: Sequence[Any], texts: Texts) -> IndexedChunk:
    """Return a chunk with its file. Raises ``ValueError`` if its text is not what was written."""
    folder, path, kind, date, sha256, file, *fields = row
    chunk = _chunk(file, fields, texts)
    if chunk.digest != sha256:
        raise ValueError("a text is not what was written")
    own = _date(int(date), chunk.date, chunk.days)
    return IndexedChunk(from_column(folder), from_column(path), _kind(kind), own, chunk)


def _chunk(file: int, fields: Sequence[Any], texts: Texts) -> Chunk:
    first, last, heading, own, names, date, days = fields
    text = texts.lines(file, first, last)
    return Chunk(
        int(first),
        int(last),
        text,
        _unpacked(heading),
        text if own is None else from_column(own),
        _unpacked(names),
        None if date is None else int(date),
        days=_days(days),
    )


@lru_cache(maxsize=64)
def _days(value: str) -> tuple[int, ...]:
    return tuple(map(int, value.split()))


def _date(of_file: int, own: int | None, days: Sequence[int]) -> int:
    """Return the date of a chunk: its own, else the last of its days, else that of the file, which may have a time."""
    if own is not None:
        return own
    return of_file if not days or of_file // DAY in days else days[-1] * DAY


def to_unembedded(row: Sequence[Any], texts: Texts) -> UnembeddedChunk:
    """Return a chunk to embed."""
    number, path, file, first, last, heading, sha256 = row
    context = Chunk(first, last, texts.lines(file, first, last), _unpacked(heading)).context
    head = texts.lines(file, 1, HEAD_LINES)
    return UnembeddedChunk(int(number), context, bytes(sha256).hex(), from_column(path), head)


def traits(connection: Connection, numbers: str) -> dict[int, ChunkTraits]:
    """Return the documents of chunks, whose numbers are a JSON list."""
    found = connection.execute(_QUERIES["traits"], {"numbers": numbers}).fetchall()
    chats = sorted({row[1] for row in found if row[4]})
    conversations: dict[int, list[tuple[int, int]]] = defaultdict(list)
    if chats:
        for file, line, chunk in connection.execute(_QUERIES["conversations_of"], {"files": json.dumps(chats)}):
            conversations[file].append((line, chunk))
    return {
        chunk: ChunkTraits(
            (round(chunks / count) if count else int(chunks)) or 1,
            talk := _conversation(line, conversations[file]) if count else None,
            # Below zero, so that no file has the number of a conversation.
            -file if talk is None else talk,
            _date(int(date), own, _days(days)),
            bool(is_code),
            bytes(sha256),
            language,
        )
        for chunk, file, line, chunks, count, own, date, days, is_code, sha256, language in found
    }


def _conversation(line: int, conversations: Sequence[tuple[int, int]]) -> int | None:
    """Return the last of the conversations that begins at or before ``line``."""
    place = bisect_right(conversations, (line, sys.maxsize)) - 1
    return conversations[place][1] if place >= 0 else None


def number(connection: Connection, name: str) -> int:
    """Return a numeric property of the whole index; 0 if it was never set."""
    row = connection.execute(_QUERIES["get_meta"], {"name": name}).fetchone()
    return 0 if row is None else int(row[0])


def set_number(connection: Connection, name: str, value: int) -> None:
    """Store a numeric property of the whole index."""
    connection.execute(_QUERIES["set_meta"], {"name": name, "value": str(value)})


@lru_cache(maxsize=64)
def _unpacked(value: Any) -> tuple[str, ...]:
    """Undo ``_packed``."""
    return tuple(map(str, json.loads(value)))


def _kind(value: Any) -> FileKind:
    if value not in FILE_KINDS:
        raise ValueError(f"{value!r} is not a kind of file")
    return cast("FileKind", value)


def _signed(number: int) -> int:
    """Return a number as SQLite stores it: signed, although some file systems use all bits."""
    return number - 2**64 if number >= 2**63 else number


FileContent = tuple[IndexedFile, str, Sequence[Chunk]]
"""A file to be written, with its text and its chunks."""


class CatalogChange(Struct, frozen=True):
    """The chunks that are new, and the numbers of those that are gone.

    ``fresh``: the full-text index cannot have any of the new ones yet.
    """

    new: Sequence[Document]
    dropped: Sequence[int]
    fresh: bool = False


def put_file(own: Connection, folder: int, content: FileContent, last: int) -> tuple[CatalogChange, int]:
    """Write one file; ``last`` is the highest number of a chunk, and the new highest number is returned."""
    file, text, chunks = content
    number, new_file = add_file(own, folder, file, chunks)
    before = {} if new_file else same_chunks(own, number)
    new: list[tuple[int, Chunk, Identity]] = []
    for chunk in chunks:
        identity = _identity(chunk)
        same = before.get(identity)
        if not same:
            last += 1
            new.append((last, chunk, identity))
            continue
        one, first, last_line = same.pop()
        if (first, last_line) != (chunk.start_line, chunk.end_line):
            lines = {"start_line": chunk.start_line, "end_line": chunk.end_line}
            own.execute(_QUERIES["shift_chunk"], {"id": one, **lines})
    dropped = [one for same in before.values() for one, _, _ in same]
    drop_chunks(own, dropped)
    if chunks or not new_file:
        own.execute(_QUERIES["put_content"], {"file": number, "text": to_column(text) if chunks else ""})
    # Code may quote any language, and a table or a list may say nothing about its own.
    language = passage_language(text) if new and file.kind != "code" else ""
    return CatalogChange(add_chunks(own, number, file.path, new, language), dropped), last
