"""A turn that waits for writeback belongs to its thread under whatever name that has by then."""

from contextlib import closing
from typing import TYPE_CHECKING, cast

from promptuary.base.principals import LOCAL
from promptuary.memory.writeback.runner import Writeback
from promptuary.memory.writeback.snapshot import TurnSnapshot, to_text
from promptuary.memory.writeback.values import QueuedTurn
from tests.stores import MemoryStore

if TYPE_CHECKING:
    from promptuary.memory.writeback.proposals import MemoryOf, Proposals


def test_what_reads_a_turn_is_told_the_name_that_its_thread_has_now() -> None:
    threads, seen = MemoryStore(), list[TurnSnapshot]()
    queue = threads.database.writeback_queue(LOCAL)
    one = TurnSnapshot("turn-1", "old", "2026-01-02T03:04:05+00:00", (), external=False, purpose="else")
    queue.add(QueuedTurn(one.turn, one.thread, one.at, to_text(one)))
    queue.rename_thread("old", "new")
    writeback = Writeback(
        queue,
        cast("Proposals", None),
        cast("MemoryOf", None),
        threads=threads,
        model=None,
        has_secret=lambda _: False,
        readers={"else": seen.append},
    )
    with closing(writeback):
        assert writeback.drain(10)

    assert [(snapshot.turn, snapshot.thread) for snapshot in seen] == [("turn-1", "new")]
