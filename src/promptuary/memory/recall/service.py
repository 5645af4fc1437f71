"""The search of notes as a service, over an index that is updated after writes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from promptuary.core.notes import MemoryResult
from promptuary.memory.places import MemoryPlace, index_name
from promptuary.memory.recall.index import RECIPE, NoteIndex
from promptuary.memory.recall.search import NoteQuery, search_notes
from promptuary.memory.recall.visible import NoteKey, VisibleNotes
from promptuary.records.service import PATIENCE, RecordSearch
from promptuary.search.chunks.sizes import Sizes
from promptuary.search.indexes import notes_backend
from promptuary.tokens import DEFAULT_VOCABULARY, Counter

if TYPE_CHECKING:
    from promptuary.app import App


class NoteSearch(RecordSearch[NoteKey, NoteIndex]):
    """The search of the notes of one principal. ``open_index`` is not called before there is a note."""

    def __init__(self, notes: VisibleNotes, open_index: Callable[[], NoteIndex]) -> None:
        super().__init__(notes.count, open_index, "notes")

    def find(self, query: NoteQuery, *, timeout: float = PATIENCE) -> MemoryResult:
        """Return the best matching notes; ``timeout`` is how many seconds to wait for notes that are being indexed."""
        index, notes = self.index_for(timeout)
        found = MemoryResult() if index is None else search_notes(query, index)
        return replace(found, notes=(*found.notes, *notes))


def open_search(app: "App", place: MemoryPlace, visible: VisibleNotes, *, session: str = "") -> NoteSearch:
    """Return the search of the notes that a principal sees at a place, or that one of its sessions sees."""
    settings = app.settings
    sizes = Sizes(settings.chunk_tokens, settings.chunk_overlap)

    def index() -> NoteIndex:
        owner, name = app.principal.owner, index_name(place, session)
        backend = notes_backend(app.workspace, settings, owner, name, f"{RECIPE} {sizes.recipe}")
        return NoteIndex(backend, visible, Counter(DEFAULT_VOCABULARY), sizes)

    return NoteSearch(visible, index)
