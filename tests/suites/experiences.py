"""The contract of every store of experiences: subclass, and add the fixtures ``store`` and ``told``.

``store`` is empty; it appends to ``told`` the ids that it changed, one list for each change.
"""

from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec.structs import replace

from promptuary.base import concurrency
from promptuary.experiences.store import ExperienceStore
from promptuary.experiences.values import (
    Experience,
    ExperienceFilter,
    contradict,
    decay,
    reinforce,
    strength,
    use,
)

DAY_ONE: Final = "2026-01-01T00:00:00.000Z"
DAY_TWO: Final = "2026-01-02T00:00:00.000Z"
ALL: Final = ExperienceFilter()

FAILED: Final = Experience(
    "0123456789ab",
    "error_recovery",
    "build the 資料 index 😀",
    {"steps": ["a", {"b": [1, 2.5, None, True]}], "": "empty name"},
    DAY_ONE,
    DAY_ONE,
    "rev-1",
    "print-1",
    outcome="failure",
    problem="it ran out of\nspace",
    success_score=0.25,
    base_weight=0.5,
    weight=0.5,
    weighed_at=DAY_ONE,
    half_life_days=10.0,
    use_count=3,
    confidence=0.75,
    tags=("build", "größe"),
    thread="main",
    turn="turn-1",
    trust="agent",
)
SOLVED: Final = Experience(
    "0123456789cd", "task_solution", "sort a list", "sorted()", DAY_TWO, DAY_TWO, "r2", "print-2"
)
TABS: Final = replace(SOLVED, id="aa0000000001", type="user_preference", fingerprint="tabs", topic="indentation")
SPACES: Final = replace(TABS, id="aa0000000002", fingerprint="spaces")


