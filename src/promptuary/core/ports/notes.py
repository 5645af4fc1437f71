"""What durable memory needs of the disk and of a database: the files of notes, and the journal of their changes.

``memory`` stands on these two; ``wiring`` chooses them. Files are truth and the journal says whose they are: neither
decides who may see a note, which ``core.notes.visible_to`` does.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from promptuary.core.notes import NoteChange, NoteHeader, NoteStamp
from promptuary.core.principals import Owner


class NoteFiles(Protocol):
    """The files below the folder of one agent, by paths with ``/`` between names.

    A path is an audience, the folder of a kind, and a name; or an audience and the name of its index page. Nothing else
    is ever touched: any other path, one that passes a link, and one that names something other than a regular file
    raise ``NoteFileError``, as does a file that is larger than a note may be, and a disk that fails. Every write is
    durable when it returns, and whole: a reader sees the old content or the new. The private audience has a
    ``.gitignore`` that excludes all of it before anything else is in it. Methods may be called from any thread.
    """

    def locked(self, timeout: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock of this folder: one writer at a time, over all processes. Raises ``LockTimeoutError``."""
        ...

    def list(self) -> Mapping[str, NoteStamp]:
        """Return every Markdown file with its stamp: in the folders of kinds, and the index pages of each audience."""
        ...

    def skipped(self) -> Mapping[str, str]:
        """Return what ``list`` leaves out because it cannot be a note, by path, each with the reason for a person."""
        ...

    def stamp(self, path: str) -> NoteStamp | None:
        """Return the stamp of a file; ``None`` if it is not there."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return the content of a file; ``None`` if it is not there."""
        ...

    def is_own(self, path: str) -> bool:
        """Return whether a file is there, belongs to the person on this machine, and has no second name.

        One that everybody may write is not.
        """
        ...

    def create(self, path: str, content: bytes) -> bool:
        """Create a file with its folders; return False, and change nothing, if there is one."""
        ...

    def replace(self, path: str, content: bytes, *, expected: bytes) -> bool:
        """Replace a file whose content is ``expected``; return False, and change nothing, if it is not.

        Somebody with an editor does not ask for the lock: the content is compared again right before the file is
        replaced, and what an editor saved meanwhile is never overwritten.
        """
        ...

    def move(self, path: str, to: str) -> bool:
        """Give a file another path, in one step; return False, and change nothing, if it is gone or ``to`` is taken."""
        ...

    def remove(self, path: str) -> bool:
        """Remove a file; return False if it is not there."""
        ...

    def clean(self) -> int:
        """Remove the temporary files of writers that were killed, and return how many there were. Needs the lock."""
        ...

    def leftovers(self) -> int:
        """Return how many temporary files there are; a running writer has one for a moment."""
        ...

    def exposed(self) -> Sequence[str]:
        """Return what is private and other users of the machine can get at."""
        ...

    def protect(self) -> None:
        """Close everything private to everybody but its user."""
        ...


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as the journal last saw it; ``recorded``: this very content was written here, or adopted."""

    path: str
    note: str
    rev: str
    stamp: NoteStamp
    recorded: bool


@dataclass(frozen=True, slots=True)
class NoteFilter:
    """Which notes are wanted: one of these audiences, kinds and statuses, and every one of these tags. Empty: any.

    ``fingerprint`` finds the notes that say the same.
    """

    audiences: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("active",)
    tags: tuple[str, ...] = ()
    fingerprint: str = ""
    limit: int | None = None


class NoteView(Protocol):
    """The notes of one agent that one owner may see. No method takes an owner, so none can be asked for another's."""

    def header(self, key: str) -> NoteHeader | None:
        """Return the note of this id, or at this path."""
        ...

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the notes that pass, pinned ones first, then the ones updated last."""
        ...

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes pass."""
        ...

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note, the oldest change first; nothing if it is not visible.

        What a note was while it was private is only for its owner, also after it was shared. A note whose file is gone
        is visible to whom it was visible last.
        """
        ...

    def changed_until(self, at: str) -> Sequence[NoteChange]:
        """Return the last change of every visible note at or before a time: what was known then.

        ``text`` is ``None`` where the note was gone then.
        """
        ...


class NoteJournal(Protocol):
    """What happened to the notes of one agent in one place, and what they are now.

    It is not filtered: only the code that writes and syncs notes uses it. ``view`` is for everything that reads.
    """

    def view(self, owner: Owner) -> NoteView:
        """Return what ``owner`` may see."""
        ...

    def files(self) -> Mapping[str, KnownFile]:
        """Return every file that is known, by path."""
        ...

    def known(self, key: str) -> KnownFile | None:
        """Return the file of this id, or at this path; a note has one file, the one that was recorded last."""
        ...

    def owner_of(self, note: str) -> Owner | None:
        """Return whom the journal recorded as the owner of an id; ``None`` if nobody."""
        ...

    def owners(self) -> Sequence[Owner]:
        """Return every owner there has been, at least of these notes; a database knows those of its threads, too."""
        ...

    def is_recorded(self, note: str, rev: str) -> bool:
        """Return whether this very content of a note was written here, or adopted."""
        ...

    def record(self, changes: Sequence[tuple[NoteChange, NoteHeader | None, NoteStamp | None]]) -> Sequence[int]:
        """Store changes with what the notes are now, all or none, and return their numbers when they are persistent.

        A header of ``None`` says that the file is gone. A note is at one path: what was known of it at another is
        dropped. The owner of an id is the owner of the first header that has one; a later header with another owner
        raises ``PromptuaryError``.
        """
        ...

    def observe(self, seen: Sequence[tuple[NoteHeader, NoteStamp, bool]], gone: Sequence[str] = ()) -> None:
        """Store what files are now without an entry in the history: unadopted and external notes, new stamps.

        The last of the three says whether the note is visible at all: an unadopted private note is not. Whom a note
        belongs to is what ``record`` was told, whatever the header says. ``gone`` are paths.
        """
        ...

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the private notes that nobody owns, and the shared ones that came from elsewhere."""
        ...

    def forgotten(self) -> Sequence[str]:
        """Return the ids of the notes that were forgotten."""
        ...

    def forget(self, note: str, *, at: str, actor: str) -> int:
        """Delete every entry about a note with its content, and return how many there were.

        What remains is that a note of this id was forgotten, when and by whom, and its owner: no title, no path, no
        text, not in the free pages of a database either.
        """
        ...
