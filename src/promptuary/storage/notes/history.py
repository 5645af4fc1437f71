"""Which part of a note's history an owner may see, for every journal."""

from collections.abc import Sequence

from promptuary.core.notes import NoteChange
from promptuary.core.principals import Owner


def visible_changes(
    changes: Sequence[NoteChange], audience: str | None, *, holder: Owner | None, owner: Owner
) -> tuple[NoteChange, ...]:
    """Return those changes of one note, the oldest first, that ``owner`` may see.

    ``holder`` is the owner of the note, ``audience`` its current audience, if its file exists and is visible. A change
    is private if the note was private at that time: sharing a note later does not share its past.
    """
    if holder == owner:
        return tuple(changes)
    shared_now = bool(changes) and _is_shared(changes[-1]) if audience is None else audience == "shared"
    return tuple(filter(_is_shared, changes)) if shared_now else ()


def _is_shared(change: NoteChange) -> bool:
    return change.path.startswith("shared/")
