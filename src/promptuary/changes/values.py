"""Changes as they are returned, and the cursor that says up to where somebody has followed them. Pure.

A cursor has a mark for each list of changes that a principal may see. A mark is the number of a change and a checksum
of it: in a database that was restored or made anew, the same number is another change, and the follower is told.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from promptuary.base.principals import NoteScope
from promptuary.database.feed import Mark

START: Final = "start"
"""The cursor before the oldest change that is kept."""

_LISTS: Final = 4
"""Of the workspace and of the person's own notes: what belongs to the owner, and what belongs to everybody."""
_MARK: Final = re.compile(r"(0|[1-9][0-9]{0,14})\.([0-9a-f]{8})")

ChangeNoun = Literal["turn", "note", "proposal"]


class Change(Struct, frozen=True):
    """Something that happened to a turn, a note or a proposal; ``cursor`` is the place right after it.

    ``event`` is the new status of a turn, what was done with a note (as in its history), or whether a proposal was
    proposed, edited, accepted, rejected or, with a note that was forgotten, removed. ``actor`` is who did it: a user,
    for notes ``user/agent``. ``thread`` and ``number`` say which turn it is, ``scope`` where a note
    is, ``path`` and ``title`` what it is called now: they are empty for what is gone, or no longer visible.
    """

    cursor: str
    kind: ChangeNoun
    id: str
    event: str
    at: str
    actor: str = ""
    thread: str = ""
    number: int = 0
    scope: NoteScope | None = None
    path: str = ""
    title: str = ""


class Changes(Struct, frozen=True):
    """Changes, the oldest first, and the cursor after them.

    ``missed`` says that there were others after the given cursor, which are not kept any more, or that the cursor is
    not of this workspace: read anew what you show. These are then the oldest that are kept.
    """

    changes: tuple[Change, ...]
    cursor: str
    missed: bool = False


BEGINNING: Final = (Mark(),) * _LISTS
"""The place before the first change of every list."""


def to_cursor(marks: Iterable[Mark]) -> str:
    """Return a cursor for these places."""
    return "-".join(f"{mark.seq}.{mark.check}" for mark in marks)


def from_cursor(cursor: str) -> tuple[Mark, ...] | None:
    """Return the places of a cursor; ``None`` if it is none of ours, whatever it is."""
    if cursor == START:
        return BEGINNING
    parts = cursor.split("-", _LISTS) if len(cursor) <= _LISTS * 25 else []
    found = [match for part in parts if (match := _MARK.fullmatch(part))]
    if len(parts) != _LISTS or len(found) != _LISTS:
        return None
    return tuple(Mark(int(match[1]), match[2]) for match in found)
