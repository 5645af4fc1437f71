"""Whoever follows the feed of changes is told of every change, and never of what anything says."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from promptuary.base.principals import LOCAL
from promptuary.experiences.values import use
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from tests.stores import feed_of
from tests.suites.experiences import DAY_TWO, FAILED, SOLVED
from tests.suites.forgetting import BODY, EVE, NOTE, RECALLED, TEXTS, said, turn_with
from tests.suites.notes import noted, stamped, write
from tests.suites.writeback import FIRST, ONE

SPACE = "agents/default"
Told = Callable[[], list[tuple[str, ...]]]


@pytest.fixture
def state() -> Iterator[StateDatabase]:
    with closing(StateDatabase()) as made:
        yield made


@pytest.fixture
def told(state: StateDatabase) -> Told:
    """Return a function that returns what the feed has said since it was called last."""
    seen: set[tuple[object, ...]] = set()

    def news() -> list[tuple[str, ...]]:
        found = [row for row in feed_of(state.database) if row[:2] not in seen]
        seen.update(row[:2] for row in found)
        return [row[2:] if row[4] else row[2:4] for row in found]

    return news


def test_notes(state: StateDatabase, told: Told) -> None:
    journal = state.notes(SPACE)
    write(journal, noted("aaaa"))
    assert told() == [("note", "aaaa", "create")]
    journal.observe([(noted(name, path=f"private/user/{name}.md"), stamped(), True) for name in ("bbbb", "cccc")])
    assert told() == [("notes", SPACE)]
    journal.forget("aaaa", at="2026-01-01T00:00:00Z", actor="ada/default")
    assert told() == [("note", "aaaa", "forget")]
    journal.forget("unknown", at="2026-01-01T00:00:00Z", actor="ada/default")
    journal.observe([], gone=["private/user/unknown.md"])
    assert told() == []


def test_proposals(state: StateDatabase, told: Told) -> None:
    proposals = state.proposals(LOCAL)
    assert [proposals.add(FIRST), proposals.add(FIRST)] == [True, False]
    assert told() == [("proposal", FIRST.id, "proposed")]
    assert [proposals.remove(FIRST.id, rejected=True), proposals.remove(FIRST.id, rejected=True)] == [True, False]
    assert told() == [("proposal", FIRST.id, "rejected")]
    state.writeback_queue(LOCAL).add(ONE)
    assert told() == []


def test_experiences(state: StateDatabase, told: Told) -> None:
    experiences = state.experiences(LOCAL)
    experiences.add(FAILED)
    assert told() == [("experience", FAILED.id)]
    experiences.add(SOLVED)
    experiences.change(None, lambda one: use(one, DAY_TWO))
    assert told() == [("experience", SOLVED.id), ("experience", f"{SOLVED.id}\n{FAILED.id}")]
    assert experiences.remove(["unknown"]) == 0
    assert told() == []


def test_threads_that_are_pruned(state: StateDatabase, told: Told) -> None:
    threads = state.threads(LOCAL)
    turn = turn_with("hello")
    threads.apply(ThreadChange("t", turn=turn))
    assert told() == [("turn", turn.id, turn.status)]
    threads.put_states("t", ())
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
    assert [row[0] for row in feed_of(state.database) if row[2:4] == ("thread", "")] == [0]
    assert told() == [("thread", "")]
    assert forgetting.redact_places(NOTE, TEXTS)
    assert len([row for row in feed_of(state.database) if row[2:4] == ("thread", "") and row[0] > 0]) == 1
    assert told() == [("thread", "")]
    assert [forgetting.redact_note(NOTE, TEXTS), forgetting.redact_places(NOTE, TEXTS)] == [0, 0]
    assert [forgetting.redact_source("file:a.txt"), told()] == [0, []]
