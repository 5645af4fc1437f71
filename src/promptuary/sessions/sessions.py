"""The sessions of one principal in one workspace: created, listed, refreshed, archived, and consulted by every turn.

Every method blocks. This module does not enforce what a session may see: callers pass its ``Access`` on.
"""

import threading
from collections.abc import Sequence
from difflib import get_close_matches
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal

from msgspec.structs import replace

from promptuary.base.clock import now_in_seconds
from promptuary.base.errors import (
    ConfigError,
    PromptuaryError,
    SourceError,
    UnknownExperienceError,
    UnknownSessionError,
)
from promptuary.base.ids import new_id
from promptuary.base.text import list_names, one_line
from promptuary.memory.pinned import note_pins, page_pins
from promptuary.sessions.files import file_pins, files_now
from promptuary.sessions.values import Choice, Session, SessionReport, difference
from promptuary.threads.values import thread_name
from promptuary.workspace.access import WORKSPACE, Access, Pins

if TYPE_CHECKING:
    from promptuary.app import App
    from promptuary.state import StateDatabase

PinChoice = Literal["all", "none"] | Sequence[str]
"""Which notes or experiences a session gets: all, none, or those with these ids."""

_COMPARED: Final = 20_000
"""How many paths are compared with a root that does not exist."""
_CACHED: Final = 8
"""For how many sessions the pins are cached: those of a large workspace take some megabytes."""


