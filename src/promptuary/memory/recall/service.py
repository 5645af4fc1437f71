"""The search of notes as a service: the notes that answer, from an index that follows what is written."""

from collections.abc import Callable

from promptuary.core.notes import MemoryResult
from promptuary.memory.recall.index import NoteIndex
from promptuary.memory.recall.search import NoteQuery, search_notes
from promptuary.memory.recall.visible import NoteKey, VisibleNotes
from promptuary.records.service import PATIENCE, RecordSearch


class NoteSearch(RecordSearch[NoteKey, NoteIndex]):
    """The search of the notes of one principal. ``open_index`` is called when there is a note, and not before."""

    def __init__(self, notes: VisibleNotes, open_index: Callable[[], NoteIndex]) -> None:
        super().__init__(notes.count, open_index, "notes")

    def find(self, query: NoteQuery, *, timeout: float = PATIENCE) -> MemoryResult:
        """Return the notes that answer best; ``timeout`` is how many seconds to wait for those being indexed."""
        index = self.index_for(timeout)
        return MemoryResult() if index is None else search_notes(query, index)
