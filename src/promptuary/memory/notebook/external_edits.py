"""Finds changes that people made to note files by hand, by comparing the disk with the journal, and records them.

``ownership`` decides what each file is. A change by hand is recorded in the history like any other, with ``HAND`` as
its actor; a file that nobody may see yet is recorded without history.
"""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextlib import suppress
from typing import Final, overload

from msgspec import Struct

from promptuary.base.errors import NoteFileError
from promptuary.base.principals import LOCAL_USER, NoteScope, Principal
from promptuary.memory.note_file import as_bytes, as_text, rev_of
from promptuary.memory.notebook.ownership import FileFacts, Ruling, SeenFile, Verdict, judge
from promptuary.memory.store.journal import NoteJournal
from promptuary.memory.store.rows import AnyNoteFiles
from promptuary.memory.values import HAND, ChangeKind, KnownFile, NoteChange, NoteHeader, NoteStamp, NoteTrust

Tracked = Callable[[], Container[str] | None]
"""Returns the paths of notes that git tracks; ``None`` if git failed, which counts as all of them."""

_Entry = tuple[NoteChange, NoteHeader | None, NoteStamp | None]
"""A change, and the note after it."""

_KINDS: Final[Mapping[Verdict, ChangeKind]] = {"edited": "edit", "moved": "edit", "taken_over": "adopt"}


class ChangedFile(Struct, frozen=True):
    """Files that are new or have another stamp, known files that are missing, and the records of those compared."""

    changed: Mapping[str, NoteStamp]
    missing: Mapping[str, KnownFile]
    known: Mapping[str, KnownFile]

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing)


