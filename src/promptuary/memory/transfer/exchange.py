"""Imports and exports notes: ``workspace`` reads and writes the files, ``memory`` interprets them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptuary.base.errors import PromptuaryError
from promptuary.memory.transfer.formats import FORMS, ForeignMemory, read_memory
from promptuary.memory.transfer.transfer import export_files
from promptuary.memory.values import ForeignForm, ImportReport, NoteHeader
from promptuary.workspace.data_folder.hard_links import HardLinks
from promptuary.workspace.markdown_files import read_markdown, write_new_folder

if TYPE_CHECKING:
    from promptuary.app import App


class NoteExchange:
    """Import and export of the notes of one principal."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def import_notes(
        self, path: str | Path, *, form: ForeignForm | None, owner: str | None, dry_run: bool
    ) -> ImportReport:
        """Import the notes at ``path``, a folder or a file."""
        if form is not None and form not in FORMS:
            raise PromptuaryError(f"the form of an import is one of {', '.join(FORMS)}, not {form!r}")
        files = read_markdown(Path(path), is_note=HardLinks(self._app.path).hold)
        found = read_memory(files.texts, form, files.folder)
        foreign = ForeignMemory(found.form, found.notes, {**files.skipped, **(found.skipped or {})})
        return self._app.memory.of().import_notes(foreign, owner=owner, dry_run=dry_run)

    def export(self, path: str | Path) -> Sequence[NoteHeader]:
        """Write every note that the principal may see to the new or empty folder ``path``."""
        notes = self._app.memory.of().everything()
        write_new_folder(Path(path), export_files(notes))
        return [note.header for note in notes]
