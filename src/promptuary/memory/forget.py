"""Forgets a note: its file, its history, its rows in the index, its vectors, and its copies in stored prompts.

A record that it is being forgotten exists from before the first step until after the last. Each step is idempotent, and
the journal comes last: what a kill or a failing disk left undone is completed when the note is forgotten again, or when
the next process opens the notes. The history of git is not changed, and the report says so.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from promptuary.base.errors import LockTimeoutError, PromptuaryError, StorageError, UnknownNoteError
from promptuary.memory.memory import ADDRESS, Memory
from promptuary.memory.note_file import Ownership, as_bytes, read_note
from promptuary.memory.notebook.notebook import Notebook
from promptuary.memory.recall.visible import NoteKey
from promptuary.memory.values import ForgetReport, Note, NoteChange
from promptuary.memory.writeback.proposals import THREAD
from promptuary.memory.writeback.wording import find_restated

if TYPE_CHECKING:
    from promptuary.memory.copies import CopyEraser

_TELLING: Final = 20
"""The fewest characters of a title that is searched for in conversations: a shorter one is just a name."""

_PATIENCE: Final = 30.0
"""Seconds to wait while another process forgets."""


def forget(memory: Memory, key: str, eraser: "CopyEraser", *, everywhere: bool, dry_run: bool) -> ForgetReport:
    """Forget a note, or report what that would do. Raises ``PromptuaryError`` if the principal may not forget it."""
    try:
        notebook, note = memory.locate(key)
    except UnknownNoteError:
        if not dry_run:
            _forget_rest(memory, key, eraser, _PATIENCE)
        raise
    if dry_run:
        return _Forgotten(memory, notebook, note, eraser).report(everywhere=everywhere)
    with eraser.alone(_PATIENCE):
        return _Forgotten(memory, notebook, note, eraser).run(everywhere=everywhere)


def finish(memory: Memory, eraser: "CopyEraser") -> None:
    """Finish forgetting the notes that an earlier process began to forget, unless another process is doing that.

    Raises ``PromptuaryError`` if it fails again.
    """
    for note, everywhere in eraser.ledger.unfinished().items():
        with suppress(LockTimeoutError):
            try:
                notebook, _ = memory.locate(note)
            except UnknownNoteError:  # or it is in the memory of another thread, which forgets it when that is opened
                _forget_rest(memory, note, eraser, 0)
            else:
                with eraser.alone(0):
                    _Forgotten(memory, notebook, note, eraser).run(everywhere=everywhere)


class _Forgotten:
    """A note that is being forgotten."""

    def __init__(self, memory: Memory, notebook: Notebook, note: str, eraser: "CopyEraser") -> None:
        owner = notebook.journal.owner_of(note)
        if owner is not None and owner != notebook.owner:
            raise PromptuaryError(f"the note {note} is shared by {owner.name}, who alone can have it forgotten")
        self._memory, self._notebook, self._note, self._eraser = memory, notebook, note, eraser
        self._address = f"{ADDRESS}{note}"
        current = notebook.read(note)
        self._path = current.header.path if current else ""
        revisions = _revisions(notebook, notebook.view.changes(note), current)
        bodies = _apart(note.body for note in revisions)
        titles = _apart(text for note in revisions for text in (note.header.title, note.header.summary))
        self._texts = _apart([*titles, *bodies])
        spoken = [*(text for text in titles if len(text) >= _TELLING), *bodies]
        threads = {note.header.source_ref.removeprefix(THREAD) for note in revisions}
        heard = [text for thread in threads if thread for text in eraser.said(thread)]
        self._spoken = _apart([*spoken, *find_restated(bodies, heard)])

    def report(self, *, everywhere: bool) -> ForgetReport:
        """Return what forgetting would do."""
        elsewhere = self._eraser.elsewhere(self._spoken)
        places = (*self._eraser.ledger.places(self._address, self._spoken), *elsewhere)
        in_git = self._notebook.is_in_git(self._path)
        return ForgetReport(self._note, self._path, 0, places, redacted=everywhere, in_git=in_git, done=False)

    def run(self, *, everywhere: bool) -> ForgetReport:
        """Forget it, and return what was done."""
        memory, notebook, note, ledger = self._memory, self._notebook, self._note, self._eraser.ledger
        report = self.report(everywhere=everywhere)
        ledger.begin(note, everywhere=everywhere)
        prompts = ledger.redact_note(self._address, self._texts)
        if everywhere:
            ledger.redact_places(self._address, self._spoken)
            self._eraser.elsewhere(self._spoken, remove=True)
        with _telling(note):
            hashes = memory.search.hashes(NoteKey(notebook.scope, note))
            # Before the file is removed, too: only the index knows the hashes, and after a kill it follows the files.
            memory.search.remove_vectors(hashes)
            notebook.remove(note)
            _drop_indexes(memory, self._eraser, hashes)
        # Once more: a turn may have been prepared between the first time and the removal of the file.
        prompts += ledger.redact_note(self._address, self._texts)
        ledger.purge()
        notebook.forget(note)
        memory.pages(notebook).refresh()
        ledger.end(note)
        return replace(report, prompts=prompts, done=True)


@contextmanager
def _telling(note: str) -> Iterator[None]:
    """Report a disk failure under the index as what it means for the note, rather than as a damaged index."""
    try:
        yield
    except (OSError, StorageError) as error:
        raise PromptuaryError(
            f"the note {note} is not forgotten whole, since its index could not be rebuilt; check the disk. The next "
            "command that opens the notes finishes it"
        ) from error


def _drop_indexes(memory: Memory, eraser: "CopyEraser", hashes: Sequence[str]) -> None:
    memory.search.forget(hashes)
    eraser.drop_other_indexes()


def _forget_rest(memory: Memory, key: str, eraser: "CopyEraser", patience: float) -> None:
    """Remove what may be left of a note that the journal has forgotten: in free pages, indexes and lists."""
    wanted = key.strip().removeprefix(ADDRESS)
    for notebook in memory.notebooks():
        if wanted in notebook.journal.forgotten() and notebook.journal.owner_of(wanted) == notebook.owner:
            with eraser.alone(patience):
                with _telling(wanted):
                    _drop_indexes(memory, eraser, ())
                eraser.ledger.redact_note(f"{ADDRESS}{wanted}")
                eraser.ledger.purge()
                notebook.forget(wanted)
                memory.pages(notebook).refresh()
                eraser.ledger.end(wanted)


def _revisions(notebook: Notebook, changes: Sequence[NoteChange], current: Note | None) -> list[Note]:
    past = [
        read_note(as_bytes(change.text), change.path, Ownership(notebook.scope, id=change.note))
        for change in changes
        if change.text is not None
    ]
    return [*past, *([current] if current else [])]


def _apart(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for given in texts if (text := given.strip())))
