"""The queue of turns and the store of proposals keep the contract of ``tests.suites.writeback``."""

from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from promptuary.base.errors import DatabaseDamagedError
from promptuary.base.principals import LOCAL, Principal
from promptuary.memory.writeback.store import NoteQueue, ProposalStore
from promptuary.state import StateDatabase
from tests.suites.writeback import FIRST, ONE, NoteQueueConformance, ProposalStoreConformance


class TestQueue(NoteQueueConformance):
    @pytest.fixture
    def queue(self, state: StateDatabase) -> NoteQueue:
        return state.writeback_queue(LOCAL)


class TestProposals(ProposalStoreConformance):
    @pytest.fixture
    def proposals(self, state: StateDatabase) -> ProposalStore:
        return state.proposals(LOCAL)


OTHERS = [Principal("eve"), Principal(agent="other"), Principal(group="team"), Principal("eve", group="local")]


@pytest.mark.parametrize("other", OTHERS)
def test_what_waits_for_one_owner_is_nobody_elses(state: StateDatabase, other: Principal) -> None:
    state.writeback_queue(LOCAL).add(ONE)
    state.proposals(LOCAL).add(FIRST)
    queue, proposals = state.writeback_queue(other), state.proposals(other)

    assert (list(queue.waiting()), queue.take(1e9, lease=1.0)) == ([], None)
    assert (list(proposals.all()), proposals.get(FIRST.id)) == ([], None)
    queue.done(ONE.id)
    assert not proposals.replace(replace(FIRST, reason="mine now"))
    assert not proposals.remove(FIRST.id, rejected=True)
    assert list(state.writeback_queue(LOCAL).waiting()) == [ONE]
    assert list(state.proposals(LOCAL).all()) == [FIRST]


def test_what_waits_survives_the_process(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.writeback_queue(LOCAL).add(ONE)
        state.proposals(LOCAL).add(FIRST)
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        assert list(state.writeback_queue(LOCAL).waiting()) == [ONE]
        assert list(state.proposals(LOCAL).all()) == [FIRST]


def test_a_proposal_that_somebody_changed_in_the_file_is_damage(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.proposals(LOCAL).add(FIRST)
        raised = "UPDATE proposal SET body = replace(body, '\"external\"', '\"person\"')"
        state.database.write(lambda connection: connection.execute(raised))

        with pytest.raises(DatabaseDamagedError):
            state.proposals(LOCAL).all()


def test_of_a_rejected_proposal_no_text_is_kept(tmp_path: Path) -> None:
    with closing(StateDatabase(tmp_path / "state.db")) as state:
        state.proposals(LOCAL).add(FIRST)
        state.proposals(LOCAL).remove(FIRST.id, rejected=True)
        state.database.purge()

    assert b"Use tabs" not in (tmp_path / "state.db").read_bytes()
