"""What sessions need of a store."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from promptuary.core.sessions import NotePin, Pins, Session


class SessionStore(Protocol):
    """The sessions of one owner. No method takes an owner, so none can be asked for another's.

    A name is taken once, and a thread has at most one session. Methods may be called from any thread, and every write
    is persistent when it returns.
    """

    def add(self, session: Session, pins: Pins) -> bool:
        """Add a session; return False, and change nothing, if its name, its id or its thread is taken."""
        ...

    def get(self, name: str) -> Session | None:
        """Return the session of this name."""
        ...

    def of_thread(self, thread: str) -> Session | None:
        """Return the session of a thread. Every turn asks this, so it is one lookup."""
        ...

    def all(self) -> Sequence[Session]:
        """Return every session, the newest first."""
        ...

    def pins(self, name: str) -> Pins | None:
        """Return what a session was pinned with."""
        ...

    def replace(self, session: Session, pins: Pins | None = None) -> bool:
        """Replace the session of this id; return False if it is not there. Without ``pins`` those that it has stay."""
        ...

    def remove(self, session: str) -> bool:
        """Remove the session of this id with what it was pinned with; return False if it is not there."""
        ...

    def rename_thread(self, thread: str, name: str) -> bool:
        """Note that a thread has another name; return False, and change nothing, if a session has a thread of it.

        A thread without a session is no mistake.
        """
        ...

    def pin_notes(self, name: str, revisions: Mapping[NotePin, str | None]) -> bool:
        """Pin some notes at other revisions, and unpin those with ``None``; return False if there is no session.

        The version of the session counts up.
        """
        ...
