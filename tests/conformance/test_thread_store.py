"""Every database of threads keeps the same contract; ``tests.suites.threads`` is the contract."""

import pytest

from promptuary.base.messages import Replacement
from promptuary.base.principals import LOCAL
from promptuary.state import StateDatabase
from promptuary.threads.records import ThreadChange
from promptuary.threads.store.store import ThreadStore
from tests.suites.ledger import LedgerConformance
from tests.suites.threads import ThreadStoreConformance, said, turned


class _Suite(ThreadStoreConformance, LedgerConformance):
    @pytest.fixture
    def store(self, database: StateDatabase) -> ThreadStore:
        return database.threads(LOCAL)


class TestInMemoryState(_Suite):
    @pytest.fixture
    def database(self) -> StateDatabase:
        return StateDatabase()


class TestState(_Suite):
    @pytest.fixture
    def database(self, state: StateDatabase) -> StateDatabase:
        return state


def test_a_change_that_cannot_be_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="cannot hold a turn of 'other'"):
        ThreadChange("t", turn=turned(1, "other"))
    with pytest.raises(ValueError, match="from 1, not 0"):
        ThreadChange("t", turn=turned(0))
    with pytest.raises(ValueError, match="name at least one item"):
        ThreadChange("t", replacements=[Replacement((), said("s"))])
