"""The search of notes as a service, over an index that is updated after writes."""

from collections.abc import Callable

from msgspec.structs import replace

from promptuary.core.notes import MemoryResult
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery, search_notes
from promptuary.memory.recall.visible import NoteKey, VisibleNotes
from promptuary.records.service import PATIENCE, RecordSearch


class NoteSearch(RecordSearch[NoteKey, NoteIndex]):
    """The search of the notes of one principal. ``open_index`` is not called before there is a note."""

    def __init__(self, notes: VisibleNotes, open_index: Callable[[], NoteIndex]) -> None:
        super().__init__(notes.count, open_index, "notes")

    def find(self, query: NoteQuery, *, timeout: float = PATIENCE) -> MemoryResult:
        """Return the best matching notes; ``timeout`` is how many seconds to wait for notes that are being indexed."""
        index, notes = self.index_for(timeout)
        found = MemoryResult() if index is None else search_notes(query, index)
        return replace(found, notes=(*found.notes, *notes))
