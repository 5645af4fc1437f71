"""Both stores keep the one contract."""
# ruff: noqa: E402 - what asserts must be announced before it is imported

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.register_assert_rewrite("promptuary.testing.conformance")

from promptuary.core.messages import Replacement
from promptuary.core.ports.threads import Change, StateStore
from promptuary.storage.in_memory import InMemoryStore
from promptuary.storage.sqlite.threads import EmbeddedStore
from promptuary.testing.conformance import StateStoreConformance, said, turned


class TestInMemoryStore(StateStoreConformance):
    @pytest.fixture
    def store(self) -> StateStore:
        return InMemoryStore()


class TestEmbeddedStore(StateStoreConformance):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[StateStore]:
        with closing(EmbeddedStore(tmp_path / "state.db")) as store:
            yield store


def test_a_change_that_cannot_be_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="cannot hold a turn of 'other'"):
        Change("t", turn=turned(1, "other"))
    with pytest.raises(ValueError, match="from 1 on, not 0"):
        Change("t", turn=turned(0))
    with pytest.raises(ValueError, match="name at least one item"):
        Change("t", replacements=[Replacement((), said("s"))])
