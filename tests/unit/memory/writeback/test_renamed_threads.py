"""A turn that waits for writeback belongs to its thread under whatever name that has by then."""

from pathlib import Path

from promptuary.blocking import Promptuary
from promptuary.memory.writeback.snapshot import Said, TurnSnapshot, to_text
from promptuary.memory.writeback.values import QueuedTurn


def test_what_is_learnt_from_a_turn_names_its_thread_as_it_is_called_now(tmp_path: Path) -> None:
    said = (Said("person", "We decided to use Postgres."),)
    turn = TurnSnapshot("turn-1", "old", "2026-01-02T03:04:05+00:00", said, "none")
    with Promptuary.open(tmp_path, exact=True, embedder="none") as p:
        queue = p._app.state().writeback_queue(p.principal)
        queue.add(QueuedTurn(turn.turn, turn.thread, turn.at, to_text(turn)))
        queue.rename_thread("old", "new")
        assert not p.memory.catch_up(10)
        (proposal,) = p.memory.proposals()

    assert proposal.draft.source_ref == "thread:new"
