"""Whoever follows the feed of changes is told of every change, once for each transaction."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from promptuary.base.principals import LOCAL
from promptuary.experiences.values import use
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.suites.experiences import DAY_TWO, FAILED, SOLVED
from tests.suites.forgetting import BODY, EVE, NOTE, RECALLED, TEXTS, said, turn_with
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
    experiences.change(None, lambda one: use(one, DAY_TWO))
    assert told() == [("experience", SOLVED.id), ("experience", "")]
    assert experiences.remove(["unknown"]) == 0
    assert told() == []


def test_threads_that_are_pruned(state: StateDatabase, told: Told) -> None:
    threads = state.threads(LOCAL)
    threads.apply(ThreadChange("t", turn=turn_with("hello")))
    assert told() == [("thread", "t")]
    threads.prune("2000-01-01T00:00:00")
    threads.prune("2030-01-01T00:00:00", dry_run=True)
    assert told() == []
    threads.prune("2030-01-01T00:00:00")
    assert told() == [("thread", "")]


def test_threads_from_which_something_is_forgotten(state: StateDatabase, told: Told) -> None:
    """A cache that follows the feed must not go on showing it; a note may be in the prompts of everybody."""
    state.threads(EVE).apply(ThreadChange("t", turn=turn_with(RECALLED, owner="eve-")))
    state.threads(LOCAL).apply(ThreadChange("t", items=[said("a", BODY)]))
    forgetting = state.forgetting(LOCAL)
    told()

    assert forgetting.redact_note(NOTE, TEXTS)
    assert [(change.owner, change.key) for change in state.database.changes(0)][-1] == (0, "")
    assert told() == [("thread", "")]
    assert forgetting.redact_places(NOTE, TEXTS)
    assert [(change.owner > 0, change.key) for change in state.database.changes(0)][-1] == (True, "")
    assert told() == [("thread", "")]
    assert [forgetting.redact_note(NOTE, TEXTS), forgetting.redact_places(NOTE, TEXTS)] == [0, 0]
    assert [forgetting.redact_source("file:a.txt"), told()] == [0, []]
