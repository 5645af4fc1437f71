"""The notes of a session, each at the revision that was pinned: a view over what the owner may see.

A note that has changed since is read from the journal at its pinned revision. Notes that the owner may no longer see,
or that were forgotten, are missing even if pinned: the underlying view decides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from promptuary.base.principals import NoteScope
from promptuary.database.feed import Follower
from promptuary.memory.note_file import Ownership, as_bytes, read_note
from promptuary.memory.values import Note, NoteChange, NoteFilter, NoteHeader, NoteTrust, NoteView
from promptuary.workspace.access import NotePin

_TRUST: Final[tuple[NoteTrust, ...]] = ("external", "agent", "person")
"""From the least trusted to the most."""
_EVERY: Final = NoteFilter(statuses=())
_ACTIVE: Final = NoteFilter()
_FEW: Final = 200
"""Up to this many notes, looking them up one by one is faster than reading all."""

ReadNote = Callable[[NotePin], Note | None]
"""Reads a note as it is on disk now."""


class PinnedNotes(NoteView):
    """The notes of one scope that a session sees. ``view`` is what its owner may see now."""

    def __init__(self, view: NoteView, scope: NoteScope, pins: Mapping[NotePin, str]) -> None:
        self._view, self._scope = view, scope
        self._pins = {note: rev for (one, note), rev in pins.items() if one == scope}

    def header(self, key: str) -> NoteHeader | None:
        """Return the note with this id, or at this path."""
        now = self._view.header(key)
        note = now.id if now is not None else key
        return self._pinned_version(note, now) if note in self._pins else None

    def headers(self, wanted: NoteFilter = NoteFilter()) -> Sequence[NoteHeader]:  # noqa: B008  (frozen)
        """Return the matching notes, pinned ones first, then the most recently updated."""
        if not self._pins:
            return []
        if (quick := self._as_they_are(wanted)) is not None:
            return quick
        found = [header for header in self._every() if _passes(header, wanted)]
        found.sort(key=lambda one: one.updated_at or one.created_at, reverse=True)
        found.sort(key=lambda one: not one.pinned)
        return found[: wanted.limit]

    def count(self, wanted: NoteFilter = NoteFilter()) -> int:  # noqa: B008
        """Return how many notes match."""
        if not self._pins or (replace(wanted, limit=None) == _ACTIVE and self._view.count(_ACTIVE) == len(self._pins)):
            return len(self._pins)
        return sum(_passes(header, wanted) for header in self._every())

    def changes(self, note: str) -> Sequence[NoteChange]:
        """Return the history of a note up to the revision that is pinned."""
        every = self._view.changes(note) if note in self._pins else ()
        last = max((place for place, one in enumerate(every) if one.rev == self._pins[note]), default=-1)
        return every[: last + 1]

    def changed_until(self, at: str, needs_text: Callable[[NoteChange], bool] = bool) -> Sequence[NoteChange]:
        """Return the last change of every note at or before a time, and not after the pinned one, with its text."""
        del needs_text  # few notes are pinned
        found = ([change for change in self.changes(note) if change.at <= at] for note in self._pins)
        return [changes[-1] for changes in found if changes]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Return the id and the text of every note; of one that has changed, as it is now."""
        return ((note, text) for note, text in self._view.texts() if note in self._pins)

    def follow(self) -> Follower:
        """Return what tells which notes have changed: among them are those that were unpinned, or are gone."""
        return self._view.follow()

    def read(self, note: str, read_now: ReadNote) -> Note | None:
        """Return a note at its pinned revision, ``None`` if it is no longer available."""
        rev = self._pins.get(note)
        if rev is None:
            return None
        now = self._view.header(note)
        found = read_now((self._scope, note)) if now is not None and now.rev == rev else None
        return found if found is not None and found.header.rev == rev else self._past(note, now)

    def _as_they_are(self, wanted: NoteFilter) -> Sequence[NoteHeader] | None:
        """Return the matching notes if none of them changed; else ``None``. It saves reading every note."""
        if wanted.statuses != _ACTIVE.statuses or self._view.count(_ACTIVE) != len(self._pins):
            return None
        # A note that was added or changed since then is among the most recently updated.
        newest = self._view.headers(wanted)
        same = all(self._pins.get(header.id) == header.rev for header in newest)
        return newest if same else None

    def _every(self) -> Iterator[NoteHeader]:
        few = len(self._pins) < _FEW
        now = {} if few else {known.id: known for known in self._view.headers(_EVERY)}
        for note in self._pins:
            known = self._view.header(note) if few else now.get(note)
            if (header := self._pinned_version(note, known)) is not None:
                yield header

    def _pinned_version(self, note: str, now: NoteHeader | None) -> NoteHeader | None:
        if now is not None and now.rev == self._pins[note]:
            return now
        past = self._past(note, now)
        return None if past is None else past.header

    def _past(self, note: str, now: NoteHeader | None) -> Note | None:
        """Return a note from the journal, trusted at most as much as its current version."""
        rev = self._pins[note]
        found = [change for change in self._view.changes(note) if change.rev == rev and change.text is not None]
        if not found or found[-1].text is None:
            return None
        external = now is not None and now.external
        standing = Ownership(self._scope, None if now is None else now.owner, external, note, found[-1].trust)
        past = read_note(as_bytes(found[-1].text), found[-1].path, standing)
        if past.header.rev != rev:
            return None
        trust = min(past.header.trust, past.header.trust if now is None else now.trust, key=_TRUST.index)
        return replace(past, header=replace(past.header, trust=trust))


def _passes(header: NoteHeader, wanted: NoteFilter) -> bool:
    return (
        (not wanted.audiences or header.audience in wanted.audiences)
        and (not wanted.kinds or header.kind in wanted.kinds)
        and (not wanted.statuses or header.status in wanted.statuses)
        and set(wanted.tags) <= set(header.tags)
        and (not wanted.fingerprint or header.fingerprint == wanted.fingerprint)
    )