class Sessions:
    """The sessions of one principal in ``state``."""

    def __init__(self, app: "App", state: "StateDatabase") -> None:
        self._app, self._state = app, state
        self._store, self._threads = state.sessions(app.principal), state.threads(app.principal)
        self._cached: dict[tuple[str, int], Pins] = {}
        self._lock = threading.Lock()

    def create(
        self,
        name: str,
        *,
        thread: str | None = None,
        roots: Sequence[str] = (),
        notes: PinChoice = "all",
        experiences: PinChoice = "all",
        memory: bool = True,
    ) -> Session:
        """Create a session, and pin what it may see at its current revision. Raises ``PromptuaryError`` on failure."""
        thread_name(name, what="session")
        thread = thread_name(name if thread is None else thread)
        self._check_free(name, thread)
        at = now_in_seconds()
        session = Session(
            new_id("session"),
            name,
            thread,
            at,
            at,
            roots=self._roots(roots),
            notes=_choice("notes", notes),
            experiences=_choice("experiences", experiences),
            memory=memory,
        )
        pins = self._pins(session, _chosen_ids(notes), _chosen_ids(experiences))
        session = _count_pins(session, pins)
        if not self._store.add(session, pins):
            self._check_free(name, thread)
            raise PromptuaryError(f"the session {name!r} was made by another process just now; try again")
        return session

    def list(self) -> Sequence[Session]:
        """Return every session, the newest first."""
        return self._store.all()

    def show(self, name: str) -> SessionReport:
        """Return a session, and what has changed since it was pinned."""
        session = self._get(name)
        pins = self._pins_of(session)
        return _report(session, pins, self._pins_now(session, pins))

    def refresh(self, name: str) -> SessionReport:
        """Pin everything at its current revision, and return what had changed."""
        session = self._get(name)
        pins, at = self._pins_of(session), now_in_seconds()
        current = self._pins_now(session, pins)
        after = _count_pins(replace(session, pinned=at, version=session.version + 1), current)
        if not self._store.replace(after, current):
            raise self._unknown_error(name)
        return _report(after, pins, current)

    def archive(self, name: str) -> Session:
        """Archive a session: it stays with its thread, in which no turn is prepared until it is restored."""
        return self._with_status(name, "archived")

    def restore(self, name: str) -> Session:
        return self._with_status(name, "active")

    def remove(self, name: str) -> Session:
        """Remove a session whose thread has no turns, and return what it was.

        A used thread keeps its session: otherwise it would get access to what the session may not see.
        """
        session = self._get(name)
        if self._is_used(session.thread):
            raise PromptuaryError(
                f"the thread {session.thread!r} of the session {name!r} has turns; remove these first: "
                f"`promptuary thread rm --thread {quote(session.thread)}`"
            )
        if not self._store.remove(session.id):
            raise self._unknown_error(name)
        return session

    def access(self, thread: str) -> Access:
        """Return what the turns of a thread may see: without a session, all that the principal may."""
        session, access = self._store.of_thread(thread), self._app.workspace.access
        return access if session is None else access.during(session, self._pins_of(session))

    def _pins_of(self, session: Session) -> Pins:
        key = (session.id, session.version)
        with self._lock:
            pins = self._cached.pop(key, None)
        if pins is None and (pins := self._store.pins(session.name)) is None:
            raise self._unknown_error(session.name)
        with self._lock:
            self._cached[key] = pins
            while len(self._cached) > _CACHED:
                self._cached.pop(next(iter(self._cached)))
        return pins

    def _with_status(self, name: str, status: Literal["active", "archived"]) -> Session:
        session = self._get(name)
        if session.status == status:
            return session
        after = replace(session, status=status)
        if not self._store.replace(after):
            raise self._unknown_error(name)
        return after

    def _pins(self, session: Session, notes: Sequence[str] | None, experiences: Sequence[str] | None) -> Pins:
        files = file_pins(self._app.workspace, session.roots or (WORKSPACE,))
        return replace(self._memories(session, notes, experiences), files=files)

    def _pins_now(self, session: Session, old: Pins) -> Pins:
        """Return the current pins for a session. Named notes or experiences that are gone are left out."""
        now = self._memories(session, None, None)
        if session.notes == "chosen":
            now = replace(now, notes={key: rev for key, rev in now.notes.items() if key in old.notes})
        if session.experiences == "chosen":
            kept = {one: rev for one, rev in now.experiences.items() if one in old.experiences}
            now = replace(now, experiences=kept)
        return replace(now, files=files_now(self._app.workspace, session, old))

    def _memories(self, session: Session, notes: Sequence[str] | None, experiences: Sequence[str] | None) -> Pins:
        """Return the notes and experiences that a session may see, as they are now."""
        if not session.memory:
            return Pins()
        memory = self._app.memory.of(session.thread)
        return Pins(
            {},
            {} if session.notes == "none" else note_pins(memory, notes),
            {} if session.experiences == "none" else self._experience_pins(experiences),
            page_pins(memory) if session.notes == "all" else {},
        )

    def _roots(self, roots: Sequence[str]) -> tuple[str, ...]:
        if isinstance(roots, str):
            raise ConfigError(f"roots are a list of paths: roots=[{roots!r}]")
        if not all(roots):
            raise ConfigError("a root is empty; name a file or folder, or leave roots out for the whole workspace")
        return tuple(dict.fromkeys(filter(None, map(self._root, roots))))

    def _root(self, root: str) -> str:
        """Return a root in normal form; empty for the whole workspace. Raises ``PromptuaryError``."""
        try:
            path = self._app.workspace.interpret(root, absolute=True).path
        except SourceError as error:
            raise PromptuaryError(f"{root!r} cannot be a root: {error.reason}") from error
        workspace = self._app.workspace
        kind = workspace.kind_of(path) if path else "folder"
        if kind in {"file", "folder"} and not (path and workspace.access.is_sensitive(path)):
            return path
        if kind is None:
            files = workspace.files(wait=1.0)
            near = get_close_matches(path, [*workspace.listing.folders, *files][:_COMPARED], n=3, cutoff=0.6)
            advice = (
                f"is it {' or '.join(map(one_line, near))}?" if near else "name a file or a folder of the workspace"
            )
            raise PromptuaryError(f"there is no {root!r} in the workspace; {advice}")
        raise PromptuaryError(f"{root!r} cannot be a root: it may not be read")

    def _experience_pins(self, chosen: Sequence[str] | None) -> dict[str, str]:
        experiences = self._app.experiences_in(self._state)
        if chosen is None:
            return {experience.id: experience.rev for experience in experiences.list().experiences}
        found = [(key, experiences.get(key)) for key in chosen]
        if unknown := [key for key, one in found if one is None]:
            raise UnknownExperienceError(
                f"there is no experience {unknown[0][:80]!r}; `promptuary experience list` lists them"
            )
        return {one.id: one.rev for _, one in found if one is not None}

    def _check_free(self, name: str, thread: str) -> None:
        if self._store.get(name) is not None:
            raise PromptuaryError(
                f"there is a session {name!r} already; choose another name, or "
                f"`promptuary thread refresh {quote(name)}`"
            )
        if (other := self._store.of_thread(thread)) is not None:
            raise PromptuaryError(
                f"the thread {thread!r} belongs to the session {other.name!r} already; name another thread"
            )
        if self._is_used(thread):
            raise PromptuaryError(
                f"the thread {thread!r} has been used already, and may hold what the session must not see; "
                "name a new thread"
            )

    def _is_used(self, thread: str) -> bool:
        return any(one.id == thread for one in self._threads.threads())

    def _get(self, name: str) -> Session:
        found = self._store.get(name)
        if found is None:
            raise self._unknown_error(name)
        return found

    def _unknown_error(self, name: str) -> UnknownSessionError:
        names = [one.name for one in self._store.all()]
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        if near:
            advice = f"is it {' or '.join(map(one_line, near))}?"
        elif names:
            advice = f"the sessions are {list_names(names)}"
        else:
            advice = "there are none yet: `promptuary thread create NAME` makes one"
        return UnknownSessionError(f"there is no session {name[:80]!r}; {advice}")


def _choice(what: str, wanted: PinChoice) -> Choice:
    if isinstance(wanted, str):
        if wanted not in ("all", "none"):
            raise ConfigError(f'{what} are "all", "none" or a list of ids, not {wanted!r}')
        return "all" if wanted == "all" else "none"
    return "chosen"


def _chosen_ids(wanted: PinChoice) -> Sequence[str] | None:
    return None if isinstance(wanted, str) else list(dict.fromkeys(wanted))


def _count_pins(session: Session, pins: Pins) -> Session:
    return replace(
        session,
        files_pinned=len(pins.files),
        notes_pinned=len(pins.notes),
        experiences_pinned=len(pins.experiences),
    )


def _report(session: Session, old: Pins, now: Pins) -> SessionReport:
    files = [{path: pin.sha256 for path, pin in pins.files.items()} for pins in (old, now)]
    notes = map(_by_address, (old, now))
    experiences = difference(old.experiences, now.experiences)
    return SessionReport(session, difference(*files), difference(*notes), experiences)


def _by_address(pins: Pins) -> dict[str, str]:
    """Return notes and pages by their names for people."""
    return {**{f"memory:{note}": rev for (_, note), rev in pins.notes.items()}, **pins.pages}
