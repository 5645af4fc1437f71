"""The index of notes: what one principal may see, of both roots, in a search index of its own.

Isolation is physical: a note that the principal may not see is not in it, so that no filter can be forgotten. Each
scope, audience and kind is a folder of the index and each note a file, so that a search is restricted to some of them
by what every index can do. The index is disposable: a damaged one is rebuilt, and what changed is found by comparing
ids and revisions.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from promptuary.core.budget import TokenCounter
from promptuary.core.errors import IndexDamagedError
from promptuary.core.notes import AUDIENCES, KINDS, SCOPES, Audience, Note, NoteHeader, NoteKind, NoteScope
from promptuary.core.ports.index import IndexWriter
from promptuary.core.search import Chunk, Folder, IndexedFile, Stamp
from promptuary.memory.recall.freshness import changed_at
from promptuary.memory.recall.visible import NoteKey, VisibleNotes, key_of
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.service import SearchBackend
from promptuary.search.vectors.embed import embed_missing

RECIPE: Final = "notes 1"
"""How notes are cut, beside the sizes of chunks: an index of another recipe is rebuilt."""

_FLUSH_EVERY: Final = 3.0
"""Seconds between two flushes while many notes are indexed."""
_LONGEST_SUMMARY: Final = 200


def folder_of(scope: NoteScope, audience: Audience, kind: NoteKind) -> Folder:
    """Return the folder of the index that has the notes of a scope, an audience and a kind."""
    return Folder(f"/{scope}/{audience}/{kind}", scope)


def folders(
    scopes: Sequence[NoteScope] = (), audiences: Sequence[Audience] = (), kinds: Sequence[NoteKind] = ()
) -> list[Folder]:
    """Return the folders of some scopes, audiences and kinds; where none is named, of all."""
    every = product(scopes or SCOPES, audiences or AUDIENCES, kinds or KINDS)
    return [folder_of(*one) for one in every]


def key_at(folder: str, path: str) -> NoteKey:
    """Return which note a file of the index is."""
    return NoteKey("user" if folder.startswith("/user/") else "project", path)


class NoteIndex:
    """The index of the notes that one principal may see. Every method blocks, and may be called from any thread."""

    def __init__(self, backend: SearchBackend, notes: VisibleNotes, counter: TokenCounter, sizes: Sizes) -> None:
        self.backend, self.notes = backend, notes
        self._counter, self._sizes = counter, sizes

    def sync(self, *, rebuild: bool = False) -> bool:
        """Make the index equal to the notes; return False, and change nothing, if another writer is at work."""
        return self._writing(self._sync_all, rebuild=rebuild)

    def update(self, keys: Collection[NoteKey]) -> bool:
        """Do the same for some notes only: those that were written, changed, archived or deleted."""

        def work(writer: IndexWriter) -> None:
            if writer.fresh:
                self._sync_all(writer)
            else:
                self._sync_some(writer, set(keys))

        return self._writing(work)

    def is_current(self) -> bool:
        """Return whether the index is equal to the notes; true if another writer is just making it so."""
        same: list[bool] = []

        def compare(writer: IndexWriter) -> None:
            wanted = {(_folder(header).path, header.id): header.rev for header in self.notes.newest()}
            same.append(self._known(writer) == wanted)

        return not self._writing(compare) or same[-1]

    def embed(self, progress: Callable[[int], bool] | None = None) -> int:
        """Embed every chunk that lacks a vector, until ``progress`` returns false; return how many were done."""
        index, store, embedder = self.backend.index, self.backend.store, self.backend.embedder
        return 0 if store is None or embedder is None else embed_missing(index, store, embedder, progress=progress)

    def hashes(self, key: NoteKey) -> list[str]:
        """Return the hashes under which the vectors of a note are stored."""
        every = [self.backend.index.content(folder, key.id)[1] for folder in folders([key.scope])]
        return sorted({chunk.sha256 for chunks in every for chunk in chunks})

    def close(self) -> None:
        """Close the files."""
        self.backend.index.close()
        if self.backend.store is not None:
            self.backend.store.close()

    def _writing(self, work: Callable[[IndexWriter], None], *, rebuild: bool = False) -> bool:
        try:
            with self.backend.index.writing(rebuild=rebuild) as writer:
                if writer is not None:
                    work(writer)
                return writer is not None
        except IndexDamagedError:
            if rebuild:
                raise
            return self.sync(rebuild=True)

    def _sync_all(self, writer: IndexWriter) -> None:
        self._carry_out(writer, self.notes.newest(), self._known(writer))

    def _known(self, writer: IndexWriter) -> dict[tuple[str, str], str]:
        """Return the notes in the index: folder and path, and revision."""
        return {(folder.path, path): file.sha256 for folder in folders() for path, file in writer.files(folder).items()}

    def _sync_some(self, writer: IndexWriter, keys: set[NoteKey]) -> None:
        known: dict[tuple[str, str], str] = {}
        for scope in SCOPES:
            if ids := [key.id for key in keys if key.scope == scope]:
                for folder in folders([scope]):
                    known |= {(folder.path, path): one.sha256 for path, one in writer.files_at(folder, ids)[0].items()}
        found = (self.notes.header(key) for key in keys)
        self._carry_out(writer, [header for header in found if header is not None], known)

    def _carry_out(
        self, writer: IndexWriter, headers: Iterable[NoteHeader], known: Mapping[tuple[str, str], str]
    ) -> None:
        """Index ``headers``, and drop what else is ``known``: paths in the folders of the index, and revisions."""
        gone, flushed = set(known), time.monotonic()
        for header in headers:
            place = (_folder(header).path, header.id)
            if known.get(place) == header.rev:
                gone.discard(place)
                continue
            note = self.notes.read(key_of(header))
            # It may have changed since its header was read, or be gone.
            if note is None or not self.notes.is_recallable(note.header):
                continue
            gone.discard((_folder(note.header).path, note.header.id))
            writer.put(_folder(note.header), *self._entry(note))
            if time.monotonic() - flushed > _FLUSH_EVERY:
                writer.flush()
                flushed = time.monotonic()
        for folder in folders():
            if paths := [path for one, path in gone if one == folder.path]:
                writer.drop(folder, sorted(paths))
        writer.flush()

    def _entry(self, note: Note) -> tuple[IndexedFile, str, Sequence[Chunk]]:
        """Return a note as the index has it: without its front matter, whose words are the names of each chunk."""
        from promptuary.search.chunks.chunker import chunks  # noqa: PLC0415  (most turns find nothing to chunk)

        header = note.header
        text = note.body if note.body.strip() else header.title
        cut = chunks(text, "note.md", self._sizes, self._counter)
        named = (header.title, *header.tags, header.summary[:_LONGEST_SUMMARY])
        names = tuple(dict.fromkeys(name for name in named if name))
        date = int(max(0.0, changed_at(header) or 0.0))
        file = IndexedFile(header.id, Stamp(len(note.text), 0, 0, 0), header.rev, "markdown", date)
        return file, text, [replace(one, names=names, heading=_heading(header.title, one)) for one in cut]


def _folder(header: NoteHeader) -> Folder:
    return folder_of(header.scope, header.audience, header.kind)


def _heading(title: str, chunk: Chunk) -> tuple[str, ...]:
    """Return the headings of a chunk below the title of its note: a line says little without what it is about."""
    return chunk.heading if not title or title in chunk.heading else (title, *chunk.heading)
