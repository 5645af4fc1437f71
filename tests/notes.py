"""Notes to test recall with: a dictionary of them, and what one principal may see of it."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from promptuary.base.principals import LOCAL, NoteScope
from promptuary.database.binding import BoundDatabase
from promptuary.database.feed import Follower
from promptuary.memory.recall.index import RECIPE, NoteIndex
from promptuary.memory.recall.visible import NoteKey, VisibleNotes
from promptuary.memory.values import Note, NoteChange, NoteFilter, NoteHeader, NoteView
from promptuary.models.protocols import Embedder
from promptuary.search.chunks.lines import Sizes
from promptuary.search.index.index import DiskIndex
from promptuary.search.kind_index import SearchBackend
from promptuary.tokens.counting import Counter
from tests.in_memory_index import InMemoryVectorStore

NOW = "2026-03-10T12:00:00+00:00"
COUNTER = Counter()


def note(name: str, body: str, **fields: Any) -> Note:
    """Return a note; its revision is that of all of it."""
    header = NoteHeader(
        **{
            "id": name,
            "path": f"private/reference/{name}.md",
            "scope": "project",
            "audience": "private",
            "kind": "reference",
            "title": f"About {name}",
            "rev": "",
            "created_at": NOW,
        }
        | fields
    )
    return Note(replace(header, rev=sha256(f"{header}{body}".encode()).hexdigest()), body, body)


def index_at(folder: Path, shelf: "Shelf", embedder: Embedder | None = None) -> NoteIndex:
    """Return the index in ``folder`` of the notes on ``shelf``, by words only unless there is an embedder."""

    def open_backend() -> SearchBackend:
        folder.mkdir(exist_ok=True)
        store = InMemoryVectorStore() if embedder else None
        disk = DiskIndex(folder, RECIPE, store=store, embedder=embedder)
        if (index := opened()) is not None:
            weakref.finalize(index, disk.close)  # few tests close it
        return SearchBackend(disk, store, embedder)

    index = NoteIndex(open_backend, shelf.visible(), COUNTER, Sizes())
    opened = weakref.ref(index)
    return index


class Shelf:
    """Notes by root and id. Each view reads the dictionary as it is at that moment."""

    def __init__(self, *notes: Note) -> None:
        self.notes: dict[NoteKey, Note] = {}
        self.now = NOW
        self.feed = BoundDatabase(None)
        self.put(*notes)

    def put(self, *notes: Note) -> None:
        self.notes |= {NoteKey(one.header.scope, one.header.id): one for one in notes}

    def drop(self, name: str, scope: NoteScope = "project") -> None:
        del self.notes[NoteKey(scope, name)]

    def visible(self) -> VisibleNotes:
        views: dict[NoteScope, NoteView] = {"project": _View(self, "project"), "user": _View(self, "user")}
        return VisibleNotes(views, self.notes.get, clock=lambda: self.now)


class _View:
    def __init__(self, shelf: Shelf, scope: NoteScope) -> None:
        self._shelf, self._scope = shelf, scope

    def header(self, key: str) -> NoteHeader | None:
        found = self._shelf.notes.get(NoteKey(self._scope, key))
        return found.header if found else None

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008
        every = [one.header for key, one in self._shelf.notes.items() if key.scope == self._scope]
        passing = [one for one in every if one.status in wanted.statuses]
        newest = sorted(passing, key=lambda one: one.updated_at or one.created_at, reverse=True)
        return sorted(newest, key=lambda one: not one.pinned)[: wanted.limit]

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        return len(self.headers(replace(wanted, limit=None)))

    def changes(self, note: str) -> Sequence[NoteChange]:
        raise NotImplementedError

    def changed_until(self, at: str, needs_text: Callable[[NoteChange], bool] = bool) -> Sequence[NoteChange]:
        raise NotImplementedError

    def texts(self) -> Iterator[tuple[str, str]]:
        return ((key.id, one.text) for key, one in self._shelf.notes.items() if key.scope == self._scope)

    def follow(self) -> Follower:
        return Follower(self._shelf.feed, LOCAL.owner, "note")
