"""Notes in memory: files and journal in dictionaries, for tests and as the reference for the stores on disk.

A change is made on copies, which replace the originals at the end, so a change that fails has no effect.
"""

import itertools
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from promptuary.core.errors import LockTimeoutError
from promptuary.core.notes import NoteChange, NoteHeader, NoteStamp, visible_to
from promptuary.core.ports.notes import KnownFile, NoteFilter
from promptuary.core.principals import Owner
from promptuary.storage.notes.history import visible_changes
from promptuary.storage.notes.paths import check_size, names_of
from promptuary.storage.values import other_owner_error


class InMemoryNoteFiles:
    """``NoteFiles`` in a dictionary. ``edit`` is what a person with an editor does."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, NoteStamp]] = {}
        self._lock, self._written = threading.Lock(), threading.Lock()
        self._clock = itertools.count(1)

    @contextmanager
    def locked(self, timeout: float = 10.0) -> Iterator[None]:
        """Hold the lock: one writer at a time. Raises ``LockTimeoutError``."""
        if not self._lock.acquire(timeout=timeout):
            raise LockTimeoutError("The notes are locked by another thread; try again.")
        try:
            yield
        finally:
            self._lock.release()

    def list(self) -> Mapping[str, NoteStamp]:
        """Return every file with its stamp."""
        return {path: stamp for path, (_, stamp) in self._files.copy().items()}

    def skipped(self) -> Mapping[str, str]:
        """Return nothing: only notes can be stored."""
        return {}

    def stamp(self, path: str) -> NoteStamp | None:
        """Return the stamp of a file."""
        names_of(path)
        found = self._files.get(path)
        return None if found is None else found[1]

    def read(self, path: str) -> bytes | None:
        """Return the content of a file."""
        names_of(path)
        found = self._files.get(path)
        return None if found is None else found[0]

    def is_own(self, path: str) -> bool:
        """Return whether there is a file: nobody else can reach it."""
        return self.read(path) is not None

    def create(self, path: str, content: bytes) -> bool:
        """Create a file; return False if there is one."""
        with self._written:
            if self.read(path) is not None:
                return False
            self._put(path, content)
            return True

    def replace(self, path: str, content: bytes, *, expected: bytes) -> bool:
        """Replace a file if its content is ``expected``; otherwise return False."""
        with self._written:
            if self.read(path) != expected:
                return False
            self._put(path, content)
            return True

    def move(self, path: str, to: str) -> bool:
        """Give a file another path; return False if it is gone or the other is taken."""
        with self._written:
            content, taken = self.read(path), self.read(to)
            if content is None or taken is not None:
                return False
            del self._files[path]
            self._put(to, content)
            return True

    def remove(self, path: str) -> bool:
        """Remove a file; return False if it is not there."""
        names_of(path)
        with self._written:
            return self._files.pop(path, None) is not None

    def clean(self) -> int:
        """Return 0: nothing is temporary."""
        return 0

    def leftovers(self) -> int:
        """Return 0: nothing is temporary."""
        return 0

    def exposed(self) -> Sequence[str]:
        """Return nothing: nobody else can reach it."""
        return ()

    def protect(self) -> None:
        """Do nothing: nobody else can reach it."""

    def edit(self, path: str, content: bytes) -> None:
        """Write a file unconditionally."""
        names_of(path)
        with self._written:
            self._put(path, content)

    def _put(self, path: str, content: bytes) -> None:
        check_size(path, len(content))
        time = next(self._clock)
        self._files[path] = content, NoteStamp(len(content), time, time, time)


class _Row(Struct, frozen=True):
    """A file as it was last seen; its header has the owner that the journal recorded."""

    header: NoteHeader
    stamp: NoteStamp
    is_visible: bool
    is_recorded: bool


class _NoteTables(Struct, frozen=True):
    """The content of a journal: files by path, changes in order, owners by note, and files that were there before."""

    rows: dict[str, _Row]
    changes: list[NoteChange]
    owners: dict[str, Owner]
    numbers: Iterator[int]
    brought: set[str]

    def copy(self) -> Self:
        """Return a copy that can be changed without changing this one."""
        return type(self)(self.rows.copy(), self.changes.copy(), self.owners.copy(), self.numbers, self.brought.copy())

    def of_note(self, note: str) -> list[NoteChange]:
        """Return the changes of a note, the oldest first."""
        return [one for one in self.changes if one.note == note]

    def current(self, note: str) -> NoteHeader | None:
        """Return what a note is now, if its file is visible."""
        found = (row.header for row in self.rows.values() if row.header.id == note and row.is_visible)
        return next(found, None)


class InMemoryNoteJournal:
    """A ``NoteJournal`` in dictionaries. ``brought`` are the files that were there before it."""

    def __init__(self, brought: Collection[str] = ()) -> None:
        self._lock = threading.Lock()
        self.tables = _NoteTables({}, [], {}, itertools.count(1), set(brought))

    def view(self, owner: Owner) -> "InMemoryNoteView":
        """Return what ``owner`` may see."""
        return InMemoryNoteView(self, owner)

    def files(self) -> Mapping[str, KnownFile]:
        """Return every file that is known, by path."""
        return {
            path: KnownFile(path, row.header.id, row.header.rev, row.stamp, row.is_recorded, row.header.trust)
            for path, row in self.tables.rows.items()
        }

    def known(self, key: str) -> KnownFile | None:
        """Return the file with this id, or at this path."""
        rows = sorted(self.tables.rows.items(), key=lambda one: (not one[1].is_visible, one[0]))
        path = next((path for path, row in rows if key in (path, row.header.id)), None)
        return None if path is None else self.files()[path]

    def owner_of(self, note: str) -> Owner | None:
        """Return the recorded owner of an id."""
        return self.tables.owners.get(note)

    def owners(self) -> Sequence[Owner]:
        """Return every owner that was ever recorded."""
        return tuple(dict.fromkeys(self.tables.owners.values()))

    def is_recorded(self, note: str, rev: str) -> bool:
        """Return whether this exact content of a note was written here, or adopted."""
        return any(one.rev == rev for one in self.tables.of_note(note))

    def is_brought(self, path: str) -> bool:
        """Return whether a file was there before this journal, and nobody adopted it."""
        return path in self.tables.brought

    def adopt_file(self, path: str) -> None:
        """Record that a file that was here before this journal is the person's."""
        with self._lock:
            self.tables.brought.discard(path)

    def record(self, changes: Sequence[tuple[NoteChange, NoteHeader | None, NoteStamp | None]]) -> Sequence[int]:
        """Store changes with the current state of the notes, atomically, and return their numbers."""
        with self._lock:
            after = self.tables.copy()
            numbers = [_record(after, change, header, stamp) for change, header, stamp in changes]
            self.tables = after
        return tuple(numbers)

    def observe(self, seen: Sequence[tuple[NoteHeader, NoteStamp, bool]], gone: Sequence[str] = ()) -> None:
        """Store the current state of files without an entry in the history."""
        with self._lock:
            after = self.tables.copy()
            for path in gone:
                after.rows.pop(path, None)
            for header, stamp, is_visible in seen:
                holder = after.owners.get(header.id) if is_visible else None
                has_reader = is_visible and (header.audience == "shared" or holder is not None)
                is_recorded = any(one.rev == header.rev for one in after.of_note(header.id))
                after.rows[header.path] = _Row(replace(header, owner=holder), stamp, has_reader, is_recorded)
            self.tables = after

    def unadopted(self) -> Sequence[NoteHeader]:
        """Return the private notes that nobody owns, and the shared ones that came from elsewhere."""
        rows = sorted(self.tables.rows.items())
        return tuple(row.header for _, row in rows if row.header.external or not row.is_visible)

    def forgotten(self) -> Sequence[str]:
        """Return the ids of the notes that were forgotten."""
        return tuple(one.note for one in self.tables.changes if one.kind == "forget")

    def forget(self, note: str, *, at: str, actor: str) -> int:
        """Delete every entry about a note with its content, and return how many there were."""
        with self._lock:
            after = self.tables.copy()
            gone = [one for one in after.of_note(note) if one.kind != "forget"]
            paths = [path for path, row in after.rows.items() if row.header.id == note]
            for path in paths:
                del after.rows[path]
            after.changes[:] = [one for one in after.changes if one not in gone]
            if gone or paths:
                after.changes.append(NoteChange(note, "forget", at, actor, "", "", number=next(after.numbers)))
            self.tables = after
        return len(gone)


