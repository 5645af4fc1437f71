"""What a new note is where nobody says: never shared, and about the project unless it is about the person."""

import re
from typing import Final

from promptuary.core.notes import Audience, NoteDraft, NoteKind, NoteScope

_LONGEST_TITLE: Final = 80
_MARKS: Final = re.compile(r"[#>*+\-\s]*")


def kind_of(draft: NoteDraft) -> NoteKind:
    """Return what a new note is about."""
    return draft.kind or "reference"


def audience_of(draft: NoteDraft) -> Audience:
    """Return who may read a new note: nobody else, unless the writer says so."""
    return draft.audience or "private"


def scope_of(draft: NoteDraft) -> NoteScope:
    """Return where a new note lives: what is known of the person follows the person, all else stays in the project."""
    return draft.scope or ("user" if draft.kind == "user" else "project")


def title_of(draft: NoteDraft) -> str:
    """Return the title of a new note: what the writer says, else the first words of the text."""
    if draft.title and draft.title.strip():
        return " ".join(draft.title.split())
    lines = (line[_end_of_marks(line) :] for line in (draft.content or "")[:4_000].splitlines())
    first = " ".join(next((line for line in lines if line.strip()), "Note").split())
    if len(first) <= _LONGEST_TITLE:
        return first
    cut = first[:_LONGEST_TITLE].rsplit(" ", 1)
    return f"{cut[0] if len(cut) > 1 else first[: _LONGEST_TITLE - 1]}…"


def _end_of_marks(line: str) -> int:
    found = _MARKS.match(line)
    return found.end() if found else 0
