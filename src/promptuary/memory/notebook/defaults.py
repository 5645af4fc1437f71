"""The defaults of a new note: never shared, and about the project unless it is about the person."""

import re
from typing import Final, get_args

from promptuary.base.errors import PromptuaryError
from promptuary.base.principals import NoteScope
from promptuary.memory.values import (
    AUDIENCES,
    KINDS,
    SCOPES,
    STATUSES,
    Audience,
    NoteDraft,
    NoteKind,
    NoteSelection,
    NoteTrust,
)

_MAX_TITLE: Final = 80
_CHOICES: Final = {"kind": KINDS, "audience": AUDIENCES, "scope": SCOPES, "status": STATUSES}
_MARKS: Final = re.compile(r"[#>*+\-\s]*")


def check_choices(draft: NoteDraft) -> None:
    """Raise ``PromptuaryError`` for an invalid choice: not every caller has a type checker."""
    for name, choices in _CHOICES.items():
        value = getattr(draft, name)
        if value is not None and value not in choices:
            raise PromptuaryError(f"{name} is one of {', '.join(choices)}, not {str(value)[:40]!r}")
    if draft.trust not in get_args(NoteTrust):
        raise PromptuaryError(f"trust is one of {', '.join(get_args(NoteTrust))}, not {str(draft.trust)[:40]!r}")
    if isinstance(draft.tags, str):
        raise PromptuaryError(f"tags are a list, such as [{draft.tags[:40]!r}]")
    if draft.pinned not in (None, True, False):
        raise PromptuaryError(f"pinned is true or false, not {str(draft.pinned)[:40]!r}")


def check_selection(selection: NoteSelection) -> None:
    """Raise ``PromptuaryError`` for an invalid filter: an empty list would look like a result."""
    for name, choices in _CHOICES.items():
        plural = f"{name}es" if name == "status" else f"{name}s"
        given: object = selection.get(plural) or ()
        wrong = given if isinstance(given, str) else next((value for value in given if value not in choices), None)  # type: ignore[attr-defined]
        if wrong is not None:
            raise PromptuaryError(f"{plural} are a list of {', '.join(choices)}, not {str(wrong)[:40]!r}")
    if isinstance(selection.get("tags"), str):
        raise PromptuaryError("tags are a list of words, not a text")


def kind_of(draft: NoteDraft) -> NoteKind:
    return draft.kind or "reference"


def audience_of(draft: NoteDraft) -> Audience:
    """Return the audience of a new note: private, unless the writer says otherwise."""
    return draft.audience or "private"


def scope_of(draft: NoteDraft) -> NoteScope:
    """Return the scope of a new note: notes about the person follow the person, all others stay in the project."""
    return draft.scope or ("user" if draft.kind == "user" else "project")


def title_of(draft: NoteDraft) -> str:
    """Return the title of a new note: the given one, else the first words of the text."""
    if draft.title and draft.title.strip():
        return " ".join(draft.title.split())
    lines = (line[_end_of_marks(line) :] for line in (draft.content or "")[:4_000].splitlines())
    first = " ".join(next((line for line in lines if line.strip()), "Note").split())
    if len(first) <= _MAX_TITLE:
        return first
    cut = first[:_MAX_TITLE].rsplit(" ", 1)
    return f"{cut[0] if len(cut) > 1 else first[: _MAX_TITLE - 1]}…"


def _end_of_marks(line: str) -> int:
    found = _MARKS.match(line)
    return found.end() if found else 0
