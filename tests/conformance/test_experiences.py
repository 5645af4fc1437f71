"""The store of experiences keeps the contract of ``tests.suites.experiences``."""

from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import DatabaseDamagedError
from promptuary.base.principals import LOCAL, Principal
from promptuary.experiences.store import ExperienceStore
from promptuary.experiences.values import use
from promptuary.state import StateDatabase
from tests.suites.experiences import ALL, DAY_TWO, FAILED, SOLVED, ExperienceStoreConformance


@pytest.fixture
def told() -> list[Collection[str]]:
    return []


class TestExperiences(ExperienceStoreConformance):
    @pytest.fixture
    def store(self, state: StateDatabase, told: list[Collection[str]]) -> ExperienceStore:
        return state.experiences(LOCAL, told.append)


OTHERS = [Principal("eve"), Principal(agent="other"), Principal(group="team"), Principal("eve", group="local")]


@pytest.mark.parametrize("other", OTHERS)
def test_what_one_owner_learnt_is_nobody_elses(state: StateDatabase, other: Principal) -> None:
    state.experiences(LOCAL).add(FAILED)
    store = state.experiences(other)

    assert (store.get(FAILED.id), store.some([FAILED.id]), list(store.list(ALL)), store.count(ALL)) == (None, {}, [], 0)
    assert list(store.beginning("", 9)) == []
    assert list(store.change(None, lambda one: use(one, DAY_TWO))) == []
    assert list(store.change([FAILED.id], lambda one: use(one, DAY_TWO))) == []
    assert store.remove([FAILED.id]) == 0
    assert store.add(FAILED) == FAILED  # not reinforced: it is the first of this owner
    assert state.experiences(LOCAL).get(FAILED.id) == FAILED


def test_nobody_is_told_before_the_transaction_ends_nor_if_it_fails(state: StateDatabase) -> None:
    told: list[Collection[str]] = []
    store = state.experiences(LOCAL, told.append)
    with state.transaction():
        store.add(FAILED)
        assert told == []
    assert [list(one) for one in told] == [[FAILED.id]]

    with suppress(ValueError), state.transaction():
        store.add(SOLVED)
        raise ValueError
    assert [list(one) for one in told] == [[FAILED.id]]
    assert list(store.list(ALL)) == [FAILED]


def test_what_was_learnt_survives_the_process(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.experiences(LOCAL).add(FAILED)
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        assert state.experiences(LOCAL).get(FAILED.id) == FAILED


def test_an_experience_that_somebody_changed_in_the_file_is_damage(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.experiences(LOCAL).add(FAILED)
        raised = "UPDATE experience SET body = replace(body, '\"agent\"', '\"person\"')"
        state.database.write(lambda connection: connection.execute(raised))

        with pytest.raises(DatabaseDamagedError):
            state.experiences(LOCAL).list(ALL)


def test_no_byte_of_what_was_removed_and_purged_is_left(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        store = state.experiences(LOCAL)
        store.add(replace(FAILED, intent="find the unicorn stable"))
        store.remove([FAILED.id])
        store.purge()

        for file in tmp_path.iterdir():
            assert b"unicorn" not in file.read_bytes(), file.name
