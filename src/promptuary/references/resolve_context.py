"""What every kind of reference is given while one message is expanded, and what a kind is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptuary.core.blocks import Source
from promptuary.core.budget import TokenCounter
from promptuary.core.errors import SourceError
from promptuary.core.references import Reference
from promptuary.workspace.workspace import Visit, Workspace

if TYPE_CHECKING:
    from promptuary.core.search import Search


@dataclass(frozen=True, slots=True)
class ResolveContext:
    """The workspace, open for one message; the token counter of the model; the search, if something is indexed."""

    visit: Visit
    counter: TokenCounter
    search: "Search | None" = None
    find_notes: "FindNotes | None" = None
    """Asks the durable memory of whoever sends the message; ``None`` where there is no memory."""
    remember: "Remember | None" = None
    """Writes what ``@remember:`` asks for; ``None`` where nothing is written, which is everywhere but in a thread."""
    stopped: Callable[[], bool] = lambda: False
    """Tells whether the caller wants this to end: then ``resolve`` raises ``PromptuaryError``."""
    model: str = ""
    """The model that the message is for: whether it takes images, and what they cost, depends on it."""
    advice: bool = True
    """Whether to look for what was probably meant by what is no reference: among many files, that takes long."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the person, such as "the index is being updated". They are shown beside the prompt, never in it."""

    @property
    def workspace(self) -> Workspace:
        """The workspace that is open."""
        return self.visit.workspace

    def check_kind(self, kind: str) -> None:
        """Raise ``SourceError`` if whoever asks may not use this kind of reference at all."""
        if (refusal := self.workspace.policy.kind_refusal(kind)) is not None:
            raise refusal

    def told(self, kind: str, error: SourceError) -> SourceError:
        """Return an error as whoever asks may read it."""
        reach = self.workspace.policy.reach
        return error if reach is None else reach.told(kind, error)


@dataclass(frozen=True, slots=True)
class NotesFound:
    """Notes as sources, the best first, and remarks for the person about how they were found."""

    sources: Sequence[Source] = ()
    remarks: Sequence[str] = ()


FindNotes = Callable[[str], NotesFound]
"""Finds the note whose id or path a text is, else the notes that answer it. The only way from a reference to a note.

It knows who asks, and sees nothing of anybody else. It may raise ``SourceError`` to say why there is none.
"""


@dataclass(frozen=True, slots=True)
class NoteKept:
    """What was written, or was there already: the address of the note, and a sentence for the person."""

    address: str
    reason: str


Remember = Callable[[Reference], NoteKept]
"""Writes what a reference asks to be remembered, or raises ``SourceError``."""

Kind = Callable[[Reference, ResolveContext], Sequence[Source]]
"""Fetches what a reference points at, or raises ``SourceError``.

It may block: it runs in a thread with a timeout. It does not know budgets, detail levels or other references.
"""
