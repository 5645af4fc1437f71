"""Imports the notes of another memory through the one write path, and exports what the principal may see.

Importing twice changes nothing: notes imported before are recognised by where they came from, and existing texts are
not written again.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from promptuary.base.errors import PromptuaryError
from promptuary.memory.note_file import Ownership, as_bytes, as_text, read_note, rewrite
from promptuary.memory.notebook.drafting import Writer, audience_of, check_choices, new_file, scope_of
from promptuary.memory.secret_texts import refuse_secrets
from promptuary.memory.transfer.formats import ForeignMemory, ForeignNote
from promptuary.memory.values import ImportReport, Note, NoteDraft, NoteHeader, new_note_id

_NO_ID: Final = "-"
"""The placeholder id of a note that a dry run would write."""


def import_memory(
    memory: ForeignMemory,
    write: Callable[[ForeignNote], NoteHeader],
    existing: Sequence[NoteHeader],
    *,
    owner: str | None = None,
) -> ImportReport:
    """Pass the notes of ``memory`` to ``write``; with a ``write`` that stores nothing, this is a dry run.

    Private notes of several owners are not mixed: ``owner`` says whose are wanted.
    """
    chosen = _of_owner(memory.notes, owner)
    sources = {header.source_ref for header in existing if header.source_ref}
    imported: list[NoteHeader] = []
    skipped, known = dict(memory.skipped or {}), 0
    before = {header.id for header in existing}
    for note in chosen:
        if note.draft.source_ref in sources or (note.original is not None and note.original.header.id in before):
            known += 1
        else:
            try:
                refuse_secrets(str(PurePosixPath(note.path).with_suffix("")))  # it is stored as where the note is from
                header = write(note)
            except PromptuaryError as error:
                skipped[note.path] = str(error)
                continue
            if (key := _key(header, note)) in before:
                known += 1  # the same was written already, or just now
            else:
                imported.append(header)
                before.add(key)
    return ImportReport(memory.form, imported, known, skipped)


def _key(header: NoteHeader, note: ForeignNote) -> str:
    """Return the identity of a note: its id, or in a dry run what would make it equal to another."""
    if header.id != _NO_ID:
        return header.id
    return note.path if note.original else f"{header.scope}/{header.audience}/{header.fingerprint}"


def _of_owner(notes: Sequence[ForeignNote], owner: str | None) -> list[ForeignNote]:
    owners = sorted({note.owner for note in notes if note.owner})
    if owner is None and len(owners) > 1:
        names = ", ".join(owners[:10])
        raise PromptuaryError(f"these are the private notes of {len(owners)} people; say whose you want: {names}")
    if owner is not None and owner not in owners:
        raise PromptuaryError(f"no private note belongs to {owner!r}; there are: {', '.join(owners[:10]) or 'none'}")
    return [note for note in notes if not note.owner or owner is None or note.owner == owner]


def preview(note: ForeignNote, draft: NoteDraft, writer: Writer, existing: Sequence[NoteHeader]) -> NoteHeader:
    """Return what writing a note would return, or raise what it would raise.

    A new note has no id yet, and the path that it has in the other memory.
    """
    check_choices(draft)
    made = new_file(draft, new_note_id(), writer)
    refuse_secrets(as_text(made.data) if note.original is None else note.original.text)
    scope = scope_of(draft)
    for known in existing:
        if (known.fingerprint, known.scope, known.audience) == (made.fingerprint, scope, audience_of(draft)):
            return known
    header = read_note(made.data, made.path, Ownership(scope, writer.owner, id=_NO_ID)).header
    return replace(header, id=_NO_ID, path=note.path, rev="")


def export_files(notes: Sequence[Note]) -> Mapping[str, bytes]:
    """Return the files of an export by path: each note as it is on disk, below the name of its scope.

    A note from elsewhere that nobody adopted is marked in its file, so that no import makes it trusted.
    """
    return {f"{note.header.scope}/{note.header.path}": _export_path(note) for note in notes}


def _export_path(note: Note) -> bytes:
    return rewrite(note.text, {"trust": "external"}) if note.header.external else as_bytes(note.text)
