"""What forgetting a note needs of a database, beside the journal of notes.

A note that was recalled stands in stored prompts, in those of other people too if it is shared. The same words may
also stand where somebody said them: these places are shown to the person, who decides.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from promptuary.core.notes import Place


class Forgetting(Protocol):
    """Takes the text of notes out of a database, for one principal.

    ``address`` names the note (``memory:4f1c…``); ``texts`` are its title, summary and body, of earlier revisions too.
    Each method may be repeated: what is done already is not found again. What was taken out may lie in free pages and
    in the log until ``purge``.
    """

    def begin(self, note: str, *, everywhere: bool) -> None:
        """Record, before anything else is done, that the principal has a note forgotten, ``everywhere`` or not."""
        ...

    def unfinished(self) -> Mapping[str, bool]:
        """Return the ids of the notes that the principal has begun to forget, and whether everywhere."""
        ...

    def end(self, note: str) -> None:
        """Record that nothing is left of a note."""
        ...

    def redact_note(self, address: str, texts: Sequence[str] = ()) -> int:
        """Take a note out of the prompts, receipts and states of every owner; return how many texts were changed.

        A mark stands in its place, and the turn names the note in ``TurnRecord.forgotten``. Texts that somebody said
        stay as they are. What a turn under way shows of the note is not stored again when the turn is finished.
        """
        ...

    def places(self, address: str, texts: Sequence[str]) -> Sequence[Place]:
        """Return where else ``texts``, or sentences of them, stand in what the principal owns.

        A text as a whole is found from 8 characters on, a line or sentence of it from 20, whatever the spacing. So the
        title of a note is better left out if it is no more than a name: it would be found wherever it is used.
        """
        ...

    def redact_places(self, address: str, texts: Sequence[str]) -> int:
        """Put a mark into all those places; return how many there were. A proposal to write it is removed."""
        ...

    def redact_source(self, address: str) -> int:
        """Take the blocks of a file or page (``file:…``, ``index:…``, ``url:…``) out of what the principal owns.

        Return how many texts had one. A mark stands in the place of each, in prompts, histories and receipts, and the
        turn names the file in ``TurnRecord.forgotten``. Words that somebody said, or a summary holds, stay. A turn
        under way stores what it shows when it is finished.
        """
        ...

    def purge(self) -> None:
        """Remove every byte of what was taken out, from the file and its log. Slow; once after all else."""
        ...
