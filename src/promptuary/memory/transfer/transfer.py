"""Imports the notes of another memory through the one write path, and exports what the principal may see.

Importing twice changes nothing: what was imported before is recognised by where it came from, and texts that are
there already are not written again.
"""

from collections.abc import Callable, Mapping, Sequence

from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import ImportReport, Note, NoteHeader
from promptuary.memory.files.note_file import as_bytes, rewrite
from promptuary.memory.transfer.formats import ForeignMemory, ForeignNote


def import_memory(
    memory: ForeignMemory,
    write: Callable[[ForeignNote], Note],
    existing: Sequence[NoteHeader],
    *,
    owner: str | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Write the notes of ``memory``; with ``dry_run`` only say what would be written.

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
        elif dry_run:
            imported.append(_preview(note))
        else:
            try:
                header = write(note).header
            except PromptuaryError as error:
                skipped[note.path] = str(error)
                continue
            if header.id in before:
                known += 1  # the same was written already
            else:
                imported.append(header)
    return ImportReport(memory.form, imported, known, skipped)


def _of_owner(notes: Sequence[ForeignNote], owner: str | None) -> list[ForeignNote]:
    owners = sorted({note.owner for note in notes if note.owner})
    if owner is None and len(owners) > 1:
        names = ", ".join(owners[:10])
        raise PromptuaryError(f"these are the private notes of {len(owners)} people; say whose you want: {names}")
    if owner is not None and owner not in owners:
        raise PromptuaryError(f"no private note belongs to {owner!r}; there are: {', '.join(owners[:10]) or 'none'}")
    return [note for note in notes if not note.owner or owner is None or note.owner == owner]


def _preview(note: ForeignNote) -> NoteHeader:
    draft = note.draft
    return NoteHeader(
        id="-",
        path=note.path,
        scope=draft.scope or "project",
        audience=draft.audience or "private",
        kind=draft.kind or "reference",
        title=draft.title or note.path,
        rev="",
        tags=tuple(draft.tags or ()),
        created_at=draft.created_at or "",
        updated_at=draft.updated_at or "",
        source="import",
        source_ref=draft.source_ref or "",
        trust=draft.trust,
    )


def exported_files(notes: Sequence[Note]) -> Mapping[str, bytes]:
    """Return the files of an export by path: each note as it is on disk, below the name of its scope.

    One that came from elsewhere and that nobody adopted says so in its file, so that no import makes it trusted.
    """
    return {f"{note.header.scope}/{note.header.path}": _exported(note) for note in notes}


def _exported(note: Note) -> bytes:
    return rewrite(note.text, {"trust": "external"}) if note.header.external else as_bytes(note.text)
