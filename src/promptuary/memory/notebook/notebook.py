"""The notes of one agent in one place, for one principal: the one write path.

A write takes the lock, compares the revision, replaces the file durably and records the change in the journal; then it
is acknowledged. Lists and indexes of notes are updated later, notified by ``on_change``. Files are the source of truth:
changes that people made to them are recorded before a note is changed, and whenever ``sync`` is called.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.errors import LockTimeoutError, NoteConflictError, PromptuaryError
from promptuary.base.front_matter import parse
from promptuary.base.principals import LOCAL_USER, NoteScope, Owner, Principal
from promptuary.memory.index_page import page_path, persons_text
from promptuary.memory.note_file import (
    Ownership,
    as_bytes,
    as_text,
    claimed_owner,
    id_of_path,
    note_as,
    owner_label,
    read_note,
    rev_of,
    rewrite,
)
from promptuary.memory.notebook.drafting import Writer, change_file, new_file, path_after, title_after, trust_after
from promptuary.memory.notebook.external_edits import HandChanges, Tracked, is_page
from promptuary.memory.secret_texts import refuse_secrets, without_secrets
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import AnyNoteFiles
from promptuary.memory.values import (
    AUDIENCES,
    HAND,
    KINDS,
    LEGACY_KINDS,
    ChangeKind,
    KnownFile,
    Note,
    NoteChange,
    NoteDraft,
    NoteFilter,
    NoteHeader,
    NoteStamp,
    NoteTrust,
    NoteView,
    is_note_id,
    new_note_id,
    note_path,
)

_TRIES: Final = 5
"""How often a write is retried because an editor saved the file at the same moment."""
_AT_ONCE: Final = 1_000
"""How many files changed by hand are recorded at once: that takes a second or two, for which writers wait."""
_GIVE_WAY: Final = 0.06
"""Seconds without the lock after that: longer than waiting writers sleep between two attempts."""
_UNKNOWN: Final = NoteStamp(-1, -1, -1, -1)
"""The stamp of a file that must be read again: somebody wrote it while we did."""


_Changed = tuple[str, bytes, NoteTrust | None]
"""A note after a change: its path, its file, and whose words it holds; ``None`` if the file says it."""

OnChange = Callable[[NoteScope, Collection[str]], None]
"""Called with the ids of notes that were written, or changed by hand."""


class Written(Struct, frozen=True):
    """The result of a write: the note as it is now, and whether anything changed."""

    note: Note
    changed: bool = True
    is_new: bool = False


class Notebook:
    """The notes of ``principal``'s agent in one place. Every method blocks and may be called from any thread."""

    def __init__(
        self,
        scope: NoteScope,
        files: AnyNoteFiles,
        journal: NoteJournal,
        principal: Principal,
        *,
        tracked: Tracked,
        clock: Callable[[], str],
        on_change: OnChange,
    ) -> None:
        self.scope: NoteScope = scope
        self.files, self.journal = files, journal
        self.owner = principal.owner
        self._actor = f"{principal.user}/{principal.agent}"
        self._tracked, self._clock, self._on_change = tracked, clock, on_change
        self._by_hand = HandChanges(scope, files, journal, principal, tracked=tracked, clock=clock)
        self._is_clean = False
        self.last_known: Mapping[str, KnownFile] = {}
        """The files as the last scan of all of them found them recorded."""

    @property
    def view(self) -> NoteView:
        """What the principal may see."""
        return self.journal.view(self.owner)

    def in_git(self) -> list[str]:
        """Return the files of notes that git tracks; none if git failed."""
        tracked = self._tracked() or ()
        return [path for path in self.files.list() if path in tracked]

    def is_in_git(self, path: str) -> bool:
        """Return whether git tracks the file of a note; also not if git failed."""
        return path in (self._tracked() or ())

    @property
    def is_of_this_machine(self) -> bool:
        """Whether the local user acts, who owns the files."""
        return self.owner.kind == "user" and self.owner.name == LOCAL_USER

    def may_name(self, path: str) -> bool:
        """Return whether the principal may know of a file: the names of private ones contain the notes' titles."""
        if path.startswith("shared/") or path == page_path("private", self.owner):
            return True
        is_folder = path in {"shared", "private", *(f"private/{kind}" for kind in (*KINDS, *LEGACY_KINDS))}
        return is_folder or self.view.header(path) is not None or path in {header.path for header in self.unadopted()}

    def is_alone(self) -> bool:
        """Return whether the local user is the only principal that ever wrote here."""
        return self._by_hand.is_alone()

    def clean(self) -> int:
        """Remove temporary files of killed processes, and return how many there were."""
        with self.files.lock():
            return self.files.clean()

    # Reading

    def read(self, key: str) -> Note | None:
        """Return a note by its id or path, as it is on disk now; ``None`` if the principal sees none there."""
        header = self.view.header(key)
        if header is None:
            return None
        for _ in range(_TRIES):
            data = self.files.read(header.path)
            if data is not None and rev_of(data) == header.rev:
                return note_as(header, data)
            self.sync(None if data is None else [header.path])  # one that is gone may have been moved
            now = self.view.header(header.id)
            if now is None or (data is None and (now.rev, now.path) == (header.rev, header.path)):
                return None
            header = now
        return None

    # Writing

    def write(
        self, draft: NoteDraft, *, if_rev: str | None = None, reason: str = "", kind: ChangeKind | None = None
    ) -> Written:
        """Write a new note, or change the one that the draft names.

        Raises ``NoteConflictError`` if ``if_rev`` is given and the note has another revision.
        """
        refuse_secrets(*_texts(draft))
        with self._lock():
            if draft.id is None:
                return self._create(draft, reason)
            return self._update(draft.id, if_rev, lambda note, writer: _change(note, draft, writer), reason, kind)

    def restore_text(self, note: str, text: str, *, if_rev: str | None, reason: str) -> Written:
        """Restore an earlier text of a note, byte for byte, even if its file is gone."""
        refuse_secrets(text)
        with self._lock():
            trust = self._by_hand.trust_of(note, rev_of(as_bytes(text)))
            if self.view.header(note) is not None:
                return self._update(
                    note, if_rev, lambda found, _: (found.header.path, as_bytes(text), trust), reason, "undo"
                )
            last = self.view.changes(note)
            if not last or last[-1].kind == "forget":
                raise _missing(note)
            path = next(change.path for change in reversed(last) if change.path)
            if not self.files.create(path, as_bytes(text)):
                raise PromptuaryError(f"{path} exists and is not the note {note}; move it elsewhere first")
            standing = Ownership(self.scope, self._holder(note), id=note, trust=trust)
            return Written(self._recorded(read_note(as_bytes(text), path, standing), "undo", reason=reason))

    def replace_text(self, note: str, text: str, *, if_rev: str, reason: str) -> Written:
        """Replace a note by what a person edited: the whole file, except when and by whom it was changed.

        From then on it holds the person's words, whoever wrote it before.
        """
        refuse_secrets(text)

        def changed(found: Note, writer: Writer) -> _Changed:
            if parse(text).problem:  # there is nothing to put a date into
                return found.header.path, as_bytes(text), "person"
            after = read_note(as_bytes(text), found.header.path, Ownership(self.scope, id=note))
            title = title_after(found, after.body) if after.header.title == found.header.title else None
            values = {"updated_at": writer.at, "updated_by": writer.actor, "trust": "person"}
            return found.header.path, rewrite(text, values | ({"title": title} if title else {})), "person"

        with self._lock():
            return self._update(note, if_rev, changed, reason, "update")

    def take_in(self, note: Note, *, reason: str) -> Written | None:
        """Write the file of a note exported by Promptuary unchanged except for its owner, under its own id.

        Returns ``None`` and writes nothing if the id is already known here, or the file has no id.
        """
        refuse_secrets(note.text)
        header = note.header
        path = _taken_path(header)
        with self._lock():
            is_known = self.journal.owner_of(header.id) is not None or self.journal.known(header.id) is not None
            if header.problem or is_known or parse(note.text).value("id") != header.id:
                return None
            if (alike := self._alike(header.fingerprint, path)) is not None:
                return Written(alike, changed=False)
            label = owner_label(self.owner) if header.audience == "private" else None
            data = rewrite(note.text, {"owner": label}) if claimed_owner(note.text) != (label or "") else None
            data = as_bytes(note.text) if data is None else data
            with self._telling(data, path, is_new=True):
                if not self.files.create(path, data):
                    return None
                written = read_note(data, path, Ownership(self.scope, self.owner, id=header.id))
                return Written(self._recorded(written, "create", reason=reason), is_new=True)

    def remove(self, note: str) -> str | None:
        """Remove the file of a note without recording that, and return where it was. For forgetting."""
        with self._lock():
            header = self.view.header(note)
            if header is None:
                return None
            self.files.remove(header.path)
            return header.path

    def forget(self, note: str) -> int:
        """Erase a note from the journal, and return how many entries it had."""
        # In a database it is one transaction anyway, and that must have ended before what was deleted is erased.
        with self._lock() if self.files.by_hand else nullcontext():
            count = self.journal.forget(note, at=self._clock(), actor=self._actor)
        self._on_change(self.scope, [note])
        return count

    # What people do by hand

    def sync(self, paths: Collection[str] | None = None, *, limit: int | None = None) -> bool | None:
        """Record files that were changed, added, moved or removed by hand, all or some; return whether any was.

        Returns ``None``, and records nothing, if more than ``limit`` files are known, or if very many differ.

        If another process holds the lock for long, nothing happens: that process does its own sync. If very many files
        differ, the lock is released in between for other writers. In a database, nobody changes notes by hand.
        """
        if not self.files.by_hand:
            return False
        try:
            found = self._by_hand.differing(paths, limit)
            if found is None:
                return None
            if paths is None:
                self.last_known = found.known
            if not found:
                if not self._is_clean and paths is None:
                    with self._lock():  # removes what killed processes left
                        pass
                return False
            # What is new comes first: a file that is missing may be one that was moved.
            every = [*sorted(found.changed), *found.missing]
            if limit is not None and len(every) > _AT_ONCE:
                return None
            if len(every) <= _AT_ONCE:
                with self._lock():
                    return self._record_by_hand(paths)
            return self._recorded_in_turns(every)
        except LockTimeoutError:
            return False

    def _recorded_in_turns(self, paths: Sequence[str]) -> bool:
        any_touched = False
        for start in range(0, len(paths), _AT_ONCE):
            if start:
                time.sleep(_GIVE_WAY)
            with self._lock():
                any_touched |= self._record_by_hand(paths[start : start + _AT_ONCE])
        return any_touched

    def adopt(self, keys: Collection[str] = ()) -> list[NoteHeader]:
        """Take over notes as the principal's own words, by id or path, or all that wait; return them.

        Any note may be named that the principal sees and that holds the words of an agent.
        """
        self.sync()
        with self._lock():
            waiting = [*self.unadopted(), *self.unconfirmed()]
            others = (header for key in keys if (header := self.view.header(key)) is not None)
            every = waiting if not keys else [*waiting, *(other for other in others if other.trust != "person")]
            chosen = {note.path: note for note in every if not keys or note.id in keys or note.path in keys}
            return [header for value in chosen.values() if (header := self._adopt(value)) is not None]

    def unadopted(self) -> list[NoteHeader]:
        """Return the notes, and the pages, that nobody here wrote and that wait for the principal to adopt them.

        A private note that names another owner is not returned: it may belong to that person.
        """
        notes = [header for header in self.journal.unadopted() if header.audience == "shared" or self._may_own(header)]
        return [*notes, *self._brought_pages()]

    def unconfirmed(self) -> list[NoteHeader]:
        """Return the notes of the principal that an agent wrote and that may repeat text from elsewhere."""
        headers = self.view.headers(NoteFilter(statuses=("active",)))
        return [
            header
            for header in headers
            if header.trust == "external" and not header.external and header.owner == self.owner
        ]

    def _brought_pages(self) -> Iterator[NoteHeader]:
        if not self.is_alone():
            return
        for audience in AUDIENCES:
            path = page_path(audience, self.owner)
            data = self.files.read(path) if self.journal.is_brought(path) else None
            if data is not None and persons_text(as_text(data)):
                standing = Ownership(self.scope, external=True, id=id_of_path(path))
                yield replace(read_note(data, path, standing).header, title=f"the text beside the list in {path}")

    def _may_own(self, header: NoteHeader) -> bool:
        data = self.files.read(header.path)
        claimed = claimed_owner(as_text(data)) if data is not None else ""
        return claimed == owner_label(self.owner) or (self.is_of_this_machine and not claimed)

    def _adopt(self, header: NoteHeader) -> NoteHeader | None:
        stamp, data = self.files.stamp(header.path), self.files.read(header.path)
        if stamp is None or data is None:
            return None
        if is_page(header.path):
            self.journal.adopt_file(header.path)
            return header
        if header.owner == self.owner and not header.external:
            return self._update(header.id, None, _confirmed, "", "adopt").note.header
        holder = self._holder(header.id)
        if holder != self.owner and header.audience == "private":
            return None
        taken = read_note(data, header.path, Ownership(self.scope, holder, id=header.id, trust="person"))
        self._record([(self._change(taken.header, "adopt", data, before=header.rev), taken.header, stamp)])
        return taken.header

    # The steps of a write

    def _create(self, draft: NoteDraft, reason: str) -> Written:
        writer = self._writer()
        for tried in range(_TRIES):
            note_id = new_note_id()
            made = new_file(draft, note_id, writer)
            if not tried and (alike := self._alike(made.fingerprint, made.path)) is not None:
                return Written(alike, changed=False)
            with self._telling(made.data, made.path, is_new=True):
                if self.files.create(made.path, made.data):
                    written = read_note(made.data, made.path, Ownership(self.scope, self.owner, id=note_id))
                    return Written(self._recorded(written, "create", reason=reason), is_new=True)
        raise PromptuaryError("the note could not be created: files with its name appear again and again; try again")

    def _alike(self, fingerprint: str, path: str) -> Note | None:
        """Return the note of the same audience that already says the same as one that would be written at ``path``."""
        for header in self.view.headers(NoteFilter(fingerprint=fingerprint)):
            same = header.path.split("/")[0] == path.split("/", maxsplit=1)[0] and not header.external
            if same and (note := self.read(header.id)) is not None and note.header.fingerprint == fingerprint:
                return note
        return None

    def _update(
        self,
        key: str,
        if_rev: str | None,
        change: Callable[[Note, Writer], _Changed],
        reason: str,
        kind: ChangeKind | None,
    ) -> Written:
        for _ in range(_TRIES):
            note = self._current(key)
            if if_rev is not None and note.header.rev != if_rev:
                raise NoteConflictError(f"the note {key} was changed meanwhile; read it again, then write", note)
            path, data, trust = change(note, self._writer())
            if data == as_bytes(note.text) and path == note.header.path:
                if trust in (None, note.header.trust):
                    return Written(note, changed=False)
                kind = "adopt"
            with self._telling(data, path, note.header.path):
                if self._put(note, path, data):
                    if not self.journal.is_recorded(note.header.id, note.header.rev):
                        self._keep(note)
                    holder = note.header.owner or self.owner
                    written = read_note(data, path, Ownership(self.scope, holder, id=note.header.id, trust=trust))
                    named = kind or _kind_of(note.header, written.header)
                    return Written(self._recorded(written, named, reason=reason, before=note.header.rev))
            self._record_by_hand([note.header.path])
        raise NoteConflictError(
            f"the note {key} is being edited right now; save it, then try again", self._current(key)
        )

    @contextmanager
    def _telling(self, data: bytes, *paths: str, is_new: bool = False) -> Iterator[None]:
        """Add to an error whether ``data`` was written nevertheless; a new file is removed again.

        A file can be removed from a full disk, but the previous content cannot be written back.
        """
        try:
            yield
        except PromptuaryError as error:
            if not self.files.by_hand:
                raise  # nothing of the transaction is stored
            there = [path for path in paths if self._holds(path, data)]
            if is_new:
                with suppress(PromptuaryError):
                    there = [path for path in there if not self.files.remove(path)]
            if there:
                raise PromptuaryError(f"{there[0]} was written, but the step was not completed: {error}") from error
            raise

    def _holds(self, path: str, data: bytes) -> bool:
        with suppress(PromptuaryError):
            return self.files.read(path) == data
        return False

    def _keep(self, note: Note) -> None:
        """Record a text that is not in the history, such as that of a clone, before it is replaced."""
        data = as_bytes(note.text)
        changes = self.view.changes(note.header.id)
        last = changes[-1].rev if changes else ""
        header = note.header
        kept = NoteChange(
            *(header.id, "edit", self._clock(), HAND, rev_of(data), header.path, note.text),
            before=last,
            trust=header.trust,
        )
        self.journal.record([(kept, None, None)])

    def _put(self, note: Note, path: str, data: bytes) -> bool:
        """Write an existing note, and move it if its path changes.

        There is one file at all times: a second one would have no owner if this process were killed before recording
        it.
        """
        now, was = note.header.path, as_bytes(note.text)
        if path != now and self.files.stamp(path) is not None:
            raise PromptuaryError(f"{path} exists already; move it elsewhere first")
        if not self.files.replace(now, data, expected=was):
            return False
        if path == now or self.files.move(now, path):
            return True
        self.files.replace(now, was, expected=data)
        return False

    def _current(self, key: str) -> Note:
        """Return the note with an id as it is on disk, after recording changes made by hand.

        The result is exactly what was recorded: it is about to be replaced, and an editor may save meanwhile.
        """
        if not is_note_id(key) and "/" not in key:
            raise PromptuaryError(f"{key[:80]!r} cannot be the id of a note")
        header = self.view.header(key)
        if header is None:
            raise _missing(key)
        for _ in range(_TRIES):
            data = self.files.read(header.path)
            if data is not None and rev_of(data) == header.rev:
                return note_as(header, data)
            self._record_by_hand(None if data is None else [header.path])
            now = self.view.header(header.id)
            if now is None:
                raise NoteConflictError(f"the file of the note {key} is gone; `promptuary memory undo` brings it back")
            header = now
        raise NoteConflictError(f"the note {key} is being edited right now; save it, then try again")

    def _recorded(self, written: Note, kind: ChangeKind, *, reason: str = "", before: str = "") -> Note:
        """Record a note that was just written, and return it."""
        header, data = written.header, as_bytes(written.text)
        stamp = self.files.stamp(header.path)
        if stamp is None or (self.files.by_hand and self.files.read(header.path) != data):
            stamp = _UNKNOWN
        self._record([(self._change(header, kind, data, reason=reason, before=before), header, stamp)])
        return written

    def _holder(self, note: str) -> Owner:
        return self.journal.owner_of(note) or self.owner

    def _change(
        self, header: NoteHeader, kind: ChangeKind, data: bytes, *, reason: str = "", before: str = ""
    ) -> NoteChange:
        told = without_secrets(reason)  # shown with the history of the note
        return NoteChange(
            *(header.id, kind, self._clock(), self._actor, rev_of(data), header.path, as_text(data), told, before),
            trust=header.trust,
        )

    def _record(self, changes: Sequence[tuple[NoteChange, NoteHeader | None, NoteStamp | None]]) -> None:
        self.journal.record(changes)
        self._on_change(self.scope, {change.note for change, _, _ in changes})

    def _record_by_hand(self, paths: Collection[str] | None) -> bool:
        """Record changes made by hand, with the lock held; return whether there were any."""
        if not self.files.by_hand:
            return False
        touched = self._by_hand.record(self._by_hand.differing(paths))
        if touched:
            self._on_change(self.scope, touched)
        return bool(touched)

    def _writer(self) -> Writer:
        return Writer(self.owner, self._actor, self._clock())

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with self.files.lock():
            if not self._is_clean:
                self.files.clean()
                self._is_clean = True
            yield


