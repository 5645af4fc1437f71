"""Forgets a note: its file, its history, its rows in the index, its vectors, and its copies in stored prompts.

Each step may be repeated, and the journal forgets last: after a kill, the note can be forgotten again. What git has in
its history is not reached, and the report says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from promptuary.core.errors import PromptuaryError
from promptuary.core.notes import ForgetReport, Note, NoteChange
from promptuary.core.ports.forgetting import Forgetting
from promptuary.memory.files.note_file import Standing, as_bytes, read_note
from promptuary.memory.memory import Memory
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.recall.visible import NoteKey

_TELLING: Final = 20
"""Characters that a title must have to be looked for where people said something: a short one is just a name."""


@dataclass(frozen=True, slots=True)
class Oblivion:
    """What forgets beside the notes themselves: the ledger of the workspace, and the indexes of other principals."""

    ledger: Forgetting
    drop_other_indexes: Callable[[], object]


def forget(memory: Memory, key: str, beside: Oblivion, *, everywhere: bool, dry_run: bool) -> ForgetReport:
    """Forget a note, or say what that would do. Raises ``PromptuaryError`` if it is not the principal's to forget."""
    notebook, note = memory.known(key)
    owner = notebook.journal.owner_of(note)
    if owner is not None and owner != notebook.owner:
        raise PromptuaryError(f"the note {note} is shared by {owner.name}, who alone can have it forgotten")
    changes, current = notebook.view.changes(note), notebook.read(note)
    texts = _texts(notebook, changes, current)
    spoken = [text for text in texts if len(text) >= _TELLING]
    address, path = f"memory:{note}", current.header.path if current else ""
    places = beside.ledger.places(address, spoken)
    report = ForgetReport(note, path, 0, places, redacted=everywhere, in_git=path in notebook.in_git(), done=False)
    if dry_run:
        return report
    prompts = beside.ledger.redact_note(address, texts)
    if everywhere:
        beside.ledger.redact_places(address, spoken)
    hashes = memory.search.hashes(NoteKey(notebook.scope, note))
    notebook.remove(note)
    memory.search.forget(hashes)
    beside.drop_other_indexes()
    # Once more: a turn may have been prepared between the first time and the removal of the file.
    prompts += beside.ledger.redact_note(address, texts)
    beside.ledger.purge()
    notebook.forget(note)
    memory.pages(notebook).refresh()
    return ForgetReport(note, path, prompts, places, redacted=everywhere, in_git=report.in_git)


def _texts(notebook: Notebook, changes: Sequence[NoteChange], current: Note | None) -> list[str]:
    """Return everything that the note says or said: titles, summaries and bodies of every revision."""
    past = [
        read_note(as_bytes(change.text), change.path, Standing(notebook.scope, id=change.note))
        for change in changes
        if change.text is not None
    ]
    said = [
        text.strip()
        for note in (*past, *([current] if current else []))
        for text in (note.header.title, note.header.summary, note.body)
    ]
    return [text for text in dict.fromkeys(said) if text]
