"""What sessions need from a store."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from promptuary.core.sessions import NotePin, Pins, Session


class SessionStore(Protocol):
    """The sessions of one owner. No method takes an owner, so none can return another owner's.

    Names are unique, and a thread has at most one session. Methods may be called from any thread, and every write is
    persistent when it returns.
    """

    def add(self, session: Session, pins: Pins) -> bool:
        """Add a session; return False, and change nothing, if its name, its id or its thread is taken."""
        ...

    def get(self, name: str) -> Session | None:
        """Return the session with this name."""
        ...

    def of_thread(self, thread: str) -> Session | None:
        """Return the session of a thread. Every turn asks this, so it is one lookup."""
        ...

    def all(self) -> Sequence[Session]:
        """Return every session, the newest first."""
        ...

    def pins(self, name: str) -> Pins | None:
        """Return the pins of a session."""
        ...

    def replace(self, session: Session, pins: Pins | None = None) -> bool:
        """Replace the session with this id; return False if it is not there. Without ``pins``, its pins stay."""
        ...

    def remove(self, session: str) -> bool:
        """Remove the session with this id and its pins; return False if it is not there."""
        ...

    def rename_thread(self, thread: str, name: str) -> bool:
        """Record that a thread was renamed; return False, and change nothing, if the thread ``name`` has a session.

        A thread without a session is not an error.
        """
        ...

    def pin_notes(self, name: str, revisions: Mapping[NotePin, str | None]) -> bool:
        """Pin some notes at other revisions, and unpin those with ``None``; return False if there is no session.

        The version of the session increases.
        """
        ...
