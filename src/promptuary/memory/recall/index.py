"""The index of the notes that one principal may see, in both roots.

Each scope, audience and kind is a folder of the index and each note is a file, so the folder filter of any index can
restrict a search to them.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.base.budget import TokenCounter
from promptuary.base.files import Folder, Stamp
from promptuary.base.principals import NoteScope
from promptuary.memory.places import MemoryPlace
from promptuary.memory.recall.freshness import change_time
from promptuary.memory.recall.search import MAX_HITS, NoteQuery, rank
from promptuary.memory.recall.visible import NoteKey, VisibleNotes, key_of
from promptuary.memory.values import AUDIENCES, KINDS, SCOPES, Audience, MemoryResult, Note, NoteHeader, NoteKind
from promptuary.search.chunks.lines import Sizes
from promptuary.search.indexes import open_records
from promptuary.search.kind_index import OpenBackend
from promptuary.search.records import PATIENCE, RecordEntry, RecordIndex, RecordPlace
from promptuary.search.values import Chunk, Filters, IndexedFile, SearchQuery
from promptuary.tokens.counting import DEFAULT_VOCABULARY, Counter

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.database.feed import Follower

RECIPE: Final = "notes 1"
"""The version of how notes are split, beside the sizes of chunks: an index with another version is rebuilt."""

_MAX_SUMMARY: Final = 200


def folder_of(scope: NoteScope, audience: Audience, kind: NoteKind) -> Folder:
    """Return the folder of the index that has the notes of a scope, an audience and a kind."""
    return Folder(f"/{scope}/{audience}/{kind}", scope)


def folders(
    scopes: Sequence[NoteScope] = (), audiences: Sequence[Audience] = (), kinds: Sequence[NoteKind] = ()
) -> list[Folder]:
    """Return the folders of some scopes, audiences and kinds; where none is named, of all."""
    every = product(scopes or SCOPES, audiences or AUDIENCES, kinds or KINDS)
    return [folder_of(*parts) for parts in every]


def _filters(query: NoteQuery) -> Filters:
    if not (query.scopes or query.audiences or query.kinds):
        return Filters()
    return Filters(folders=tuple(folder.path for folder in folders(query.scopes, query.audiences, query.kinds)))


def key_at(folder: str, path: str) -> NoteKey:
    """Return which note a file of the index is."""
    return NoteKey("user" if folder.startswith("/user/") else "project", path)


class NoteIndex(RecordIndex[NoteKey]):
    """The index of the notes that one principal may see."""

    what = "notes"

    def __init__(self, open_backend: OpenBackend, notes: VisibleNotes, counter: TokenCounter, sizes: Sizes) -> None:
        super().__init__(open_backend)
        self.notes = notes
        self._counter, self._sizes = counter, sizes
        self._followers: dict[NoteScope, Follower] = {}

    @classmethod
    def open(cls, app: "App", place: MemoryPlace, visible: VisibleNotes, session: str = "") -> "NoteIndex":
        """Return the index of the notes that a principal sees at a place, or that one of its sessions sees."""
        sizes = Sizes(app.settings.chunk_tokens, app.settings.chunk_overlap)
        recipe = f"{RECIPE} {sizes.recipe}"
        open_backend = partial(open_records, app, "notes", recipe, visible.count, place=place.space, session=session)
        return cls(open_backend, visible, Counter(DEFAULT_VOCABULARY), sizes)

    def find(self, query: NoteQuery, *, timeout: float = PATIENCE) -> MemoryResult:
        """Return the best matching notes; ``timeout`` is how many seconds to wait for notes that are being indexed."""
        has_notes, missing = self.wait(timeout)
        found = self.search(query) if has_notes else MemoryResult()
        return replace(found, notes=(*found.notes, *missing))

    def search(self, query: NoteQuery) -> MemoryResult:
        """Return the same, as far as the notes are indexed."""
        limit = max(query.limit, MAX_HITS) if query.limit > 0 else 0
        found = self.ask(SearchQuery(query.text, limit, _filters(query), query.lexical_only))
        return rank(query, [(key_at(hit.folder, hit.path), hit) for hit in found.hits], found, self.notes)

    def count(self) -> int:
        return self.notes.count()

    def texts(self) -> Iterable[tuple[NoteKey, str]]:
        return ((NoteKey(scope, note), text) for scope, view in self.notes.views.items() for note, text in view.texts())

    def news(self) -> set[NoteKey] | None:
        found: dict[NoteScope, set[str] | None] = {}
        for scope, view in self.notes.views.items():
            if scope not in self._followers:
                self._followers[scope] = view.follow()
            found[scope] = self._followers[scope].news()
        if None in found.values():
            return None
        return {NoteKey(scope, note) for scope, ids in found.items() for note in ids or ()}

    def folders(self) -> Sequence[Folder]:
        return folders()

    def places(self, keys: Collection[NoteKey]) -> Iterable[tuple[Folder, Sequence[str]]]:
        """Return the folders and the paths in them where these notes may be: a note may have had another kind."""
        for scope in SCOPES:
            if ids := [key.id for key in keys if key.scope == scope]:
                yield from ((folder, ids) for folder in folders([scope]))

    def find_records(self, keys: Collection[NoteKey] | None = None) -> Iterable[RecordPlace[NoteKey]]:
        """Return the notes that belong in the index: those with ``keys``, or all that can be recalled."""
        some = self.notes.newest() if keys is None else map(self.notes.header, set(keys))
        return (
            RecordPlace(key_of(header), _folder(header), header.id, header.rev) for header in some if header is not None
        )

    def entry(self, key: NoteKey) -> RecordEntry | None:
        """Return a note as it is now; ``None`` if it cannot be recalled."""
        note = self.notes.read(key)
        return None if note is None or not self.notes.is_recallable(note.header) else self._made(note)

    def _made(self, note: Note) -> RecordEntry:
        """Return a note as it is indexed: without its front matter, whose words become the names of each chunk."""
        header = note.header
        text = note.body if note.body.strip() else header.title
        from promptuary.search.chunks.chunker import chunks  # noqa: PLC0415  (most turns find nothing to chunk)

        cut = chunks(text, "note.md", self._sizes, self._counter)
        named = (header.title, *header.tags, header.summary[:_MAX_SUMMARY])
        names = tuple(dict.fromkeys(name for name in named if name))
        date = int(max(0.0, change_time(header) or 0.0))
        file = IndexedFile(header.id, Stamp(len(note.text), 0, 0, 0), header.rev, "markdown", date)
        return RecordEntry(
            _folder(header),
            file,
            text,
            [replace(chunk, names=names, heading=_heading(header.title, chunk)) for chunk in cut],
        )


def _folder(header: NoteHeader) -> Folder:
    return folder_of(header.scope, header.audience, header.kind)


def _heading(title: str, chunk: Chunk) -> tuple[str, ...]:
    """Return the headings of a chunk below the title of its note: a line says little without what it is about."""
    return chunk.heading if not title or title in chunk.heading else (title, *chunk.heading)
