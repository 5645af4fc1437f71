"""The context that every kind of reference gets while one message is expanded, and the type of a kind."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from promptuary.base.blocks import Source
from promptuary.base.budget import TokenCounter
from promptuary.base.errors import SourceError
from promptuary.base.references import Reference
from promptuary.workspace.workspace import Visit, Workspace

if TYPE_CHECKING:
    from promptuary.search.values import Search
    from promptuary.tool_servers.contents import ServerText


class ResolveContext(Struct, frozen=True):
    """The workspace, open for one message; the token counter of the model; the search, if something is indexed."""

    visit: Visit
    counter: TokenCounter
    search: "Search | None" = None
    find_notes: "FindNotes | None" = None
    """Searches the durable memory of the sender; ``None`` where there is no memory."""
    remember: "Remember | None" = None
    """Writes what ``@remember:`` asks for; ``None`` outside a thread, where nothing is written."""
    stopped: Callable[[], bool] = lambda: False
    """Returns whether the caller wants to cancel: then ``resolve`` raises ``PromptuaryError``."""
    model: str = ""
    """The model that the message is for: whether it takes images, and what they cost, depends on it."""
    advice: bool = True
    """Whether to suggest references for text that is not one: among many files, that takes long."""
    read_server: "Callable[[str, str], ServerText] | None" = None
    """Returns what a reference to a server means, of which the name and the value are given; it may block."""
    notes: list[str] = field(default_factory=list)
    """Remarks for the person, such as "the index is being updated". They are shown beside the prompt, never in it."""

    @property
    def workspace(self) -> Workspace:
        return self.visit.workspace

    def check_kind(self, kind: str) -> None:
        """Raise ``SourceError`` if the sender may not use this kind of reference at all."""
        if (refusal := self.workspace.access.refusal("use", kind)) is not None:
            raise refusal

    def disclose(self, kind: str, error: SourceError) -> SourceError:
        """Return an error as the sender may see it."""
        return self.workspace.access.disclose(kind, error)


class NotesFound(Struct, frozen=True):
    """Notes as sources, the best first, and remarks for the person about how they were found."""

    sources: Sequence[Source] = ()
    remarks: Sequence[str] = ()


FindNotes = Callable[[str], NotesFound]
"""Finds the note with an id or path, else the notes that match a text. The only way from a reference to a note.

It is bound to the sender and sees nothing of anybody else. It raises ``SourceError`` to say why there is no note.
"""


class NoteKept(Struct, frozen=True):
    """A note that was written, or existed already: its address, and a sentence for the person."""

    address: str
    reason: str


Remember = Callable[[Reference], NoteKept]
"""Writes what a reference asks to be remembered, or raises ``SourceError``."""

Kind = Callable[[Reference, ResolveContext], Sequence[Source]]
"""Fetches what a reference points at, or raises ``SourceError``.

It may block: it runs in a thread with a timeout. It does not know budgets, detail levels or other references.
"""
