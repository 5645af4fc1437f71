"""The contract of every store of sessions: subclass, and add ``sessions``, an empty ``SessionStore``."""

from typing import Final

from msgspec.structs import replace

from promptuary.sessions.store import SessionStore
from promptuary.sessions.values import Session
from promptuary.workspace.access import FilePin, Pins

ONE: Final = Session(
    "session-1",
    "release ä",
    "release",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05Z",
    roots=("src", "docs/über.md"),
    notes="chosen",
    experiences="none",
    memory=False,
    files_pinned=2,
    notes_pinned=2,
)
TWO: Final = Session("session-2", "other", "main", "2026-01-03T03:04:05Z", "2026-01-03T03:04:05Z")
PINS: Final = Pins(
    {"src/a.py": FilePin("0a" * 32, 3, 1_700_000_000_123_456_789), "docs/\udce4.md": FilePin("ff" * 32, 0, -1)},
    {("project", "note-1"): "rev 1", ("user", "note-1"): "rev 2"},
    {"experience-1": "3"},
    {"project/shared/MEMORY.md": "hash"},
)


class SessionStoreConformance:
    """The contract of a ``SessionStore``."""

    def test_what_is_added_comes_back_as_it_is(self, sessions: SessionStore) -> None:
        assert sessions.add(ONE, PINS)

        assert sessions.get(ONE.name) == ONE
        assert sessions.of_thread(ONE.thread) == ONE
        assert sessions.pins(ONE.name) == PINS

    def test_what_is_not_there_is_nothing(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)

        assert (sessions.get("else"), sessions.of_thread("else"), sessions.pins("else")) == (None, None, None)
        assert not sessions.replace(TWO)
        assert not sessions.pin_notes("else", {})

    def test_a_session_without_anything_has_nothing_pinned(self, sessions: SessionStore) -> None:
        sessions.add(TWO, Pins())

        assert sessions.pins(TWO.name) == Pins()

    def test_sessions_are_listed_the_newest_first(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)
        sessions.add(TWO, Pins())

        assert list(sessions.all()) == [TWO, ONE]

    def test_an_id_a_name_and_a_thread_are_taken_once(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)

        assert not sessions.add(replace(TWO, id=ONE.id), Pins())
        assert not sessions.add(replace(TWO, name=ONE.name), Pins())
        assert not sessions.add(replace(TWO, thread=ONE.thread), Pins())
        assert (list(sessions.all()), sessions.pins(ONE.name)) == ([ONE], PINS)

    def test_a_session_is_replaced_and_keeps_what_it_was_pinned_with(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)
        archived = replace(ONE, status="archived")

        assert sessions.replace(archived)
        assert (sessions.of_thread(ONE.thread), sessions.pins(ONE.name)) == (archived, PINS)

    def test_a_session_stays_with_its_thread_under_another_name(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)
        sessions.add(TWO, Pins())

        assert not sessions.rename_thread(ONE.thread, TWO.thread)
        assert sessions.of_thread(ONE.thread) == ONE
        assert sessions.rename_thread("nobody's", "new")
        assert sessions.rename_thread(ONE.thread, "new")
        moved = replace(ONE, thread="new")
        assert (sessions.get(ONE.name), sessions.of_thread("new"), sessions.of_thread(ONE.thread)) == (
            moved,
            moved,
            None,
        )
        assert sessions.pins(ONE.name) == PINS

    def test_what_is_removed_is_gone_and_its_name_and_thread_are_free(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)
        sessions.add(TWO, PINS)

        assert sessions.remove(ONE.id)
        assert not sessions.remove(ONE.id)
        assert (sessions.of_thread(ONE.thread), sessions.pins(ONE.name)) == (None, None)
        assert (list(sessions.all()), sessions.pins(TWO.name)) == ([TWO], PINS)
        assert sessions.add(replace(ONE, id="session-3"), Pins())
        assert sessions.pins(ONE.name) == Pins()

    def test_pins_are_replaced_as_a_whole(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)
        sessions.add(TWO, PINS)
        again = replace(ONE, version=2, pinned="2026-02-02T03:04:05Z")

        assert sessions.replace(again, Pins({}, {("project", "note-3"): "rev 9"}))
        assert sessions.get(ONE.name) == again
        assert sessions.pins(ONE.name) == Pins({}, {("project", "note-3"): "rev 9"})
        assert sessions.pins(TWO.name) == PINS

    def test_notes_are_pinned_and_unpinned_one_by_one(self, sessions: SessionStore) -> None:
        sessions.add(ONE, PINS)

        assert sessions.pin_notes(ONE.name, {("project", "note-1"): "new", ("user", "note-1"): None})
        assert sessions.pin_notes(ONE.name, {("project", "note-2"): "first"})
        pins = sessions.pins(ONE.name)
        assert pins == replace(PINS, notes={("project", "note-1"): "new", ("project", "note-2"): "first"})
        assert sessions.get(ONE.name) == replace(ONE, version=3, notes_pinned=2)
