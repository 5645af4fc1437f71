"""Whoever follows the feed of changes is told of notes, proposals and experiences, once for each transaction."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from promptuary.core.experiences import used
from promptuary.core.principals import LOCAL
from promptuary.storage.state import StateDatabase
from tests.suites.experiences import DAY_TWO, FAILED, SOLVED
from tests.suites.notes import noted, stamped, write
from tests.suites.writeback import FIRST, ONE

SPACE = "agents/default"
Told = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def state() -> Iterator[StateDatabase]:
    with closing(StateDatabase()) as made:
        yield made


@pytest.fixture
def told(state: StateDatabase) -> Told:
    """Return a function that returns what the feed has said since it was called last."""
    seen = [0]

    def news() -> list[tuple[str, str]]:
        found = state.database.changes(seen[0])
        seen[0] = max([seen[0], *(change.seq for change in found)])
        return [(change.noun, change.key) for change in found]

    return news


def test_notes(state: StateDatabase, told: Told) -> None:
    journal = state.notes(SPACE)
    write(journal, noted("aaaa"))
    assert told() == [("notes", SPACE)]
    journal.observe([(noted(name, path=f"private/user/{name}.md"), stamped(), True) for name in ("bbbb", "cccc")])
    assert told() == [("notes", SPACE)]
    journal.forget("aaaa", at="2026-01-01T00:00:00Z", actor="ada/default")
    assert told() == [("notes", SPACE)]
    journal.forget("unknown", at="2026-01-01T00:00:00Z", actor="ada/default")
    journal.observe([], gone=["private/user/unknown.md"])
    assert told() == []


def test_proposals(state: StateDatabase, told: Told) -> None:
    proposals = state.proposals(LOCAL)
    assert [proposals.add(FIRST), proposals.add(FIRST)] == [True, False]
    assert told() == [("proposal", FIRST.id)]
    assert [proposals.remove(FIRST.id, rejected=True), proposals.remove(FIRST.id, rejected=True)] == [True, False]
    assert told() == [("proposal", FIRST.id)]
    state.writeback_queue(LOCAL).add(ONE)
    assert told() == []


def test_experiences(state: StateDatabase, told: Told) -> None:
    experiences = state.experiences(LOCAL)
    experiences.add(FAILED)
    assert told() == [("experience", FAILED.id)]
    experiences.add(SOLVED)
    experiences.change(None, lambda one: used(one, DAY_TWO))
    assert told() == [("experience", SOLVED.id), ("experience", "")]
    assert experiences.remove(["unknown"]) == 0
    assert told() == []
