"""What forgetting a note needs from a database, beside the journal of notes.

A recalled note is part of stored prompts, and if it is shared, of other people's too. The same words may also occur in
what somebody said: those places are shown to the person, who decides.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from promptuary.core.notes import Place


class Forgetting(Protocol):
    """Removes the text of notes from a database, for one principal.

    ``address`` names the note (``memory:4f1c…``); ``texts`` are its title, summary and body, of earlier revisions too.
    Each method is idempotent. Removed text may remain in free pages and in the log until ``purge``.
    """

    def begin(self, note: str, *, everywhere: bool) -> None:
        """Record, before anything else is done, that the principal is forgetting a note, ``everywhere`` or not."""
        ...

    def unfinished(self) -> Mapping[str, bool]:
        """Return the ids of the notes that the principal has begun to forget, and whether everywhere."""
        ...

    def end(self, note: str) -> None:
        """Record that a note has been forgotten completely."""
        ...

    def redact_note(self, address: str, texts: Sequence[str] = ()) -> int:
        """Remove a note from the prompts, receipts and states of every owner; return how many texts were changed.

        A mark takes its place, and the turn names the note in ``TurnRecord.forgotten``. What people said is not
        changed. A turn in progress that shows the note does not store it again when it finishes.
        """
        ...

    def places(self, address: str, texts: Sequence[str]) -> Sequence[Place]:
        """Return where else ``texts``, or sentences of them, occur in what the principal owns.

        A whole text is found if it has at least 8 characters, a line or sentence of it if it has at least 20; spacing
        is ignored. Leave out a title that is just a name: it would match wherever the name is used.
        """
        ...

    def redact_places(self, address: str, texts: Sequence[str]) -> int:
        """Replace the texts by a mark in all those places; return how many. A proposal to write them is removed."""
        ...

    def redact_source(self, address: str) -> int:
        """Remove the blocks of a file or page (``file:…``, ``index:…``, ``url:…``) from what the principal owns.

        Return how many texts had one. A mark replaces each, in prompts, histories and receipts, and the turn names the
        file in ``TurnRecord.forgotten``. What people said and what summaries contain is not changed. A turn in progress
        stores what it shows when it finishes.
        """
        ...

    def purge(self) -> None:
        """Erase every byte of what was removed from the file and its log. Slow; call it once, at the end."""
        ...
