"""The notes that one principal may see, of both roots, as recall reads them.

The views of the journals decide who may see a note: nothing here can ask for another owner's.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from promptuary.base.principals import NoteScope
from promptuary.memory.recall.freshness import change_time
from promptuary.memory.values import Note, NoteFilter, NoteHeader, NoteView, valid_at

ACTIVE: Final = NoteFilter(statuses=("active",))


class NoteKey(NamedTuple):
    """The key of a note: an id is unique only within its root."""

    scope: NoteScope
    id: str


class MemoryPage(Struct, frozen=True):
    """What a person wrote in a ``MEMORY.md`` outside of the managed block.

    ``path`` is that of the file in its root. ``external``: it came from elsewhere, and is only data until it is
    adopted.
    """

    scope: NoteScope
    path: str
    text: str
    external: bool = False


def _no_pages() -> Sequence[MemoryPage]:
    return ()


class VisibleNotes(Struct, frozen=True):
    """The notes of one principal. ``views`` are those of its roots; ``read`` returns a note as it is on disk now.

    ``pages`` returns what the person wrote in the ``MEMORY.md`` files. ``clock`` returns the time, ISO 8601 in UTC.
    ``waiting`` returns how many notes nobody here wrote and nobody has adopted.
    """

    views: Mapping[NoteScope, NoteView]
    read: Callable[[NoteKey], Note | None]
    pages: Callable[[], Sequence[MemoryPage]] = _no_pages
    clock: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds")
    waiting: Callable[[], int] = lambda: 0

    def header(self, key: NoteKey) -> NoteHeader | None:
        """Return the header of a note, ``None`` if it cannot be recalled: it is gone, archived, or not valid now."""
        view = self.views.get(key.scope)
        header = view.header(key.id) if view is not None else None
        return header if header is not None and self.is_recallable(header) else None

    def is_recallable(self, header: NoteHeader) -> bool:
        """Return whether a note can be recalled: it is active and valid now."""
        bounded = header.valid_from or header.valid_until
        return header.status == "active" and (not bounded or valid_at(header, self.clock()))

    def changed_after(self, header: NoteHeader, other: NoteHeader) -> bool:
        """Return whether a note was changed after another: dates have seconds, within one the journal knows."""
        at, before = change_time(header) or 0.0, change_time(other) or 0.0
        if at != before or header.scope != other.scope or at == 0.0:
            return at > before
        return self._last_change(header) > self._last_change(other)

    def _last_change(self, header: NoteHeader) -> int:
        view = self.views.get(header.scope)
        return max((change.number for change in view.changes(header.id)), default=0) if view is not None else 0

    def newest(self, limit: int | None = None) -> list[NoteHeader]:
        """Return the notes that can be recalled, at most ``limit``: the pinned first, then the last updated."""
        return self._look_at(limit)[0]

    def listed(self, limit: int | None = None) -> tuple[list[NoteHeader], int]:
        """Return the same, and how many there are in all.

        The number leaves out active notes that are not valid now, as far as they were read: notes that expired were
        updated then, so they are among the first. Reading all of them would cost every turn too much.
        """
        newest, left_out = self._look_at(limit)
        return newest, self.count() - left_out

    def _look_at(self, limit: int | None) -> tuple[list[NoteHeader], int]:
        """Return the newest that can be recalled, and how many were left out on the way."""
        wanted = replace(ACTIVE, limit=limit)
        seen = [header for view in self.views.values() for header in view.headers(wanted)]
        every = [header for header in seen if self.is_recallable(header)]
        if len(self.views) > 1:
            every.sort(key=lambda one: one.updated_at or one.created_at, reverse=True)
            every.sort(key=lambda one: not one.pinned)
        return every[:limit], len(seen) - len(every)

    def count(self) -> int:
        """Return how many active notes there are, including those that are not valid now."""
        return sum(view.count(ACTIVE) for view in self.views.values())


def key_of(header: NoteHeader) -> NoteKey:
    return NoteKey(header.scope, header.id)
