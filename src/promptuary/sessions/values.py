"""The values of sessions: a name over a thread, and what has changed since it was pinned."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

SessionStatus = Literal["active", "archived"]
"""No turn is prepared in the thread of an archived session."""

Choice = Literal["all", "chosen", "none"]
"""Which notes or experiences a session has: all that existed, some that were named, or none."""


class Session(Struct, frozen=True):
    """A name, a thread, and what that thread may see. Times are ISO 8601 in UTC.

    ``roots`` are files and folders of the workspace; none means all of it. ``memory``: turns recall notes and
    experiences, and may write them. ``version`` counts how often the session was pinned. The counts are those of the
    pins.
    """

    id: str
    name: str
    thread: str
    created: str
    pinned: str
    roots: tuple[str, ...] = ()
    notes: Choice = "all"
    experiences: Choice = "all"
    memory: bool = True
    status: SessionStatus = "active"
    version: int = 1
    files_pinned: int = 0
    notes_pinned: int = 0
    experiences_pinned: int = 0


class Difference(Struct, frozen=True):
    """What differs from the pins, by name."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    gone: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.added) + len(self.changed) + len(self.gone)


class SessionReport(Struct, frozen=True):
    """A session, and what has changed since it was pinned."""

    session: Session
    files: Difference = Difference()
    notes: Difference = Difference()
    experiences: Difference = Difference()

    @property
    def is_current(self) -> bool:
        """Whether everything still matches the pins."""
        return not (len(self.files) or len(self.notes) or len(self.experiences))


def difference(pinned: Mapping[str, object], now: Mapping[str, object]) -> Difference:
    """Return what is added, changed and gone since something was pinned, each sorted."""
    return Difference(
        sorted(now.keys() - pinned.keys()),
        sorted(name for name in now.keys() & pinned.keys() if now[name] != pinned[name]),
        sorted(pinned.keys() - now.keys()),
    )
