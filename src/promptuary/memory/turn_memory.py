"""The interface to notes for messages and agents: the memory of a principal, or the part that a session sees."""

from collections.abc import Sequence
from typing import Protocol

from promptuary.core.notes import MemoryResult, Note, NoteChange, NoteDraft
from promptuary.memory.notebook.notebook import Written
from promptuary.memory.recall.visible import VisibleNotes


class TurnMemory(Protocol):
    """The notes that a turn may see, and the one write path to them. Every method blocks."""

    @property
    def visible(self) -> VisibleNotes: ...

    def exact(self, key: str) -> Note | None:
        """Return the note with exactly this id or path, or ``memory:ID``; ``None`` if there is none."""
        ...

    def find(self, query: str, *, limit: int = 10) -> MemoryResult:
        """Return the notes that match a question best."""
        ...

    def similar(self, text: str, limit: int) -> Sequence[str]:
        """Return the ids of notes that are about the same as a text, the nearest first."""
        ...

    def history(self, key: str) -> Sequence[NoteChange]:
        """Return the changes of a note, the oldest first."""
        ...

    def put(self, draft: NoteDraft, *, if_rev: str | None = None, reason: str = "") -> Note:
        """Write a draft. If a note already says the same, return that one."""
        ...

    def remembered(self, text: str, *, reason: str = "") -> Written:
        """Write a note, and return it and whether it is new."""
        ...