class HandChanges:
    """Detects and records changes by hand to the notes in one place. ``record`` needs the lock of the files."""

    def __init__(
        self,
        scope: NoteScope,
        files: AnyNoteFiles,
        journal: NoteJournal,
        principal: Principal,
        *,
        tracked: Tracked,
        clock: Callable[[], str],
    ) -> None:
        self._scope: NoteScope = scope
        self._files, self._journal = files, journal
        self._owner, self._actor = principal.owner, f"{principal.user}/{principal.agent}"
        self._tracked, self._clock = tracked, clock

    @overload
    def differing(self, paths: Collection[str] | None = None) -> ChangedFile: ...
    @overload
    def differing(self, paths: Collection[str] | None, limit: int | None) -> ChangedFile | None: ...
    def differing(self, paths: Collection[str] | None = None, limit: int | None = None) -> ChangedFile | None:
        """Return how the disk differs from the journal, for all files or for those at ``paths``.

        ``None`` if more than ``limit`` files are known.

        A caller that names paths has seen that they differ, even if the clock of the file system is too coarse to show
        it.
        """
        if paths is None:
            known = self._journal.files()
            if limit is not None and len(known) > limit:
                return None
            on_disk = self._files.list()
        else:
            known = {path: found for path in paths if (found := self._journal.known(path)) and found.path == path}
            on_disk = {path: stamp for path in paths if (stamp := self._stamp(path)) is not None}
        changed = {
            path: stamp
            for path, stamp in on_disk.items()
            if (paths is not None or path not in known or known[path].stamp != stamp) and not is_page(path)
        }
        return ChangedFile(changed, {path: one for path, one in known.items() if path not in on_disk}, known)

    def record(self, differing: ChangedFile) -> set[str]:
        """Record the differences, and return the ids of the notes concerned."""
        if differing.missing:
            self._journal.check_in_files()
        found = self._judge(differing)
        here = {one.note.header.id for one, _ in found}
        gone = [known for known in differing.missing.values() if known.note not in here]
        lost = [known for known in gone if known.recorded and self._journal.owner_of(known.note) is not None]
        dropped = [known.path for known in differing.missing.values() if known not in lost]
        observed = [
            (one.note.header, stamp, one.verdict != "unadopted") for one, stamp in found if one.verdict not in _KINDS
        ]
        changes = [
            *(self._entry(one, stamp) for one, stamp in found if one.verdict in _KINDS),
            *map(self._lost_entry, lost),
        ]
        # Changes are recorded first: a process that is killed in between must not lose where a moved note was.
        if changes:
            self._journal.record(changes)
        if observed or dropped:
            self._journal.observe(observed, dropped)
        return here | {known.note for known in gone}

    def _judge(self, differing: ChangedFile) -> list[tuple[Ruling, NoteStamp]]:
        facts = self._facts(differing)
        found: dict[str, tuple[Ruling, NoteStamp]] = {}
        for path, stamp in sorted(differing.changed.items()):
            with suppress(NoteFileError):  # it became too large, or a link: ``skipped`` says so
                data = self._files.read(path)
                if data is not None:
                    seen = SeenFile(path, data, differing.known.get(path))
                    one = judge(seen, self._scope, self._owner, facts, taken=found.keys())
                    found[one.note.header.id] = one, stamp
        return list(found.values())

    def _entry(self, one: Ruling, stamp: NoteStamp) -> _Entry:
        header, data = one.note.header, as_bytes(one.note.text)
        actor = self._actor if one.verdict == "taken_over" else HAND
        kind, at, before = _KINDS[one.verdict], self._clock(), one.before or self._last(header)
        return (
            NoteChange(
                *(header.id, kind, at, actor, rev_of(data), header.path, as_text(data)),
                before=before,
                trust=header.trust,
            ),
            header,
            stamp,
        )

    def _last(self, header: NoteHeader) -> str:
        """Return the revision that the history of a note ends with; empty if it has none, or the note was deleted."""
        changes = self._journal.view(header.owner).changes(header.id) if header.owner is not None else ()
        return changes[-1].rev if changes else ""

    def _lost_entry(self, known: KnownFile) -> _Entry:
        return NoteChange(known.note, "delete", self._clock(), HAND, "", known.path, before=known.rev), None, None

    def _facts(self, differing: ChangedFile) -> FileFacts:
        asked: list[Container[str] | None] = []

        def tracked(path: str) -> bool:
            if not asked:
                asked.append(self._tracked())
            return asked[0] is None or path in asked[0]

        def elsewhere(note: str) -> tuple[KnownFile, bool] | None:
            known = self._journal.known(note)
            if known is None or known.note != note:
                return None
            return known, known.path not in differing.missing and self._stamp(known.path) is not None

        return FileFacts(
            owner_of=self._journal.owner_of,
            is_recorded=self._journal.is_recorded,
            last_rev=self._last_rev,
            trust_of=self.trust_of,
            elsewhere=elsewhere,
            forgotten=self._is_forgotten,
            tracked=tracked,
            brought=self._journal.is_brought,
            own=self._files.is_own,
            alone=self.is_alone,
        )

    def _is_forgotten(self, note: str) -> bool:
        return note in self._journal.forgotten()

    def _last_rev(self, note: str) -> str:
        changes = self._changes(note)
        return changes[-1].rev if changes else ""

    def trust_of(self, note: str, rev: str) -> NoteTrust | None:
        """Return whose words a revision of a note holds, or the last recorded one if that one is not recorded.

        Returns ``None`` if only its text says it.
        """
        texts = [change for change in reversed(self._changes(note)) if change.text is not None]
        found = next((text for text in texts if text.rev == rev), texts[0] if texts else None)
        return None if found is None else found.trust

    def _changes(self, note: str) -> Sequence[NoteChange]:
        holder = self._journal.owner_of(note)
        return () if holder is None else self._journal.view(holder).changes(note)

    def is_alone(self) -> bool:
        """Return whether the local user acts, and is the only principal that ever did."""
        everybody = (self._owner, *self._journal.owners())
        return all((owner.kind, owner.name) == ("user", LOCAL_USER) for owner in everybody)

    def _stamp(self, path: str) -> NoteStamp | None:
        with suppress(NoteFileError):
            return self._files.stamp(path)
        return None


def is_page(path: str) -> bool:
    """Return whether a file is a list of notes rather than a note: it lies directly in the folder of its audience."""
    return path.count("/") == 1
