"""Imports and exports notes: ``workspace`` reads and writes the files, ``memory`` interprets them."""

from collections.abc import Sequence
from pathlib import Path

from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import ForeignForm, ImportReport, NoteHeader
from promptuary.memory.memory import Memory
from promptuary.memory.transfer.formats import FORMS, ForeignMemory, read_memory
from promptuary.memory.transfer.transfer import exported_files
from promptuary.workspace.disk.own.linked_notes import LinkedNotes
from promptuary.workspace.markdown_files import read_markdown, write_new_folder
from promptuary.workspace.workspace import Workspace


def imported(
    memory: Memory,
    workspace: Workspace,
    path: Path,
    *,
    form: ForeignForm | None,
    owner: str | None,
    dry_run: bool,
) -> ImportReport:
    """Import the notes at ``path``, a folder or a file."""
    if form is not None and form not in FORMS:
        raise PromptuaryError(f"the form of an import is one of {', '.join(FORMS)}, not {form!r}")
    files = read_markdown(path, is_note=LinkedNotes(workspace.root.path).hold)
    found = read_memory(files.texts, form, files.folder)
    skipped = {**files.skipped, **(found.skipped or {})}
    return memory.import_notes(ForeignMemory(found.form, found.notes, skipped), owner=owner, dry_run=dry_run)


def exported(memory: Memory, path: str | Path) -> Sequence[NoteHeader]:
    """Write every note to the new or empty folder ``path``."""
    notes = memory.everything()
    write_new_folder(Path(path), exported_files(notes))
    return [note.header for note in notes]