def _change(note: Note, draft: NoteDraft, writer: Writer) -> _Changed:
    if note.header.status == "frozen" and draft.source != "manual":
        raise PromptuaryError(f"the note {note.header.id} is frozen: only the person may change it")
    return path_after(note, draft), change_file(note, draft, writer), trust_after(note, draft)


def _confirmed(note: Note, _: Writer) -> _Changed:
    """Return a note of an agent that the person confirms."""
    text = note.text
    return note.header.path, as_bytes(text) if parse(text).problem else rewrite(text, {"trust": "person"}), "person"


def _kind_of(before: NoteHeader, after: NoteHeader) -> ChangeKind:
    """Return the name of a change in the history."""
    status = after.status
    if status != before.status:
        return "archive" if status == "archived" else "restore" if before.status == "archived" else "update"
    return "update"


def _taken_path(header: NoteHeader) -> str:
    """Return the path for an imported note: the one that it had, if that is valid here."""
    _, folder, name = header.path.split("/")
    if folder in KINDS and name.endswith(f"-{header.id}.md"):
        return header.path
    return note_path(header.audience, header.kind, header.title, header.id)


def _texts(draft: NoteDraft) -> list[str]:
    return [text for text in (draft.title, draft.content, draft.summary, *(draft.tags or ())) if text]


def _missing(key: str) -> PromptuaryError:
    return PromptuaryError(f"there is no note {key[:80]!r}; `promptuary memory list` shows which there are")