class ExperienceStoreConformance:
    """The contract of an ``ExperienceStore``."""

    def test_what_is_added_comes_back_as_it_is(self, store: ExperienceStore) -> None:
        assert [store.add(FAILED), store.add(SOLVED)] == [FAILED, SOLVED]
        assert store.get(FAILED.id) == FAILED
        assert store.get("none") is None
        assert store.some([FAILED.id, "none", "\ud800"]) == {FAILED.id: FAILED}

    def test_what_comes_back_cannot_change_what_is_stored(self, store: ExperienceStore) -> None:
        given = replace(FAILED, solution={"steps": ["a"]})
        for one in (store.add(given), store.get(given.id), *store.list(ALL), *store.some([given.id]).values()):
            assert one is not None
            if one is not given:
                one.solution["steps"].append("b")

        assert store.get(given.id) == replace(FAILED, solution={"steps": ["a"]})

    def test_the_same_again_reinforces_the_one_that_is_there(self, store: ExperienceStore) -> None:
        store.add(FAILED)
        again = replace(SOLVED, fingerprint=FAILED.fingerprint)

        assert store.add(again) == reinforce(FAILED, again)
        assert list(store.list(ALL)) == [reinforce(FAILED, again)]

    def test_a_value_of_the_same_topic_contradicts_the_others(self, store: ExperienceStore) -> None:
        for one in (TABS, SOLVED, SPACES):
            store.add(one)

        assert store.some([TABS.id, SPACES.id, SOLVED.id]) == {
            TABS.id: contradict(TABS),
            SPACES.id: SPACES,
            SOLVED.id: SOLVED,
        }

    def test_the_ones_used_last_are_listed_first(self, store: ExperienceStore) -> None:
        for one in (FAILED, SPACES, TABS):
            store.add(one)

        assert [one.id for one in store.list(ALL)] == [TABS.id, SPACES.id, FAILED.id]
        assert [one.id for one in store.list(ExperienceFilter(limit=1))] == [TABS.id]
        assert list(store.list(ExperienceFilter(limit=0))) == []

    def test_a_list_is_of_what_was_asked_for(self, store: ExperienceStore) -> None:
        store.add(FAILED)
        store.add(SOLVED)

        def found(wanted: ExperienceFilter) -> list[str]:
            assert store.count(wanted) == len(store.list(wanted))
            return [one.id for one in store.list(wanted)]

        assert found(ExperienceFilter(types=["task_solution"])) == [SOLVED.id]
        assert found(ExperienceFilter(types=["task_solution", "error_recovery"])) == [SOLVED.id, FAILED.id]
        assert found(ExperienceFilter(outcomes=["failure"])) == [FAILED.id]
        assert found(ExperienceFilter(tags=["größe"])) == [FAILED.id]
        assert found(ExperienceFilter(tags=["größe", "build"])) == [FAILED.id]
        assert found(ExperienceFilter(tags=["größe", "other"])) == []
        assert found(ExperienceFilter(tags=["buil"])) == []
        assert found(ExperienceFilter(types=["tool_chain"])) == []
        assert store.count(ExperienceFilter(limit=1)) == 2

    def test_ids_are_found_by_how_they_begin(self, store: ExperienceStore) -> None:
        for one in (SOLVED, FAILED, TABS):
            store.add(one)

        assert list(store.beginning("01", 9)) == [FAILED.id, SOLVED.id]
        assert list(store.beginning("01", 1)) == [FAILED.id]
        assert list(store.beginning(TABS.id, 9)) == [TABS.id]
        assert list(store.beginning("%", 9)) == []
        assert list(store.beginning("zz", 9)) == []

    def test_the_revisions_are_of_what_is_strong_enough(self, store: ExperienceStore) -> None:
        store.add(FAILED)
        store.add(SOLVED)

        assert store.revisions(DAY_TWO, 0.0) == {FAILED.id: "rev-1", SOLVED.id: "r2"}
        assert store.revisions(DAY_TWO, strength(FAILED, DAY_TWO)) == {FAILED.id: "rev-1", SOLVED.id: "r2"}
        assert store.revisions(DAY_TWO, 0.5) == {SOLVED.id: "r2"}

    def test_a_change_returns_and_stores_what_differs(self, store: ExperienceStore) -> None:
        store.add(FAILED)
        store.add(SOLVED)

        def use_failures(one: Experience) -> Experience:
            return use(one, DAY_TWO) if one.outcome == "failure" else one

        assert list(store.change(None, use_failures)) == [use(FAILED, DAY_TWO)]
        assert list(store.change([SOLVED.id, "none"], use_failures)) == []
        assert list(store.change([SOLVED.id], partial(use, now=DAY_TWO))) == [use(SOLVED, DAY_TWO)]
        assert store.get(FAILED.id) == use(FAILED, DAY_TWO)

    def test_a_change_that_fails_changes_nothing(self, store: ExperienceStore, told: list[Collection[str]]) -> None:
        store.add(FAILED)
        store.add(SOLVED)
        told.clear()

        def broken(one: Experience) -> Experience:
            if one.id == FAILED.id:
                raise ValueError("broken")
            return decay(one, DAY_TWO, 1.0)

        with suppress(ValueError):
            store.change(None, broken)
        assert list(store.list(ALL)) == [SOLVED, FAILED]
        assert told == []

    def test_what_is_removed_is_gone(self, store: ExperienceStore) -> None:
        store.add(FAILED)
        store.add(SOLVED)

        assert store.remove([FAILED.id, "none"]) == 1
        assert store.remove([FAILED.id]) == 0
        store.purge()
        assert list(store.list(ALL)) == [SOLVED]

    def test_whoever_listens_is_told_what_says_something_else(
        self, store: ExperienceStore, told: list[Collection[str]]
    ) -> None:
        store.add(TABS)
        store.add(SPACES)
        store.change(None, partial(use, now=DAY_TWO))
        store.change([SPACES.id], lambda one: replace(one, intent="other", rev="other"))
        store.remove([TABS.id])
        store.remove(["none"])

        assert [list(one) for one in told] == [[TABS.id], [SPACES.id], [SPACES.id], [TABS.id]]

    def test_several_threads_count_every_use(self, store: ExperienceStore) -> None:
        store.add(SOLVED)
        tasks = [concurrency.begin(partial(store.change, [SOLVED.id], partial(use, now=DAY_TWO))) for _ in range(12)]
        for task in tasks:
            task.result()
        found = store.get(SOLVED.id)

        assert found is not None
        assert found.use_count == SOLVED.use_count + 12