class InMemoryNoteView:
    """A ``NoteView`` of an ``InMemoryNoteJournal``."""

    def __init__(self, journal: InMemoryNoteJournal, owner: Owner) -> None:
        self._journal = journal
        self._owner = owner

    def header(self, key: str) -> NoteHeader | None:
        """Return the note with this id, or at this path."""
        return next((one for one in self._visible() if key in (one.path, one.id)), None)

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the matching notes, pinned ones first, then the most recently updated."""
        found = [one for one in self._visible() if _passes(one, wanted)]
        found.sort(key=lambda one: one.path)
        found.sort(key=lambda one: (one.pinned, one.updated_at), reverse=True)
        return tuple(found[: wanted.limit])

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes match."""
        return sum(_passes(one, wanted) for one in self._visible())

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note, the oldest change first."""
        tables = self._journal.tables
        holder, current = tables.owners.get(note), tables.current(note)
        audience = None if current is None else current.audience
        return visible_changes(tables.of_note(note), audience, holder=holder, owner=self._owner)

    def changed_until(self, at: str) -> Sequence[NoteChange]:
        """Return the last change of every visible note at or before a time."""
        notes = sorted({one.note for one in self._journal.tables.changes})
        until = ([one for one in self.changes(note) if one.at <= at] for note in notes)
        return tuple(found[-1] for found in until if found)

    def _visible(self) -> Iterator[NoteHeader]:
        rows = self._journal.tables.rows.values()
        return (row.header for row in rows if row.is_visible and visible_to(row.header, self._owner))


def _passes(header: NoteHeader, wanted: NoteFilter) -> bool:
    chosen = ((wanted.audiences, header.audience), (wanted.kinds, header.kind), (wanted.statuses, header.status))
    if wanted.fingerprint not in ("", header.fingerprint):
        return False
    return all(not among or value in among for among, value in chosen) and set(wanted.tags) <= set(header.tags)


def _record(tables: _NoteTables, change: NoteChange, header: NoteHeader | None, stamp: NoteStamp | None) -> int:
    holder = tables.owners.get(change.note)
    if header is not None and header.owner is not None:
        if holder not in (None, header.owner):
            raise other_owner_error(change.note)
        holder = tables.owners[change.note] = header.owner
    for path, row in list(tables.rows.items()):
        if row.header.id == change.note and (row.is_visible or path == change.path):
            del tables.rows[path]
    if header is not None and stamp is not None:
        has_reader = header.audience == "shared" or holder is not None
        tables.rows[header.path] = _Row(replace(header, owner=holder), stamp, has_reader, is_recorded=True)
        tables.brought.discard(header.path)
    number = next(tables.numbers)
    tables.changes.append(replace(change, number=number))
    return number
