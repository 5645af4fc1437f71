"""What durable memory needs from the disk and from a database: the files of notes, and the journal of their changes.

``memory`` uses these two; ``wiring`` provides them. Files hold the content and the journal records who owns them.
Neither decides who may see a note: ``core.notes.visible_to`` does.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from promptuary.core.notes import NoteChange, NoteHeader, NoteStamp, NoteTrust
from promptuary.core.principals import Owner


class NoteFiles(Protocol):
    """The files below the folder of one agent, by paths with ``/`` between names.

    A path is an audience, the folder of a kind, and a name; or an audience and the name of its index page. Nothing else
    is ever touched: any other path, a path through a link, and a path to anything but a regular file raise
    ``NoteFileError``; so do a file that is too large for a note and a failing disk. Every write is atomic, and durable
    when it returns. The private audience has a ``.gitignore`` that excludes all of it before anything else is in it.
    Methods may be called from any thread.
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
        """Return whether a file is the local user's own.

        It exists, belongs to the local user, has no other hard link, and is not writable by everybody.
        """
        ...

    def create(self, path: str, content: bytes) -> bool:
        """Create a file with its folders; return False, and change nothing, if there is one."""
        ...

    def replace(self, path: str, content: bytes, *, expected: bytes) -> bool:
        """Replace a file if its content is ``expected``; otherwise return False and change nothing.

        Editors do not take the lock: the content is compared again right before the file is replaced, so a version that
        an editor saved meanwhile is never overwritten.
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
        """Return the private files and folders that other users of the machine can access."""
        ...

    def protect(self) -> None:
        """Remove all access of other users from everything private."""
        ...


class KnownFile(Struct, frozen=True):
    """A file as the journal last saw it; ``recorded``: this exact content was written here, or adopted.

    ``trust`` says whose words it holds: only the journal does, whatever the file says.
    """

    path: str
    note: str
    rev: str
    stamp: NoteStamp
    recorded: bool
    trust: NoteTrust


class NoteFilter(Struct, frozen=True):
    """A filter: a note with one of these audiences, kinds and statuses, and with all of these tags. Empty matches any.

    ``fingerprint`` matches notes with the same content.
    """

    audiences: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("active",)
    tags: tuple[str, ...] = ()
    fingerprint: str = ""
    limit: int | None = None


class NoteView(Protocol):
    """The notes of one agent that one owner may see. No method takes an owner, so none can return another owner's."""

    def header(self, key: str) -> NoteHeader | None:
        """Return the note with this id, or at this path."""
        ...

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the matching notes, pinned ones first, then the most recently updated."""
        ...

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes match."""
        ...

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note, the oldest change first; nothing if it is not visible.

        Changes from when a note was private are visible only to its owner, even after it was shared. A note whose file
        is gone stays visible to the owners who could see it last.
        """
        ...

    def changed_until(self, at: str) -> Sequence[NoteChange]:
        """Return the last change of every visible note at or before a time.

        ``text`` is ``None`` if the note did not exist at that time.
        """
        ...


class NoteJournal(Protocol):
    """The history and the current state of the notes of one agent in one place.

    It is not filtered: only the code that writes and syncs notes uses it. Everything that reads uses ``view``.
    """

    def view(self, owner: Owner) -> NoteView:
        """Return what ``owner`` may see."""
        ...

    def files(self) -> Mapping[str, KnownFile]:
        """Return every file that is known, by path."""
        ...

    def known(self, key: str) -> KnownFile | None:
        """Return the file with this id, or at this path; a note has one file, the last one recorded."""
        ...

    def owner_of(self, note: str) -> Owner | None:
        """Return the recorded owner of an id; ``None`` if there is none."""
        ...

    def owners(self) -> Sequence[Owner]:
        """Return every owner ever recorded, at least of these notes; a database includes those of its threads."""
        ...

    def is_recorded(self, note: str, rev: str) -> bool:
        """Return whether this exact content of a note was written here, or adopted."""
        ...

    def is_brought(self, path: str) -> bool:
        """Return whether a file was in the folder before this journal, and nobody adopted it: it may be anybody's."""
        ...

    def adopt_file(self, path: str) -> None:
        """Record that a file that was here before this journal is the person's; ``record`` does so for a note."""
        ...

    def record(self, changes: Sequence[tuple[NoteChange, NoteHeader | None, NoteStamp | None]]) -> Sequence[int]:
        """Store changes with the current state of the notes, atomically, and return their numbers once persistent.

        A header of ``None`` says that the file is gone. A note has one path: the record of it at another path is
        dropped. The owner of an id is the owner of the first header that has one; a later header with another owner
        raises ``PromptuaryError``.
        """
        ...

    def observe(self, seen: Sequence[tuple[NoteHeader, NoteStamp, bool]], gone: Sequence[str] = ()) -> None:
        """Store the current state of files without an entry in the history: unadopted and external notes, new stamps.

        The last of the three says whether the note is visible at all: an unadopted private note is not. The owner of a
        note is the one passed to ``record``, whatever the header says. ``gone`` are paths.
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

        What remains is that a note with this id was forgotten, when and by whom, and its owner. No title, path or text
        remains, not even in the free pages of a database.
        """
        ...
