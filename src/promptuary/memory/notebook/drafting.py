"""Turns a draft into the bytes of a file: of a new note, or of one that changes. Pure.

Trust and source say whose words a note holds, so they change only with the words: pinning or archiving a note does not
make somebody its author.
"""

import re
from collections.abc import Mapping
from typing import Final, get_args

from msgspec import Struct

from promptuary.base.errors import PromptuaryError
from promptuary.base.front_matter import NewValue, parse
from promptuary.base.principals import NoteScope, Owner
from promptuary.memory.note_file import (
    as_text,
    claimed_trust,
    fingerprint,
    normal_time,
    owner_label,
    rewrite,
    write_new,
)
from promptuary.memory.values import (
    AUDIENCES,
    KINDS,
    SCOPES,
    STATUSES,
    Audience,
    Note,
    NoteDraft,
    NoteKind,
    NoteSelection,
    NoteTrust,
    note_path,
)

_MAX_LENGTH: Final[Mapping[str, int]] = {"title": 200, "summary": 500}


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


class Writer(Struct, frozen=True):
    """Who writes, and when: ``actor`` is the user with the agent, as the journal names them."""

    owner: Owner
    actor: str
    at: str


class NewFile(Struct, frozen=True):
    """The file of a new note; ``fingerprint`` is equal for notes that say the same."""

    path: str
    data: bytes
    fingerprint: str


def new_file(draft: NoteDraft, note: str, writer: Writer) -> NewFile:
    """Return the file of a new note. Raises ``PromptuaryError`` if it is empty or has an invalid value."""
    content = draft.content or ""
    if not content.strip():
        raise PromptuaryError("a note needs content: say what is to be remembered")
    title, audience, kind = title_of(draft), audience_of(draft), kind_of(draft)
    values: dict[str, NewValue] = {
        "id": note,
        "owner": owner_label(writer.owner) if audience == "private" else None,
        "audience": audience,
        "kind": kind,
        "status": draft.status or "active",
        "title": title,
        "created_at": _moment(draft.created_at, "created_at") or writer.at,
        "created_by": writer.actor,
        "updated_at": _moment(draft.updated_at, "updated_at") or writer.at,
        "updated_by": writer.actor,
        "source": draft.source,
        "trust": draft.trust,
    }
    given = _front_matter_values(draft) | {"title": title, "status": draft.status or "active"}
    every = {key: value for key, value in (values | given).items() if value is not None}
    path = note_path(audience, kind, title, note)
    return NewFile(path, write_new(content, every), fingerprint(title, content))


def change_file(note: Note, draft: NoteDraft, writer: Writer) -> bytes:
    """Return the file of a note after a change; what the draft does not name is preserved byte for byte."""
    if draft.content is not None and not draft.content.strip():
        raise PromptuaryError("a note needs content; to remove it, archive or forget it")
    if problem := parse(note.text).problem:
        raise PromptuaryError(
            f"the front matter of the note {note.header.id} cannot be read ({problem}), so it would get a second one; "
            f"fix it first: `promptuary memory edit {note.header.id}`"
        )
    values = _front_matter_values(draft)
    if draft.content is not None and draft.title is None and (title := title_after(note, draft.content)):
        values["title"] = title
    if draft.kind is not None and draft.kind != note.header.kind:
        values["kind"] = draft.kind
    if draft.audience is not None and draft.audience != note.header.audience:
        values["audience"] = draft.audience
        values["owner"] = owner_label(writer.owner) if draft.audience == "private" else None
    trust = trust_after(note, draft)
    if _says_something_else(note, draft):
        values |= {"source": draft.source, "trust": trust}
    elif trust != claimed_trust(note.text):
        values["trust"] = trust  # only the journal says it: the file may claim otherwise
    same = rewrite(note.text, values, draft.content)
    if (changed := as_text(same)) == note.text:
        return same
    at = _moment(draft.updated_at, "updated_at") or writer.at
    return rewrite(changed, {"updated_at": at, "updated_by": writer.actor})


def title_after(note: Note, content: str) -> str | None:
    """Return the title of a note after its text has changed: one that was made from the text is made again."""
    was_made = note.header.title == title_of(NoteDraft(note.body))
    return title_of(NoteDraft(content)) if was_made and content.strip() != note.body.strip() else None


def path_after(note: Note, draft: NoteDraft) -> str:
    """Return the path of a note after a change: the same, unless its audience changes."""
    header = note.header
    if draft.audience is None or draft.audience == header.audience:
        return header.path
    _, kind, name = header.path.split("/")
    return f"{draft.audience}/{kind}/{name}"


def _says_something_else(note: Note, draft: NoteDraft) -> bool:
    texts = ((draft.content, note.body), (draft.title, note.header.title), (draft.summary, note.header.summary))
    return any(given is not None and given.strip() != now.strip() for given, now in texts)


def trust_after(note: Note, draft: NoteDraft) -> NoteTrust:
    """Return whose words a note holds after a change: it is trusted at most as much as the text that stays.

    A person who writes the text of a note confirms it, also with the same words.
    """
    if draft.trust == "person" and draft.content is not None:
        return "person"
    if not _says_something_else(note, draft):
        return note.header.trust
    content = draft.content is not None and draft.content.strip() != note.body.strip()
    if content and draft.title is not None:
        return draft.trust
    return max(draft.trust, note.header.trust, key=get_args(NoteTrust).index)


def _front_matter_values(draft: NoteDraft) -> dict[str, NewValue]:
    """Return the values of the front matter that a draft names; an empty one removes the key."""
    values: dict[str, NewValue] = {}
    for key in ("title", "summary", "source_ref", "supersedes"):
        if (text := getattr(draft, key)) is not None:
            values[key] = " ".join(text.split())[: _MAX_LENGTH.get(key, 200)] or None
    for key in ("valid_from", "valid_until"):
        if (text := getattr(draft, key)) is not None:
            values[key] = _moment(text, key) or None
    _check_order(values.get("valid_from"), values.get("valid_until"))
    if draft.tags is not None:
        values["tags"] = [tag for tag in (" ".join(tag.split()).lstrip("#") for tag in draft.tags) if tag] or None
    if draft.status is not None:
        values["status"] = draft.status
    if draft.pinned is not None:
        values["pinned"] = True if draft.pinned else None
    if draft.confidence is not None:
        if not 0 <= draft.confidence <= 1:
            raise PromptuaryError(f"confidence is a number from 0 to 1, not {draft.confidence}")
        values["confidence"] = draft.confidence
    return values


def _check_order(since: NewValue, until: NewValue) -> None:
    """Refuse a validity that is never true. A day is compared as a day: it lasts until its end."""
    if isinstance(since, str) and isinstance(until, str):
        shared = min(len(since), len(until))
        if until[:shared] < since[:shared]:
            raise PromptuaryError(f"valid_until ({until}) is before valid_from ({since}), so it would never be true")


def _moment(text: str | None, name: str) -> str:
    if not text:
        return ""
    found = normal_time(text)
    if not found:
        raise PromptuaryError(f"{name} is a day (2026-01-31) or a time (2026-01-31T09:30:00Z), not {text[:40]!r}")
    return found
