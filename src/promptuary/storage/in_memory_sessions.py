"""The sessions of one owner in a dictionary: for tests, and to compare other stores with."""

import threading
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from promptuary.core.ports.sessions import SessionStore
from promptuary.core.sessions import NotePin, Pins, Session


class InMemorySessions(SessionStore):
    """A ``SessionStore`` in memory."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[Session, Pins]] = {}
        self._lock = threading.Lock()

    def add(self, session: Session, pins: Pins) -> bool:
        """Add a session; return False, and change nothing, if its name, its id or its thread is taken."""
        with self._lock:
            for known, _ in self._sessions.values():
                if known.id == session.id or known.name == session.name or known.thread == session.thread:
                    return False
            self._sessions[session.name] = (session, pins)
            return True

    def get(self, name: str) -> Session | None:
        """Return the session with this name."""
        found = self._sessions.get(name)
        return found[0] if found else None

    def of_thread(self, thread: str) -> Session | None:
        """Return the session of a thread."""
        return next((one for one, _ in self._sessions.values() if one.thread == thread), None)

    def all(self) -> Sequence[Session]:
        """Return every session, the newest first."""
        return [one for one, _ in reversed(self._sessions.values())]

    def pins(self, name: str) -> Pins | None:
        """Return the pins of a session."""
        found = self._sessions.get(name)
        return found[1] if found else None

    def replace(self, session: Session, pins: Pins | None = None) -> bool:
        """Replace the session with this id; return False if it is not there."""
        with self._lock:
            found = self._sessions.get(session.name)
            if found is None or (found[0].id, found[0].thread) != (session.id, session.thread):
                return False
            self._sessions[session.name] = (session, found[1] if pins is None else pins)
            return True

    def remove(self, session: str) -> bool:
        """Remove the session with this id; return False if it is not there."""
        with self._lock:
            names = [one.name for one, _ in self._sessions.values() if one.id == session]
            for name in names:
                del self._sessions[name]
            return bool(names)

    def rename_thread(self, thread: str, name: str) -> bool:
        """Record that a thread was renamed; return False if the thread ``name`` has a session."""
        with self._lock:
            if self.of_thread(name) is not None:
                return False
            session = self.of_thread(thread)
            if session is not None:
                self._sessions[session.name] = (replace(session, thread=name), self._sessions[session.name][1])
            return True

    def pin_notes(self, name: str, revisions: Mapping[NotePin, str | None]) -> bool:
        """Pin some notes at other revisions, and unpin those with ``None``."""
        with self._lock:
            found = self._sessions.get(name)
            if found is None:
                return False
            session, pins = found
            notes = {key: rev for key, rev in {**pins.notes, **revisions}.items() if rev is not None}
            after = replace(session, notes_pinned=len(notes), version=session.version + 1)
            self._sessions[name] = (after, replace(pins, notes=notes))
            return True
