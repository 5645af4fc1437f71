"""The durable memory of a session: its pinned notes, and the way to write more.

It has a separate index, so that a search sees and counts nothing else. What a turn of the session writes is pinned by
the session at its new revision. Every method blocks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from promptuary.base.blocks import content_hash
from promptuary.base.errors import PromptuaryError, UnknownNoteError
from promptuary.base.principals import NoteScope
from promptuary.base.text import one_line
from promptuary.memory.memory import ADDRESS, Memory
from promptuary.memory.notebook.notebook import Written
from promptuary.memory.pinned_notes import PinnedNotes
from promptuary.memory.places import MemoryPlace
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery
from promptuary.memory.recall.visible import MemoryPage, NoteKey, VisibleNotes
from promptuary.memory.values import MemoryResult, Note, NoteChange, NoteDraft, NoteHeader, NoteView
from promptuary.workspace.access import NotePin, Pins

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.sessions.values import Session


class PinnedMemory:
    """The part of its owner's memory, ``base``, that the turns of one session see."""

    def __init__(self, app: "App", place: MemoryPlace, base: Memory, session: "Session", pins: Pins) -> None:
        self._base, self._session, self._pins = base, session, pins
        self._store = app.state().sessions(app.principal)
        self._views = _PinnedViews(base.visible.views, _notes(session, pins))
        self.visible = VisibleNotes(self._views, self._read, self._pages, base.visible.clock)
        self.search = NoteIndex.open(app, place, self.visible, session.id)

    def see(self, session: "Session", pins: Pins) -> None:
        """Reload the pins of the session, and update the index."""
        if session.version == self._session.version:
            return
        before, after = _notes(self._session, self._pins), _notes(session, pins)
        self._session, self._pins, self._views.pins = session, pins, after
        self.search.mark_changed(
            NoteKey(*key) for key in before.keys() | after.keys() if before.get(key) != after.get(key)
        )

    # Reading

    def current_notes(self) -> VisibleNotes:
        """Return what the session sees, after a scan for changes made by hand."""
        self._base.refresh()
        return self.visible

    def search_now(self, query: NoteQuery) -> MemoryResult:
        """Return the best matching notes."""
        self._base.refresh()
        return self.search.find(query)

    def find(self, query: str, *, limit: int = 10) -> MemoryResult:
        """Return the notes that match a question best."""
        self._base.refresh()
        self.search.embed_few()
        return self.search.find(NoteQuery(query, limit))

    def similar(self, text: str, limit: int) -> Sequence[str]:
        """Return the ids of notes that are about the same as a text, the nearest first."""
        return [hit.header.id for hit in self.search.find(NoteQuery(text, limit)).hits]

    def newest(self, limit: int) -> Sequence[NoteHeader]:
        """Return the pinned and newest notes."""
        return self.current_notes().newest(limit)

    def exact(self, key: str) -> Note | None:
        """Return the note with exactly this id or path, or ``memory:ID``; ``None`` if the session has none."""
        found = self._key(key)
        return None if found is None else self._read(found)

    def get(self, key: str) -> Note | None:
        """Return the same: abbreviated ids are not supported here."""
        return self.exact(key)

    def history(self, key: str) -> Sequence[NoteChange]:
        """Return the changes of a note until it was pinned."""
        found = self._require(key)
        return self._views[found.scope].changes(found.id)

    # Writing

    def put(self, draft: NoteDraft, *, if_rev: str | None = None, reason: str = "") -> Note:
        """Write a draft; a note that it changes or supersedes must be one of the session."""
        self._check_memory()
        for named in (draft.id, draft.supersedes):
            if named:
                self._require(named)
        note = self._base.put(draft, if_rev=if_rev, reason=reason)
        self._keep(note.header)
        return note

    def write_statement(self, text: str, *, reason: str = "") -> Written:
        self._check_memory()
        written = self._base.write_statement(text, reason=reason)
        header = written.note.header
        known = self._pins.notes.get((header.scope, header.id)) is not None
        self._keep(header)
        # An equal note outside the session is not mentioned.
        return Written(written.note, changed=written.changed, is_new=written.is_new or not known)

    def archive(self, key: str, *, reason: str = "") -> Note:
        self._check_memory()
        note = self._base.archive(self._require(key).id, reason=reason)
        self._keep(note.header)
        return note

    def close(self) -> None:
        self.search.close()

    def _keep(self, header: NoteHeader) -> None:
        if self._session.notes != "none":
            pins: dict[NotePin, str | None] = {
                (header.scope, header.id): header.rev if header.status == "active" else None
            }
            self._store.pin_notes(self._session.name, pins)

    def _check_memory(self) -> None:
        if not self._session.memory:
            raise PromptuaryError(
                f"the session {one_line(self._session.name)!r} is without memory, so nothing is written"
            )

    def _require(self, key: str) -> NoteKey:
        found = self._key(key)
        if found is None:
            raise UnknownNoteError(f"the session {one_line(self._session.name)!r} has no note {key[:80]!r}")
        return found

    def _key(self, key: str) -> NoteKey | None:
        self._base.refresh()
        wanted = key.strip().removeprefix(ADDRESS)
        for scope, view in self._views.items():
            if (header := view.header(wanted.removeprefix(f"{scope}/"))) is not None:
                return NoteKey(header.scope, header.id)
        return None

    def _read(self, key: NoteKey) -> Note | None:
        view = self._views.get(key.scope)
        return None if view is None else view.read(key.id, lambda one: self._base.visible.read(NoteKey(*one)))

    def _pages(self) -> Sequence[MemoryPage]:
        if not self._pins.pages or not self._session.memory:
            return []
        return [page for page in self._base.visible.pages() if self._pins.pages.get(page_name(page)) == rev_of(page)]


class _PinnedViews(Mapping[NoteScope, PinnedNotes]):
    """The current views of the places of notes, as a session sees them."""

    def __init__(self, views: Mapping[NoteScope, NoteView], pins: Mapping[NotePin, str]) -> None:
        self._views, self.pins = views, pins

    def __getitem__(self, scope: NoteScope) -> PinnedNotes:
        return PinnedNotes(self._views[scope], scope, self.pins)

    def __iter__(self) -> Iterator[NoteScope]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)


def _notes(session: "Session", pins: Pins) -> Mapping[NotePin, str]:
    return pins.notes if session.memory else {}


def note_pins(memory: Memory, chosen: Sequence[str] | None) -> dict[NotePin, str]:
    """Return the revisions of all active notes, or of those that are named. Raises ``UnknownNoteError``."""
    if chosen is None:
        return {(header.scope, header.id): header.rev for header in memory.list().headers}
    pins: dict[NotePin, str] = {}
    for key in chosen:
        notebook, note = memory.locate(key)
        found = notebook.view.header(note)
        if found is None:
            raise UnknownNoteError(f"the file of the note {note} is gone, so it cannot be pinned")
        pins[found.scope, found.id] = found.rev
    return pins


def page_pins(memory: Memory) -> dict[str, str]:
    """Return the revisions of the texts that people wrote into the lists of notes."""
    return {page_name(page): rev_of(page) for page in memory.visible.pages()}


def page_name(page: MemoryPage) -> str:
    """Return the key of a page among all places."""
    return f"{page.scope}/{page.path}"


def rev_of(page: MemoryPage) -> str:
    """Return the revision of a person's text on a page."""
    return content_hash(page.text)


TurnMemory = Memory | PinnedMemory
"""The notes that a turn may see, and the one write path to them: all of a principal, or those of a session."""
